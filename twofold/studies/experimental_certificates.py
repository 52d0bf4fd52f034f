"""Seed 001, section 11: its experimental certificates, each beside ours."""

from dataclasses import replace

import numpy as np

from twofold.claims import Measured, beside, over_seeds
from twofold.findings import Findings, Study, Table
from twofold.measures import overlaps
from twofold.studies import decoder_run, encoder_decades, lowrank_panels, lowrank_run, scalar_ladder
from twofold.studies.outer_time import Settings
from twofold.training import triangular


def decoder(config: Settings) -> dict[str, Measured]:
    """The decoder-only lines, over independent runs."""
    runs = [decoder_run.repeated(config.decoder, i) for i in range(config.repetitions)]
    gaps = [np.abs(run.risk(1) - run.predicted) for run in runs]
    return {
        "dec-max-abs": over_seeds(np.max(gap) for gap in gaps),
        "dec-max-rel": over_seeds(
            np.max(gap / run.predicted) for gap, run in zip(gaps, runs, strict=True)
        ),
        "dec-obs-800": over_seeds(run.risk(1)[-1] for run in runs),
        "dec-pred-800": Measured(float(runs[0].predicted[-1])),
        "step-800": Measured(float(runs[0].times[-1])),
        "P-rel-distance": over_seeds(
            float(overlaps.relative_distance(run.P[-1], run.moments.oracle)) for run in runs
        ),
        "depth-risk-800": over_seeds(run.risk(config.decoder.depth)[-1] for run in runs),
        "mean-contraction-800": over_seeds(run.contraction[-1].mean() for run in runs),
    }


def joint(config: Settings) -> dict[str, Measured]:
    """The lines on encoder and decoder together, from one declared configuration."""
    run = lowrank_run.trained(config.joint)
    oracle = triangular.oracles(run.C[-1:], run.B[-1:])[0]
    return {
        "encdec-identity-gap": Measured(lowrank_run.identity_gap(run)),
        "e2e-420": Measured(run.part("total")[-1]),
        "floor-420": Measured(run.part("floor")[-1]),
        "dec-420": Measured(run.part("decoder")[-1]),
        "step-420": Measured(float(run.times[-1])),
        "Pz-rel-distance": Measured(float(overlaps.relative_distance(run.P[-1], oracle))),
        "sin2-420": Measured(float(run.sin2[-1])),
    }


def run(config: Settings) -> Findings:
    """All of section 11 in one table; encoder and ladder come from their own studies."""
    measured = {
        f"001-S11-{name}": m for part in (decoder, joint) for name, m in part(config).items()
    }
    for study in (encoder_decades.STUDY, scalar_ladder.STUDY):
        found = study.run(replace(study.settings, seed=config.seed)).measured
        measured |= {name: m for name, m in found.items() if name.startswith("001-S11-")}
    head = ["quantity", "seed", "ours", "scatter"]
    table = Table("section-11", "Section 11, ours", TOLD, head, beside(measured))
    return Findings([table], measured=measured, notes=[lowrank_panels.NOTE])


TOLD = (
    "Scatter: the standard error of one run's distance to our mean, where several runs were made."
)
STUDY = Study("001-certificates", "Experimental certificates", "decoder error", "001 §11.",
              Settings(), run, cost=2)  # fmt: skip
