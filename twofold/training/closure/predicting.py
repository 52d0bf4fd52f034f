"""The prediction that `twofold predict` prints: a law, a kind of P, and the curve."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from twofold.learned.free import Free
from twofold.protocol import Law
from twofold.training.closure.descent import Diagonal, Path, path

Kind = Literal["flexformer", "free", "diagonal"]


def model(kind: str, dim: int, scale: float) -> Any:
    """The family of a name; the Flexformer needs the extra twofold[learn]."""
    if kind not in get_args(Kind):
        raise ValueError(f"model: expected one of {get_args(Kind)}, got {kind!r}")
    if kind == "flexformer":
        from twofold.learned.flexformer import Flexformer

        return Flexformer(dim, scale=scale)
    return Free(dim, scale) if kind == "free" else Diagonal(dim, scale)


def predict(
    law: Law, *, kind: str, depth: int, eta: float, steps: int, engine: str = "auto",
    rule: Any = "descent", scale: float = 0.3, seed: int = 0, points: int = 13,
) -> Path:  # fmt: skip
    """The path of a kind of P from its own start, at about ``points`` outer times."""
    family = model(kind, law.dim, scale)
    times = np.unique(np.r_[0, np.geomspace(1, max(steps, 1), points).round()])
    return path(family.start(seed), family, law, depth=depth, eta=eta, steps=steps, rule=rule,
                engine=engine, times=times[times <= steps], seed=seed)  # fmt: skip
