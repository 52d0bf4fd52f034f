r"""T^L applied to vectors through the formed matrix, with a proved bound of what rounding costs.

With C = fl(I - fl(P H)) and e' = fl(C e), one step misses T e by at most

    gamma_K |P| (|H||e|) + (u + gamma_K) |C||e| + underflow                       (entry by entry)

which later steps carry as in ``drift``. It shares no product with the decoder's own kernel.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from twofold.decoder.drift import carried, norm_upper
from twofold.rigor.roundoff import THETA, gamma, up


def transport(
    P: np.ndarray,
    H: Float[np.ndarray, "N K K"],
    e: Float[np.ndarray, "N K J"],
    depth: int,
    growth: Float[np.ndarray, "N l"],
) -> tuple[Float[np.ndarray, "N K J"], Float[np.ndarray, " N"]]:
    """(T^depth e, a bound of its error in the Frobenius norm)."""
    N, K, _ = H.shape
    local = np.zeros((N, depth))
    with np.errstate(over="ignore", invalid="ignore"):
        C = np.eye(K) - np.matmul(P, H)
        for ell in range(depth):
            local[:, ell] = norm_upper(step_errors(P, H, C, e).reshape(N, -1))
            e = np.matmul(C, e)
    return e, carried(local, growth)


def step_errors(
    P: np.ndarray, H: np.ndarray, C: np.ndarray, e: Float[np.ndarray, "N K J"]
) -> Float[np.ndarray, "N K J"]:
    """|fl(C e) - T e| <= this, entry by entry."""
    K = H.shape[1]
    size = np.abs(e)
    formed = np.matmul(np.abs(P), np.matmul(np.abs(H), size) + K * THETA)
    applied = np.matmul(np.abs(C), size)
    lost = K * THETA * (1.0 + np.sum(size, axis=1, keepdims=True))
    return up(gamma(K) * formed + gamma(K + 1) * applied + lost, 2 * K + 8)
