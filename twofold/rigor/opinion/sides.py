r"""Each theorem stated anew: both of its sides for one row of inputs, in balls."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from flint import arb, arb_mat

from twofold.rigor.opinion.balls import (
    TINY,
    Refuted,
    diagonal,
    eye,
    frobenius,
    inner,
    length,
    matrix,
    norm,
    require,
    shared_norm,
    solve,
)


@dataclass(frozen=True)
class Sides:
    """Both sides of one row, enclosed, and the scale on which they were computed in floats."""

    left: arb
    right: arb
    scale: float
    """Of the terms that were added: rounding costs a small multiple of u times this."""
    slack: arb = field(default_factory=lambda: arb(0))
    """What stands between the theorem and the float frame it was stated for."""
    most: arb | None = None
    """The largest honest bound, where that is not the right side itself up to 2^-20."""


def recursion_and_sum(eta: np.ndarray, E0: np.ndarray, C: np.ndarray, D: np.ndarray) -> Sides:
    """E_{s+1} = E_s M_s + D_s against E_0 Pi_0 + sum D_tau Pi_{tau+1}, M_s = I - eta C_s."""
    step, E, size = arb(float(eta)), matrix(E0), np.abs(E0)
    M = [eye(len(c)) - matrix(c) * step for c in C]
    for c, m, drift in zip(C, M, D, strict=True):
        E = E * m + matrix(drift)
        size = size @ (np.eye(len(c)) + abs(float(eta)) * np.abs(c)) + np.abs(drift)
    Pi, total = eye(C.shape[-1]), arb_mat(*E0.shape)
    for m, drift in zip(reversed(M), reversed(D), strict=True):
        total, Pi = total + matrix(drift) * Pi, m * Pi
    return Sides(frobenius(E - total - matrix(E0) * Pi), arb(0), length(size))


def excess(P: np.ndarray, P_star: np.ndarray, C: np.ndarray, B: np.ndarray) -> Sides:
    """R(P) - R(P*) = tr (P - P*) C (P - P*)' / m, for a P* that is an oracle up to rounding."""
    p, star, c, b = matrix(P), matrix(P_star), matrix(C), matrix(B)
    D, F = p - star, star * c - b
    few = 16 * (len(C) + 1) * arb(2) ** -53 * (1 + arb(2) ** -20)
    most = few * (frobenius(star) * frobenius(c) + frobenius(b)) + TINY
    require(frobenius(F) <= most, frobenius(F) > most, "P* is not the oracle of (C, B)")
    left, right = inner(D, (p + star) * c - b * 2), inner(D * c, D)
    sizes = np.abs(P) + np.abs(P_star)
    scale = float(np.sum(sizes * (sizes @ np.abs(C) + 2 * np.abs(B)))) / len(P)
    return Sides(left / len(P), right / len(P), scale)


def squares(
    answer: np.ndarray, best: np.ndarray, truth: np.ndarray, S: np.ndarray, scale: np.ndarray
) -> tuple[arb, arb, arb, arb, float]:
    """Total, floor, decoder and cross term of one task in the metric S, and their sizes' sum."""
    a, b = matrix(answer) - matrix(best), matrix(best) - matrix(truth)
    metric, c = matrix(S) if S.size else eye(len(truth)), arb(float(scale))
    size = np.abs(answer - best) + np.abs(best - truth)
    heavy = size @ (np.abs(S) if S.size else np.eye(len(size))) @ size
    return (
        c * inner(a + b, metric * (a + b)), c * inner(b, metric * b),
        c * inner(a, metric * a), c * 2 * inner(a, metric * b), 4 * float(scale) * float(heavy),
    )  # fmt: skip


def decomposition(*row: np.ndarray) -> Sides:
    """Total = floor + decoder + cross."""
    total, floor, decoder, cross, size = squares(*row)
    return Sides(total, floor + decoder + cross, size)


def split_in_two(*row: np.ndarray) -> Sides:
    """Total <= 2 floor + 2 decoder."""
    total, floor, decoder, _, size = squares(*row)
    return Sides(total, 2 * (floor + decoder), size)


def missed_subspace(U: np.ndarray, U_star: np.ndarray, X: np.ndarray, Z: np.ndarray) -> Sides:
    """Tr M'XMZ <= ||X|| ||Z|| ||M||_F^2 with M = (I - UU')U*, U and U* orthonormal."""
    u, star = matrix(U), matrix(U_star)
    for Q in (u, star):
        worst = max(abs(x) for x in (Q.transpose() * Q - eye(Q.ncols())).entries())
        require(worst < 1e-8, worst > 1e-8, "a frame is not orthonormal to 1e-8")
    M = star - u * (u.transpose() * star)
    right = shared_norm(X) * shared_norm(Z) * inner(M, M)
    size = np.abs(U) @ (np.abs(U.T) @ np.abs(U_star)) + np.abs(U_star)
    scale = length(X) * length(Z) * length(size) ** 2
    return Sides(inner(M, matrix(X) * M * matrix(Z)), right, scale)


