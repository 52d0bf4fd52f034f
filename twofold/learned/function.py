"""Any JAX function theta -> P as a family: its matrix and both derivatives, in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.learned.family import loaded
from twofold.rigor import inputs


@dataclass(frozen=True, eq=False)
class Function:
    """P = ``function(theta)``, written in JAX; training starts at ``first``, whatever the seed."""

    function: Callable[[Any], Any]
    first: Float[np.ndarray, " n"] = field(repr=False)

    def start(self, seed: int) -> Float[np.ndarray, " n"]:
        """A copy of ``first``."""
        inputs.whole("seed", seed)
        return inputs.real("first", self.first, ndim=1).copy()

    def matrix(self, theta: np.ndarray) -> Float[np.ndarray, "K K"]:
        """P of theta; a ValueError unless it is square."""
        P = self._run(self._compiled[0], theta)
        if P.ndim != 2 or P.shape[0] != P.shape[1]:
            raise ValueError(f"function: expected a square matrix P, got shape {P.shape}")
        return P

    def pull_back(self, theta: np.ndarray, dP: np.ndarray) -> Float[np.ndarray, " n"]:
        """DP* [dP], by one vjp."""
        return self._run(self._compiled[1], theta, inputs.real("dP", dP, ndim=2))

    def push_forward(self, theta: np.ndarray, dtheta: np.ndarray) -> Float[np.ndarray, "K K"]:
        """DP [dtheta], by one jvp."""
        return self._run(self._compiled[2], theta, inputs.real("dtheta", dtheta, ndim=1))

    @cached_property
    def _compiled(self) -> tuple[Any, Any, Any]:
        jax, form = loaded(), self.function
        return (
            jax.jit(form),
            jax.jit(lambda theta, dP: jax.vjp(form, theta)[1](dP)[0]),
            jax.jit(lambda theta, dtheta: jax.jvp(form, (theta,), (dtheta,))[1]),
        )

    def _run(self, compiled: Any, theta: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        theta = inputs.real("theta", theta, shape=(len(self.first),))
        with loaded().enable_x64(True):
            return np.array(compiled(theta, *rest), dtype=np.float64)
