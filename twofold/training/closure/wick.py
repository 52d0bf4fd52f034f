r"""Exact finite-K, finite-M risk for diagonal P, by Wick's theorem: nothing is sampled.

With G_x = 1/(1 - x d), d = 1 - lambda p, each pairing of tr[G_x (-x p W G_x)^a S (G_y W (-y p))^b
G_y] is M^{loops - n} times one factor per block of equal coordinates,

    sum_i s_i^n b_i^h (-p_i)^{l+r} x^l y^r G_x^alpha G_y^beta,

so R is a polynomial in such sums. A pairing is of order M^-k, k = n + 1 - blocks - loops, when the
coordinates are repeated along with M: k = 0 is the deterministic equivalent, k = 1 its correction.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float, Int
from scipy.special import comb

from twofold.training.closure import pairings
from twofold.training.closure.case import Case

DEEPEST = 4


@dataclass(frozen=True, eq=False)
class Word:
    """All pairings with a and b letters W: ``slots`` (T, n) index the ``blocks``, 0 is empty."""

    a: int
    b: int
    blocks: tuple[tuple[int, ...], ...]
    slots: Int[np.ndarray, "T n"]
    loops: Int[np.ndarray, " T"]
    count: Int[np.ndarray, " T"]

    @property
    def order(self) -> Int[np.ndarray, " T"]:
        """The power of 1/t under t-fold repetition with M -> t M."""
        return self.a + self.b + 1 - np.sum(self.slots > 0, axis=1) - self.loops


@lru_cache(maxsize=64)
def word(a: int, b: int) -> Word:
    """The pairings, their blocks as exponents (n, h, left, right, alpha, beta)."""
    codes, loops, count = pairings.table(a, b)
    held, slots = np.unique(codes, return_inverse=True)
    held, slots = list(held), slots.reshape(codes.shape)
    if held[0] != 0:
        held, slots = [0, *held], slots + 1
    return Word(a, b, tuple(_exponents(int(c), a, b) for c in held), slots, loops, count)


def _exponents(code: int, a: int, b: int) -> tuple[int, ...]:
    left, right = code & 3, code >> 2 & 3
    top, bottom = bool(code & pairings.TOP), bool(code & pairings.BOTTOM)
    n = left + right + top + bottom - (0 in (a, b) and top) - (a + b == 0)
    x, y = left + (top and a > 0), right + (top and b > 0)
    return n, int(bottom), x, y, x + bottom, y + bottom


def risk(P: np.ndarray, case: Case, orders: int | None = None) -> complex:
    """R exactly; with ``orders=k`` only the terms of order below k of the repetition expansion."""
    return _evaluated(P, case, orders)[0]


def gradient(P: np.ndarray, case: Case, orders: int | None = None) -> tuple[float, np.ndarray]:
    """(R, its gradient in p), by the adjoint of the same sums."""
    value, sums, bars = _evaluated(P, case, orders)
    p_bar = np.zeros(case.dim)
    for key, bar in bars.items():
        n, h, e, f = key
        d = 1.0 - case.ridge * P
        slope = -e * (-P) ** max(e - 1, 0) * d**f - case.ridge * f * (-P) ** e * d ** max(f - 1, 0)
        p_bar += bar * case.sigma**n * case.prior**h * slope
    return float(np.real(value)), p_bar


def _evaluated(
    P: np.ndarray, case: Case, orders: int | None
) -> tuple[complex, dict[tuple, complex], dict[tuple, float]]:
    """R, the power sums it is made of, and its derivative in each of them."""
    J, value = case.depth + 1, 0.0
    sums: dict[tuple, complex] = {}
    bars: dict[tuple, float] = {}
    for a, b in np.ndindex(J, J):
        pairs = case.pairs[a:, b:]
        if not np.any(pairs):
            continue
        w = word(a, b)
        blocks, parts = _series(w, P, case, pairs.shape, sums)
        weight = w.count * float(case.prompt) ** (w.loops - a - b)
        if orders is not None:
            weight = np.where(w.order < orders, weight, 0.0)
        part, block_bar = _contracted(blocks, w.slots, weight, pairs)
        value += part
        for key, where, factor in parts:
            bars[key] = bars.get(key, 0.0) + factor * float(np.real(block_bar[where]))
    return value, sums, bars


def _series(
    w: Word, P: np.ndarray, case: Case, shape: tuple[int, int], sums: dict[tuple, complex]
) -> tuple[np.ndarray, list[tuple]]:
    """The series of every block, (blocks, u, v), and which power sums stand in it."""
    out = np.zeros((len(w.blocks), *shape), P.dtype)
    out[0, 0, 0], parts = 1.0, []
    for k, (n, h, x, y, alpha, beta) in enumerate(w.blocks[1:], start=1):
        for u, v in np.ndindex(*shape):
            factor = _rising(alpha, u) * _rising(beta, v)
            if factor == 0:
                continue
            key = (n, h, x + y, u + v)
            if key not in sums:
                sums[key] = _power_sum(P, case, key)
            out[k, u, v] = factor * sums[key]
            parts.append((key, (k, u, v), factor))
    return out, parts


@lru_cache(maxsize=4096)
def _rising(alpha: int, u: int) -> int:
    """[x^u] (1 - x)^-alpha."""
    return int(comb(alpha - 1 + u, u, exact=True)) if alpha else int(u == 0)


def _power_sum(P: np.ndarray, case: Case, key: tuple[int, ...]) -> complex:
    n, h, e, f = key
    return np.sum(case.sigma**n * case.prior**h * (-P) ** e * (1.0 - case.ridge * P) ** f)


def _contracted(
    blocks: np.ndarray, slots: np.ndarray, weight: Float[np.ndarray, " T"], pairs: np.ndarray
) -> tuple[complex, np.ndarray]:
    """sum_t weight_t <pairs, prod_k blocks[slots_tk]>, and its derivative in the blocks."""
    series = [blocks[slots[:, k]] for k in range(slots.shape[1])]
    ahead = [series[0]]
    for s in series[1:]:
        ahead.append(_times(ahead[-1], s))
    value = np.sum(weight * np.sum(pairs * ahead[-1], axis=(1, 2)))
    bar, behind = np.zeros_like(blocks), weight[:, None, None] * pairs
    for k in range(len(series) - 1, -1, -1):
        mine = _correlated(behind, ahead[k - 1]) if k else behind
        np.add.at(bar, slots[:, k], mine)
        behind = _correlated(behind, series[k])
    return value, bar


def _times(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Truncated products, row by row."""
    out = np.zeros_like(u)
    n, m = u.shape[1:]
    for i, j in np.ndindex(n, m):
        out[:, i:, j:] += u[:, i, j, None, None] * v[:, : n - i, : m - j]
    return out


def _correlated(w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The adjoint of `_times`, row by row."""
    out = np.zeros_like(w * v)
    n, m = w.shape[1:]
    for i, j in np.ndindex(n, m):
        out[:, : n - i, : m - j] += w[:, i:, j:] * v[:, i, j, None, None]
    return out
