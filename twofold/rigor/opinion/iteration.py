"""Richardson's iteration x <- x + P (d - H x) from 0, in balls: its error, and what bounds it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from flint import arb, arb_mat, ctx

from twofold.rigor.opinion.balls import eye, frobenius, inner, length, matrix, norm, solve
from twofold.rigor.opinion.sides import Sides

SLIGHT = 1 + arb(2) ** -20
DEEPEST = 2**16


def transported(P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: np.ndarray) -> Sides:
    """x_L - x_dagger = -T^L x_dagger, T = I - P H."""
    x, dagger = iterated(P.tobytes(), H.tobytes(), d.tobytes(), steps(depth), ctx.prec)
    T, moved = contraction(P, H), dagger
    for _ in range(int(depth)):
        moved = T * moved
    return Sides(frobenius(x - dagger + moved), arb(0), worked(P, H, d, int(depth), dagger))


def bounded(form: str) -> Callable[..., Sides]:
    """|x_L - x_dagger| <= factor |x_dagger|."""

    def route(P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: np.ndarray) -> Sides:
        L = steps(depth)
        x, dagger = iterated(P.tobytes(), H.tobytes(), d.tobytes(), L, ctx.prec)
        least, most = factor(form, P.tobytes(), H.tobytes(), L, ctx.prec)
        size, scale = frobenius(dagger), worked(P, H, d, L, dagger)
        return Sides(frobenius(x - dagger), least * size, scale, most=most * size * SLIGHT)

    return route


def averaged(form: str) -> Callable[..., Sides]:
    """Mean e'Se <= ||S|| mean (factor |x_dagger|)^2 over a batch."""

    def route(
        P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: np.ndarray, sigma: np.ndarray
    ) -> Sides:
        L, S = steps(depth), covariance(sigma, H.shape[-1])
        left, right, most, scale = arb(0), arb(0), arb(0), 0.0
        for i, (h, c) in enumerate(zip(H, d, strict=True)):
            p = P if P.ndim == 2 else P[i]
            x, dagger = iterated(p.tobytes(), h.tobytes(), c.tobytes(), L, ctx.prec)
            low, high = factor(form, p.tobytes(), h.tobytes(), L, ctx.prec)
            size, e = inner(dagger, dagger), x - dagger
            left, right = left + inner(e, S * e), right + low * low * size
            most, scale = most + high * high * size, scale + worked(p, h, c, L, dagger) ** 2
        N, top = len(d), norm(S)
        most = most * top * SLIGHT**2 / N
        return Sides(left / N, right * top / N, scale * float(top) / N, most=most)

    return route


def two_traces(P: np.ndarray, H: np.ndarray, depth: np.ndarray, prior: np.ndarray) -> Sides:
    """tr(T^L S T^L') / K by L products and by squaring."""
    L, K, T = steps(depth), len(H), contraction(P, H)
    S, slow, fast = covariance(prior, K), eye(K), powered(T, L)
    for _ in range(L):
        slow = slow * T
    most = growth(P, H, L) ** 2 * (L + 1) * (1 + length(P) * length(H))
    left, right = (inner(M, M * S) / K for M in (slow, fast))
    return Sides(left, right, most * float(frobenius(S)))


def steps(depth: np.ndarray) -> int:
    """A depth that can be walked step by step."""
    if not 0 <= depth <= DEEPEST or depth != int(depth):
        raise ValueError(f"depth {depth} is not a whole number up to {DEEPEST}")
    return int(depth)


def covariance(S: np.ndarray, K: int) -> arb_mat:
    """S from a matrix, a spectrum, or the 1 x 1 identity that stands for I."""
    if S.shape == (1, 1):
        return eye(K)
    return matrix(np.diag(S) if S.ndim == 1 else S)


@lru_cache(maxsize=4096)
def iterated(P: bytes, H: bytes, d: bytes, depth: int, prec: int) -> tuple[arb_mat, arb_mat]:
    """(x_L, x_dagger), kept for the certificates that share them."""
    c, p, h = matrix(np.frombuffer(d)), matrix(square(P)), matrix(square(H))
    dagger, x = solve(h, c), arb_mat(c.nrows(), 1)
    for _ in range(depth):
        x = x + p * (c - h * x)
    return x, dagger


@lru_cache(maxsize=16384)
def factor(form: str, P: bytes, H: bytes, depth: int, prec: int) -> tuple[arb, arb]:
    """(|T|^L or |T^L|, the most that an honest float bound of it may be)."""
    p, h = square(P), square(H)
    T = contraction(p, h)
    if form == "rate":
        rho = norm(T)
        return rho**depth, (rho * (1 + arb(2) ** -30 / (depth + 1)) + formed(p, h)) ** depth
    size = norm(powered(T, depth))
    return size, size + (depth + 1) * formed(p, h) * growth(p, h, depth)


def square(data: bytes) -> np.ndarray:
    """The square matrix with these bytes."""
    x = np.frombuffer(data)
    return x.reshape(round(len(x) ** 0.5), -1)


def contraction(P: np.ndarray, H: np.ndarray) -> arb_mat:
    """T = I - P H."""
    return eye(len(H)) - matrix(P) * matrix(H)


def powered(T: arb_mat, depth: int) -> arb_mat:
    """T^depth by squaring."""
    out = eye(T.nrows())
    for digit in bin(depth)[2:]:
        out = out * out
        out = out * T if digit == "1" else out
    return out


def formed(P: np.ndarray, H: np.ndarray) -> arb:
    """What forming I - P H in floats may cost, generously: 2^-40 (1 + |P| |H|)."""
    return arb(1 + length(P) * length(H)) * arb(2) ** -40


def growth(P: np.ndarray, H: np.ndarray, depth: int) -> float:
    """max_j |T^j| in floats, for scales only."""
    T, M, most = np.eye(len(H)) - P @ H, np.eye(len(H)), 1.0
    for _ in range(depth):
        M = T @ M
        most = max(most, length(M))
    return most


def worked(P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int, dagger: arb_mat) -> float:
    """The scale of all that was added on the way."""
    x, most = float(frobenius(dagger)), growth(P, H, depth)
    return (depth + 1) * most * (x + length(P) * (length(d) + length(H) * x * (1 + most)))
