"""Rows on the dictionary's row space: B x and |x|, each entry one sum in a fixed order.

Every entry of B x is a sum over p of fused multiply-adds from zero, eight rows and eight columns at
a time; a row's bits do not depend on its neighbours.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numba import njit, prange

from twofold.atlas.waves import compiled
from twofold.decoder.lanes import aligned
from twofold.rigor.tiles import short_strip, tile

ROWS = 64


def project(
    rows: Float[np.ndarray, "N p"], B: Float[np.ndarray, "M p"]
) -> tuple[Float[np.ndarray, "N M"], Float[np.ndarray, " N"]]:
    """(B x, an upper bound of |x|) per row."""
    M, p = B.shape
    across = aligned(np.zeros((p, -(-M // 8) * 8)))
    across[:, :M] = B.T
    b, norm = np.empty((len(rows), M)), np.empty(len(rows))
    _project(np.ascontiguousarray(rows), across, b, norm)
    return b, norm


@njit(cache=True, fastmath=False, parallel=True, error_model="numpy")
def _project(X, across, b, norm):
    N, p = X.shape
    M = b.shape[1]
    grow = 1.0 + (2 * p + 16) * 2.0**-53
    for block in prange((N + ROWS - 1) // ROWS):
        first = block * ROWS
        count = min(ROWS, N - first)
        out = np.empty((ROWS, across.shape[1]))
        _products(X[first : first + count], across, out)
        for r in range(count):
            for m in range(M):
                b[first + r, m] = out[r, m]
            norm[first + r] = np.sqrt(_square(X[first + r])) * grow + 1e-150


@compiled
def _products(X, across, out):
    count, p = X.shape
    whole = count - count % 8
    for j in range(0, across.shape[1], 8):
        for i in range(0, whole, 8):
            tile(X, i * p, p, 1, across, j, p, out, i)
        for i in range(whole, count):
            short_strip(X, i * p, 0, 1, across, j, p, out, i)


@compiled
def _square(x):
    """|x|^2 in eight sums."""
    sums = np.zeros(8)
    whole = len(x) - len(x) % 8
    for i in range(0, whole, 8):
        for lane in range(8):
            sums[lane] += x[i + lane] * x[i + lane]
    for i in range(whole, len(x)):
        sums[i - whole] += x[i] * x[i]
    total = 0.0
    for lane in range(8):
        total += sums[lane]
    return total
