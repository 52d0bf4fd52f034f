r"""Matern kernels on an interval by the Fourier series of their periodic sum, the error proved.

On [-a, a] let k_per(t) = sum_m k(t + 2Bm), B > a. With S the spectral density of k, w_j = pi j/B,
Poisson's formula gives k_per(t) = sum_j S(w_j)/2B e^{i w_j t} exactly, hence the features
1, cos w_1 x, sin w_1 x, ... with prior variances S(0)/2B, S(w_1)/B, S(w_1)/B, ... As k decreases
and |t| <= 2a, the images cost at most ``alias``, the dropped modes at most ``tail``, uniformly:

    |k - k_R| <= alias + tail,   alias = 2 sum_{m>=1} k(2Bm - 2a),
    tail = k_per(0) - (the prior variances that are kept, one of each pair) >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs
from twofold.tasks.mercer import positive

IMAGES = 64


@dataclass(frozen=True)
class Matern:
    """``rank`` features for ``nu`` 0.5, 1.5 or 2.5 on [-half, half].

    The features have period 2 half + padding length. The
    inputs are uniform on the interval; elsewhere the features do not stand for the kernel.
    """

    rank: int
    nu: float = 1.5
    length: float = 1.0
    half: float = 1.0
    padding: float = 12.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rank", inputs.whole("rank", self.rank, low=1))
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu: a Matern kernel of nu 0.5, 1.5 or 2.5 is needed, got {self.nu}")
        for name in ("length", "half", "padding"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        if self.padding < 1:
            raise ValueError(f"padding: at least one length is needed, got {self.padding}")

    @property
    def period(self) -> float:
        """2B."""
        return 2 * self.half + self.padding * self.length

    @property
    def frequencies(self) -> Float[np.ndarray, " R"]:
        """w_j of each feature: 0, w_1, w_1, w_2, w_2, ..."""
        return 2 * np.pi / self.period * ((np.arange(self.rank) + 1) // 2)

    @property
    def prior(self) -> Float[np.ndarray, " R"]:
        """The variances of the latents."""
        w, p = self.frequencies, self.nu + 0.5
        rate = np.sqrt(2 * self.nu) / self.length
        top = {0.5: 2.0, 1.5: 4.0, 2.5: 16 / 3}[self.nu] / rate
        density = top / (1.0 + (w / rate) ** 2) ** p
        return np.where(w == 0, 1.0, 2.0) * density / self.period

    def __call__(self, x: Float[np.ndarray, "*N"]) -> Float[np.ndarray, "*N R"]:
        """1, cos w_1 x, sin w_1 x, ..."""
        x = inputs.real("x", x, finite=False)
        angle, sines = x[..., None] * self.frequencies, np.arange(self.rank) % 2 == 0
        with np.errstate(invalid="ignore"):
            return np.where(sines & (self.frequencies > 0), np.sin(angle), np.cos(angle))

    def kernel(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """k(x, y), entry by entry."""
        r = np.sqrt(2 * self.nu) * np.abs(x - y) / self.length
        polynomial = {0.5: 1.0, 1.5: 1 + r, 2.5: 1 + r + r * r / 3}[self.nu]
        return polynomial * np.exp(-r)

    @property
    def alias(self) -> float:
        """What the images of the periodic sum cost."""
        return 2 * float(np.sum(self.kernel(self._images - 2 * self.half, np.zeros(IMAGES))))

    @property
    def tail(self) -> float:
        """What the dropped modes cost; half of a pair that is not whole counts as dropped."""
        kept = np.sum(self.prior[:1]) + np.sum(self.prior[2::2])
        whole = 1.0 + 2 * float(np.sum(self.kernel(self._images, np.zeros(IMAGES))))
        return max(whole - float(kept), 0.0)

    def gap(self, x: Float[np.ndarray, "*N"]) -> Float[np.ndarray, "*N"]:
        """Alias and tail at every x of the interval, a bound of |k - k_R|; 2 outside."""
        inside = np.abs(inputs.real("x", x, finite=False)) <= self.half
        return np.where(inside, self.alias + self.tail, 2.0)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Inputs, uniform on [-half, half]."""
        return rng.uniform(-self.half, self.half, shape)

    @property
    def _images(self) -> Float[np.ndarray, " m"]:
        return self.period * np.arange(1, IMAGES + 1)
