r"""A prompt's inverse beside the population's: the exact expansion and its bound (001, section 4).

With D = H_M - H_inf and both matrices invertible,

    H_M^-1 - H_inf^-1 = - H_inf^-1 D H_inf^-1 + H_inf^-1 D H_M^-1 D H_inf^-1,

the resolvent identity used twice; and if ||H_inf^-1||_2 ||D||_2 < 1,

    ||H_M^-1 - H_inf^-1||_2 <= ||H_inf^-1||_2^2 ||D||_2 / (1 - ||H_inf^-1||_2 ||D||_2),

attained by D = -delta v v', v the eigenvector of H_inf's smallest eigenvalue. The inverses are
enclosed column by column with the verified solve, the hypothesis is checked with upper bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint, identity
from twofold.measures import enclosures as enc
from twofold.rigor.linear import solve
from twofold.rigor.roundoff import up

REFERENCE = "stewart1990matrix"
STATEMENT = (
    r"H_M^{-1}-H_\infty^{-1}=-H_\infty^{-1}\Delta H_\infty^{-1}"
    r"+H_\infty^{-1}\Delta H_M^{-1}\Delta H_\infty^{-1}"
)
STATEMENT_BOUND = (
    r"\|H_M^{-1}-H_\infty^{-1}\|_2\le\frac{\|H_\infty^{-1}\|_2^2\|\Delta\|_2}"
    r"{1-\|H_\infty^{-1}\|_2\|\Delta\|_2},\quad\|H_\infty^{-1}\|_2\|\Delta\|_2<1"
)
UNSOLVED = "an inverse could not be enclosed: singular or too ill-conditioned"
Batch = Float[np.ndarray, "*N"]


def inverse(H: Float[np.ndarray, "N K K"]) -> enc.Ball:
    """H^-1, enclosed; the radius is not finite where the verified solve is silent."""
    columns = np.eye(H.shape[-1])
    solved = [solve(H, np.broadcast_to(e, H.shape[:2])) for e in columns]
    radii = np.stack([np.asarray(radius) for _, radius in solved], axis=-1)
    mid = np.stack([x for x, _ in solved], axis=-1)
    good = np.asarray(np.isfinite(radii).all(axis=-1) & np.isfinite(mid).all(axis=(-1, -2)))
    radius = enc.frobenius_upper(np.where(good[:, None], radii, 0.0)[..., None, :])
    return enc.Ball(np.where(good[:, None, None], mid, 0.0), np.where(good, radius, np.inf))


def expansion_gap(X: enc.Ball, Y: enc.Ball, D: enc.Ball) -> enc.Ball:
    """``X - Y + Y D Y - Y D X D Y`` for X = H_M^-1, Y = H_inf^-1: the zero matrix, enclosed."""
    YD, DY = Y @ D, D @ Y
    return (X - Y) + YD @ Y - YD @ (X @ DY)


def bound(inverse_norm: Batch, distance: Batch) -> Batch:
    """``a^2 d / (1 - a d)``, rounded up, a = ||H_inf^-1||, d = ||D||; inf unless surely a d < 1."""
    room = enc.lower(1.0, up(inverse_norm * distance, 2))
    return enc.quotient_upper(up(inverse_norm * up(inverse_norm * distance, 1), 2), room)


def certify(H_M: Any, H_inf: Any) -> list[Certificate]:
    """``[identity, bound]`` for prompts H_M (N, K, K) and H_inf (K, K) or (N, K, K)."""
    H_inf, H_M = enc.symmetric_pair("H_inf", H_inf, "H_M", H_M)
    Y = inverse(H_inf.reshape(-1, *H_M.shape[1:]))
    X, D = inverse(H_M), enc.exact(H_M) - enc.exact(H_inf)
    with np.errstate(invalid="ignore", over="ignore"):
        gap = expansion_gap(X, Y, D)
        a, d = enc.norm_upper(Y), enc.norm_upper(D)
        value, rounding = enc.norm_attained(X - Y)
        limit = np.broadcast_to(bound(a, d), value.shape)
    solved = np.isfinite(gap.radius)
    shared: dict[str, Any] = {"reference": REFERENCE, "source": fingerprint(H_M, H_inf)}
    small = "||H_inf^-1|| ||D|| < 1 is not proved"
    return [
        identity(
            "resolvent expansion", statement=STATEMENT, gap=enc.frobenius_upper(gap.mid),
            rounding=up(gap.radius, gap.mid[0].size + 6), applies=solved, reason=UNSOLVED, **shared,
        ),
        certificate(
            "resolvent bound", statement=STATEMENT_BOUND, kind="bound", value=value, bound=limit,
            rounding=rounding, applies=solved & np.isfinite(limit),
            reason=[UNSOLVED if not ok else small for ok in solved], **shared,
        ),
    ]  # fmt: skip
