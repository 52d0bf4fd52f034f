"""Tables and figures of the seeds; a study contains no formula, only public calls and captions."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from twofold.findings import Study

# The order of the report: each study by its table or figure, and where it is written.
_PLACES = {
    "001-figure-1": "outer_time.FIGURE_1",
    "001-figure-2": "outer_time.FIGURE_2",
    "001-certificates": "experimental_certificates.STUDY",
    "000-table-1": "encoder_only.TABLE",
    "000-figure-1": "encoder_only.FIGURE",
    "001-figure-6": "encoder_decades.STUDY",
    "001-figure-3": "decoder_only.FIGURE_3",
    "001-figure-5": "decoder_only.FIGURE_5",
    "000-table-2": "flexformer_decoder.TABLE",
    "000-figure-2": "flexformer_decoder.FIGURE",
    "000-table-4": "flexformer_latent.TABLE",
    "000-figure-4": "flexformer_latent.FIGURE",
    "001-figure-9": "optimization.STUDY",
    "000-bernstein": "held_out_bounds.STUDY",
    "000-table-3": "lowrank_table.TABLE",
    "000-figure-3": "lowrank_table.FIGURE",
    "000-table-5": "pde_table.TABLE",
    "000-figure-5": "pde_table.FIGURE",
    "002-pde": "pde_comparison.STUDY",
    "001-figure-4": "lowrank_figures.FIGURE_4",
    "001-figure-7": "lowrank_figures.FIGURE_7",
    "001-figure-11": "lowrank_figures.FIGURE_11",
    "001-figure-10": "prompt_spectrum.STUDY",
    "001-section-8": "attention_maps.STUDY",
    "001-figure-10-qk": "qk_dynamics.STUDY",
    "002-audit": "audit_table.STUDY",
    "002-overlaps": "overlap_log.STUDY",
    "001-theory": "theory.STUDY",
    "002-gp": "gp_comparison.STUDY",
    "002-gradients": "gradient_check.STUDY",
    "002-ntk": "tangent_kernel.STUDY",
    "002-obstruction": "obstruction_pair.STUDY",
    "004-information": "information_experiment.STUDY",
    "004-identities": "information_identities.STUDY",
    "004-estimators": "information_estimators.STUDY",
    "001-figure-8": "scalar_ladder.STUDY",
    "002-solvers": "solvers.STUDY",
    "002-scaling": "sweep.STUDY",
    "003-atlas": "encode_atlas.STUDY",
    "corrections": "corrections.STUDY",
    "002-open": "open_questions.STUDY",
    "002-status": "status.STUDY",
}


def names() -> tuple[str, ...]:
    """Every study there is."""
    return tuple(_PLACES)


def find(wanted: Sequence[str] = ()) -> list[Study]:
    """The studies with these names or prefixes, in the order of the report; all, if none named."""
    for text in wanted:
        if not any(name.startswith(text) for name in _PLACES):
            raise ValueError(f"no study {text!r}; there are {', '.join(_PLACES)}")
    chosen = [n for n in _PLACES if not wanted or any(n.startswith(w) for w in wanted)]
    return [_load(_PLACES[name]) for name in chosen]


def _load(place: str) -> Study:
    module, _, name = place.partition(".")
    return getattr(importlib.import_module(f"twofold.studies.{module}"), name)
