r"""Numba kernel: for each matrix, the plain floating-point numbers that a norm bound is made of.

Nothing here is a bound yet: `norms.py` and `contraction.py` turn these numbers into one. Every
product of matrices is the classical sum of n products; in which order does not matter to the proof.

    C = 2^-e T           largest entry in [1/2, 1), underflow at most 2^-1074 per entry
    G = fl(C'C)          upper triangle, mirrored
    tau                  a guess at lambda_max(G), a little raised: Lanczos, or given from outside
    R'R ~ fl(tau I - G)  Cholesky, by rows; a pivot that is not positive (or NaN) is a failure
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from numba import njit, prange

from twofold.rigor.ieee import is_ieee
from twofold.rigor.lanczos import top_eigenvalue
from twofold.rigor.loops import (
    LINE,
    add_scaled_abs,
    aligned,
    copied,
    gather,
    largest,
    product,
    product_sums,
    total,
)

# columns of the table of parts, one row per matrix
TAU, GRAM, FACTOR, DIAGONAL, EXPONENT, SOUND, ROWS, COLUMNS, CORNER = range(9)
WIDTH = 9
RAISE = 8.0 * 2.0**-53


@njit(cache=True, fastmath=False)
def normalise(T):
    """T becomes 2^-e T, largest entry in [1/2, 1); returns e and that entry, NaN if not finite."""
    n = T.shape[0]
    tops, poison = np.zeros(n), np.zeros(n)
    for i in range(n):
        row = T[i]
        for j in range(n):
            size = abs(row[j])
            tops[j] = size if size > tops[j] else tops[j]
            poison[j] += 0.0 * size
    top = largest(tops) + largest(poison)
    if not (0.0 < top < math.inf):
        return 0, top
    e = math.frexp(top)[1]
    first = math.ldexp(1.0, -(e // 2))
    second = math.ldexp(1.0, -(e - e // 2))
    for i in range(n):
        row = T[i]
        for j in range(n):
            row[j] = (row[j] * first) * second
    return e, (top * first) * second


@njit(cache=True, fastmath=False)
def gram(C, G):
    """G = fl(C'C), mirrored from its upper triangle; returns || |C|'|C| ||_inf."""
    n = C.shape[0]
    column, sums = np.empty(n), np.zeros(n)
    for i in range(n):
        for k in range(n):
            column[k] = C[k, i]
        first = i - i % LINE
        G[i, first:] = 0.0
        gather(G[i], first, C, column, n)
        add_scaled_abs(sums, 0, total(C[i], 0), C[i])
    for i in range(n):
        for j in range(i):
            G[i, j] = G[j, i]
    return largest(sums)


@njit(cache=True, fastmath=False)
def cholesky(G, tau, R):
    """R'R ~ tau I - G; returns (|| |R|'|R| ||_inf, largest diagonal), NaN on a bad pivot."""
    n = G.shape[0]
    column, sums, diagonal = np.empty(n), np.zeros(n), 0.0
    for j in range(n):
        row, first = R[j], j - j % LINE
        row[first:j] = 0.0
        for i in range(j, n):
            row[i] = -G[j, i]
        row[j] = tau - G[j, j]
        diagonal = max(diagonal, row[j])
        for k in range(j):
            column[k] = -R[k, j]
        gather(row, first, R, column, j)
        row[first:j] = 0.0
        if not row[j] > 0.0:
            return math.nan, diagonal
        root = math.sqrt(row[j])
        inverse = 1.0 / root
        for i in range(j, n):
            row[i] *= inverse
        row[j] = root
        add_scaled_abs(sums, j, total(row, j), row)
    return largest(sums), diagonal


@njit(cache=True, fastmath=False)
def examine(C, G, R, start, guess, part, probe):
    """Fill one row of parts for C, scaled in place; G and R are room to work; failure: tau NaN."""
    n = C.shape[0]
    part[SOUND] = 1.0 if is_ieee(probe) else 0.0
    exponent, top = normalise(C)
    part[EXPONENT], part[TAU] = exponent, top
    if not (0.0 < top < math.inf):
        part[GRAM], part[FACTOR], part[DIAGONAL] = 0.0, 0.0, 0.0
        return
    part[GRAM] = gram(C, G)
    theta = guess if guess > 0.0 else top_eigenvalue(G, start)
    part[TAU] = math.nan
    for attempt in range(3):
        tau = theta * (1.0 + RAISE * (n + 8) * 8.0**attempt)
        part[FACTOR], part[DIAGONAL] = cholesky(G, tau, R)
        if part[FACTOR] >= 0.0:
            part[TAU] = tau
            return


@njit(cache=True, fastmath=False, parallel=True)
def norm_parts(T, start, guess, parts, probe):
    """Parts of ||T_n||_2 for every matrix; guess[n] > 0 replaces Lanczos."""
    for row in prange(T.shape[0]):
        n = T.shape[1]
        examine(copied(T[row]), aligned(n), aligned(n), start, guess[row], parts[row], probe)


@njit(cache=True, fastmath=False)
def contraction_part(P, H, T, part):
    """T = fl(I - PH), and the parts of its rounding error."""
    product(P, H, T)
    corner = 0.0
    for i in range(T.shape[0]):
        row = T[i]
        for j in range(row.size):
            row[j] = -row[j]
        row[i] = 1.0 + row[i]
        corner = max(corner, abs(row[i]))
    part[CORNER] = corner
    part[ROWS], part[COLUMNS] = product_sums(P, H)


@njit(cache=True, fastmath=False, parallel=True)
def contraction_parts(P, H, start, guess, parts, C, probe):
    """Parts of ||I - P_n H_n||_2, P one matrix or N; C keeps fl(I - PH) if it has N rows."""
    n = H.shape[1]
    for row in prange(H.shape[0]):
        index = np.int64(row)
        T, part = aligned(n), parts[index]
        left, right = copied(P[index % P.shape[0]]), copied(H[index])
        contraction_part(left, right, T, part)
        if C.shape[0] > 0:
            C[index] = T
        examine(T, left, right, start, guess[index], part, probe)


@njit(cache=True, fastmath=False, parallel=True)
def product_parts(A, B, start, guess, parts, C, probe):
    """C_n = fl(A_n B_n), with the parts of its norm and of its rounding error."""
    for row in prange(B.shape[0]):
        product(A[row], B[row], C[row])
        parts[row, ROWS], parts[row, COLUMNS] = product_sums(A[row], B[row])
        n = B.shape[1]
        examine(copied(C[row]), aligned(n), aligned(n), start, guess[row], parts[row], probe)


def table(N: int) -> Float[np.ndarray, "N 9"]:
    """An empty table of parts."""
    return np.zeros((N, WIDTH))
