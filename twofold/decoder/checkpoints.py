"""Several frozen checkpoints of P on the same tasks: one pass over H, matvecs become GEMMs."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from twofold.decoder import richardson
from twofold.rigor import inputs


def iterate(P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int) -> Float[np.ndarray, "S N K"]:
    """x_L of every checkpoint P (S,K,K) on every task."""
    P, H, d, depth = checked(P, H, d, depth)
    path, _ = richardson.swept(P, H, d, richardson.NOWHERE, depth, kept=1)
    return path[:, :, 0]


def error_norms(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int, x_star: np.ndarray
) -> Float[np.ndarray, "S N l"]:
    r"""\|x_l - x_star\| of every checkpoint on every task for l = 0, ..., L."""
    P, H, d, depth = checked(P, H, d, depth)
    x_star = inputs.real("x_star", x_star, shape=d.shape, finite=False)
    _, errors = richardson.swept(P, H, d, x_star, depth, kept=0)
    return errors


def checked(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """The arguments as float64, the checkpoints as (S,1,K,K); ValueError says what is wrong."""
    P = inputs.real("P", P, ndim=3)
    if len(P) == 0:
        raise ValueError("P: no checkpoint came; pass an array (S, K, K) with S >= 1")
    _, H, d, depth = richardson.checked(P[0], H, d, depth)
    return P[:, None], H, d, depth
