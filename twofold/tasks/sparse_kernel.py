"""Numba kernel: products of many matrices on one sparse symmetric pattern, each with its vector."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, fastmath=False, nogil=True)
def products(indptr, indices, data, v, out):
    """out[n] = A_n v[n], the entries of A_n in row n of ``data``."""
    for task in range(len(v)):
        for i in range(v.shape[1]):
            total = 0.0
            for k in range(indptr[i], indptr[i + 1]):
                total += data[task, k] * v[task, indices[k]]
            out[task, i] = total


def matvec(pattern: tuple, a: np.ndarray, v: np.ndarray) -> np.ndarray:
    """(sum_p a_np E_p) v_n for every row, 16 rows' entries at a time.

    ``pattern`` is (indptr, indices, entries of each E_p).
    """
    indptr, indices, entries = pattern
    v, out = np.ascontiguousarray(v), np.empty(v.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, len(v), 16):
            rows = slice(start, start + 16)
            products(indptr, indices, a[rows] @ entries, v[rows], out[rows])
    return out
