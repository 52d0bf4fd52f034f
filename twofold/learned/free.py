"""The free dense P as a family: theta is P itself. No JAX."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs


@dataclass(frozen=True)
class Free:
    """P = theta, K rows of K; it starts at ``scale`` I."""

    dim: int
    scale: float = 0.0

    def start(self, seed: int) -> Float[np.ndarray, " n"]:
        """The same for every seed."""
        inputs.whole("seed", seed)
        return np.ravel(self.scale * np.eye(inputs.whole("dim", self.dim, low=1)))

    def matrix(self, theta: np.ndarray) -> Float[np.ndarray, "K K"]:
        """Theta, row by row."""
        return self._square("theta", theta)

    def pull_back(self, theta: np.ndarray, dP: np.ndarray) -> Float[np.ndarray, " n"]:
        """The gradient in P is the gradient in theta."""
        self._square("theta", theta)
        return np.ravel(inputs.real("dP", dP, shape=(self.dim, self.dim)))

    def push_forward(self, theta: np.ndarray, dtheta: np.ndarray) -> Float[np.ndarray, "K K"]:
        """The direction in theta is the direction in P."""
        self._square("theta", theta)
        return self._square("dtheta", dtheta)

    def _square(self, name: str, theta: np.ndarray) -> Float[np.ndarray, "K K"]:
        return inputs.real(name, theta, shape=(self.dim**2,)).reshape(self.dim, self.dim)
