"""Numba kernel: the arithmetic of the thread that runs it, checked beside the work itself."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numba import njit


@njit(cache=True, fastmath=False)
def is_ieee(probe):
    """Round to nearest even, and subnormals neither flushed nor read as zero, in this thread."""
    one, eps, tiny, small = probe[0], probe[1], probe[2], probe[3]
    rounding = one + eps / 2 == one and (one + eps) + eps / 2 == one + 2 * eps
    rounding = rounding and -one - eps / 2 == -one and one + eps * (0.5 + eps) == one + eps
    kept = tiny > 0.0 and small * (one / 2) > 0.0 and (small + tiny) - small == tiny
    return rounding and kept and tiny * one == tiny


def probe() -> Float[np.ndarray, " 4"]:
    """1, eps, the smallest subnormal and normal number: from memory, so that nothing is folded."""
    return np.array([1.0, 2.0**-52, 2.0**-1074, 2.0**-1022])
