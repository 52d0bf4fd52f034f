r"""Exact floats in, enclosures (python-flint) out; comparisons are proved, refuted or undecided.

||T||_2 is enclosed by a Rayleigh quotient and LDL' of u^2 I - T'T; no eigensolver is trusted.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from flint import arb, arb_mat, ctx

TINY = arb(2) ** -900


class Refuted(Exception):
    """A comparison is proved to fail."""


class Undecided(Exception):
    """The balls are too wide to tell at this precision."""


def require(true: bool, false: bool, text: str) -> None:
    """Go on if a comparison is proved."""
    if not true:
        raise Refuted(text) if false else Undecided(text)


def at_most(a: arb, b: arb, name: str, limit: str) -> None:
    """Refuse unless a <= b is proved."""
    numbers = f"{name} {a.str(17, radius=False)} is above {limit} {b.str(17, radius=False)}"
    require(a <= b, a > b, numbers)


def matrix(x: np.ndarray) -> arb_mat:
    """The float matrix, exactly; a vector becomes one column."""
    return arb_mat((x[:, None] if x.ndim == 1 else x).tolist())


def eye(K: int) -> arb_mat:
    """I."""
    return matrix(np.eye(K))


def inner(A: arb_mat, B: arb_mat) -> arb:
    """<A, B> = tr A'B."""
    return sum((a * b for a, b in zip(A.entries(), B.entries(), strict=True)), arb(0))


def root(x: arb) -> arb:
    """The square root of a non-negative number whose ball may reach below 0."""
    return x.sqrt() if x > 0 else arb(0).union(abs(x).upper().sqrt())


def frobenius(A: arb_mat) -> arb:
    """||A||_F."""
    return root(inner(A, A))


def positive(A: arb_mat) -> bool:
    """Whether LDL' proves the symmetric matrix positive definite."""
    K = A.nrows()
    rows = [[A[i, j] for j in range(i, K)] for i in range(K)]
    for i, upper in enumerate(rows):
        if not upper[0] > 0:
            return False
        for k in range(i + 1, K):
            factor = upper[k - i] / upper[0]
            rows[k] = [x - factor * y for x, y in zip(rows[k], upper[k - i :], strict=True)]
    return True


def norm(T: arb_mat) -> arb:
    """||T||_2: below by a Rayleigh quotient, above by LDL' of u^2 I - T'T."""
    G = T.transpose() * T
    top = max((abs(x).upper() for x in G.entries()), default=arb(0))
    if top == 0:
        return arb(0)
    low, one = rayleigh(G, top), eye(G.nrows())
    step = arb(2) ** -(ctx.prec // 2)
    while step < 1:
        high = low.upper() * (1 + step)
        if positive(one * high - G):
            return low.lower().union(high).sqrt()
        step *= 2**16
    return arb(0).union(frobenius(T))


def rayleigh(G: arb_mat, top: arb) -> arb:
    """V'Gv / v'v for a v near the top eigenvector, sharpened by inverse iteration."""
    floats = np.array([float((x / top).mid()) for x in G.entries()]).reshape(G.nrows(), -1)
    if not np.isfinite(floats).all():
        raise Undecided("a matrix is too wide a ball")
    v = matrix(np.linalg.eigh(floats)[1][:, -1])
    for _ in range(ctx.prec // 128 - 1):
        shift = inner(v, G * v) / inner(v, v) * (1 + arb(2) ** -60)
        try:
            sharper = solve(eye(G.nrows()) * shift - G, v)
        except Undecided:
            break
        v = (sharper / max(abs(x).upper() for x in sharper.entries())).mid()
    return inner(v, G * v) / inner(v, v)


def solve(A: arb_mat, b: arb_mat) -> arb_mat:
    """A^-1 b, enclosed."""
    try:
        return A.solve(b)
    except ZeroDivisionError as error:
        raise Undecided("a matrix could not be proved invertible") from error


def spread(radius: arb) -> arb:
    """The ball [-radius, radius]."""
    return (-radius.upper()).union(radius.upper())


def diagonal(x: list[arb]) -> arb_mat:
    """diag(x)."""
    return arb_mat([[x[i] if i == j else arb(0) for j in range(len(x))] for i in range(len(x))])


def length(x: np.ndarray) -> float:
    """The Frobenius norm in floats, for scales only."""
    return float(np.linalg.norm(x))


def shared_norm(x: np.ndarray) -> arb:
    """||x||_2, computed once for a matrix that all rows share."""
    return _norm_of(x.tobytes(), len(x), ctx.prec)


@lru_cache(maxsize=8)
def _norm_of(data: bytes, K: int, prec: int) -> arb:
    return norm(matrix(np.frombuffer(data).reshape(K, K)))
