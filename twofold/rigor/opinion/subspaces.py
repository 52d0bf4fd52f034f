r"""The subspace of a symmetric matrix's r largest eigenvalues, enclosed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from flint import arb, arb_mat

from twofold.rigor.opinion.balls import Undecided, diagonal, eye, frobenius, matrix, spread


@dataclass(frozen=True)
class Frame:
    """Top_r(S) is within ``radius`` of V; lambda_r, lambda_{r+1}; how far LAPACK's frame lies."""

    V: arb_mat
    radius: arb
    last: arb
    after: arb
    drift: arb


@lru_cache(maxsize=256)
def frame(data: bytes, K: int, r: int, prec: int) -> Frame:
    """The subspace of the r largest eigenvalues: LAPACK's guess, refined, then enclosed.

    ||sin Theta|| <= ||S V - V M||_F / (lambda_min(M) - lambda_{r+1}(S)) for the diagonal M; the
    eigenvalues by Weyl, where Q'Q - I costs 2 ||Q'Q - I|| ||Q'SQ||.
    """
    S = np.frombuffer(data).reshape(K, K)
    A, Q = matrix(S), matrix(np.linalg.eigh(S)[1][:, ::-1])
    lapack = columns(Q, r)
    for _ in range(2 + prec // 128):
        Q = orthonormal(Q)
        Q = (Q + Q * rotation((Q.transpose() * A * Q).mid())).mid()
    Q = orthonormal(Q)
    B, defect = Q.transpose() * A * Q, frobenius(Q.transpose() * Q - eye(K))
    b = [B[i, i] for i in range(K)]
    off = frobenius(B - diagonal(b)) + 2 * defect * frobenius(B)
    ranked = sorted(b, key=lambda x: -float(x.mid()))
    last, after = ranked[r - 1] + spread(off), ranked[r] + spread(off)
    V, M = columns(Q, r), diagonal([x.mid() for x in b[:r]])
    gap = min(x.lower() for x in b[:r]) - after
    if not (gap > 0 and defect < 0.5):
        raise Undecided("eigenvalues r and r + 1 could not be told apart")
    radius = frobenius(A * V - V * M) / (gap * (1 - defect).sqrt()) + 2 * defect
    return Frame(V, radius, last, after, frobenius(lapack - V * (V.transpose() * lapack)))


def columns(Q: arb_mat, r: int) -> arb_mat:
    """The first r columns."""
    return arb_mat([row[:r] for row in Q.tolist()])


def orthonormal(Q: arb_mat) -> arb_mat:
    """A frame twice as orthonormal, Q (3 I - Q'Q) / 2."""
    return (Q * (eye(Q.ncols()) * 3 - Q.transpose() * Q) * arb(0.5)).mid()


def rotation(B: arb_mat) -> arb_mat:
    """The first-order turn that clears B off its diagonal, where two entries are told apart."""
    K, near = B.nrows(), frobenius(B) * 2.0**-40
    b = [B[i, i] for i in range(K)]
    return arb_mat(
        [[B[i, j] / (b[j] - b[i]) if abs(b[j] - b[i]) > near else 0 for j in range(K)]
         for i in range(K)]
    )  # fmt: skip
