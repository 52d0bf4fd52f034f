"""The loops behind the sensitivity of x_L to a shared P: blocks of tasks, forwards and back.

Row b of a block's arrays is its task b, so that P meets all tasks of a block in one product of
matrices; H meets its own task's row, read along its rows going forwards (H x) and along its columns
coming back (H' m). What the way back needs, r_l and lambda_{l+1} of every step, stays in the cache
until one product of matrices adds all of it to the sum of lambda r'.

Blocks are dealt out to a number of chunks that depends on the problem alone, and each chunk has a
sum of its own: the bits do not depend on how many threads there are.
"""

from __future__ import annotations

import numba
import numpy as np
from numba import prange

from twofold.rigor.tiles import combined, room, row_sums, subtract_tile, tile

CACHE = 5 << 17
CHUNKS = 8
MOST = 64
SMALL = 1 << 21
compiled = numba.njit(fastmath=False, cache=True, nogil=True)


def block_size(K: int) -> int:
    """Tasks per block, a multiple of 8: their H fill about two thirds of a megabyte."""
    fitting = CACHE // (8 * (K + 8) ** 2)
    return 8 * min(max(fitting // 8, 1), MOST // 8)


def small(N: int, K: int, depth: int) -> bool:
    """Whether one thread is done before another is awake: a fraction of a millisecond."""
    return N * K * K * depth < SMALL


def chunks(N: int, K: int) -> int:
    """How many sums of lambda r' are kept apart."""
    return min(-(-N // block_size(K)), CHUNKS)


@compiled
def load(source, target):
    """Copy one matrix into its padded room."""
    K = np.uint64(source.shape[0])
    for i in range(K):
        for j in range(K):
            target[i, j] = source[i, j]


@compiled
def rooms(B, K):
    """B rooms that begin on a cache line, filled with zeros."""
    rows = (K + 7) // 8 * 8
    width = rows + 8 - rows % 16
    raw = np.zeros(B * rows * width + 8)
    first = (-(raw.ctypes.data // 8)) % 8
    return raw[first : first + B * rows * width].reshape((B, rows, width))


@compiled
def lines(count, K):
    """Rows that begin on a cache line, padded to whole vectors, filled with zeros."""
    width = (K + 7) // 8 * 8
    raw = np.zeros(count * width + 8)
    first = (-(raw.ctypes.data // 8)) % 8
    return raw[first : first + count * width].reshape((count, width))


@compiled
def rows_product(X, first, count, M, K, Y):
    """Y[b] = X[first + b] M for b < count: all rows by the one matrix M."""
    width = X.shape[1]
    for b in range(0, count, 8):
        for j in range(0, width, 8):
            tile(X, (first + b) * width, width, 1, M, j, K, Y, b)


@compiled
def images(A, X, count, Y):
    """Y[b] = A[b] X[b] for b < count."""
    for b in range(count):
        for i in range(0, X.shape[1], 8):
            row_sums(A[b], i, X[b : b + 1], Y[b : b + 1])


@compiled
def residuals(A, d, start, count, X, Y, R, first):
    """R[first + b] = d - A X[b], through Y; rows without a task stay as they are."""
    images(A, X, count, Y)
    for b in range(count):
        for k in range(np.uint64(d.shape[1])):
            R[first + b, k] = d[start + b, k] - Y[b, k]


@compiled
def add(X, Y):
    """X becomes X + Y."""
    for b in range(X.shape[0]):
        for k in range(np.uint64(X.shape[1])):
            X[b, k] += Y[b, k]


@compiled
def subtract(X, Y):
    """X becomes X - Y."""
    for b in range(X.shape[0]):
        for k in range(np.uint64(X.shape[1])):
            X[b, k] -= Y[b, k]


@compiled
def forwards(A, Pt, d, start, count, depth, X, Y, R):
    """x_L of a block in X, and r_0, ..., r_{L-1} in the rows l B + b of R."""
    B, K = X.shape[0], d.shape[1]
    X[:], R[:] = 0.0, 0.0
    for ell in range(depth):
        residuals(A, d, start, count, X, Y, R, ell * B)
        rows_product(R, ell * B, B, Pt, K, Y)
        add(X, Y)


@compiled
def begin(X, given, fitted, start, count, x, Lam, first):
    """Write x_L to ``x`` and lambda_L into the rows first + b of Lam."""
    for b in range(count):
        for k in range(np.uint64(x.shape[1])):
            x[start + b, k] = X[b, k]
            if fitted > 0.0:
                Lam[first + b, k] = fitted * (X[b, k] - given[start + b, k])
            else:
                Lam[first + b, k] = given[start + b, k]


@compiled
def backwards(A, P, count, depth, Y, Z, Lam):
    """From lambda_L in the last rows of Lam: lambda_{l+1} in the rows l B + b.

    lambda_l = lambda_{l+1} - H' (P' lambda_{l+1}).
    """
    B, K = Y.shape[0], P.shape[0]
    for ell in range(depth - 1, 0, -1):
        rows_product(Lam, ell * B, B, P, A.shape[1], Y)
        for b in range(count):
            combined(Y[b : b + 1], A[b], K, Z)
            for k in range(np.uint64(K)):
                Lam[(ell - 1) * B + b, k] = Lam[ell * B + b, k] - Z[0, k]


@compiled
def subtract_outer(Lam, R, D):
    """D - sum over the rows of lambda r'."""
    width = Lam.shape[1]
    for i in range(0, width, 8):
        for j in range(0, width, 8):
            subtract_tile(Lam, i, 1, width, R, j, Lam.shape[0], D, i)


@compiled
def padded(M, K):
    """M and M' in rooms of their own."""
    straight, turned = room(K), room(K)
    for i in range(K):
        for j in range(K):
            straight[i, j] = M[i, j]
            turned[j, i] = M[i, j]
    return straight, turned


@compiled
def pull_chunk(c, P, H, d, given, fitted, depth, B, x, D):
    """Chunk c of `pull`."""
    N, K = d.shape
    straight, turned = padded(P, K)
    A, X, Y, Z = rooms(B, K), lines(B, K), lines(B, K), lines(1, K)
    R, Lam, total = lines(depth * B, K), lines(depth * B, K), room(K)
    total[:] = 0.0
    for start in range(c * B, N, D.shape[0] * B):
        count = min(B, N - start)
        for b in range(count):
            load(H[start + b], A[b])
        forwards(A, turned, d, start, count, depth, X, Y, R)
        Lam[:] = 0.0
        begin(X, given, fitted, start, count, x, Lam, (depth - 1) * B)
        backwards(A, straight, count, depth, Y, Z, Lam)
        subtract_outer(Lam, R, total)
    D[c] = total[:K, :K]


@compiled
def push_chunk(c, P, H, d, turn, depth, B, several, x, moved):
    """Chunk c of ``several`` of `push`."""
    N, K = d.shape
    turned, bent = padded(P, K)[1], padded(turn, K)[1]
    A, X, Y = rooms(B, K), lines(B, K), lines(B, K)
    V, R = lines(B, K), lines(B, K)
    for start in range(c * B, N, several * B):
        count = min(B, N - start)
        for b in range(count):
            load(H[start + b], A[b])
        X[:], V[:], R[:] = 0.0, 0.0, 0.0
        for _ in range(depth):
            images(A, V, count, R)
            rows_product(R, 0, B, turned, K, Y)
            subtract(V, Y)
            residuals(A, d, start, count, X, Y, R, 0)
            rows_product(R, 0, B, bent, K, Y)
            add(V, Y)
            rows_product(R, 0, B, turned, K, Y)
            add(X, Y)
        for b in range(count):
            for k in range(K):
                x[start + b, k] = X[b, k]
                moved[start + b, k] = V[b, k]


@compiled
def pull_alone(P, H, d, given, fitted, depth, B, x, D):
    """`pull` on one thread: where waking another costs more than it saves."""
    for c in range(D.shape[0]):
        pull_chunk(c, P, H, d, given, fitted, depth, B, x, D)


@compiled
def push_alone(P, H, d, turn, depth, B, several, x, moved):
    """`push` on one thread."""
    for c in range(several):
        push_chunk(c, P, H, d, turn, depth, B, several, x, moved)


@numba.njit(fastmath=False, cache=True, parallel=True)
def pull(P, H, d, given, fitted, depth, B, x, D):
    """X = x_L, and D[c] = -sum of lambda_{l+1} r_l' over the tasks of chunk c.

    depth >= 1. lambda_L is ``given``; or, with ``fitted`` > 0, fitted (x_L - given).
    """
    for c in prange(D.shape[0]):
        pull_chunk(c, P, H, d, given, fitted, depth, B, x, D)


@numba.njit(fastmath=False, cache=True, parallel=True)
def push(P, H, d, turn, depth, B, several, x, moved):
    """X = x_L and moved = v_L, where v_0 = 0 and v_{l+1} = v_l + turn r_l - P H v_l."""
    for c in prange(several):
        push_chunk(c, P, H, d, turn, depth, B, several, x, moved)
