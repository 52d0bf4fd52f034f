r"""Encoded operators A(z) = A_0 + sum z_k A_k: the encoder's bias and its floor, in balls."""

from __future__ import annotations

import numpy as np
from flint import arb, arb_mat

from twofold.rigor.opinion.balls import eye, frobenius, length, matrix, norm, require, solve
from twofold.rigor.opinion.sides import Sides


def stacked(columns: list[arb_mat]) -> arb_mat:
    """Each matrix, row by row, as one column."""
    return arb_mat([list(row) for row in zip(*(c.entries() for c in columns), strict=True)])


def weak_bias(
    A: np.ndarray, u: np.ndarray, f: np.ndarray, probes: np.ndarray, z: np.ndarray,
    ridge: np.ndarray, metric: np.ndarray,
) -> Sides:  # fmt: skip
    """(G'G + lambda M)^-1 G'b = z - lambda (G'G + lambda M)^-1 M z for pairs without noise."""
    V = matrix(probes).transpose() if probes.size else eye(A.shape[-1])
    pairs, first = matrix(u), matrix(A[0])
    G = stacked([pairs * matrix(a) * V for a in A[1:]])
    b = stacked([(matrix(f) - pairs * first) * V])
    v, lam, M = matrix(z), arb(float(ridge)), matrix(metric)
    rho, most = frobenius(b - G * v), arb(2) ** -29 * (frobenius(b) + frobenius(G) * frobenius(v))
    require(rho <= most, rho > most, "the pairs miss A(z) u = f by more than rounding")
    H = G.transpose() * G + M * lam
    gap = solve(H, G.transpose() * b) - v + solve(H, M * v) * lam
    h = np.array([[float(x.mid()) for x in row] for row in H.tolist()])
    kappa = length(h) * length(np.linalg.inv(h))
    return Sides(frobenius(gap), arb(0), (1 + kappa) * length(z) * 4)


def encoded_floor(A_enc: np.ndarray, A: np.ndarray, f: np.ndarray) -> Sides:
    """||(X - Y) f|| <= y^2 d / (1 - y d) ||f||, X = A_enc^-1, Y = A^-1, y = ||Y||, d = ||D||."""
    one, query = eye(len(A)), matrix(f)
    Y, D = solve(matrix(A), one), matrix(A_enc) - matrix(A)
    y, d = norm(Y), norm(D)
    require(y * d < 1, y * d >= 1, "||A^-1|| ||D|| < 1 is not met")
    left = frobenius(solve(matrix(A_enc), query) - Y * query)
    x = length(np.linalg.inv(A_enc)), length(np.linalg.inv(A))
    scale = (1 + x[0] * length(A_enc) + x[1] * length(A)) * sum(x) * length(f)
    return Sides(left, y * y * d / (1 - y * d) * frobenius(query), scale)
