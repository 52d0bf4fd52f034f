"""Where a row starts: the chart whose node has the least objective, and which atom wins."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numba import njit, prange

from twofold.atlas.charts import Charts, prior_at
from twofold.atlas.encoding import Codes
from twofold.atlas.objective import Priors


def nearest(chart: Charts, b: np.ndarray, z: Any, priors: Priors) -> tuple[np.ndarray, np.ndarray]:
    """(the node with the least objective, the best amplitude there)."""
    best, amplitude = np.empty(len(b), np.int64), np.empty(len(b))
    given = np.full(len(b), np.nan) if z is None else np.ascontiguousarray(z)
    prior = prior_at(chart.nodes, priors)
    _nearest(chart.values, chart.squares, prior, np.ascontiguousarray(b), given, best, amplitude)
    return best, amplitude


@njit(cache=True, fastmath=False, parallel=True, error_model="numpy")
def _nearest(values, squares, prior, b, z, best, amplitude):
    for n in prange(len(b)):
        least = np.inf
        best[n], amplitude[n] = 0, 1.0
        for c in range(len(values)):
            inner = 0.0
            for m in range(b.shape[1]):
                inner += values[c, m] * b[n, m]
            if np.isnan(z[n]):
                size = max(inner, 0.0) / squares[c] if squares[c] > 0.0 else 0.0
            else:
                size = z[n]
            f = -size * inner + 0.5 * size * size * squares[c] + prior[c]
            if f < least:
                least = f
                best[n], amplitude[n] = c, size


def pursue(
    charts: list[Charts], atoms: list[Any], b: list[np.ndarray], z: np.ndarray
) -> np.ndarray:
    """Starts of several active atoms: each best chart in turn, twice, the others subtracted."""
    best = [np.zeros(len(z), np.int64) for _ in charts]
    grams = [[x.B @ y.B.T for y in atoms] for x in atoms]
    for turn in range(3):
        for j, chart in enumerate(charts):
            left = b[j].copy()
            for i, other in enumerate(charts):
                if i != j and (turn or i < j):
                    left -= z[:, i : i + 1] * np.einsum(
                        "nm,km->nk", other.values[best[i]], grams[j][i]
                    )
            best[j], _ = nearest(chart, left, z[:, j], Priors())
    return np.concatenate([c.nodes[k] for c, k in zip(charts, best, strict=True)], axis=1)


def choose(every: list[Codes]) -> Codes:
    """The atom with the least objective per row.

    ``global`` stays only where every rival is proved higher: its own global minimum is, or it
    cannot be certified at all and leaves the row ``local``. Equal within 1e-12 is ``ambiguous``.
    """
    values = np.array([np.where(np.isfinite(c.objective), c.objective, np.inf) for c in every])
    rank = np.argsort(values, axis=0, kind="stable")
    winner, rows = rank[0], np.arange(values.shape[1])
    picked = {}
    for field in dataclasses.fields(Codes):
        stack = [np.asarray(getattr(c, field.name)) for c in every]
        wide = max(s.shape[1] for s in stack) if stack[0].ndim == 2 else 0
        if wide:
            stack = [_padded(s, wide) for s in stack]
        picked[field.name] = np.array(stack)[winner, rows]
    proved = np.array([np.isin(c.verdict, ("global", "ambiguous")) for c in every])
    others = np.all(proved | (np.arange(len(every))[:, None] == winner), axis=0)
    first, second = values[rank[0], rows], values[rank[1], rows]
    verdict = picked["verdict"].copy()
    verdict[(verdict == "global") & ~others] = "local"
    with np.errstate(invalid="ignore"):
        tie = second - first <= 1e-12 * np.maximum(np.abs(first), 1e-300)
    verdict[tie & (verdict == "global")] = "ambiguous"
    picked["verdict"] = verdict
    picked["gap"] = np.where((verdict == "local") & ~others, np.inf, picked["gap"])
    return Codes(**picked)


def _padded(x: np.ndarray, wide: int) -> np.ndarray:
    fill = -1 if x.dtype.kind == "i" else np.nan
    return np.pad(x, ((0, 0), (0, wide - x.shape[1])), constant_values=fill)
