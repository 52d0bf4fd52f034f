r"""Arrays of balls: every entry with its own proved radius, through sums, products, quotients, exp.

An `Enclosure` goes where a NumPy array goes, so that one formula written for an array library can
be run in floats, differentiated, or proved. The rules follow from the model in `roundoff`;

    a / b - A / B = ((a - A) - (A / B)(b - B)) / b,        |e^x - e^X| <= e^X (e^|x - X| - 1),

and e^t - 1 <= t + t^2 for 0 <= t <= 1.

exponential
    x = n ln 2 + t, |t| <= .35: n times the upper part of ln 2 (33 bits) is exact, so t is off by at
    most 2 u. Taylor's polynomial of degree 13 leaves less than u / 10, Horner's rule costs at most
    gamma_27 e^.35 <= 55 u e^t: together less than 64 u, relative; 2^-46 = 128 u is what is claimed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor.compensated import length_upper
from twofold.rigor.roundoff import U, gamma, up

UPPER, LOWER = 0.6931471804855391, 7.440617110012397e-11
"""ln 2, split."""
EXPONENTIAL = 2.0**-46
FARTHEST = 700.0


@dataclass(frozen=True, eq=False)
class Enclosure:
    """All arrays within ``radius`` of ``mid``, entry by entry."""

    mid: np.ndarray
    radius: np.ndarray

    __array_ufunc__ = None  # an array on the left leaves the operation to us

    def __getitem__(self, key: Any) -> Enclosure:
        return Enclosure(self.mid[key], self.radius[key])

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.mid, self.radius)

    def __add__(self, other: Any) -> Enclosure:
        a, b = self, exact(other)
        with np.errstate(all="ignore"):
            mid = a.mid + b.mid
            return Enclosure(mid, up(a.radius + b.radius + U * np.abs(mid), 3))

    def __sub__(self, other: Any) -> Enclosure:
        return self + -exact(other)

    def __rsub__(self, other: Any) -> Enclosure:
        return exact(other) + -self

    def __mul__(self, other: Any) -> Enclosure:
        a, b = self, exact(other)
        with np.errstate(all="ignore"):
            mid = a.mid * b.mid
            spread = np.abs(a.mid) * b.radius + a.radius * (np.abs(b.mid) + b.radius)
            return Enclosure(mid, up(spread + U * np.abs(mid), 5))

    def __truediv__(self, other: Any) -> Enclosure:
        a, b = self, exact(other)
        with np.errstate(all="ignore"):
            mid = a.mid / b.mid
            least = np.nextafter(np.abs(b.mid) - b.radius, -np.inf)
            spread = up(a.radius + (1 + 4 * U) * np.abs(mid) * b.radius, 4)
            radius = up(spread / np.where(least > 0, least, 1.0) + U * np.abs(mid), 4)
            return Enclosure(mid, np.where(least > 0, radius, np.inf))

    __radd__ = __add__
    __rmul__ = __mul__


def exact(x: Any) -> Enclosure:
    """The floats of ``x`` themselves."""
    if isinstance(x, Enclosure):
        return x
    x = np.asarray(x, dtype=np.float64)
    return Enclosure(x, np.where(np.isfinite(x), 0.0, np.inf))


def exp(x: Any) -> Enclosure:
    """e^x, entry by entry; an infinite radius beyond e^700, all of [0, e^-700] below."""
    x = exact(x)
    with np.errstate(all="ignore"):
        mid, t = exponential(np.clip(x.mid, -FARTHEST, FARTHEST)), x.radius
        radius = up((1 + 2 * EXPONENTIAL) * mid * (t + t * t) + EXPONENTIAL * mid, 6)
        low, wide = x.mid < -FARTHEST, ~((t <= 1) & (x.mid <= FARTHEST))
        mid, radius = np.where(low, 0.0, mid), np.where(low, 1e-303, radius)
        return Enclosure(mid, np.where(wide, np.inf, radius))


def sum(x: Any, axis: int) -> Enclosure:  # noqa: A001 - named as in an array library
    """The sum along one axis, in any order."""
    x = exact(x)
    n = x.mid.shape[axis]
    with np.errstate(all="ignore"):
        spread = np.sum(x.radius, axis) + gamma(n) * np.sum(np.abs(x.mid), axis)
        return Enclosure(np.sum(x.mid, axis), up(spread, 2 * n + 2))


def max(x: Any, axis: int, keepdims: bool) -> Enclosure:  # noqa: A001
    """The largest *middle*: a number near the maximum, for shifts that change nothing."""
    return exact(np.max(exact(x).mid, axis, keepdims=keepdims))


def length(x: Enclosure) -> tuple[Float[np.ndarray, "*N"], Float[np.ndarray, "*N"]]:
    """(|mid| along the last axis, how far |x| can be from it)."""
    K, shape = x.mid.shape[-1], x.mid.shape[:-1]
    with np.errstate(all="ignore"):
        norm, spread = (length_upper(a.reshape(-1, K)).reshape(shape) for a in (x.mid, x.radius))
        return norm, up(spread + 4 * (K + 4) * U * norm, 4)


def exponential(x: Float[np.ndarray, "*N"]) -> Float[np.ndarray, "*N"]:
    """e^x for |x| <= 700, within the relative error 2^-46, by IEEE operations alone."""
    n = np.rint(x / math.log(2.0))
    t = (x - n * UPPER) - n * LOWER
    p = np.full_like(t, 1.0 / math.factorial(13))
    for k in range(12, -1, -1):
        p = p * t + 1.0 / math.factorial(k)
    return np.ldexp(p, n.astype(np.int64))
