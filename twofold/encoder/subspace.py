r"""The subspace encoder: U_N = Top_r of the covariance of *estimated* coefficients.

    S_N = (1/N) sum_n beta_hat_n beta_hat_n',   U_N = Top_r(S_N),
    A = U'HU,  d = U'c,  answer = U z

The estimates carry noise and shrinkage, so S_N does not converge to Sigma_beta but to
``expected_covariance``; the angle between its Top_r and U* is a floor that no N removes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.encoder.dense import DenseSystem
from twofold.encoder.ridge import averaged, normal_equations, penalty
from twofold.rigor import inputs


@dataclass(frozen=True, eq=False)
class Subspace:
    """Encoder: the prompt's normal equations seen through U, solved there, lifted by U."""

    U: Float[np.ndarray, "K r"]
    ridge: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "U", inputs.real("U", self.U, ndim=2))
        object.__setattr__(self, "ridge", penalty(self.ridge))

    def __call__(self, prompt: Mapping[str, Any]) -> DenseSystem:
        """The r x r system U'HU z = U'c of every prompt."""
        H, c = normal_equations(prompt, self.ridge)
        inputs.real("U", self.U, shape=(H.shape[-1], None))
        with np.errstate(invalid="ignore", over="ignore"):
            A = self.U.T @ (H @ self.U)
            A = 0.5 * (A + np.swapaxes(A, 1, 2))
            return DenseSystem(A, c @ self.U, self.U, averaged(prompt))


@dataclass(frozen=True, eq=False)
class Covariance:
    """S = (1/n) sum of beta beta' over the n rows seen so far."""

    S: Float[np.ndarray, "K K"]
    n: int = 0

    def add(self, beta: Float[np.ndarray, "N K"]) -> Covariance:
        """The covariance with N more rows: S + (beta'beta - N S) / (n + N)."""
        beta = inputs.real("beta", beta, shape=(None, len(self.S)))
        n = self.n + len(beta)
        return Covariance(self.S + (beta.T @ beta - len(beta) * self.S) / max(n, 1), n)


def empty(K: int) -> Covariance:
    """No rows seen yet."""
    K = inputs.whole("K", K, low=1)
    return Covariance(np.zeros((K, K)))


def top(S: Float[np.ndarray, "K K"], r: int) -> Float[np.ndarray, "K r"]:
    """Top_r(S): orthonormal eigenvectors of the r largest eigenvalues, largest first."""
    S = inputs.symmetric("S", inputs.real("S", S, ndim=2))
    r = inputs.whole("r", r, low=1)
    if r > len(S):
        raise ValueError(f"r: expected at most K = {len(S)}, got {r}")
    return np.linalg.eigh(S)[1][:, : -r - 1 : -1].copy()


def expected_covariance(
    H: Float[np.ndarray, "N K K"],
    *,
    prior: Float[np.ndarray, "K K"],
    ridge: float,
    noise: float,
    prompt: int,
) -> Float[np.ndarray, "K K"]:
    r"""E[beta_hat beta_hat' | the prompts' H], averaged over the prompts.

    With R = H^-1 and Q = I - lambda R: mean of Q Sigma_beta Q + (sigma^2/M)(R - lambda R^2).
    """
    H = inputs.symmetric("H", inputs.real("H", H, ndim=3))
    prior = inputs.real("prior", prior, shape=H.shape[1:])
    M, ridge = inputs.whole("prompt", prompt, low=1), penalty(ridge)
    h, V = np.linalg.eigh(H)
    if np.min(h) <= 0:
        raise ValueError(f"H: expected positive definite matrices, got eigenvalue {np.min(h):.3g}")
    shrink = (h - ridge) / h
    Vt = np.swapaxes(V, 1, 2)
    Q = (V * shrink[:, None, :]) @ Vt
    spread = (V * (noise**2 / M * shrink / h)[:, None, :]) @ Vt
    mean = np.mean(Q @ prior @ Q + spread, axis=0)
    return 0.5 * (mean + mean.T)
