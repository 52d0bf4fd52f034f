r"""Right-hand sides f = sum_j sqrt(mu_j) xi_j phi_j, a smooth Gaussian field by its sine basis.

On (0, 1)^D with f = 0 on the boundary, phi_j the products of sqrt(2) sin(j pi x), and
mu_j proportional to (1 / length^2 + pi^2 |j|^2)^-(smoothness + D/2): the Matern spectrum, scaled so
that the mean of E f^2 over the grid is 1. Rows of what is returned are sqrt(mu_j) phi_j.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs


def field(
    side: int, *, axes: int = 1, modes: int = 8, length: float = 0.3, smoothness: float = 1.5
) -> Float[np.ndarray, "q n"]:
    """The first ``modes``^axes weighted sine modes on the ``side``^axes inner points."""
    n, q = inputs.whole("side", side, low=1), inputs.whole("modes", modes, low=1)
    if axes not in (1, 2) or q > n:
        raise ValueError(
            f"axes, modes: expected 1 or 2 axes and at most {n} modes, got {axes}, {q}"
        )
    for name, value in (("length", length), ("smoothness", smoothness)):
        if not float(inputs.real(name, value, ndim=0)) > 0:
            raise ValueError(f"{name}: expected a positive number, got {value}")
    j, i = np.arange(1, q + 1), np.arange(1, n + 1)
    sines = np.sqrt(2.0) * np.sin(np.pi * j[:, None] * i / (n + 1))
    frequency = np.pi**2 * j**2
    if axes == 2:
        sines, frequency = np.kron(sines, sines), np.add.outer(frequency, frequency).ravel()
    root = (length**-2 + frequency) ** (-(smoothness + axes / 2) / 2)
    weighted = root[:, None] * sines
    return weighted / np.sqrt(np.mean(np.sum(weighted**2, axis=0)))
