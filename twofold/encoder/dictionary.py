r"""The dictionary G of the encoder: b = G* z + xi is learned from pairs (z, b).

    L(G) = 1/2 E||G z - b||^2,  gradient G Sigma_z - Sigma_bz,  G* Sigma_z = Sigma_bz

This is the decoder's problem with other letters (P C = B): its exact trajectory in outer time is
``training.trajectory`` applied to (G_0, Sigma_z, Sigma_bz).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs


@dataclass(frozen=True, eq=False)
class DictionaryLaw:
    """z ~ N(0, sigma_z), b = G_star z + xi, xi ~ N(0, noise^2 I); G_star is (K, r)."""

    G_star: Float[np.ndarray, "K r"]
    sigma_z: Float[np.ndarray, "r r"]
    noise: float = 0.0

    def __post_init__(self) -> None:
        G = inputs.real("G_star", self.G_star, ndim=2)
        sigma = inputs.real("sigma_z", self.sigma_z, ndim=(1, 2))
        sigma = inputs.symmetric("sigma_z", np.diag(sigma) if sigma.ndim == 1 else sigma)
        noise = float(inputs.real("noise", self.noise, ndim=0))
        if 0 in G.shape or sigma.shape != (G.shape[1], G.shape[1]) or noise < 0:
            raise ValueError(
                f"G_star, sigma_z, noise: expected (K, r), (r, r) and a number >= 0, got "
                f"{G.shape}, {sigma.shape}, {noise}"
            )
        low = float(np.linalg.eigvalsh(sigma)[0])
        if low < -8 * len(sigma) * np.finfo(float).eps * float(np.max(np.abs(sigma))):
            raise ValueError(f"sigma_z: a covariance has no negative eigenvalue, got {low:.3g}")
        for name, value in (("G_star", G), ("sigma_z", sigma), ("noise", noise)):
            object.__setattr__(self, name, value)

    @property
    def sigma_bz(self) -> Float[np.ndarray, "K r"]:
        """E[b z'] = G* Sigma_z."""
        return self.G_star @ self.sigma_z

    def risk(self, G: Float[np.ndarray, "*S K r"]) -> Float[np.ndarray, "*S"]:
        """R_enc(G) = E||G z - b||^2 / K = noise^2 + tr(D Sigma_z D')/K with D = G - G*."""
        D = inputs.real("G", G, ndim=(2, 3)) - self.G_star
        return self.noise**2 + np.einsum("...kr,...kr->...", D @ self.sigma_z, D) / len(self.G_star)

    def sample(
        self, seed: int, count: int
    ) -> tuple[Float[np.ndarray, "N r"], Float[np.ndarray, "N K"]]:
        """``count`` pairs (z, b)."""
        rng = np.random.default_rng(seed)
        eigenvalues, V = np.linalg.eigh(self.sigma_z)
        scale = np.sqrt(np.maximum(eigenvalues, 0.0))
        z = (rng.standard_normal((count, len(V))) * scale) @ V.T
        return z, z @ self.G_star.T + self.noise * rng.standard_normal((count, len(self.G_star)))


def gradient(
    G: Float[np.ndarray, "K r"],
    sigma_z: Float[np.ndarray, "r r"],
    sigma_bz: Float[np.ndarray, "K r"],
) -> Float[np.ndarray, "K r"]:
    """Gradient of the loss, G Sigma_z - Sigma_bz."""
    return G @ sigma_z - sigma_bz


def descend(
    G: Float[np.ndarray, "K r"],
    z: Float[np.ndarray, "N r"],
    b: Float[np.ndarray, "N K"],
    eta: float,
) -> Float[np.ndarray, "K r"]:
    """One SGD step on a batch: the gradient with the batch's own moments."""
    z = inputs.real("z", z, shape=(None, G.shape[1]))
    b = inputs.real("b", b, shape=(len(z), G.shape[0]))
    if len(z) == 0:
        raise ValueError("z: an empty batch has no gradient; pass at least one pair")
    return G - eta * gradient(G, z.T @ z / len(z), b.T @ z / len(z))


def held_out_risk(
    G: Float[np.ndarray, "K r"], z: Float[np.ndarray, "N r"], b: Float[np.ndarray, "N K"]
) -> Float[np.ndarray, " N"]:
    """||G z - b||^2 / K of each held-out pair; their mean estimates ``DictionaryLaw.risk``."""
    return np.mean((z @ G.T - b) ** 2, axis=1)
