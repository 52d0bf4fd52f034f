r"""Gradient flow of encoder and decoder together, the decoder's gradient stopped at the encoder.

    dG/dt = Sigma_bz - G Sigma_z,        dP/dt = B(G) - P C(G)

G is known in closed form at every t, so only P is integrated (Dormand-Prince 8(5,3), restarted at
every output time), at two tolerances: their difference is the error *estimate* of the looser run
and errs on the safe side for the tighter one, which is returned. Nothing here is proved but G.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.integrate import solve_ivp

from twofold.rigor import inputs
from twofold.training import trajectory

Moments = Callable[[Float[np.ndarray, "m q"]], tuple[np.ndarray, np.ndarray]]
LOOSE, TIGHT = 1e-9, 1e-12


@dataclass(frozen=True, eq=False)
class Flow:
    """Both halves at ``times``; ``estimate`` (S,) is of |P computed - P|_F, not a proof."""

    times: Float[np.ndarray, " S"]
    G: Float[np.ndarray, "S k q"]
    P: Float[np.ndarray, "S m r"]
    estimate: Float[np.ndarray, " S"]


def flow(G0: Any, P0: Any, *, Sigma_z: Any, Sigma_bz: Any, moments: Moments, times: Any) -> Flow:
    """The joint flow; ``moments(G) -> (C (r,r), B (m,r))`` is what the encoder G makes of d."""
    t = np.atleast_1d(inputs.real("times", times, ndim=(0, 1)))
    if not t.size or np.any(t < 0) or np.any(np.diff(t) < 0):
        raise ValueError(f"times: expected increasing times >= 0, got {t}")
    P0 = inputs.real("P0", P0, ndim=2)
    encoder = trajectory.flow(G0, Sigma_z, Sigma_bz, times=t)

    def slope(time: float, p: np.ndarray) -> np.ndarray:
        C, B = moments(encoder.state(time))
        return (B - p.reshape(P0.shape) @ C).ravel()

    loose, tight = (_integrate(slope, P0, t, tolerance) for tolerance in (LOOSE, TIGHT))
    return Flow(t, encoder.P, tight, np.linalg.norm(loose - tight, axis=(1, 2)))


def _integrate(
    slope: Callable[[float, np.ndarray], np.ndarray],
    P0: Float[np.ndarray, "m r"],
    times: Float[np.ndarray, " S"],
    tolerance: float,
) -> Float[np.ndarray, "S m r"]:
    out, p, now = np.empty((len(times), *P0.shape)), P0.ravel(), 0.0
    for i, then in enumerate(times):
        if then > now:
            done = solve_ivp(slope, (now, then), p, "DOP853", rtol=tolerance, atol=tolerance)
            if not done.success:
                raise ValueError(f"times: the flow left float64 before t = {then}: {done.message}")
            p, now = done.y[:, -1], then
        out[i] = p.reshape(P0.shape)
    return out
