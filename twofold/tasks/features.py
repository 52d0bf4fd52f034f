r"""Independent whitened features w with E w = 0, E w^2 = 1 and E w^4 = 3 + k, for any k >= -2.

One law per excess kurtosis k, each exact in its fourth moment:

- k = 0: Gaussian.
- k > 0: w = sqrt(v) g, v ~ Gamma(shape 3/k, scale k/3), so E v = 1, E v^2 = 1 + k/3 and
  E w^4 = 3 E v^2 = 3 + k. k = 3 is the Laplace law.
- -2 < k < 0: the symmetric beta law w = sqrt(2a + 1) (2 b - 1), b ~ Beta(a, a),
  a = -3/k - 3/2, whose excess kurtosis is -6/(2a + 3) = k. k = -1.2 is the uniform law.
- k = -2: random signs, the limit a -> 0. Nothing lies below: E w^4 >= (E w^2)^2.
"""

from __future__ import annotations

import numpy as np


def whitened(rng: np.random.Generator, shape: tuple[int, ...], kurtosis: float = 0.0) -> np.ndarray:
    """Independent entries of mean 0, variance 1 and excess kurtosis ``kurtosis``."""
    if kurtosis == 0.0:
        return rng.standard_normal(shape)
    if kurtosis > 0.0:
        v = rng.gamma(3.0 / kurtosis, kurtosis / 3.0, shape)
        return np.sqrt(v) * rng.standard_normal(shape)
    if kurtosis == -2.0:
        return 2.0 * rng.integers(0, 2, shape) - 1.0
    a = -3.0 / kurtosis - 1.5
    return np.sqrt(2.0 * a + 1.0) * (2.0 * rng.beta(a, a, shape) - 1.0)


def name(kurtosis: float) -> str:
    """The law of one whitened feature, in words."""
    if kurtosis == 0.0:
        return "Gaussian"
    if kurtosis > 0.0:
        return f"Gaussian of Gamma({3.0 / kurtosis:g}) variance"
    return "random signs" if kurtosis == -2.0 else f"Beta({-3.0 / kurtosis - 1.5:g}) on an interval"
