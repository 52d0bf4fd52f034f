r"""The fast solvers, in balls: P and H definite, spec(P H) in an interval, errors in the H-norm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from flint import arb, arb_mat

from twofold.rigor.opinion.balls import Undecided, inner, length, matrix, positive, root, solve
from twofold.rigor.opinion.iteration import SLIGHT, steps, worked
from twofold.rigor.opinion.sides import Sides


def enveloped(form: str) -> Callable[..., Sides]:
    """|x_L - x_dagger|_H <= max |p_L| |x_dagger|_H for the polynomial of an interval."""

    def route(
        P: np.ndarray, H: np.ndarray, d: np.ndarray, interval: np.ndarray, depth: np.ndarray
    ) -> Sides:
        h, L = symmetric(H), steps(depth)
        m, M = (arb(float(x)) for x in interval)
        x, dagger = stepped(form, P, H, d, interval, L)
        e, size = x - dagger, root(inner(dagger, h * dagger))
        right = largest(form, m, M, L) * size
        scale = worked(P, H, d, L, dagger) * (1 + length(H)) ** 0.5
        return Sides(root(inner(e, h * e)), right, scale, most=right * SLIGHT)

    return route


def stepped(
    form: str, P: np.ndarray, H: np.ndarray, d: np.ndarray, interval: np.ndarray, L: int
) -> tuple[arb_mat, arb_mat]:
    """(x_L, x_dagger), where the interval is proved to hold the spectrum."""
    p, h, c = symmetric(P), symmetric(H), matrix(d)
    m, M = (arb(float(x)) for x in interval)
    definite(h * p * h - h * m, h, h * M - h * p * h)
    x = before = arb_mat(len(d), 1)
    for alpha, beta in SCHEDULES[form](m, M, L):
        x, before = x + p * (c - h * x) * alpha + (x - before) * beta, x
    return x, solve(h, c)


def carried(form: str) -> Callable[..., Sides]:
    """x_L - x_dagger = -p_L(P H) x_dagger."""

    def route(
        P: np.ndarray, H: np.ndarray, d: np.ndarray, interval: np.ndarray, depth: np.ndarray
    ) -> Sides:
        L = steps(depth)
        x, dagger = stepped(form, P, H, d, interval, L)
        PH, e, before = matrix(P) * matrix(H), -dagger, -dagger
        for alpha, beta in SCHEDULES[form](arb(float(interval[0])), arb(float(interval[1])), L):
            e, before = e - PH * e * alpha + (e - before) * beta, e
        gap, h = x - dagger - e, matrix(H)
        kappa = length(H) * length(np.linalg.inv(H))
        scale = worked(P, H, d, L, dagger) * (L + 1) ** 2 * (1 + kappa) * length(H) ** 0.5
        return Sides(root(inner(gap, h * gap)), arb(0), scale)

    return route


def energy(P: np.ndarray, H: np.ndarray, d: np.ndarray, x: np.ndarray, least: np.ndarray) -> Sides:
    """|x - x_dagger|_H <= sqrt(r'P r / m) where spec(P H) >= m."""
    p, h, m = symmetric(P), symmetric(H), arb(float(least))
    definite(h * p * h - h * m, h)
    r = matrix(d) - h * matrix(x)
    dagger = solve(h, matrix(d))
    e = matrix(x) - dagger
    right = root(inner(r, p * r) / m)
    size = 1 + length(H)
    scale = (worked(P, H, d, 1, dagger) + size * length(x)) * size**0.5
    return Sides(root(inner(e, h * e)), right, scale, most=right * SLIGHT + scale * arb(2) ** -40)


def symmetric(A: np.ndarray) -> arb_mat:
    """The matrix, if it is symmetric to the last bit."""
    if not np.array_equal(A, A.T):
        raise ValueError("P or H is not symmetric")
    return matrix(A)


def definite(*forms: arb_mat) -> None:
    """Every symmetric matrix here is proved positive definite."""
    if not all(positive((A + A.transpose()) / 2) for A in forms):
        raise Undecided("P, H or the interval is not proved definite")


def constant(m: arb, M: arb, L: int) -> list[tuple[arb, arb]]:
    """Heavy ball's steps."""
    below = (M.sqrt() + m.sqrt()) ** 2
    return [(4 / below, ((M - m) / below) ** 2)] * L


def plain(m: arb, M: arb, L: int) -> list[tuple[arb, arb]]:
    """Richardson's best steps."""
    return [(2 / (m + M), arb(0))] * L


def chebyshev(m: arb, M: arb, L: int) -> list[tuple[arb, arb]]:
    """By the values c_l = T_l(s) at s = (M + m) / (M - m), scaled to stay finite where M = m."""
    theta, delta = (M + m) / 2, (M - m) / 2
    out, tau = [(1 / theta, arb(0))], 1 / theta
    for _ in range(L - 1):
        last, tau = tau, 1 / (2 * theta - delta * delta * tau)
        out.append((2 * tau, delta * delta * tau * last))
    return out[:L]


def largest(form: str, m: arb, M: arb, L: int) -> arb:
    """Max |p_L| over [m, M]."""
    if form == "scaled":
        return ((M - m) / (M + m)) ** L
    q = (M - m) / (M.sqrt() + m.sqrt()) ** 2
    return (1 + L * (1 + q)) * q**L if form == "heavy_ball" else 2 * q**L / (1 + q ** (2 * L))


SCHEDULES = {"scaled": plain, "heavy_ball": constant, "chebyshev": chebyshev}
