r"""The risk logged along a training run is the risk rebuilt from P alone: nothing is iterated.

Statement. For every checkpoint P, with H x* = d and x_0 = 0,

    R_L(P) = E|x_L - x*|^2 / K = E|(I - P H)^L x*|^2 / K,

E the mean over the tasks of the log. One row per checkpoint: the left side by the decoder's kernel,
the right side by the formed matrix, x* by a verified solve. With E_n = |x_L - x*| exact, a_n the
measured left side, |a_n - E_n| <= s_n, and b_n, t_n on the right,

    |a_n^2 - b_n^2| <= s_n (2 a_n + s_n) + t_n (2 b_n + t_n),

and summing N of them costs gamma_{N+3} of the sum of a_n^2 + b_n^2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, fingerprint, identity
from twofold.decoder.drift import norm_lower, norm_upper
from twofold.decoder.enclosure import Dagger, enclosed
from twofold.decoder.transport import transport
from twofold.rigor import inputs
from twofold.rigor.linear import solve
from twofold.rigor.roundoff import THETA, U, gamma, up

STATEMENT = r"R_L(P)=\tfrac1K\mathbb E\|x_L-x^*\|^2=\tfrac1K\mathbb E\|(I-PH)^Lx^*\|^2"
REFERENCE = "saad2003iterative"
REASON = "a system was not solved with a proof, or a number is not finite"
Pair = tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]


def norms(P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int, dagger: Dagger) -> list[Pair]:
    """(|x_L - x*|, its error), iterated and rebuilt, for every task under one P."""
    known = enclosed(P, H, d, depth, dagger)
    with np.errstate(over="ignore", invalid="ignore"):
        e, moved = transport(P, H, -known.center[..., None], depth, known.growth)
        size = norm_upper(e[..., 0])
        width = up(size - norm_lower(e[..., 0]) + THETA, 2)
        error = up(moved + known.growth[:, -1] * known.radius + width, 3)
    return [(known.error, known.error_slack), (size, error)]


def mean_square(norm: np.ndarray, error: np.ndarray, K: int) -> tuple[float, float]:
    """(mean of norm^2 / K, its error at most)."""
    N = len(norm)
    with np.errstate(over="ignore", invalid="ignore"):
        square = float(np.sum(norm * norm))
        spent = float(np.sum(error * (2 * norm + error)))
        return square / (N * K), up((spent + gamma(N + 3) * square + N * THETA) / (N * K), N + 6)


def risks(P: Any, H: Any, d: Any, depth: int) -> tuple[Pair, Pair]:
    """(R_L, its error) of every checkpoint P (S,K,K) over the tasks: iterated, and rebuilt."""
    P = inputs.square("P", P)
    P = P[None] if P.ndim == 2 else P
    _, H, d = inputs.systems(P[0], H, d, finite=False)
    depth = inputs.whole("depth", depth)
    if d is None or not d.size:
        raise ValueError(f"H: expected at least one system, got shape {np.shape(H)}")
    dagger = solve(H, d)
    rows = [norms(p, H, d, depth, dagger) for p in P]
    sides = [[mean_square(*row[side], H.shape[-1]) for row in rows] for side in (0, 1)]
    one, two = (np.array(side).T for side in sides)
    return (one[0], one[1]), (two[0], two[1])


def certify(P: Any, H: Any, d: Any, depth: int) -> Certificate:
    """The gap between both sides at every checkpoint P (S,K,K), tasks H (N,K,K), d (N,K)."""
    (one, a), (two, b) = risks(P, H, d, depth)
    with np.errstate(invalid="ignore", over="ignore"):
        rounding = up(a + b + 4 * U * (one + two), 4)
        good = np.isfinite(one - two) & np.isfinite(rounding)
        return identity(
            "Overlap log", statement=STATEMENT, about="exact", gap=one - two, rounding=rounding,
            applies=good, reason=REASON, reference=REFERENCE,
            source=fingerprint(P, H, d, np.int64(depth)),
        )  # fmt: skip
