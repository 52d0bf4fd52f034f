r"""The capital of a bettor who says that the mean is below m, and the least m that ruins the rest.

K_t(m) = prod_{i<=t} (1 - b_i(m) (l_i - m)),   b_i(m) = min{b_i, .99 / (c - m)},   0 <= l_i <= c.

The bets b_i may depend on l_1 .. l_{i-1} in any way. Every factor is at least .01 and does not
decrease in m, so the set of m that K ever carries to a goal is an up-set: bisection finds its edge.

**Rounding.** No logarithm is taken. The computed factor differs from the exact one by at most
(99 gamma_4 + u) < 399 u of itself: l - m, c - m, .99 / (c - m) and the product cost gamma_4 of
x = b (l - m), where x <= .99 and 1 - x >= .01, or x < 0 and |x| < 1 - x; the multiplication costs u
more. So |log K_computed - log K| < t 2^-44 for t <= 2^40. Scaling by 2^512 is exact, and underflow
of a loss moves a factor by less than 2^-1000.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from numba import njit

Sample = Float[np.ndarray, " n"]
TRUNCATION = 0.99
STEP = 2.0**-44
MARGIN = 1e-9
RESOLUTION = 2.0**-48
_BIG = 2.0**512


def goal(delta: float, count: int) -> float:
    """e^margin / delta: a computed capital that reaches it proves an exact one of 1 / delta."""
    margin = max(MARGIN, count * STEP)
    return (1.0 + margin) / delta


@njit(cache=True)
def bets(loss: Sample, clip: float, weight: Sample) -> Sample:
    """b_i = sqrt(weight_i / var_{i-1}) / c; var from (1/2, 1/4) and Y_1 .. Y_{i-1}, Y = l / c."""
    out = np.empty(len(loss))
    total, squares = 0.5, 0.25
    for i in range(len(loss)):
        out[i] = math.sqrt(weight[i] / (squares / (i + 1))) / clip
        y = loss[i] / clip
        total += y
        squares += (y - total / (i + 2)) ** 2
    return out


@njit(cache=True)
def reaches(loss: Sample, bet: Sample, clip: float, m: float, goal: float) -> bool:
    """Whether max_t K_t(m) >= goal, for m < clip."""
    most = TRUNCATION / (clip - m)
    capital, depth = 1.0, 0
    for i in range(len(loss)):
        capital *= 1.0 - min(bet[i], most) * (loss[i] - m)
        if capital < 1.0 / _BIG:
            capital *= _BIG
            depth += 1
        elif depth > 0 and capital > _BIG:
            capital /= _BIG
            depth -= 1
        if depth == 0 and capital >= goal:
            return True
    return False


@njit(cache=True)
def least(loss: Sample, bet: Sample, clip: float, goal: float, start: float) -> float:
    """An m <= start at which the goal is reached, within 2^-48 of the least; start if none is.

    ``start`` is a point where the goal is known to be reached, or the clip, always an upper bound.
    """
    low, high = 0.0, start
    while high - low > RESOLUTION * high:
        middle = low + 0.5 * (high - low)
        if reaches(loss, bet, clip, middle, goal):
            high = middle
        else:
            low = middle
    return high


@njit(cache=True)
def least_so_far(loss: Sample, bet: Sample, clip: float, goal: float) -> Sample:
    """``least`` of every prefix: O(n^2), each starting from the one before."""
    out = np.empty(len(loss))
    high = clip
    for t in range(len(loss)):
        trial = high * (1.0 - 4.0 * RESOLUTION)
        if reaches(loss[: t + 1], bet, clip, trial, goal):
            high = least(loss[: t + 1], bet, clip, goal, trial)
        out[t] = high
    return out
