r"""The empirical Bernstein bound on a clipped mean (Maurer and Pontil, one side).

For n >= 2 independent losses of equal law, l_c = min(l, c) in [0, c], with mean R_hat and unbiased
variance V_hat: with probability at least 1 - delta the risk R_c = E l_c is below
R_hat + sqrt(2 V_hat ln(2/delta) / n) + 7 c ln(2/delta) / (3 (n - 1)).

The last term is made of the clip alone; at n = 512 it is nearly all of the bound when the losses
are small, where ``betting`` is about three times closer. Beyond c the bound is true and useless.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from twofold.certificate import Certificate
from twofold.theorems import heldout

STATEMENT = (
    r"R_c \le \widehat R_c + \sqrt{\frac{2\widehat V_c\ln(2/\delta)}{n}}"
    r" + \frac{7c\ln(2/\delta)}{3(n-1)}"
)
REFERENCE = "maurer2009empirical"


def bound(mean: float, variance: float, count: int, *, clip: float, delta: float) -> float:
    """The formula, rounded upward: mean and variance are taken at their word.

    Every operation is on non-negative numbers and ln is taken in balls: at most 9 roundings on any
    path, so 1 + 16 u covers them, and an underflow is far below u times the last term.
    """
    log = heldout.log_ratio(2.0, delta)
    spread = math.sqrt(2.0 * variance * log / count)
    return (mean + spread + 7.0 * clip * log / (3.0 * (count - 1))) * (1 + 16 * 2.0**-53)


def upper(losses: Any, *, clip: float, delta: float) -> float:
    """U with P(E min(l, c) > U) <= delta, in the losses' unit, rounded upward.

    Both sums are correctly rounded. The squares are taken about the rounded mean, which can only
    enlarge their sum; 1 + 16 u covers the 2 and 5 roundings of mean and variance.
    """
    clip, delta = heldout.ceiling(clip), heldout.share(delta)
    loss, c, k = heldout.scaled(heldout.sample(losses, clip), clip)
    n = len(loss)
    if n < 2:
        raise ValueError("losses: one loss has no variance; pass at least two")
    mean = math.fsum(loss) / n
    variance = math.fsum(np.square(loss - mean)) / (n - 1)
    up = 1 + 16 * 2.0**-53
    return heldout.raised(bound(mean * up, variance * up, n, clip=c, delta=delta), k)


def certify(losses: Any, *, clip: float, delta: float, risk: Any = None) -> Certificate:
    """One row per sample in ``losses`` (n,) or (R, n); ``risk`` is the true risk where known."""
    heldout.share(delta)
    return heldout.certify(
        "bernstein", losses, lambda row: upper(row, clip=clip, delta=delta), risk,
        clip=heldout.ceiling(clip), delta=float(delta), kind="confidence", statement=STATEMENT,
        reference=REFERENCE,
    )  # fmt: skip
