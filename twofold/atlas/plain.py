"""The encode as the seed describes it, for comparison: nearest chart, its centre, Newton."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from twofold.atlas import encoding
from twofold.atlas.atlas import Atlas
from twofold.atlas.encoding import Codes
from twofold.atlas.projection import project
from twofold.atlas.routing import nearest
from twofold.rigor import inputs


def encode(made: Atlas, rows: Any, *, amplitude: float = 1.0, atom: int = 0) -> Codes:
    """Local codes from the centre of the chart with the least objective, without a predictor."""
    X = inputs.real("rows", rows, shape=(None, made.width))
    b, norm = project(X, made.atoms[atom].B)
    z = np.full((len(X), 1), float(amplitude))
    charts = made.charts[atom]
    values = made.atoms[atom].family.values(charts.centres)
    squares = np.sum((values @ made.atoms[atom].B) ** 2, axis=1)
    coarse = dataclasses.replace(charts, nodes=charts.centres, values=values, squares=squares)
    best, _ = nearest(coarse, b, z[:, 0], made.priors)
    out = encoding.solve(made.form((atom,)), b, norm, z, charts.centres[best], budget=0,
                         refine=False, reach=1.0)  # fmt: skip
    return encoding.judged(out, norm, z, np.full((len(X), 1), atom))


def false_minima(local: Codes, proved: Codes) -> float:
    """The share of locally certified rows whose minimum is higher than the proved global one."""
    known = (local.verdict == "local") & np.isin(proved.verdict, ("global", "ambiguous"))
    higher = local.objective > proved.objective + 1e-9 * (1 + np.abs(proved.objective))
    return float(np.mean(higher[known])) if np.any(known) else float("nan")
