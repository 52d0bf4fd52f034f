"""Numba kernel: approximate inverses by Gauss and Jordan. No proof rests on their accuracy."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from numba import njit, prange


@njit(cache=True, fastmath=False)
def eliminate(A, order):
    """A becomes its inverse in place, up to the column order; False if a pivot is not a number."""
    n = A.shape[0]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        order[k] = best
        for j in range(n):
            A[k, j], A[best, j] = A[best, j], A[k, j]
        pivot = A[k, k]
        if not (0.0 < abs(pivot) < math.inf):
            return False
        A[k, k] = 1.0
        above = A[k]
        for j in range(n):
            above[j] /= pivot
        for i in range(n):
            row, factor = A[i], A[i, k]
            if i != k and factor != 0.0:
                row[k] = 0.0
                for j in range(n):
                    row[j] -= factor * above[j]
    return True


@njit(cache=True, fastmath=False, parallel=True)
def invert(A):
    """Every A_n becomes its inverse in place, all NaN where it has none in floats."""
    n = A.shape[1]
    for index in prange(A.shape[0]):
        order = np.empty(n, dtype=np.int64)
        if not eliminate(A[index], order):
            A[index, :, :] = math.nan
            continue
        for k in range(n - 1, -1, -1):
            for i in range(n):
                first, second = A[index, i, k], A[index, i, order[k]]
                A[index, i, k], A[index, i, order[k]] = second, first


def approximate_inverse(H: Float[np.ndarray, "N K K"]) -> Float[np.ndarray, "N K K"]:
    """R ~ H^-1, all NaN for a matrix that is singular in floats."""
    R = H.copy()
    with np.errstate(all="ignore"):
        invert(R)
    return R
