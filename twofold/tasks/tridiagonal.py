r"""Numba kernel: many symmetric tridiagonal systems at once, by L D L' without pivots.

    p_0 = a_0,  l_i = b_{i-1} / p_{i-1},  p_i = a_i - l_i b_{i-1},   A = L diag(p) L'

Eight systems advance together, one in each lane, so that the chain of divisions is one of vectors.
A definite A has p > 0; a system where a pivot is not positive comes out as NaN, never as numbers.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numba import njit

from twofold.rigor import inputs

LANES = 8


@njit(cache=True, fastmath=False, nogil=True)
def gather(source, start, count, target, fill):
    """Columns of ``target`` become the rows start, ..., start + count - 1; the rest ``fill``."""
    for lane in range(LANES):
        for i in range(source.shape[1]):
            target[i, lane] = source[start + lane, i] if lane < count else fill


@njit(cache=True, fastmath=False, nogil=True)
def eliminate(a, b, x):
    """Forwards: ``a`` becomes 1 / pivot and x becomes L^-1 x, lane by lane; smallest pivot."""
    lowest = np.full(LANES, np.inf)
    for lane in range(LANES):
        lowest[lane] = min(lowest[lane], a[0, lane]) if 0.0 < a[0, lane] < np.inf else -1.0
        a[0, lane] = 1.0 / a[0, lane] if a[0, lane] != 0.0 else 0.0
    for i in range(1, a.shape[0]):
        for lane in range(LANES):
            factor = b[i - 1, lane] * a[i - 1, lane]
            pivot = a[i, lane] - factor * b[i - 1, lane]
            x[i, lane] -= factor * x[i - 1, lane]
            good = 0.0 < pivot < np.inf
            lowest[lane] = lowest[lane] if good else -1.0
            a[i, lane] = 1.0 / (pivot if good else 1.0)
    return lowest


@njit(cache=True, fastmath=False, nogil=True)
def substitute(a, b, x):
    """Backwards: x becomes L'^-1 D^-1 x."""
    last = a.shape[0] - 1
    for lane in range(LANES):
        x[last, lane] *= a[last, lane]
    for i in range(last - 1, -1, -1):
        for lane in range(LANES):
            x[i, lane] = a[i, lane] * (x[i, lane] - b[i, lane] * x[i + 1, lane])


@njit(cache=True, fastmath=False, nogil=True)
def sweep(main, off, right, out):
    """All systems, eight at a time."""
    N, n = right.shape
    a, b, x = np.empty((n, LANES)), np.empty((max(n - 1, 1), LANES)), np.empty((n, LANES))
    for start in range(0, N, LANES):
        count = min(LANES, N - start)
        gather(main, start, count, a, 1.0)
        gather(off, start, count, b, 0.0)
        gather(right, start, count, x, 0.0)
        lowest = eliminate(a, b, x)
        substitute(a, b, x)
        for lane in range(count):
            for i in range(n):
                out[start + lane, i] = x[i, lane] if lowest[lane] > 0.0 else np.nan


def solve(main: np.ndarray, off: np.ndarray, right: np.ndarray) -> Float[np.ndarray, "N n"]:
    """Solutions of N definite systems: diagonals (N,n), off-diagonals (N,n-1), right sides (N,n).

    NaN where A is not positive definite in floats or the input is not finite.
    """
    right = inputs.real("right", right, ndim=2, finite=False)
    N, n = right.shape
    if n == 0:
        raise ValueError(f"right: nothing to solve in shape {right.shape}; pass n >= 1 unknowns")
    main = inputs.real("main", main, shape=(N, n), finite=False)
    off = inputs.real("off", off, shape=(N, n - 1), finite=False)
    out = np.empty((N, n))
    sweep(main, off, right, out)
    return out
