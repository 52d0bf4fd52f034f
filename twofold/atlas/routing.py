"""Where a row starts: the chart whose node has the least objective, and which atom wins."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float
from numba import njit, prange

from twofold.atlas.charts import Charts, prior_at
from twofold.atlas.encoding import Codes
from twofold.atlas.objective import Form, Priors
from twofold.rigor.roundoff import U, up


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


def floor(
    form: Form, b: np.ndarray, norm: np.ndarray, z: Any, least: float
) -> Float[np.ndarray, " N"]:
    """A proved lower bound of the objective over all coordinates, and all z >= 0 if z is None.

    Re sum_k c_k e_k is at most S = sum |c_k| sup|e_k|; so f >= -z S + z^2 least/2, or
    -S^2/(2 least), where ``least`` bounds |m|^2 from below. Never below -|x|^2/2 either. What
    rounding does to an objective that is compared with it is taken off.
    """
    count = sum(form.linear.shape) + 16
    waves = np.abs(b @ form.linear) @ form.weights[0]
    moved = norm * float(form.slack_linear[0, 0]) + 8 * count * U * waves
    top = up(waves + moved, 2 * count)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        low = -0.5 * top**2 / least if z is None else -z * top + 0.5 * z**2 * least * (1 - 8 * U)
        size = 2 * norm / np.sqrt(least) if z is None else z
        quadratic = float(np.sum(np.abs(form.quadratic[0]) * form.weights[0]))
        moved = 8 * form.kappa * (size * top + size**2 * quadratic)
        moved += 8 * size**2 * float(form.slack_quadratic[0, 0])
        prior = float(np.sum(np.abs(form.prior) * form.weights[0]))
        low = np.maximum(np.nan_to_num(low, nan=-np.inf), -0.5 * norm**2) - prior - moved
    return np.nan_to_num(low, nan=-np.inf) - np.abs(low) * 1e-14


class Best:
    """The atom with the least objective per row, as candidates come in.

    ``global`` stays only where every rival that was looked at is proved higher; a rival that
    cannot be certified leaves the row ``local``. Equal within 1e-12 is ``ambiguous``.
    """

    def __init__(self, codes: Codes) -> None:
        self.codes, N = codes, len(codes)
        self.others, self.tie = np.ones(N, bool), np.zeros(N, bool)

    def add(self, rows: np.ndarray, rival: Codes) -> None:
        """A rival for some of the rows."""
        old, new = _finite(self.codes.objective[rows]), _finite(rival.objective)
        with np.errstate(invalid="ignore"):
            close = np.abs(new - old) <= 1e-12 * np.maximum(np.abs(old), 1e-300)
        wins = new < old
        loser = np.where(wins, self.codes.verdict[rows], rival.verdict)
        self.others[rows] &= np.isin(loser, ("global", "ambiguous"))
        self.tie[rows] = close | (self.tie[rows] & ~wins)
        for field in dataclasses.fields(Codes):
            mine, theirs = getattr(self.codes, field.name), getattr(rival, field.name)
            wide = theirs.shape[1] if theirs.ndim == 2 else None
            picked = rows[wins]
            if wide is None:
                mine[picked] = theirs[wins]
            else:
                mine[picked] = -1 if mine.dtype.kind == "i" else np.nan
                mine[picked, :wide] = theirs[wins]

    def conclude(self) -> Codes:
        """The winners, their verdicts weighed against their rivals."""
        codes = self.codes
        codes.verdict[(codes.verdict == "global") & ~self.others] = "local"
        codes.verdict[(codes.verdict == "global") & self.tie] = "ambiguous"
        codes.gap[(codes.verdict == "local") & ~self.others] = np.inf
        return codes


def widened(codes: Codes, wide: int) -> Codes:
    """Own arrays, coordinates padded with NaN to ``wide`` and texts long enough for any."""
    out = {}
    for field in dataclasses.fields(Codes):
        x = np.array(getattr(codes, field.name))
        if field.name in ("coords", "start"):
            x = np.pad(x, ((0, 0), (0, wide - x.shape[1])), constant_values=np.nan)
        out[field.name] = x.astype("<U60") if x.dtype.kind == "U" else x
    return Codes(**out)


def _finite(x: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(x), x, np.inf)
