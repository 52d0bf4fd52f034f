"""Ball arithmetic (python-flint): slow, independent proofs of what the float bounds claim.

A float64 is taken exactly. Answers are True (proved), False (refuted) or None (the balls at this
precision are too wide to tell).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from flint import arb, arb_mat, ctx
from jaxtyping import Float

BITS = 320


@contextmanager
def precision(bits: int = BITS) -> Iterator[None]:
    """Work with balls of so many bits inside the block."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def matrix(x: Float[np.ndarray, "M K"]) -> arb_mat:
    """The float matrix, exactly; a vector becomes one column."""
    rows = x.reshape(-1, 1) if x.ndim == 1 else x
    return arb_mat(rows.shape[0], rows.shape[1], [arb(float(v)) for v in rows.ravel()])


def identity(K: int) -> arb_mat:
    """I."""
    return arb_mat(K, K, [arb(int(i == j)) for i in range(K) for j in range(K)])


def residual(P: Float[np.ndarray, "K K"], H: Float[np.ndarray, "K K"]) -> arb_mat:
    """I - P H, in balls."""
    return identity(len(H)) - matrix(P) * matrix(H)


def norm_at_most(T: arb_mat, bound: float, bits: int = BITS) -> bool | None:
    """Whether ||T||_2 <= bound: LDL' of bound^2 I - T'T has positive pivots."""
    K = T.ncols()
    if bound == np.inf:
        return True
    with precision(bits):
        square = arb(float(bound)) ** 2
        gap = identity(K) * square - T.transpose() * T
        if all(gap[i, j] == 0 for i in range(K) for j in range(K)):
            return True
        return positive(gap)


def positive(A: arb_mat) -> bool | None:
    """Whether the symmetric matrix is positive definite, by the pivots of LDL'."""
    K = A.nrows()
    rows = [[A[i, j] for j in range(i, K)] for i in range(K)]
    for i in range(K):
        pivot = rows[i][0]
        if not pivot > 0:
            return False if pivot < 0 else None
        for k in range(i + 1, K):
            factor = rows[i][k - i] / pivot
            lower, upper = rows[k], rows[i]
            rows[k] = [lower[j] - factor * upper[j + k - i] for j in range(K - k)]
    return True


def euclidean(v: arb_mat) -> arb:
    """||v||_2 of a column. (``v ** 2`` of a ball around 0 is NaN; v * v is not.)"""
    square = sum((v[i, 0] * v[i, 0] for i in range(v.nrows())), arb(0))
    return square.nonnegative_part().sqrt()


def distance(H: np.ndarray, d: np.ndarray, x: np.ndarray, bits: int = BITS) -> arb:
    """||H^-1 d - x||_2 in balls; the solution itself is enclosed. ZeroDivisionError if singular."""
    with precision(bits):
        return euclidean(matrix(H).solve(matrix(d)) - matrix(x))
