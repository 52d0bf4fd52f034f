r"""The least capital over all tables r(y|u) of a bettor on a_i - ln r(y_i|u_i), from below.

f(r) = sum_i ln v_i, v_i = 1 + lambda (a_i - ln r(y_i|u_i) - m), splits over the cells u. Where
lambda <= v_i it is convex in r, so its tangent at any r_0 is below it, and the least of a linear
function on a simplex is at a corner: with s_y = sum_{i: y_i = y} 1/v_i in the cell,

    min_r f >= f(r_0) + lambda (sum_y s_y - max_y s_y / r_0(y)),

with equality at the fixed point r_0 = s / sum s, which a few substitutions reach.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Int
from numba import njit

ROUNDS = 12
CLOSE = 2e-6
STEP = 2.0**-44


@njit(cache=True, fastmath=False)
def cell_sum(
    a: Float[np.ndarray, " n"],
    edges: Int[np.ndarray, " k"],
    r: Float[np.ndarray, " k"],
    s: Float[np.ndarray, " k"],
    bet: float,
    m: float,
) -> tuple[float, float]:
    """(f at r, sum of |terms|) in one cell; s is filled. Label k owns rows edges[k] .. edges[k+1].

    Four factors share one logarithm.
    """
    total, size = 0.0, 0.0
    for k in range(len(r)):
        s[k] = 0.0
        base = 1.0 + bet * (-math.log(r[k]) - m)
        product = 1.0
        for i in range(edges[k], edges[k + 1]):
            v = base + bet * a[i]
            s[k] += 1.0 / v
            product *= v
            if (i - edges[k]) % 4 == 3 or i == edges[k + 1] - 1:
                term = math.log(product)
                product = 1.0
                total += term
                size += abs(term)
    return total, size


@njit(cache=True, fastmath=False)
def least(
    a: Float[np.ndarray, " n"],
    edges: Int[np.ndarray, " k"],
    starts: Int[np.ndarray, " c"],
    bet: float,
    m: float,
) -> float:
    """A lower bound on min_r f, rounding paid. Cell c owns the labels starts[c] .. starts[c+1]."""
    total, paid = 0.0, 0.0
    for c in range(len(starts) - 1):
        lo, hi = starts[c], starts[c + 1]
        own = edges[lo : hi + 1]
        n = own[-1] - own[0]
        r = (own[1:] - own[:-1]) / n
        s = np.empty(hi - lo)
        best = -np.inf
        for _ in range(ROUNDS):
            f, size = cell_sum(a, own, r, s, bet, m)
            mass = s.sum()
            gap = bet * (np.max(s / r) - mass)
            paid_here = (n + 8) * STEP * (size + bet * mass)
            best = max(best, f - gap - paid_here)
            if gap <= CLOSE * n:
                break
            r = s / mass
        total += best
        paid += abs(best)
    return total - (len(starts) + 8) * STEP * paid


@njit(cache=True, fastmath=False)
def averaged(
    a: Float[np.ndarray, " n"],
    edges: Int[np.ndarray, " k"],
    starts: Int[np.ndarray, " c"],
    bets: Float[np.ndarray, " j"],
    m: float,
) -> float:
    """A lower bound on ln of the mean over the bets of exp(min_r f)."""
    logs = np.array([least(a, edges, starts, bet, m) for bet in bets])
    top = logs.max()
    return top + math.log(np.mean(np.exp(logs - top))) - 64 * STEP
