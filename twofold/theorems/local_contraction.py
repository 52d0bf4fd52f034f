r"""Attention contracts near the solution: certified for every residual in a ball, or not at all.

Statement. z_0 = 0, z_{l+1} = z_l + Delta(d - H z_l), Delta(r) = N(r) r. Then z* = H^-1 d is a fixed
point, e_{l+1} = (I - N(r_l) H) e_l exactly, r_l = -H e_l, and with

    q(R) = |I - N(0) H| + |H| sup_{|r| <= R} |N(r) - N(0)|,

|e_{l+1}| <= q(|H||e_l|) |e_l|. Where q(|H||z*|) < 1 the ball |e| <= |z*| is never left, and e_L is
bounded by the product; elsewhere the certificate is silent: nothing is said globally.

    sup_{|r| <= R} |I - J(r) H| <= |I - J(0) H| + |H| sup |J(r) - J(0)|,   J = dDelta/dr,

is the contraction between any two states of the ball, checked at r = d. The suprema are those of
`decoder.attention_bounds`. Iterates, matrix and Jacobian are enclosed entry by entry, exp included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.decoder import attention, attention_bounds
from twofold.decoder.attention import Attention
from twofold.decoder.drift import norm_upper
from twofold.measures.enclosures import Ball, exact, norm_attained
from twofold.rigor import contraction_upper, entrywise, inputs, norm2_upper, solve
from twofold.rigor.roundoff import up

STATEMENT = (
    r"\|z_L-z^*\|_2\le\prod_{\ell<L}q(\|H\|_2\,\epsilon_\ell)\,\|z^*\|_2,\quad"
    r"q(R)=\|I-N(0)H\|_2+\|H\|_2\sup_{\|r\|\le R}\|N(r)-N(0)\|_2<1"
)
JACOBIAN = r"\|I-J(r)H\|_2\le\|I-J(0)H\|_2+\|H\|_2\sup_{\|r\|\le R}\|J(r)-J(0)\|_2"
REFERENCE = "saad2003iterative"
TOO_FAR = (
    "not proved to contract on the ball of the first residual: it is local, and this is too far"
)
UNSOLVED = "the system was not solved with a proof, or a number is not finite"
Radii = Float[np.ndarray, " N"]
Factor = Callable[[Radii], Radii]


def factor(s: attention.Scores, H: np.ndarray, variation: Callable[..., Radii]) -> Factor:
    """The map R -> q(R) of every system, rounded up."""
    N, radius = attention_bounds.at_rest(s)
    size = norm2_upper(H)
    rest = up(contraction_upper(N, H) + radius * size, 2)
    return lambda R: up(rest + size * variation(s, R), 2)


def iterated(s: attention.Scores, H: np.ndarray, d: np.ndarray, depth: int) -> Any:
    """z_L, enclosed entry by entry."""
    z = entrywise.exact(np.zeros_like(d))
    for _ in range(depth):
        r = d - entrywise.sum(H * z[:, None, :], axis=-1)
        z = z + attention.update(entrywise, s, r)
    return z


def certify(model: Attention, H: Any, d: Any) -> list[Certificate]:
    """(The error after ``model.depth`` moves, the Jacobian over the ball) of N systems."""
    K = len(model.diagonal)
    H, d = (
        inputs.real("H", H, shape=(None, K, K), finite=False),
        inputs.real("d", d, shape=(len(H), K), finite=False),
    )
    s, size = model.scores, norm2_upper(H)
    center, radius = solve(H, d)
    with np.errstate(over="ignore", invalid="ignore"):
        start = up(norm_upper(center) + radius, 1)
        q, bound = factor(s, H, attention_bounds.matrix_variation), start
        first = q(up(size * start, 1))
        for _ in range(model.depth):
            bound = up(q(up(size * bound, 1)) * bound, 1)
        error, spent = entrywise.length(iterated(s, H, d, model.depth) - center)
        spent = up(spent + radius, 1)
        ball = factor(s, H, attention_bounds.jacobian_variation)(up(size * start, 1))
        value, rounding = _at(s, H, d)
    source = fingerprint(*s.arrays().values(), H, d, np.int64(model.depth))
    known, good = np.isfinite(spent + bound + error), np.isfinite(ball + rounding + value)
    rest: Any = {"kind": "bound", "about": "exact", "reference": REFERENCE, "source": source}
    return [
        certificate("Local contraction", statement=STATEMENT, value=error, bound=bound,
                    rounding=spent, applies=known & (first < 1),
                    reason=list(np.where(known, TOO_FAR, UNSOLVED)), **rest),
        certificate("Local contraction, Jacobian", statement=JACOBIAN, value=value, bound=ball,
                    rounding=rounding, applies=good, reason=UNSOLVED, **rest),
    ]  # fmt: skip


def _at(s: attention.Scores, H: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(|I - J(d) H|, its rounding)."""
    J = attention.jacobian(entrywise, s, entrywise.exact(d))
    ball = Ball(J.mid, norm_upper(J.radius.reshape(len(d), -1)))
    return norm_attained(exact(np.eye(H.shape[-1])) - ball @ exact(H))
