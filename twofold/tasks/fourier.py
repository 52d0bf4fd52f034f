r"""Random Fourier features: cos w_j x and sin w_j x with w_j drawn from the kernel's spectrum.

k_R(t) = (1/J) sum_j cos w_j t with R = 2J features is unbiased, E k_R = k, of variance at most
1/2J at each t. No bound below the trivial |k - k_R| <= 2 holds for one draw, so none is given.
(Rahimi & Recht 2007.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs
from twofold.tasks.mercer import RBF, positive


@dataclass(frozen=True)
class Fourier:
    """``rank`` (even) random features of the squared-exponential kernel, fixed by ``seed``."""

    rank: int
    length: float = 1.0
    spread: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rank", inputs.whole("rank", self.rank, low=2))
        inputs.whole("seed", self.seed)
        if self.rank % 2:
            raise ValueError(f"rank: features come in pairs, so an even number, got {self.rank}")
        for name in ("length", "spread"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))

    @property
    def frequencies(self) -> Float[np.ndarray, " J"]:
        """w_j ~ N(0, 1/length^2)."""
        return np.random.default_rng(self.seed).standard_normal(self.rank // 2) / self.length

    @property
    def prior(self) -> Float[np.ndarray, " R"]:
        """1/J for each latent."""
        return np.full(self.rank, 2 / self.rank)

    def __call__(self, x: Float[np.ndarray, "*N"]) -> Float[np.ndarray, "*N R"]:
        """All cosines, then all sines."""
        angle = inputs.real("x", x, finite=False)[..., None] * self.frequencies
        with np.errstate(invalid="ignore"):
            return np.concatenate([np.cos(angle), np.sin(angle)], axis=-1)

    def kernel(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """k(x, y), entry by entry."""
        return RBF(1, self.length).kernel(x, y)

    def gap(self, x: Float[np.ndarray, "*N"]) -> Float[np.ndarray, "*N"]:
        """2: nothing better is certain of one draw."""
        return np.full(np.shape(x), 2.0)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Inputs x ~ N(0, spread^2)."""
        return self.spread * rng.standard_normal(shape)
