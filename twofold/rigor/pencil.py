r"""Proved bounds of the spectrum of P H for symmetric positive definite P and H.

Let C be any regular lower triangular matrix, here the Cholesky factor that LAPACK found for H, and
F = H - C C'. P C C' has the spectrum of the symmetric B = C' P C. With eps = |F|_F over the least
eigenvalue of C C', the form H lies between (1 - eps) C C' and (1 + eps) C C', so each eigenvalue of
P H lies between (1 - eps) and (1 + eps) times its partner in B (Ostrowski). For a symmetric A and
any s, lambda_min(A) >= s - |s I - A|_2 and lambda_max(A) <= |A|_2, and the norms are proved.

P is positive definite where lambda_min(B) > 0, so nothing has to be assumed of it but symmetry.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs
from twofold.rigor.norms import norm2_upper
from twofold.rigor.roundoff import THETA, U, gamma, up


def pencil_bounds(P: Any, H: Any) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """(low, high) with low <= spec(P_n H_n) <= high; NaN where P or H is not proved SPD.

    P is (K,K), shared, or (N,K,K).
    """
    P, H, _ = inputs.systems(P, H, finite=False)
    N, K, _ = H.shape
    shared = P.ndim == 2
    P = np.broadcast_to(P, H.shape)
    well = _symmetric(H) & (_symmetric(P[:1] if shared else P))
    low, high = np.full(N, np.nan), np.full(N, np.nan)
    rows = np.flatnonzero(well)
    C, factored = _factors(H[rows])
    rows, C = rows[factored], C[factored]
    if len(rows):
        low[rows], high[rows] = _bounds(P[rows], H[rows], C)
    bad = ~((low > 0) & np.isfinite(high))
    return np.where(bad, np.nan, low), np.where(bad, np.nan, high)


def _symmetric(A: np.ndarray) -> np.ndarray:
    """Finite, exactly symmetric, and of a scale at which no product here under- or overflows."""
    flat = A.reshape(len(A), -1)
    with np.errstate(invalid="ignore"):
        top = np.max(np.abs(flat), axis=1, initial=0.0)
        return np.all(A == A.swapaxes(1, 2), axis=(1, 2)) & (top > 1e-60) & (top < 1e60)


def _factors(H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cholesky factors, and which rows have one."""
    try:
        return np.linalg.cholesky(H), np.ones(len(H), dtype=bool)
    except np.linalg.LinAlgError:
        C, found = np.zeros_like(H), np.zeros(len(H), dtype=bool)
        for n, h in enumerate(H):
            try:
                C[n], found[n] = np.linalg.cholesky(h), True
            except np.linalg.LinAlgError:
                continue
        return C, found


def _bounds(P: np.ndarray, H: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    K = H.shape[1]
    Ct, size = C.swapaxes(1, 2), np.abs(C)
    formed = up(size @ size.swapaxes(1, 2), K)
    defect = _frobenius(up(np.abs(H - C @ Ct) * (1 + 4 * U) + gamma(K) * formed, K + 4))
    least_H = least(H, np.zeros(len(H)))
    # C C' = H - F: its least eigenvalue is at least that of H less |F|.
    below = np.nextafter(least_H - defect, -np.inf)
    eps = np.where(below > 0, up(defect / np.where(below > 0, below, 1.0), 2), np.inf)
    B = Ct @ (P @ C)
    B = 0.5 * (B + B.swapaxes(1, 2))
    moved = up(size.swapaxes(1, 2) @ up(np.abs(P) @ size, K), K)
    error = _frobenius(up((2 * gamma(K) + 4 * U) * moved, 4))
    low = least(B, error) * (1 - 4 * U) * np.maximum(0.0, 1 - eps * (1 + 4 * U))
    high = up(up(norm2_upper(B) + error, 2) * (1 + eps), 2)
    return np.nextafter(low, 0.0), high


def least(A: Float[np.ndarray, "N K K"], error: np.ndarray) -> Float[np.ndarray, " N"]:
    """At most the least eigenvalue of every symmetric matrix within ``error`` of A."""
    K = A.shape[1]
    s = norm2_upper(A)
    shifted = s[:, None, None] * np.eye(K) - A
    rounding = up(U * _frobenius(np.abs(shifted)), K * K + 4)
    taken = up(norm2_upper(shifted) + rounding + error, 3)
    return np.nextafter(s - taken, -np.inf)


def _frobenius(A: np.ndarray) -> np.ndarray:
    K = A.shape[1]
    return up(np.sqrt(np.sum(A * A, axis=(1, 2))) + K * THETA, K * K + 3)
