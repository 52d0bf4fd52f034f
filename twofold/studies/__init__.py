"""One file per table or figure of the seeds; a study contains no formula, only public calls."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from twofold.findings import Study

# The order of the report. A study's name is its table or figure; its module carries it as STUDY.
_MODULES = {
    "000-bernstein": "held_out_bounds",
    "001-figure-8": "scalar_ladder",
    "001-figure-10": "prompt_spectrum",
}


def names() -> tuple[str, ...]:
    """Every study there is."""
    return tuple(_MODULES)


def find(wanted: Sequence[str] = ()) -> list[Study]:
    """The studies with these names or prefixes, in the order of the report; all, if none named."""
    for text in wanted:
        if not any(name.startswith(text) for name in _MODULES):
            raise ValueError(f"no study {text!r}; there are {', '.join(_MODULES)}")
    chosen = [n for n in _MODULES if not wanted or any(n.startswith(w) for w in wanted)]
    return [importlib.import_module(f"twofold.studies.{_MODULES[n]}").STUDY for n in chosen]
