r"""The Flexformer: a preconditioner that is linear attention over the K coordinates.

    A_ij = k(q_i, k_j) / sum_l k(q_i, k_l),    P = D_a A D_v + D_s

(seed 002, eq. 18) with learned tokens q_i, k_j in R^p and learned diagonals a, v, s. Kernels:

stationary       mean_f cos(w_f.(q - k)), the frequencies w_f learned
non-stationary   mean_f of cos(u.q - u.k), cos(w.q - w.k), cos(u.q - w.k), cos(w.q - u.k), in pairs
softmax          exp(q.k / sqrt p)

The first two are inner products of features, hence linear attention. A cosine has both signs, and a
row of it may sum to (nearly) zero: where |sum| < GUARD sum |.| the row is divided by GUARD sum |.|
with the sign of its sum, and counted. `guarded` names such rows, training counts its steps on them,
and `frozen` refuses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from twofold.learned.family import Family, Shapes
from twofold.rigor import inputs

Kernel = Literal["stationary", "non-stationary", "softmax"]
GUARD = 2.0**-10


@dataclass(frozen=True)
class Flexformer(Family):
    """``dim`` = K tokens in R^``width``; P starts near ``scale`` I."""

    dim: int
    kernel: Kernel = "stationary"
    width: int = 4
    frequencies: int = 8
    scale: float = 1.0

    def __post_init__(self) -> None:
        for name in ("dim", "width", "frequencies"):
            inputs.whole(name, getattr(self, name), low=1)
        if self.kernel not in get_args(Kernel):
            raise ValueError(f"kernel: expected one of {get_args(Kernel)}, got {self.kernel!r}")
        if not 0 < self.scale < np.inf:
            raise ValueError(f"scale: expected a positive number, got {self.scale!r}")

    @property
    def shapes(self) -> Shapes:
        """Tokens, frequencies where the kernel has any, diagonals."""
        K, tokens = self.dim, (self.dim, self.width)
        waves = {"stationary": ("w",), "non-stationary": ("u", "w"), "softmax": ()}[self.kernel]
        return (
            {"q": tokens, "k": tokens}
            | {name: (self.frequencies, self.width) for name in waves}
            | {"a": (K,), "v": (K,), "s": (K,)}
        )

    def parts(self, seed: int) -> dict[str, np.ndarray]:
        """Gaussian tokens and frequencies, of a size that keeps the cosines positive at first."""
        rng, K = np.random.default_rng(seed), self.dim
        gain = np.full(K, 0.3 * np.sqrt(self.scale))
        drawn = {name: rng.standard_normal(shape) for name, shape in self.shapes.items()}
        small = {name: 0.5 * drawn[name] for name in ("u", "w") if name in drawn}
        tokens = {name: drawn[name] / np.sqrt(self.width) for name in ("q", "k")}
        return tokens | small | {"a": gain, "v": gain, "s": np.full(K, self.scale)}

    def formula(self, xp: Any, part: Mapping[str, Any]) -> Any:
        """D_a A D_v + D_s."""
        k = self.affinities(xp, part)
        A = k / divisors(xp, k)[:, None]
        return part["a"][:, None] * A * part["v"] + xp.diag(part["s"])

    def affinities(self, xp: Any, part: Mapping[str, Any]) -> Any:
        """The matrix k(q_i, k_j); for softmax up to a factor of each row."""
        q, k = part["q"], part["k"]
        if self.kernel == "softmax":
            g = q @ k.T / np.sqrt(self.width)
            return xp.exp(g - xp.max(xp.real(g), axis=1)[:, None])
        left, right = (self._features(xp, part, x) for x in (q, k))
        return left @ right.T

    def _features(self, xp: Any, part: Mapping[str, Any], x: Any) -> Any:
        """(cos, sin)(x.w) / sqrt F, averaged over the two frequencies of a pair."""
        waves = [x @ part[name].T for name in ("u", "w") if name in part]
        size = len(waves) * np.sqrt(self.frequencies)
        cosines, sines = (sum(f(wave) for wave in waves) / size for f in (xp.cos, xp.sin))
        return xp.concatenate([cosines, sines], axis=1)

    def margins(self, theta: np.ndarray) -> Float[np.ndarray, " K"]:
        """|sum of a row| / sum of |its entries|: 1 for a positive kernel, 0 for a row of zeros."""
        k = self.affinities(np, self.split(self.checked(theta)))
        size = np.sum(np.abs(k), axis=1)
        return np.abs(np.sum(k, axis=1)) / np.where(size > 0, size, 1.0)

    def guarded(self, theta: np.ndarray) -> list[int]:
        """The rows whose sum is too near zero to be divided by."""
        return [int(i) for i in np.flatnonzero(~(self.margins(theta) >= GUARD))]

    def audited(self, theta: np.ndarray, seed: int) -> dict[str, Float[np.ndarray, " n"]]:
        """Theta with its tokens dealt to other coordinates, and with all of them made equal.

        What a P loses by it is what its tokens had learned; the diagonals stay.
        """
        part = self.split(self.checked(theta))
        order = np.random.default_rng(inputs.whole("seed", seed)).permutation(self.dim)
        changes = {
            "tokens permuted": {name: part[name][order] for name in ("q", "k")},
            "tokens constant": {name: 0 * part[name] + part[name].mean(0) for name in ("q", "k")},
        }
        return {
            name: np.concatenate([np.ravel((part | change)[key]) for key in self.shapes])
            for name, change in changes.items()
        }

    def frozen(self, theta: np.ndarray) -> Float[np.ndarray, "K K"]:
        """P of a theta that training is done with; ValueError if the guard made one of its rows."""
        if rows := self.guarded(theta):
            raise ValueError(
                f"theta: the kernel's rows {rows} sum to less than {GUARD:.1e} of their size, so "
                "that A is the guard's, not the kernel's; train on, or use the softmax kernel"
            )
        return self.matrix(theta)


def divisors(xp: Any, k: Any) -> Any:
    """The row sums, kept GUARD sum |k| away from zero; 1 for a row of zeros."""
    total, size = xp.sum(k, axis=1), xp.sum(xp.abs(k), axis=1)
    least = xp.where(size > 0, GUARD * size, 1.0)
    kept = xp.where(xp.real(total) < 0, -least, least)
    return xp.where(xp.abs(total) < least, kept, total)
