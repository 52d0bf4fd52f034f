r"""A classification problem in which every term is exact: X uniform on {-1,1}^d, Y|X softmax.

p(y|x) = softmax(beta W'x_S) with S the first ``sparsity`` coordinates: ``discrimination`` beta says
how sure the label is, ``sparsity`` how many coordinates it hangs on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from twofold.information.exact.orbits import coordinates, hypercube


@dataclass(frozen=True)
class SparseSoftmax:
    """The law; W (sparsity, classes) is drawn from ``seed``, columns of unit variance in sum."""

    dim: int = 12
    classes: int = 4
    sparsity: int = 3
    discrimination: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.sparsity <= self.dim:
            raise ValueError(f"sparsity: expected 1 .. {self.dim} coordinates, got {self.sparsity}")

    @cached_property
    def states(self) -> Float[np.ndarray, "S d"]:
        """All states."""
        return hypercube(self.dim)

    @property
    def p_x(self) -> Float[np.ndarray, " S"]:
        """Uniform: exactly 2^-dim each."""
        return np.full(2**self.dim, 2.0**-self.dim)

    @cached_property
    def p_y_given_x(self) -> Float[np.ndarray, "S Y"]:
        """The softmax; states that agree on S have bitwise equal rows."""
        W = np.random.default_rng(self.seed).standard_normal((self.sparsity, self.classes))
        few = hypercube(self.sparsity) @ (2 * W / np.sqrt(self.sparsity))
        e = np.exp(self.discrimination * (few - few.max(axis=1, keepdims=True)))
        return (e / e.sum(axis=1, keepdims=True))[self.sufficient]

    @cached_property
    def sufficient(self) -> Int[np.ndarray, " S"]:
        """The encoder x -> x_S."""
        return coordinates(self.states, range(self.sparsity))

    @cached_property
    def biased(self) -> Int[np.ndarray, " S"]:
        """An encoder that forgets the first coordinate, on which Y hangs."""
        return coordinates(self.states, range(1, self.dim))
