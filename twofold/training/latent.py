r"""What a subspace U makes of a regression law: the moments that the latent decoder trains on.

    C = E[d d' | U],  B = E[z_dagger d' | U],   A = U'HU,  d = U'd_M,  z_dagger = A^{-1} d

with d_M the prompt's right side, X'y/M (or H x for target ``solve``: then sigma = 0 below). For
Gaussian features and no ridge, y splits into a part seen through U and an independent rest:
with T = U'Sigma U, J = T^{-1} U'Sigma, W = J S J' and tau^2 = sigma^2 + tr[S (Sigma - Sigma U J)],

    C = (1 + 1/M) T W T + (tr(W T) + tau^2) T / M,      B = W T + (tau^2 / M) I.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.protocol import Law
from twofold.rigor import inputs
from twofold.tasks import laws
from twofold.training.online import latent_systems


def moments(law: Law, U: Any) -> tuple[Float[np.ndarray, "r r"], Float[np.ndarray, "r r"]]:
    """(C, B) in closed form; for Gaussian features and ridge 0."""
    law = laws.checked(law)
    if law.ridge or law.kurtosis:
        raise ValueError(
            "law: the closed form needs Gaussian features and ridge 0; `sampled_moments` takes any"
        )
    U = inputs.real("U", U, shape=(law.dim, None))
    M, r = law.prompt, U.shape[1]
    if M < r:
        raise ValueError(f"law: prompt {M} is shorter than U has columns ({r}): A is singular")
    Sigma, S = laws.matrix(law.sigma), laws.matrix(laws.target_covariance(law))
    T = U.T @ Sigma @ U
    J = np.linalg.solve(T, U.T @ Sigma)
    W = J @ S @ J.T
    tau2 = _noise(law) + float(np.sum(S * (Sigma - Sigma @ U @ J)))
    C = (1 + 1 / M) * T @ W @ T + (np.sum(W * T) + tau2) / M * T
    return (C + C.T) / 2, W @ T + tau2 / M * np.eye(r)


def _noise(law: Law) -> float:
    return law.noise**2 if law.target == "coefficients" else 0.0


def sampled_moments(
    U: Any, H: Any, d: Any
) -> tuple[Float[np.ndarray, "r r"], Float[np.ndarray, "r r"]]:
    """(C, B) of the given tasks, H (N,K,K) and d (N,K)."""
    d = inputs.real("d", d, ndim=2)
    H = inputs.real("H", H, shape=(len(d), d.shape[1], d.shape[1]))
    if not len(d):
        raise ValueError("d: expected at least one task, got none")
    seen, z_dagger = latent_systems(inputs.real("U", U, shape=(d.shape[1], None)), H, d)
    return seen.T @ seen / len(d), z_dagger.T @ seen / len(d)
