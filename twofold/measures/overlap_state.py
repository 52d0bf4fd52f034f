r"""The overlap state of a preconditioner: traces of P with the mean system and the mean covariance.

With the means Hbar = E H and Sbar = E x x' the seed logs first, second and energy,

    Tr(P Hbar)/K,   Tr(P Hbar P Hbar)/K,   Tr(P Hbar Sbar Hbar' P')/K,

and Tr(P Hbar Sbar)/K, Tr(Sbar)/K complete the depth-one risk of the mean system,
R_1 = scale - 2 cross + energy. That is the risk of *one* system Hbar: over tasks E H S H' exceeds
Hbar S Hbar', and no state of averages knows by how much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor.inputs import real, square


@dataclass(frozen=True, eq=False)
class OverlapState:
    """One number per checkpoint; ``scale`` = Tr(Sbar)/K is the risk at P = 0."""

    first: Float[np.ndarray, "*S"]
    second: Float[np.ndarray, "*S"]
    energy: Float[np.ndarray, "*S"]
    cross: Float[np.ndarray, "*S"]
    scale: float

    @property
    def mean_system_risk(self) -> Float[np.ndarray, "*S"]:
        """R_1 = scale - 2 cross + energy of the mean system, at depth one."""
        return self.scale - 2 * self.cross + self.energy


def overlap_state(P: Any, H: Any, x: Any) -> OverlapState:
    """The state of P (K,K) or a trajectory (S,K,K) on systems H (N,K,K) with solutions x (N,K)."""
    P, H = square("P", P), square("H", H)
    K = H.shape[-1]
    x = real("x", x, shape=(len(H), K) if H.ndim == 3 else (None, K))
    if P.shape[-1] != K or 0 in (*H.shape, len(x)):
        raise ValueError(f"H: expected at least one system for P of shape {P.shape}, got {H.shape}")
    mean, S = H.reshape(-1, K, K).mean(axis=0), x.T @ x / len(x)
    PH = P @ mean
    moved = PH @ S
    return OverlapState(
        first=_trace(PH) / K, second=np.sum(PH * np.swapaxes(PH, -1, -2), axis=(-1, -2)) / K,
        energy=np.sum(moved * PH, axis=(-1, -2)) / K, cross=_trace(moved) / K,
        scale=float(np.trace(S)) / K,
    )  # fmt: skip


def fluctuation(P: Any, H: Any, x: Any) -> Float[np.ndarray, "*S"]:
    """What the depth-one risk over these tasks has beyond that of the mean system.

    E |x - P H x|^2 / K - R_1(Hbar, Sbar): the fluctuation of H x about Hbar x, seen through P.
    """
    state = overlap_state(P, H, x)
    P, H, x = square("P", P), square("H", H), real("x", x)
    d = (H @ x[..., None])[..., 0]
    left = x - d @ np.swapaxes(P, -1, -2)
    return np.sum(left**2, axis=(-1, -2)) / left.shape[-2] / x.shape[-1] - state.mean_system_risk


def _trace(A: np.ndarray) -> np.ndarray:
    return np.trace(A, axis1=-2, axis2=-1)
