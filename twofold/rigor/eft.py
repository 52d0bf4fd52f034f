r"""Error-free transforms: a sum or a product of two floats as float plus float, exactly.

    two_sum:  a + b = s + e            always, unless s overflows          (Knuth)
    two_prod: a b = p + e + 5 eta t    |t| <= 1, t = 0 unless p underflows (Dekker, Veltkamp)

with eta = 2^-1074. No fused multiply-add is used or needed; |a|, |b| <= 2^995 and |a b| <= 2^1020.
They are Numba functions: call them from kernels with fastmath=False, or from Python on floats.
(Ogita, Rump, Oishi 2005, SIAM J. Sci. Comput. 26, 1955-1988.)
"""

from __future__ import annotations

from numba import njit

SPLITTER = 2.0**27 + 1.0


@njit(cache=True, fastmath=False, inline="always")
def two_sum(a, b):
    """(s, e): s = fl(a + b) and a + b = s + e."""
    s = a + b
    z = s - a
    return s, (a - (s - z)) + (b - z)


@njit(cache=True, fastmath=False, inline="always")
def halves(a):
    """(high, low): a = high + low, each of 26 bits at most."""
    c = SPLITTER * a
    high = c - (c - a)
    return high, a - high


@njit(cache=True, fastmath=False, inline="always")
def two_prod(a, b):
    """(p, e): p = fl(a b) and a b = p + e."""
    p = a * b
    a1, a2 = halves(a)
    b1, b2 = halves(b)
    return p, a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2)
