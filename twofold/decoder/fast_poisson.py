r"""The fast Poisson solver as a preconditioner: the inverse of the Laplacian by sine transforms.

On side^D inner points of the unit cube, S the orthonormal sine matrix and h = 1 / (side + 1),

    P = (S x S) diag(1 / (lambda_i + lambda_j)) (S x S),   lambda_j = 4 sin^2(j pi h / 2) / h^2

For A(z) = -div(a grad) with a_min <= a <= a_max the spectrum of P A(z) lies in [a_min, a_max]
whatever the mesh: conjugate gradients need a number of steps that does not grow with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs


@dataclass(frozen=True)
class FastPoisson:
    """``(system, residual) -> step`` on ``side``^``axes`` unknowns, axes 1 or 2."""

    side: int
    axes: int = 2

    def __post_init__(self) -> None:
        inputs.whole("side", self.side, low=1)
        if self.axes not in (1, 2):
            raise ValueError(f"axes: expected 1 or 2, got {self.axes!r}")

    @cached_property
    def sines(self) -> Float[np.ndarray, "s s"]:
        """S, symmetric and orthonormal."""
        j = np.arange(1, self.side + 1)
        h = 1.0 / (self.side + 1)
        return np.sqrt(2 * h) * np.sin(np.pi * h * np.outer(j, j))

    @cached_property
    def inverse(self) -> np.ndarray:
        """1 / eigenvalues, on the grid of frequencies."""
        angle = np.pi * np.arange(1, self.side + 1) / (2 * (self.side + 1))
        line = (2 * (self.side + 1) * np.sin(angle)) ** 2
        return 1.0 / (line if self.axes == 1 else np.add.outer(line, line))

    def __call__(self, system: Any, residual: Float[np.ndarray, "N n"]) -> np.ndarray:
        """P r, row by row; the system is not looked at."""
        n = self.side**self.axes
        r = inputs.real("residual", residual, shape=(None, n), finite=False)
        if self.axes == 1:
            return (r @ self.sines * self.inverse) @ self.sines
        return self._plane(r.reshape(-1, self.side, self.side)).reshape(r.shape)

    def _plane(self, r: Float[np.ndarray, "N s s"]) -> Float[np.ndarray, "N s s"]:
        seen = np.matmul(self.sines, r @ self.sines) * self.inverse
        return np.matmul(self.sines, seen @ self.sines)
