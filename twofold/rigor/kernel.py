r"""Numba kernel: for each matrix, the plain floating-point numbers that a norm bound is made of.

Nothing here is a bound yet: `norms.py` and `contraction.py` turn these numbers into one. Every
product of matrices is the classical sum of n products; in which order does not matter to the proof.

    C = 2^-e T           largest entry in [1/2, 1), underflow at most 2^-1074 per entry
    G = fl(C'C)          upper triangle, mirrored
    tau                  a guess at lambda_max(G), a little raised: Lanczos, or given from outside
    R'R ~ fl(tau I - G)  Cholesky, by blocks of eight rows; a pivot that is not positive (or NaN)
                         is a failure

Matrices live in rooms of `tiles.py`, padded with zeros; what is padding costs no rounding.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from numba import njit, prange

from twofold.rigor.ieee import is_ieee
from twofold.rigor.lanczos import top_eigenvalue
from twofold.rigor.tiles import (
    abs_combined,
    abs_rows,
    copied,
    largest,
    room,
    subtract_tile,
    tile,
    vector,
)

# columns of the table of parts, one row per matrix
TAU, GRAM, FACTOR, DIAGONAL, EXPONENT, SOUND, ROWS, COLUMNS, CORNER = range(9)
WIDTH = 9
RAISE = 8.0 * 2.0**-53


@njit(cache=True, fastmath=False)
def normalise(T, n):
    """T becomes 2^-e T, largest entry in [1/2, 1); returns e and that entry, NaN if not finite."""
    tops, poison = vector(n), vector(n)
    columns = np.uint64(T.shape[0])
    for i in range(n):
        for j in range(columns):
            size = abs(T[i, j])
            tops[0, j] = size if size > tops[0, j] else tops[0, j]
            poison[0, j] += 0.0 * size
    top = largest(tops) + largest(poison)
    if not (0.0 < top < math.inf):
        return 0, top
    e = math.frexp(top)[1]
    first = math.ldexp(1.0, -(e // 2))
    second = math.ldexp(1.0, -(e - e // 2))
    for i in range(n):
        for j in range(columns):
            T[i, j] = (T[i, j] * first) * second
    return e, (top * first) * second


@njit(cache=True, fastmath=False)
def abs_square(C, n):
    """|| |C|'|C| ||_inf."""
    ones, rows, columns = vector(n), vector(n), vector(n)
    ones[:] = 1.0
    for i in range(0, C.shape[0], 8):
        abs_rows(C, i, ones, rows)
    abs_combined(rows, C, n, columns)
    return largest(columns)


@njit(cache=True, fastmath=False)
def gram(C, n, G):
    """G = fl(C'C), mirrored from the blocks above its diagonal."""
    m, across = C.shape[0], C.shape[1]
    for j in range(0, m, 8):
        for i in range(0, j + 8, 8):
            tile(C, i, 1, across, C, j, n, G, i)
    for j in range(8, m, 8):
        for i in range(j, j + 8):
            for k in range(j):
                G[i, k] = G[k, i]


@njit(cache=True, fastmath=False)
def cholesky(G, n, tau, R):
    """R'R ~ tau I - G; returns (|| |R|'|R| ||_inf, largest diagonal), NaN on a bad pivot."""
    m, across, diagonal = np.uint64(R.shape[0]), R.shape[1], 0.0
    for first in range(0, n, 8):
        for i in range(first, first + 8):
            R[i, :first] = 0.0
            for j in range(np.uint64(first), m):
                R[i, j] = -G[i, j]
            R[i, i] = tau - G[i, i]
            if i < n:
                diagonal = max(diagonal, R[i, i])
        if first:
            for j in range(first, R.shape[0], 8):
                subtract_tile(R, first, 1, across, R, j, first, R, first)
        for i in range(first, min(first + 8, n)):
            if not eliminated(R, np.uint64(first), np.uint64(i), m):
                return math.nan, diagonal
        for i in range(n, first + 8):
            R[i, :] = 0.0
    return abs_square(R, n), diagonal


@njit(cache=True, fastmath=False)
def eliminated(R, first, i, m):
    """Row i of R finished with the rows first, ..., i - 1 above it; False on a bad pivot."""
    for k in range(first, i):
        a = R[k, i]
        for j in range(i, m):
            R[i, j] -= a * R[k, j]
    R[i, first:i] = 0.0
    if not R[i, i] > 0.0:
        return False
    root = math.sqrt(R[i, i])
    inverse = 1.0 / root
    for j in range(i, m):
        R[i, j] *= inverse
    R[i, i] = root
    return True


