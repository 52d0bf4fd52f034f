r"""Mercer features of the squared-exponential kernel under Gaussian inputs, in closed form.

k(x, x') = exp(-(x - x')^2 / 2 l^2) with x ~ N(0, s^2) has, for a = 1/4s^2, b = 1/2l^2,
c = sqrt(a^2 + 2ab), B = b/(a + b + c) and t = sqrt(2c) x, the eigenpairs

    lambda_k = sqrt(2a/(a + b + c)) B^k,    phi_k = (c/a)^{1/4} e^{-(c - a)x^2} H_k(t)/sqrt(2^k k!)

with E phi_j phi_k = delta_jk: Mehler's formula. sum_k lambda_k phi_k(x)^2 = k(x, x) = 1, so what
the first R features miss at x is e(x) = 1 - sum_{k<R} lambda_k phi_k(x)^2, of mean B^R, and
|k - k_R|(x, x') <= sqrt(e(x) e(x')). (Rasmussen & Williams 2006, section 4.3.1.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs


@dataclass(frozen=True)
class RBF:
    """The first ``rank`` Mercer features; ``length`` is l, ``spread`` the s of the inputs."""

    rank: int
    length: float = 1.0
    spread: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rank", inputs.whole("rank", self.rank, low=1))
        for name in ("length", "spread"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))

    @property
    def ratio(self) -> float:
        """B, the factor from one eigenvalue to the next, and the missing share's per feature."""
        a, b, c = self._abc
        return b / (a + b + c)

    @property
    def prior(self) -> Float[np.ndarray, " R"]:
        """lambda_0, ..., lambda_{R-1}: the variances of the latents, and spec(T_k)."""
        a, b, c = self._abc
        return np.sqrt(2 * a / (a + b + c)) * self.ratio ** np.arange(self.rank)

    def __call__(self, x: Float[np.ndarray, "*N"]) -> Float[np.ndarray, "*N R"]:
        """phi_0(x), ..., phi_{R-1}(x), by the recurrence of the normalised polynomials."""
        a, _, c = self._abc
        x = inputs.real("x", x, finite=False)
        t, out = np.sqrt(2 * c) * x, np.empty((*x.shape, self.rank))
        out[..., 0] = (c / a) ** 0.25 * np.exp(-(c - a) * x**2)
        for k in range(self.rank - 1):
            out[..., k + 1] = np.sqrt(2 / (k + 1)) * t * out[..., k]
            if k:
                out[..., k + 1] -= np.sqrt(k / (k + 1)) * out[..., k - 1]
        return out

    def kernel(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """k(x, y), entry by entry."""
        return np.exp(-0.5 * ((x - y) / self.length) ** 2)

    def gap(self, x: Float[np.ndarray, "*N"]) -> Float[np.ndarray, "*N"]:
        """e(x), with |k - k_R|(x, x') <= sqrt(e(x) e(x'))."""
        return np.maximum(1.0 - np.sum(self.prior * self(x) ** 2, axis=-1), 0.0)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Inputs x ~ N(0, s^2)."""
        return self.spread * rng.standard_normal(shape)

    @property
    def _abc(self) -> tuple[float, float, float]:
        a, b = 0.25 / self.spread**2, 0.5 / self.length**2
        return a, b, float(np.sqrt(a * a + 2 * a * b))


def positive(name: str, value: float) -> float:
    """``value`` as a float, finite and above 0, and so is its square."""
    number = float(inputs.real(name, value, ndim=0))
    if not (number > 0 and 1e-150 < number < 1e150):
        raise ValueError(f"{name}: expected a number > 0 (between 1e-150 and 1e150), got {number}")
    return number
