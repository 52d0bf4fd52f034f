"""The one loop of Richardson's iteration over many tasks, for one or several preconditioners.

A block of tasks goes through all its iterations before the next one is touched, so every H comes
from memory once, into scratch that is aligned, padded to whole vectors and stays in the cache.
Within a block a shared P meets all residuals at once (a GEMM), and each H meets the iterates of all
checkpoints at once.
"""

from __future__ import annotations

import numba
import numpy as np

from twofold.decoder.lanes import rows_times, squared_norm

TOGETHER = 3
CACHE = 3 << 18
one_vector = rows_times(1)
three_vectors = rows_times(TOGETHER)
compiled = numba.njit(fastmath=False, cache=True, nogil=True)


def block_size(K: int) -> int:
    """Tasks per block: their H fill three quarters of a megabyte. An odd multiple of 3.

    Odd, because rows a power of two apart would fight for the same lines of the cache.
    """
    fitting = CACHE // (8 * K * K + 1) // TOGETHER
    return TOGETHER * min(max(fitting - 1 + fitting % 2, 1), 21)


@compiled
def products(A, X, first, stride, count, Y):
    """Y[c] = A X[c] for c = first, first + stride, ... (``count`` of them)."""
    for i in range(0, A.shape[0], 8):
        done = 0
        while done + 3 <= count:
            three_vectors(A, i, X, first + done * stride, stride, Y)
            done += 3
        while done < count:
            one_vector(A, i, X, first + done * stride, stride, Y)
            done += 1


@compiled
def load(source, start, count, K, target):
    """Copy matrices start, ..., start + count - 1 into their padded places, tiled."""
    width = target.shape[2]
    whole = K - K % 8
    for b in range(count):
        flat = target[b].reshape(-1)
        for i in range(K):
            first = (i - i % 8) * width + (i % 8) * 8
            for j in range(0, whole, 8):
                for k in range(8):
                    flat[first + 8 * j + k] = source[start + b, i, j + k]
            for j in range(whole, K):
                flat[first + 8 * whole + j - whole] = source[start + b, i, j]


@compiled
def residuals(A, d, start, count, several, X, Y, R):
    """R = d - A X for the tasks start, ..., start + count - 1; row s B + b is checkpoint s."""
    B = len(A)
    for b in range(count):
        products(A[b], X, b, B, several, Y)
        for s in range(several):
            for k in range(d.shape[1]):
                R[s * B + b, k] = d[start + b, k] - Y[s * B + b, k]


@compiled
def moves(P, own, count, several, R, Y):
    """Y = P R, with a P for each task (``own``) or for each checkpoint."""
    B = len(R) // several
    if own:
        for b in range(count):
            products(P[b], R, b, 1, 1, Y)
    else:
        for s in range(several):
            products(P[s], R, s * B, 1, count, Y)


@compiled
def norm(X, row):
    """|X[row]|, also where its square overflows or underflows."""
    square = squared_norm(X, row)
    if 1e-280 < square < 1e300 or square != square:
        return np.sqrt(square)
    top = 0.0
    for k in range(X.shape[1]):
        top = max(top, abs(X[row, k]))
    if top == 0.0 or top == np.inf:
        return top
    square = 0.0
    for k in range(X.shape[1]):
        square += (X[row, k] / top) ** 2
    return top * np.sqrt(square)


@compiled
def record(ell, start, count, X, x_star, Z, path, errors):
    """Write iterate ``ell`` into the last slots of ``path`` and its error norm into ``errors``."""
    several, _, kept, K = path.shape
    B = X.shape[0] // several
    slot = ell - (errors.shape[2] - kept)
    for s in range(several):
        for b in range(count):
            row = s * B + b
            if slot >= 0:
                for k in range(K):
                    path[s, start + b, slot, k] = X[row, k]
            if x_star.shape[0]:
                for k in range(K):
                    Z[0, k] = X[row, k] - x_star[start + b, k]
                errors[s, start + b, ell] = norm(Z, 0)


@compiled
def sweep(P, own, H, d, x_star, A, Q, X, R, Y, Z, path, errors):
    """All tasks: ``errors`` (S,N,L+1) sets the depth, ``path`` (S,N,T,K) keeps the last T iterates.

    P is (S,K,K) or, with ``own``, (N,K,K) and S = 1. An empty ``x_star`` asks for no norms.
    Scratch: A (B,K,K) for H; Q for P, as long as A with ``own``, else S; X, R and Y of S B rows; Z
    of one. All of it zero where padded.
    """
    several, N, slots = errors.shape
    B, K = len(A), d.shape[1]
    if not own:
        load(P, 0, several, K, Q)
    for start in range(0, N, B):
        count = min(B, N - start)
        load(H, start, count, K, A)
        if own:
            load(P, start, count, K, Q)
        X[:] = 0.0
        record(0, start, count, X, x_star, Z, path, errors)
        for ell in range(1, slots):
            if ell == 1:
                for row in range(several * B):
                    if row % B < count:
                        R[row, :K] = d[start + row % B]
            else:
                residuals(A, d, start, count, several, X, Y, R)
            moves(Q, own, count, several, R, Y)
            for row in range(several * B):
                for k in range(K):
                    X[row, k] += Y[row, k]
            record(ell, start, count, X, x_star, Z, path, errors)
