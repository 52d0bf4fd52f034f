r"""The natural logarithm with a proved error: |log(x) - ln x| <= 10 u |log(x)|.

No library promises its last bits, so the logarithm is made of operations whose rounding is known.
x = 2^e m with m in [sqrt(1/2), sqrt(2)), f = m - 1 (exact), s = f / (2 + f), z = s^2 <= .02945,

    ln m = 2 s (1 + z/3 + z^2/5 + ... + z^12/25 + r),      0 <= r < z^13 < 2^-66.

Proof. s errs by 2 u of itself, z by 5 u. The sum after the 1 is below .0102, all of its terms are
positive, and each went through fewer than 100 roundings, those of z and of 1/(2k+1) included: it
errs by less than gamma_100 * .0102 + 2^-66 < 1.1 u, adding the 1 rounds once more, the product with
2 s once more: ln m is off by less than 5.5 u of itself. e times the upper 32 bits of ln 2 is exact,
e times the rest is below 2^-20 and off by 2 u of itself; the two last sums round once each. As
|ln m| <= |ln x| and, unless e = 0, |ln x| > .34, the total is below 10 u |ln x|, and stays below
10 u of the computed one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor.roundoff import U
from twofold.rigor.selftest import require

SHARE = 10 * U
_HIGH = float.fromhex("0x1.62e42fee00000p-1")
_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_TERMS = 13


def log(x: Any) -> Float[np.ndarray, "*N"]:
    """The logarithm of positive finite floats within ``SHARE`` of itself; NaN for all others."""
    require()
    x = np.asarray(x, dtype=np.float64)
    good = (x > 0) & np.isfinite(x)
    m, e = np.frexp(np.where(good, x, 1.0))
    low = m < np.sqrt(0.5)
    m, e = np.where(low, 2 * m, m), np.where(low, e - 1, e)
    f = m - 1.0
    s = f / (2.0 + f)
    z, tail = s * s, np.zeros_like(s)
    for k in range(_TERMS - 1, 0, -1):
        tail = z * (1.0 / (2 * k + 1) + tail)
    inner = 2.0 * s * (1.0 + tail) + e * _LOW
    return np.where(good, e * _HIGH + inner, np.nan)
