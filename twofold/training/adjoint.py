r"""The finite-set loss of a shared preconditioner and its gradient, by one adjoint sweep.

    L_N(P) = 1/(2 N K) sum_n |x_L(P)_n - target_n|^2
    lambda_L = (x_L - target) / (N K),    lambda_l = (I - P H)' lambda_{l+1}
    grad_P L_N = sum_n sum_{l < L} lambda_{l+1} r_l'

(Seed 002, eq. 20-23.) The kernel keeps a block's tasks in the cache for both directions.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from twofold.decoder import richardson, sensitivity
from twofold.rigor import inputs


def gradient(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, target: np.ndarray, depth: int
) -> tuple[float, Float[np.ndarray, "K K"]]:
    """(L_N, its gradient in P); not finite where the iteration overflows."""
    P, H, d, depth = sensitivity.checked(P, H, d, depth)
    target = inputs.real("target", target, shape=d.shape)
    x, dP = sensitivity.fitted(P, H, d, depth, target, 1.0 / d.size)
    return misfit(x, target), dP


def loss(P: np.ndarray, H: np.ndarray, d: np.ndarray, target: np.ndarray, depth: int) -> float:
    """L_N alone, without the way back."""
    P, H, d, depth = sensitivity.checked(P, H, d, depth)
    target = inputs.real("target", target, shape=d.shape)
    x = richardson.iterate(P, H, d, depth)
    sensitivity.explained(P, H, d, depth, x)
    return misfit(x, target)


def misfit(x: Float[np.ndarray, "N K"], target: Float[np.ndarray, "N K"]) -> float:
    """|x - target|^2 / (2 N K)."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.sum((x - target) ** 2) / (2 * x.size))
