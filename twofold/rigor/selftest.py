"""Is this machine's arithmetic the one that the proofs assume? Where it is not, proofs refuse.

The flags of the floating-point unit belong to a thread, and any library that is loaded may change
them: the kernels look at them in the very thread that works (`ieee.py`), the rest is checked once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import get_num_threads, njit, prange

from twofold.rigor.ieee import is_ieee, probe

TINY = 2.0**-1074
EPS = 2.0**-52


@dataclass(frozen=True)
class Check:
    """One assumption about the arithmetic, and whether it was met."""

    name: str
    passed: bool
    assumed: str


def checks() -> list[Check]:
    """Every assumption of the proofs, checked now."""
    return [Check(name, bool(check()), assumed) for name, check, assumed in _checks()]


def require(flags: np.ndarray | None = None) -> None:
    """Return if proofs may be given on this machine, else ArithmeticError naming what failed.

    ``flags`` are what the kernels saw of their own threads while they worked.
    """
    failed = list(_once())
    if not is_ieee(probe()) or (flags is not None and not np.all(flags)):
        failed.append("worker threads")
    if failed:
        raise ArithmeticError(
            f"no proof on this machine: its arithmetic failed {', '.join(failed)}; "
            "unload libraries built with -ffast-math, unset fast-math flags, see checks()"
        )


@lru_cache(maxsize=1)
def _once() -> tuple[str, ...]:
    return tuple(check.name for check in checks() if not check.passed)


def _checks() -> Iterator[tuple[str, Callable[[], object], str]]:
    yield "numpy rounding", lambda: nearest_even(_numpy()), "round to nearest, ties to even"
    yield "numpy subnormals", lambda: gradual(_numpy()), "subnormals are neither flushed nor zero"
    yield "worker threads", threads_are_ieee, "the same in every thread of the compiled kernels"
    yield "no contraction", lambda: not contracted(), "a*b + c rounds twice where it is written so"
    yield "no reassociation", lambda: not reassociated(), "(a + b) - a is computed as written"
    yield "no reciprocals", lambda: not reciprocal(), "a / b is rounded once, from the quotient"
    yield "NaN and inf", lambda: special(*_numpy()[3:]), "NaN compares false, inf - inf is NaN"
    yield "compiled NaN and inf", lambda: special(np.nan, np.inf), "no fastmath in the kernels"
    yield "square root", roots, "sqrt is correctly rounded"
    yield "matrix product", products, "BLAS sums classically, within gamma_n |A||B|"
    yield "power of two", scalings, "ldexp is exact up to overflow and underflow"


def _numpy() -> tuple[float, ...]:
    """1, eps, tiny, NaN, inf through memory, so that nothing is folded away beforehand."""
    return tuple(np.array([1.0, EPS, TINY, np.nan, np.inf]))


def nearest_even(values: tuple[float, ...]) -> bool:
    """1 + eps/2 -> 1, (1 + eps) + eps/2 -> 1 + 2 eps, and the same below zero."""
    one, eps = values[0], values[1]
    half = eps / 2
    up = one + eps
    if not up > one:
        return False
    above = one + half * (1 + eps) == up and -one - half * (1 + eps) == -up
    return one + half == one and up + half == one + 2 * eps and -one - half == -one and above


def gradual(values: tuple[float, ...]) -> bool:
    """The smallest subnormal survives sums, products, and as an operand."""
    one, _, tiny = values[:3]
    small = np.float64(2.0**-1022)
    return bool(tiny > 0 and tiny * one > 0 and small / 2 > 0 and (small + tiny) - small == tiny)


@njit(cache=True, fastmath=False, parallel=True)
def _everywhere(values, passed):
    for i in prange(passed.size):
        passed[i] = is_ieee(values)


def threads_are_ieee() -> bool:
    """Rounding and subnormals in each worker thread of the compiled kernels."""
    passed = np.zeros(4 * get_num_threads(), dtype=np.bool_)
    _everywhere(probe(), passed)
    return bool(np.all(passed))


@njit(cache=True, fastmath=False)
def _multiply_add(a, b, c, out):
    for i in range(out.size):
        out[i] = a[i] * b[i] + c[i]


def contracted() -> bool:
    """Whether the compiler fused a*b + c: then (1 + eps)(1 - eps) - 1 is not 0."""
    a, b, c, out = np.full(19, 1 + EPS), np.full(19, 1 - EPS), np.full(19, -1.0), np.empty(19)
    _multiply_add(a, b, c, out)
    return bool(np.any(out != (a * b) + c)) or bool(np.any(out != 0.0))


@njit(cache=True, fastmath=False)
def _lost(a, b, out):
    for i in range(out.size):
        out[i] = (a[i] + b[i]) - a[i]


def reassociated() -> bool:
    """Whether (a + b) - a came out as b, or a sum in a loop was reordered."""
    a, b, out = np.full(19, 1.0), np.full(19, EPS / 4), np.empty(19)
    _lost(a, b, out)
    return bool(np.any(out != 0.0)) or _running(np.array([1.0] + [EPS / 2] * 63)) != 1.0


@njit(cache=True, fastmath=False)
def _running(x):
    s = 0.0
    for i in range(x.size):
        s += x[i]
    return s


@njit(cache=True, fastmath=False)
def _divide(a, b, out):
    for i in range(out.size):
        out[i] = a[i] / b


def reciprocal() -> bool:
    """Whether a / b was turned into a * (1 / b): 5 / 49 and others then differ in the last bit."""
    a, out = np.arange(1.0, 40.0), np.empty(39)
    _divide(a, 49.0, out)
    return any(float(x).as_integer_ratio() != (k / 49).as_integer_ratio() for x, k in
               zip(out, range(1, 40), strict=True))  # fmt: skip


@njit(cache=True, fastmath=False)
def special(nan, inf):
    """NaN is unequal to itself and below nothing; inf - inf and 0 inf are NaN."""
    difference, product = inf - inf, 0.0 * inf
    odd = difference != difference and product != product and nan != nan
    return odd and not nan < inf and not nan > 0.0 and not nan <= nan and inf > 1.0


def roots() -> bool:
    """Roots of exact squares, and of their neighbours below, round rightly."""
    n = np.arange(2.0**26 - 50, 2.0**26)
    near = np.sqrt(n * n - 1)
    return bool(np.all(np.sqrt(n * n) == n) and np.all(near <= n) and np.all(near > n - 1))


def products() -> bool:
    """A product whose exact value is known, at a size where BLAS blocks: Strassen would fail it."""
    K = 96
    small = np.ones((K, K))
    small[: K // 2] *= 2.0**-60
    right = np.ones((K, K))
    exact = np.where(np.arange(K)[:, None] < K // 2, K * 2.0**-60, K)
    return bool(np.all(small @ right == exact))


def scalings() -> bool:
    """Scaling at both ends of the range."""
    x = np.array([1.0 + EPS, TINY])
    there = np.ldexp(np.ldexp(x, [900, 2000]), [-900, -2000])
    with np.errstate(over="ignore"):
        return bool(np.all(there == x)) and bool(np.isinf(np.ldexp(1.0, 1024)))