@njit(cache=True, fastmath=False)
def examine(C, n, G, R, start, guess, part, probe):
    """Fill one row of parts for C, scaled in place; G and R are room to work; failure: tau NaN."""
    part[SOUND] = 1.0 if is_ieee(probe) else 0.0
    exponent, top = normalise(C, n)
    part[EXPONENT], part[TAU] = exponent, top
    if not (0.0 < top < math.inf):
        part[GRAM], part[FACTOR], part[DIAGONAL] = 0.0, 0.0, 0.0
        return
    gram(C, n, G)
    part[GRAM] = abs_square(C, n)
    theta = guess if guess > 0.0 else top_eigenvalue(G, n, start)
    part[TAU] = math.nan
    for attempt in range(3):
        tau = theta * (1.0 + RAISE * (n + 8) * 8.0**attempt)
        part[FACTOR], part[DIAGONAL] = cholesky(G, n, tau, R)
        if part[FACTOR] >= 0.0:
            part[TAU] = tau
            return


@njit(cache=True, fastmath=False, parallel=True)
def norm_parts(T, start, guess, parts, probe):
    """Parts of ||T_n||_2 for every matrix; guess[n] > 0 replaces Lanczos."""
    for row in prange(T.shape[0]):
        n = T.shape[1]
        examine(copied(T[row]), n, room(n), room(n), start, guess[row], parts[row], probe)


@njit(cache=True, fastmath=False)
def product(A, B, n, out):
    """Fill out = fl(A B)."""
    across = A.shape[1]
    for j in range(0, A.shape[0], 8):
        for i in range(0, A.shape[0], 8):
            tile(A, i * across, across, 1, B, j, n, out, i)


@njit(cache=True, fastmath=False)
def product_sums(A, B, n):
    """|| |A||B| ||_inf and || |A||B| ||_1."""
    ones, left, right = vector(n), vector(n), vector(n)
    ones[:] = 1.0
    for i in range(0, A.shape[0], 8):
        abs_rows(B, i, ones, left)
    for i in range(0, A.shape[0], 8):
        abs_rows(A, i, left, right)
    rows = largest(right)
    abs_combined(ones, A, n, left)
    abs_combined(left, B, n, right)
    return rows, largest(right)


@njit(cache=True, fastmath=False)
def contraction_part(P, H, n, T, part):
    """T = fl(I - PH), and the parts of its rounding error."""
    product(P, H, n, T)
    corner, columns = 0.0, np.uint64(T.shape[0])
    for i in range(n):
        for j in range(columns):
            T[i, j] = -T[i, j]
        T[i, i] = 1.0 + T[i, i]
        corner = max(corner, abs(T[i, i]))
    part[CORNER] = corner
    part[ROWS], part[COLUMNS] = product_sums(P, H, n)


@njit(cache=True, fastmath=False, parallel=True)
def contraction_parts(P, H, start, guess, parts, C, probe):
    """Parts of ||I - P_n H_n||_2, P one matrix or N; C keeps fl(I - PH) if it has N rows."""
    n = H.shape[1]
    for row in prange(H.shape[0]):
        index = np.int64(row)
        T, part = room(n), parts[index]
        left, right = copied(P[index % P.shape[0]]), copied(H[index])
        contraction_part(left, right, n, T, part)
        if C.shape[0] > 0:
            C[index] = T[:n, :n]
        examine(T, n, left, right, start, guess[index], part, probe)


@njit(cache=True, fastmath=False, parallel=True)
def product_parts(A, B, start, guess, parts, C, probe):
    """C_n = fl(A_n B_n), with the parts of its norm and of its rounding error."""
    n = B.shape[1]
    for row in prange(B.shape[0]):
        left, right, T = copied(A[row]), copied(B[row]), room(n)
        product(left, right, n, T)
        parts[row, ROWS], parts[row, COLUMNS] = product_sums(left, right, n)
        C[row] = T[:n, :n]
        examine(T, n, left, right, start, guess[row], parts[row], probe)


def table(N: int) -> Float[np.ndarray, "N 9"]:
    """An empty table of parts."""
    return np.zeros((N, WIDTH))
