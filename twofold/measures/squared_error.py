r"""The squared error in a metric S, and its split by what a perfect decoder would have answered.

answer - truth     = (answer - best) + (best - truth)
||answer-truth||^2 = ||best-truth||^2 + ||answer-best||^2 + 2 <answer-best, best-truth>
    total          =      floor       +      decoder      +          cross
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold import foreign
from twofold.rigor import inputs

PARTS = ("total", "floor", "decoder", "cross")


def split(
    answer: Float[np.ndarray, "N K"],
    best: Float[np.ndarray, "N K"],
    truth: Float[np.ndarray, "N K"],
    metric: Float[np.ndarray, "K K"] | None,
    scale: float = 1.0,
) -> dict[str, Float[np.ndarray, " N"]]:
    """Total, floor, decoder and cross of every row; NaN passes through."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        error, solving, encoding = answer - truth, answer - best, best - truth
        return {
            "total": scale * inner(error, error, metric),
            "floor": scale * inner(encoding, encoding, metric),
            "decoder": scale * inner(solving, solving, metric),
            "cross": scale * (2.0 * inner(solving, encoding, metric)),
        }


def inner(
    v: Float[np.ndarray, "N K"], w: Float[np.ndarray, "N K"], metric: np.ndarray | None
) -> Float[np.ndarray, " N"]:
    """<v, w>_S = v' S w, row by row."""
    return np.einsum("nk,nk->n", v, w if metric is None else w @ metric)


def metric_matrix(metric: Any, K: int) -> Float[np.ndarray, "K K"] | None:
    """The metric as one symmetric positive semidefinite matrix.

    Given as None (Euclidean), a spectrum (K,), a matrix (K, K), or an operator (N, K) -> (N, K):
    the metric is then what the operator does to the K unit vectors.
    """
    if metric is None:
        return None
    S = _columns(metric, K) if callable(metric) or hasattr(metric, "matmat") else metric
    S = inputs.real("metric", S, ndim=(1, 2))
    S = inputs.symmetric("metric", np.diag(S) if S.ndim == 1 else S)
    if S.shape != (K, K):
        raise ValueError(f"metric: expected shape ({K}, {K}) or ({K},), got {S.shape}")
    low, high = np.linalg.eigvalsh(S)[[0, -1]]
    if low < -8 * K * np.finfo(float).eps * max(high, 0.0):
        raise ValueError(f"metric: it has a negative eigenvalue {low:.3g}, so it is no norm")
    return S


def _columns(operator: Any, K: int) -> np.ndarray:
    return foreign.array("metric", foreign.function("metric", operator)(np.eye(K)))[0]
