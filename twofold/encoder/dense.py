"""A batch of dense systems H x = d, solved with a proved radius, lifted by U to the answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs
from twofold.rigor.linear import solve


@dataclass(frozen=True, eq=False)
class DenseSystem:
    """N systems H x = d with H as plain matrices; the answer is U x, or x where U is None.

    U is one for all, or has one matrix for each task.

    Rows with NaN or Inf are let in: their exact solution is NaN with radius inf, and whatever is
    built on it falls silent, while the other rows go on.
    """

    H: Float[np.ndarray, "N r r"]
    d: Float[np.ndarray, "N r"]
    U: Float[np.ndarray, "*N K r"] | None = None
    asymmetry: float = 0.0
    """Largest |H - H'| over largest |H| that the encoder averaged away, rounding-sized."""

    def __post_init__(self) -> None:
        H, d = batch(self.H, self.d)
        object.__setattr__(self, "H", H)
        object.__setattr__(self, "d", d)
        if self.U is not None:
            U = inputs.real("U", self.U, ndim=(2, 3), finite=np.ndim(self.U) == 2)
            if U.shape[-1] != d.shape[1] or (U.ndim == 3 and len(U) != len(d)):
                raise ValueError(
                    f"U: expected shape (K, {d.shape[1]}) or ({len(d)}, K, {d.shape[1]}), "
                    f"got {U.shape}"
                )
            object.__setattr__(self, "U", U)

    def __len__(self) -> int:
        return len(self.d)

    def matvec(self, v: Float[np.ndarray, "N r"]) -> Float[np.ndarray, "N r"]:
        """H v, row by row."""
        return (self.H @ v[..., None])[..., 0]

    def dense(self) -> Float[np.ndarray, "N r r"]:
        """H itself."""
        return self.H

    @cached_property
    def _solved(self) -> tuple[np.ndarray, np.ndarray]:
        x, radius = solve(self.H, self.d)
        return np.where(np.isfinite(radius)[:, None], x, np.nan), radius

    def enclosure(self) -> tuple[Float[np.ndarray, "N r"], Float[np.ndarray, " N"]]:
        """``(x, radius)``: the true solution lies within ``radius`` of x in the 2-norm."""
        return self._solved

    def exact(self) -> Float[np.ndarray, "N r"]:
        """x_dagger, what a perfect decoder would return."""
        return self._solved[0]

    def lift(self, x: Float[np.ndarray, "N r"]) -> Float[np.ndarray, "N K"]:
        """The answer U x in the coordinates of the truth."""
        if self.U is None:
            return x
        return x @ self.U.T if self.U.ndim == 2 else np.matmul(self.U, x[..., None])[..., 0]


def batch(H: Any, d: Any) -> tuple[Float[np.ndarray, "N r r"], Float[np.ndarray, "N r"]]:
    """``(H, d)`` checked: one square, symmetric-or-not matrix and one right-hand side per task."""
    d = inputs.real("d", d, ndim=2, finite=False)
    if 0 in d.shape:
        raise ValueError(f"d: expected at least one task and one unknown, got shape {d.shape}")
    N, r = d.shape
    return inputs.real("H", H, shape=(N, r, r), finite=False), d
