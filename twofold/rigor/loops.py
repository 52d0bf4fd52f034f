"""Numba kernels of the inner loops: plain floating-point sums and products, whatever their order.

The inner loop always runs along contiguous memory; eight rows are gathered at a time, so that one
store serves eight products, and rows begin on cache lines. Only classical sums of products are
used, which is all a proof needs.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LINE = 8


@njit(cache=True, fastmath=False)
def aligned(n):
    """An empty (n, n) matrix that begins on a cache line: gathering is 1.6 times as fast."""
    raw = np.empty(n * n + LINE)
    first = (-(raw.ctypes.data // 8)) % LINE
    return raw[first : first + n * n].reshape((n, n))


@njit(cache=True, fastmath=False)
def copied(T):
    """T on cache lines."""
    out = aligned(T.shape[0])
    out[:, :] = T
    return out


@njit(cache=True, fastmath=False, inline="never")
def gather(out, start, M, c, stop):
    """out[start:] += c[:stop] @ M[:stop, start:]."""
    first, n = np.uint64(start), np.uint64(M.shape[1])  # unsigned: no index counts from the end
    for block in range(stop // 8):
        k = 8 * block
        a0, a1, a2, a3 = c[k], c[k + 1], c[k + 2], c[k + 3]
        a4, a5, a6, a7 = c[k + 4], c[k + 5], c[k + 6], c[k + 7]
        for j in range(first, n):
            out[j] = (
                out[j] + a0 * M[k, j] + a1 * M[k + 1, j] + a2 * M[k + 2, j] + a3 * M[k + 3, j]
                + a4 * M[k + 4, j] + a5 * M[k + 5, j] + a6 * M[k + 6, j] + a7 * M[k + 7, j]
            )  # fmt: skip
    for k in range(stop - stop % 8, stop):
        a = c[k]
        for j in range(first, n):
            out[j] += a * M[k, j]


@njit(cache=True, fastmath=False)
def dot(x, y):
    """The product x'y in four running sums."""
    a = b = c = d = 0.0
    n = x.size
    for i in range(0, n - 3, 4):
        a += x[i] * y[i]
        b += x[i + 1] * y[i + 1]
        c += x[i + 2] * y[i + 2]
        d += x[i + 3] * y[i + 3]
    for i in range(n - n % 4, n):
        a += x[i] * y[i]
    return (a + b) + (c + d)


@njit(cache=True, fastmath=False)
def total(x, start):
    """Sum of |x[start:]| in four running sums."""
    a = b = c = d = 0.0
    y = x[start:]
    n = y.size
    for i in range(0, n - 3, 4):
        a += abs(y[i])
        b += abs(y[i + 1])
        c += abs(y[i + 2])
        d += abs(y[i + 3])
    for i in range(n - n % 4, n):
        a += abs(y[i])
    return (a + b) + (c + d)


@njit(cache=True, fastmath=False)
def weighted(x, w):
    """Sum of |x| w in four running sums."""
    a = b = c = d = 0.0
    n = x.size
    for i in range(0, n - 3, 4):
        a += abs(x[i]) * w[i]
        b += abs(x[i + 1]) * w[i + 1]
        c += abs(x[i + 2]) * w[i + 2]
        d += abs(x[i + 3]) * w[i + 3]
    for i in range(n - n % 4, n):
        a += abs(x[i]) * w[i]
    return (a + b) + (c + d)


@njit(cache=True, fastmath=False)
def largest(x):
    """The largest entry of x >= 0, NaN if any entry is NaN."""
    top = 0.0
    for value in x:
        if not value <= top:
            top = value
            if value != value:
                return value
    return top


@njit(cache=True, fastmath=False)
def add_scaled_abs(out, start, weight, row):
    """out[start:] += weight |row[start:]|."""
    o, r = out[start:], row[start:]
    for j in range(o.size):
        o[j] += weight * abs(r[j])


@njit(cache=True, fastmath=False)
def product(P, H, out):
    """Fill out = fl(P H)."""
    for i in range(out.shape[0]):
        out[i, :] = 0.0
        gather(out[i], 0, H, P[i], H.shape[0])


@njit(cache=True, fastmath=False)
def product_sums(P, H):
    """|| |P||H| ||_inf and || |P||H| ||_1."""
    n = H.shape[0]
    sums, left = np.empty(n), np.zeros(n)
    below, beside = np.empty(n), np.zeros(n)
    for k in range(n):
        sums[k] = total(H[k], 0)
    for i in range(n):
        add_scaled_abs(left, 0, 1.0, P[i])
        below[i] = weighted(P[i], sums)
    for k in range(n):
        add_scaled_abs(beside, 0, left[k], H[k])
    return largest(below), largest(beside)
