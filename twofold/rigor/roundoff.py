r"""The model of arithmetic that every proof here rests on, and how a computed bound stays a bound.

IEEE 754 double, round to nearest even, gradual underflow. With u = 2^-53 and eta = 2^-1075,

    fl(a + b) = (a + b)(1 + e),        |e| <= u             (a sum never underflows inexactly)
    fl(a * b) = (a * b)(1 + e) + n,    |e| <= u, |n| <= eta  (same for fma and for a / b)

unless it overflows. Consequences used everywhere:

gamma
    a dot product of length k, in any order of summation and with or without fma, errs by at most
    gamma_k |a|'|b| + 2 k eta, where gamma_k = k u / (1 - k u).
up
    let x >= 0 come from non-negative floats through at most k successive roundings on any path,
    all of +, *, / or sqrt of non-negative numbers, where the underflows add up to at most theta in
    the end. The real value is then at most x (1 - u)^-k + theta <= x (1 + 2 k u) + theta, and
    ``x * (1 + 2 (k + 2) u) + theta`` in floating point is at least that: 1 + 2 (k + 2) u is a
    double, and the product and the sum lose at most a factor (1 - u)^2 and eta. k u <= 2^-10.
theta
    2^-1022 pays for 2^50 underflows. What lives near it must be scaled by a power of two first.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from jaxtyping import Float

from twofold.rigor.selftest import require

U = 2.0**-53
ETA = 2.0**-1074
THETA = 2.0**-1022
LONGEST = 2**43

Number = TypeVar("Number", float, np.ndarray)


def gamma(k: int) -> float:
    """The constant k u / (1 - k u), rounded up; k up to 2^43."""
    require()
    _allowed(k)
    return k * U / (1.0 - k * U) * (1.0 + 4 * U)


def up(x: Number, k: int) -> Number:
    """A float at least the real value of ``x >= 0``, which was computed in at most k roundings.

    NaN and inf come back as they are: neither ever turns into a finite bound. Every rounding that
    is proved passes here, so here the arithmetic is asked whether it is the one assumed.
    """
    require()
    _allowed(k)
    return x * (1.0 + 2.0 * (k + 2) * U) + THETA


def above(x: Number) -> Number:
    """The next float upwards: what pays for one rounding of a number that is scaled already."""
    return np.nextafter(x, np.inf)  # pyright: ignore[reportReturnType]


def scaled_up(x: Float[np.ndarray, "*N"], exponent: np.ndarray) -> Float[np.ndarray, "*N"]:
    """At least x 2^exponent: exact, but for overflow to inf and a last subnormal bit."""
    with np.errstate(over="ignore", under="ignore"):
        y = np.ldexp(x, np.clip(exponent, -5000, 5000))
    return np.where((np.abs(y) < THETA) & (x > 0), above(y), y)


def _allowed(k: int) -> None:
    if not 0 <= k <= LONGEST:
        raise ValueError(f"k: error bounds hold for 0 to 2^43 roundings, got {k}; split the sum")
