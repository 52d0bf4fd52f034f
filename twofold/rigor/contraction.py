r"""A proved upper bound of ||I - P H||_2, the rounding of P H included.

With C = fl(I - fl(P H)),

    ||I - P H||_2 <= ||C||_2 + E1
    E1 = gamma_n sqrt(|| |P||H| ||_1 || |P||H| ||_inf) + u max |C_ii| + n^2 theta

Proof. |fl(PH) - PH| <= gamma_n |P||H| + n 2^-1074 entry by entry, and the matrix M on the right
has ||M||_2^2 <= ||M||_1 ||M||_inf. Off the diagonal the sign changes exactly; on it one rounding
costs at most u |C_ii|. Where P is close to H^-1, E1 is an absolute floor of about n u ||P|| ||H||.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs, kernel
from twofold.rigor.ieee import probe
from twofold.rigor.norms import Parts, assemble, retry, start
from twofold.rigor.roundoff import THETA, U, gamma, up


def contraction_upper(P: Any, H: Any) -> Float[np.ndarray, " N"]:
    """u_n >= ||I - P_n H_n||_2 for H (N,K,K), P (K,K) or (N,K,K), rounding included.

    A row with a NaN or an infinite entry, or whose product overflows, gets inf: whatever is
    certified from it falls silent. 0 for K = 0.
    """
    P, H, _ = inputs.systems(P, H, finite=False)
    norm, _, error = formed(P, H, keep=False)
    bound = up(norm + error, 1) if H.size else norm
    return np.where(np.isnan(bound), np.inf, bound)


def formed(
    P: np.ndarray, H: Float[np.ndarray, "N K K"], keep: bool
) -> tuple[Float[np.ndarray, " N"], np.ndarray, Float[np.ndarray, " N"]]:
    """(bound of ||C||_2, C = fl(I - PH) if kept, E1 >= ||C - (I - PH)||_2)."""
    N, K, _ = H.shape
    C = np.empty((N if keep else 0, K, K))
    if N == 0 or K == 0:
        return np.zeros(N), C, np.zeros(N)
    parts = kernel.table(N)
    shared = P[None] if P.ndim == 2 else P
    kernel.contraction_parts(shared, H, start(K), np.zeros(N), parts, C, probe())
    retry(lambda rows: residual(P if P.ndim == 2 else P[rows], H[rows]), parts)
    return assemble(parts, K), C, formation_error(parts, K)


def residual(P: np.ndarray, H: Float[np.ndarray, "N K K"]) -> Float[np.ndarray, "N K K"]:
    """C = fl(I - fl(P H)), in the kernel's own order of summation."""
    N, K, _ = H.shape
    C = np.empty((N, K, K))
    shared = P[None] if P.ndim == 2 else P
    kernel.contraction_parts(shared, H, start(K), np.ones(N), kernel.table(N), C, probe())
    return C


def formation_error(parts: Parts, K: int) -> Float[np.ndarray, " N"]:
    """E1: what rounding C = fl(I - PH) may hide."""
    with np.errstate(invalid="ignore", over="ignore"):
        product = product_error(parts, K)
        return up(product + U * parts[:, kernel.CORNER], 2) + K * K * THETA


def product_error(parts: Parts, K: int) -> Float[np.ndarray, " N"]:
    """gamma_n sqrt(|| |A||B| ||_1 || |A||B| ||_inf): what rounding a product AB may hide."""
    with np.errstate(invalid="ignore", over="ignore"):
        rows, columns = up(parts[:, kernel.ROWS : kernel.CORNER], 2 * K + 2).T
        return up(gamma(K) * (np.sqrt(rows) * np.sqrt(columns)), 4) + K * K * THETA
