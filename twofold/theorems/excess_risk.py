r"""What a linear decoder loses against the oracle is a quadratic form in its distance.

R(P) = E|P d - z|^2 / m (m rows), C = E dd', B = E z d'. If P* C = B then

    R(P) - R(P*) = tr{(P - P*) C (P - P*)'} / m.

The left side is formed as <P - P*, (P + P*) C - 2 B>/m: the difference of the two risks without
the cancellation of their squares. The P* at hand is a float matrix: its residual F = P* C - B
leaves 2 <F, P - P*>/m between the sides. A residual that rounding in P* explains,
16 (K+1) u (|P*| |C| + |B|), is paid for in ``rounding``; with a larger one P* is no oracle and the
certificate is silent. Exact algebra; where from: Hsu, Kakade and Zhang.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, fingerprint, identity
from twofold.rigor import inputs
from twofold.rigor.roundoff import U, up
from twofold.training import traces

STATEMENT = r"R(P)-R(P_\star)=\tfrac1K\operatorname{Tr}\{(P-P_\star)C(P-P_\star)^\top\}"
REFERENCE = "hsu2012random"
NO_ORACLE = "P* C = B fails beyond rounding: P* is not the oracle of (C, B)"
SCALED = "an entry is not finite or out of 1e-60 .. 1e60; rescale the row"


def difference(
    P: Float[np.ndarray, "N m K"],
    P_star: Float[np.ndarray, "N m K"],
    C: Float[np.ndarray, "N K K"],
    B: Float[np.ndarray, "N m K"],
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """<P - P*, (P + P*) C - 2 B> = m (R(P) - R(P*)), and its rounding; E|z|^2 cancels."""
    D, slope = P - P_star, (P + P_star) @ C - 2 * B
    value, rounding = traces.inner(D, slope)
    size = (np.abs(P) + np.abs(P_star)) @ np.abs(C) + 2 * np.abs(B)
    inside = traces.cost(size, D, C.shape[-1] + 3, axis=True)
    hidden, more = traces.inner(np.abs(D), inside)
    return value, up(rounding + hidden + more, 4)


def excess(
    P: Float[np.ndarray, "N m K"], P_star: Float[np.ndarray, "N m K"], C: Float[np.ndarray, "N K K"]
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """tr{(P - P*) C (P - P*)'} and its rounding."""
    return traces.quadratic(P - P_star, C)


def certify(P: Any, P_star: Any, C: Any, B: Any) -> Certificate:
    """One row per matrix of ``P`` (N,m,K); the others (N,...) or shared (m,K), (K,K)."""
    P = inputs.real("P", P, ndim=3, finite=False)
    N, m, K = P.shape
    if not P.size:
        raise ValueError(f"P: expected at least one matrix with rows and columns, got {P.shape}")
    P_star = shared("P_star", P_star, (N, m, K))
    C, B = shared("C", C, (N, K, K)), shared("B", B, (N, m, K))
    C = inputs.symmetric("C", C, finite=False)
    fit = traces.ordinary(P, P_star, C, B)
    P, P_star, C, B = (np.where(fit[:, None, None], x, 0.0) for x in (P, P_star, C, B))
    F = traces.residual(P_star, C, B)
    norms = [np.linalg.norm(x, axis=(1, 2)) for x in (P_star, C, B, F)]
    oracle = norms[3] <= 16 * (K + 1) * U * (norms[0] * norms[1] + norms[2])
    (left, a), (right, b) = difference(P, P_star, C, B), excess(P, P_star, C)
    residue, c = traces.inner(F, np.abs(P - P_star))
    cost = a + b + 2.0 * (residue + c) * (1 + 4 * U)
    cost = cost + traces.at_unit(np.abs(left) + np.abs(right), 2)
    return identity(
        "excess_risk", gap=(left - right) / m, rounding=up(cost / m, 8),
        applies=fit & oracle, reason=np.where(fit, NO_ORACLE, SCALED), statement=STATEMENT,
        reference=REFERENCE, source=fingerprint(P, P_star, C, B),
    )  # fmt: skip


def shared(name: str, x: Any, shape: tuple[int, int, int]) -> np.ndarray:
    """``x`` as one matrix per row."""
    x = inputs.real(name, x, ndim=(2, 3), finite=False)
    if x.shape not in (shape, shape[1:]):
        raise ValueError(f"{name}: expected shape {shape} or {shape[1:]}, got {x.shape}")
    return np.broadcast_to(x, shape)
