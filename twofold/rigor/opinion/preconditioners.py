r"""Preconditioners of one spectrum, and a checkpoint's risk over a log of tasks, in balls."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from flint import arb, arb_mat, ctx

from twofold.rigor.opinion.balls import eye, frobenius, inner, length, matrix, require
from twofold.rigor.opinion.iteration import contraction, covariance, iterated, steps, worked
from twofold.rigor.opinion.sides import Sides


def similar_pair(form: str) -> Callable[..., Sides]:
    """|x(P) - x(P')| > 0 for P'_ij = P_o(i)o(j), x the depth-one risk or the norm of its gradient.

    Left through I - PH, right through the overlaps of P with H and S.
    """

    def route(P: np.ndarray, H: np.ndarray, order: np.ndarray, prior: np.ndarray) -> Sides:
        K = len(H)
        require(sorted(order) == list(range(K)), sorted(order) != list(range(K)), "no reordering")
        S, both = covariance(prior, K), [P, P[order][:, order]]
        direct, through = PAIRS[form]
        left, right = ([f(matrix(p), matrix(H), S) / K for p in both] for f in (direct, through))
        size = (1 + length(P) * length(H)) ** 2 * float(frobenius(S)) * (1 + length(H))
        apart = abs(right[0] - right[1])
        require(apart > 0, apart == 0, "the two agree")
        return Sides(abs(left[0] - left[1]), apart, size)

    return route


def risk_of(p: arb_mat, h: arb_mat, S: arb_mat) -> arb:
    """Tr (I - PH) S (I - PH)'."""
    T = eye(h.nrows()) - p * h
    return inner(T, T * S)


def overlaps_of(p: arb_mat, h: arb_mat, S: arb_mat) -> arb:
    """-2 tr PHS + tr PHSH'P'."""
    first = p * h * S
    return inner(first * h.transpose(), p) - 2 * inner(first, eye(h.nrows()))


def gradient_of(p: arb_mat, h: arb_mat, S: arb_mat) -> arb:
    """2 |(I - PH) S H'|."""
    return 2 * frobenius((eye(h.nrows()) - p * h) * S * h.transpose())


def moments_of(p: arb_mat, h: arb_mat, S: arb_mat) -> arb:
    """2 |S H' - P (H S H')|."""
    known = S * h.transpose()
    return 2 * frobenius(known - p * (h * known))


def logged(P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: np.ndarray) -> Sides:
    """Mean |x_L - x*|^2 / K against mean |T^L x*|^2 / K over all tasks."""
    L, N, K = steps(depth), len(H), H.shape[-1]
    left, right, scale = arb(0), arb(0), 0.0
    for h, c in zip(H, d, strict=True):
        x, moved = iterated(P.tobytes(), h.tobytes(), c.tobytes(), L, ctx.prec)
        T, error = contraction(P, h), x - moved
        scale += worked(P, h, c, L, moved) ** 2
        for _ in range(L):
            moved = T * moved
        left, right = left + inner(error, error), right + inner(moved, moved)
    return Sides(left / (N * K), right / (N * K), scale / (N * K))


def balanced(query: np.ndarray, key: np.ndarray, G: np.ndarray, eta: np.ndarray) -> Sides:
    """D^+ - D = eta^2 (W_K G'G W_K' - W_Q GG' W_Q') for D = W_Q W_Q' - W_K W_K'."""
    q, k, g, step = matrix(query), matrix(key), matrix(G), arb(float(eta))
    right, left = k * g.transpose(), q * g
    one, two = q - right * step, k - left * step
    moved = one * one.transpose() - two * two.transpose()
    before = q * q.transpose() - k * k.transpose()
    second = (right * right.transpose() - left * left.transpose()) * (step * step)
    size = (length(query) + length(key)) * (1 + abs(float(eta)) * length(G))
    return Sides(frobenius(moved - before - second), arb(0), size**2)


PAIRS = {"risk": (risk_of, overlaps_of), "gradient": (gradient_of, moments_of)}