def two_modes(x: np.ndarray, y: np.ndarray) -> Sides:
    """|(1-x)^2 - (1-y)^2| = |y-x| |2-x-y| > 0."""
    a, b = arb(float(x)), arb(float(y))
    right = abs(b - a) * abs(2 - a - b)
    require(right > 0, right == 0, "the two modes are one, or eta (lambda_i + lambda_j) = 2")
    scale = (2 + abs(float(x)) + abs(float(y))) ** 2
    return Sides(abs((1 - a) ** 2 - (1 - b) ** 2), right, scale)


def bias(H: np.ndarray, z: np.ndarray, ridge: np.ndarray) -> Sides:
    """H^-1 (H - lambda I) z = z - lambda H^-1 z."""
    h, v, lam = matrix(H), matrix(z), arb(float(ridge))
    gap = solve(h, h * v - v * lam) - v + solve(h, v) * lam
    kappa = length(np.abs(H)) * length(np.linalg.inv(H))
    return Sides(frobenius(gap), arb(0), (1 + kappa) * length(z) * 4)


def posterior_twice(
    Phi: np.ndarray, y: np.ndarray, Phi_q: np.ndarray, prior: np.ndarray, noise: np.ndarray
) -> Sides:
    """Phi_q A^-1 Phi'y/s^2 = k_q'(K + s^2 I)^-1 y, s > 0, Lambda = diag(prior) > 0."""
    if not (prior > 0).all() or not noise > 0:
        raise Refuted("the prior's variances or the noise are not positive")
    P, v, asked, square = matrix(Phi), matrix(y), matrix(Phi_q), arb(float(noise)) ** 2
    L = [arb(float(x)) for x in prior]
    A = diagonal([1 / x for x in L]) + P.transpose() * P * (1 / square)
    back = diagonal(L) * P.transpose()
    c = solve(P * back + eye(len(y)) * square, v)
    gap = asked * solve(A, P.transpose() * v * (1 / square)) - asked * back * c
    root = Phi * np.sqrt(prior) / noise
    size = length(Phi_q * np.sqrt(prior)) * length(y / noise) * length(root)
    return Sides(frobenius(gap), arb(0), 4 * (1 + length(root)) ** 2 * size)


def expansion(H_M: np.ndarray, H_inf: np.ndarray) -> Sides:
    """X - Y = -YDY + YDXDY with X = H_M^-1, Y = H_inf^-1, D = H_M - H_inf."""
    one, D = eye(len(H_M)), matrix(H_M) - matrix(H_inf)
    X, Y = solve(matrix(H_M), one), solve(matrix(H_inf), one)
    gap = X - Y + Y * D * Y - Y * D * X * D * Y
    x, y, d = (length(a) for a in (np.linalg.inv(H_M), np.linalg.inv(H_inf), H_M - H_inf))
    kappa = x * length(H_M) + y * length(H_inf)
    return Sides(frobenius(gap), arb(0), kappa * (x + y + y * d * y + y * d * x * d * y))


def expansion_bound(H_M: np.ndarray, H_inf: np.ndarray) -> Sides:
    """||X - Y|| <= y^2 d / (1 - y d) with y = ||Y||, d = ||D||, y d < 1."""
    one = eye(len(H_M))
    X, Y = solve(matrix(H_M), one), solve(matrix(H_inf), one)
    y, d = norm(Y), norm(matrix(H_M) - matrix(H_inf))
    require(y * d < 1, y * d >= 1, "||H_inf^-1|| ||D|| < 1 is not met")
    inverses = length(np.linalg.inv(H_M)), length(np.linalg.inv(H_inf))
    kappa = inverses[0] * length(H_M) + inverses[1] * length(H_inf)
    return Sides(norm(X - Y), y * y * d / (1 - y * d), kappa * sum(inverses))


def decay(s: np.ndarray, modes: np.ndarray, values: np.ndarray, eta: np.ndarray) -> Sides:
    """Sum lambda_i mu_i^{2s} |w_i|^2 / m <= rho^{2s} (the same at 0), mu_i = 1 - eta lambda_i."""
    w, m = matrix(modes), len(modes)
    lam = [arb(float(x)) for x in values]
    mass = [x * sum((w[i, j] ** 2 for i in range(m)), arb(0)) for j, x in enumerate(lam)]
    mu = [abs(1 - arb(float(eta)) * x) for x in lam]
    require(max(mu) <= 1, max(mu) > 1, "the step is too long for geometric decay")
    twice, start = 2 * int(s), sum(mass, arb(0)) / m
    left = sum((a * b**twice for a, b in zip(mass, mu, strict=True)), arb(0)) / m
    return Sides(left, max(mu) ** twice * start, float(start) * (1 + 2 * float(s)))
