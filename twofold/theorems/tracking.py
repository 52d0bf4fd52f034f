r"""A decoder that follows a moving oracle: the recursion and its unrolled sum are one.

E_s = P_s - P*(U_s), M_s = I - eta C_s, D_s = P*(U_s) - P*(U_{s+1}), with P*(U_s) C_s = B_s:

    E_{s+1} = E_s M_s + D_s,
    E_s = E_0 M_0 ... M_{s-1} + sum_{tau < s} D_tau M_{tau+1} ... M_{s-1}      (ordered products).

Exact algebra for any matrices; the M_s may not commute, and their order matters.

Rounding, in the Frobenius norm with mu_t >= |M_t|_2 proved: the recursion's error obeys
e' <= mu e + gamma_r | |E| |M| | + u |E'|; a suffix product's p' <= mu p + gamma_r | |M| |Pi| |; the
sum adds |E_0| p_0 + sum |D_tau| p_{tau+1} + gamma_{r+S} of its absolute terms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, fingerprint, identity
from twofold.rigor import inputs, norms
from twofold.rigor.roundoff import U, gamma, up
from twofold.training import traces, triangular

STATEMENT = (
    r"E_s=E_0\prod_{t=0}^{s-1}(I-\eta C_t)"
    r"+\sum_{\tau=0}^{s-1}D_\tau\prod_{t=\tau+1}^{s-1}(I-\eta C_t)"
)
REFERENCE = "benveniste1990adaptive"
SCALED = "an entry or a product is not finite or out of 1e-60 .. 1e60"


def recursion_error(
    E: Float[np.ndarray, "N s m r"], M: Float[np.ndarray, "N S r r"], mu: Float[np.ndarray, "N S"]
) -> Float[np.ndarray, " N"]:
    """A bound of |computed E_S - exact E_S|_F, E the computed states."""
    r, error = M.shape[-1], np.zeros(len(E))
    for t in range(M.shape[1]):
        product = traces.norm_upper(np.abs(E[:, t]) @ np.abs(M[:, t]))
        error = mu[:, t] * error + gamma(r) * product + U * traces.norm_upper(E[:, t + 1])
        error = up(error, 3 * r + 6)
    return error


def unrolled_error(
    E0: Float[np.ndarray, "N m r"],
    D: Float[np.ndarray, "N S m r"],
    M: Float[np.ndarray, "N S r r"],
    Pi: Float[np.ndarray, "N s r r"],
    mu: Float[np.ndarray, "N S"],
) -> Float[np.ndarray, " N"]:
    """A bound of |computed sum - exact sum|_F, Pi the computed suffix products."""
    (S, r), p, error = M.shape[1:3], np.zeros(len(E0)), np.zeros(len(E0))
    absolute = np.zeros_like(E0)
    for t in range(S - 1, -1, -1):
        error = error + traces.norm_upper(D[:, t]) * p
        absolute = absolute + np.abs(D[:, t]) @ np.abs(Pi[:, t + 1])
        product = traces.norm_upper(np.abs(M[:, t]) @ np.abs(Pi[:, t + 1]))
        p = up(mu[:, t] * p + gamma(r) * product, 3 * r + 6)
    absolute = absolute + np.abs(E0) @ np.abs(Pi[:, 0])
    spread = gamma(r + S + 1) * traces.norm_upper(absolute)
    return up(error + traces.norm_upper(E0) * p + spread, 4 * S + 2 * r + 8)


def certify(E0: Any, C: Any, D: Any, *, eta: float) -> Certificate:
    """Rows: runs. E0 (N,m,r), C (N,S,r,r) the covariances met, D (N,S,m,r) the oracle's drifts."""
    E0, C, D = triangular.runs(E0, C, D)
    M = triangular.contractions(C, eta)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        E, Pi = triangular.recursion(E0, M, D), triangular.suffix_products(M)
        fit = traces.ordinary(E0, M, D) & (np.abs(E).max(axis=(1, 2, 3)) < traces.SCALE)
        fit &= np.abs(Pi).max(axis=(1, 2, 3)) < traces.SCALE
        mu = norms.norm2_upper(M.reshape(-1, *M.shape[2:])).reshape(M.shape[:2])
        last = E[:, -1] - triangular.unrolled(E0, D, Pi)
        error = recursion_error(E, M, mu) + unrolled_error(E0, D, M, Pi, mu)
        gap = np.linalg.norm(last, axis=(1, 2))
    return identity(
        "tracking", gap=gap, rounding=up(error * (1 + 8 * U) + 8 * last[0].size * U * gap, 8),
        applies=fit, reason=SCALED, statement=STATEMENT, reference=REFERENCE,
        source=fingerprint(inputs.real("eta", eta, ndim=0), E0, C, D),
    )  # fmt: skip
