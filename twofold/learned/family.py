r"""Families theta -> P: a flat float64 theta, one formula, its matrix, and its two derivatives.

The formula is one array-API function. NumPy evaluates it for the matrix that is used and proved
upon, and for complex theta; JAX differentiates the same lines, in float64, compiled once per
family:

    push_forward(theta, dtheta) = DP_theta [dtheta],   pull_back(theta, dP) = DP_theta* [dP]
"""

from __future__ import annotations

import importlib.util
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Protocol, final

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs

Shapes = Mapping[str, tuple[int, ...]]


class Parametrised(Protocol):
    """What training asks of a family; `Free` has it without JAX."""

    def start(self, seed: int) -> Float[np.ndarray, " n"]:
        """A theta to begin with."""
        ...

    def matrix(self, theta: np.ndarray) -> Float[np.ndarray, "K K"]:
        """P of theta."""
        ...

    def pull_back(self, theta: np.ndarray, dP: np.ndarray) -> Float[np.ndarray, " n"]:
        """The gradient in theta of <dP, P>, dP held fixed."""
        ...

    def push_forward(self, theta: np.ndarray, dtheta: np.ndarray) -> Float[np.ndarray, "K K"]:
        """The derivative of P along dtheta."""
        ...


class Family(ABC):
    """A frozen dataclass that names its parts and writes down its formula gets the rest."""

    @property
    @abstractmethod
    def shapes(self) -> Shapes:
        """The parts of theta, in their order."""

    @abstractmethod
    def parts(self, seed: int) -> Mapping[str, np.ndarray]:
        """The parts to begin with."""

    @abstractmethod
    def formula(self, xp: Any, part: Mapping[str, Any]) -> Any:
        """P of the parts, in the array library ``xp``; analytic wherever P is smooth."""

    @property
    @final
    def size(self) -> int:
        """n, the length of theta."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    @final
    def start(self, seed: int) -> Float[np.ndarray, " n"]:
        """A theta to begin with, drawn from ``seed``."""
        drawn = self.parts(inputs.whole("seed", seed))
        return np.concatenate([np.ravel(drawn[name]) for name in self.shapes]).astype(float)

    @final
    def split(self, theta: Any) -> dict[str, Any]:
        """The parts of a flat theta, as views where the library has views."""
        out, at = {}, 0
        for name, shape in self.shapes.items():
            out[name] = theta[at : at + math.prod(shape)].reshape(shape)
            at += math.prod(shape)
        return out

    @final
    def form(self, xp: Any, theta: Any) -> Any:
        """P of theta, unchecked: theta may be complex, or traced."""
        return self.formula(xp, self.split(theta))

    @final
    def checked(self, theta: Any, name: str = "theta") -> Float[np.ndarray, " n"]:
        """A finite float64 theta of the right length."""
        return inputs.real(name, theta, shape=(self.size,))

    @final
    def matrix(self, theta: np.ndarray) -> Float[np.ndarray, "K K"]:
        """P of theta, in NumPy."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.form(np, self.checked(theta))

    @final
    def pull_back(self, theta: np.ndarray, dP: np.ndarray) -> Float[np.ndarray, " n"]:
        """DP* [dP], by one vjp."""
        theta, dP = self.checked(theta), inputs.real("dP", dP, ndim=2)
        if dP.shape != (shape := self.matrix(theta).shape):
            raise ValueError(f"dP: expected shape {shape}, got {dP.shape}")
        return _derivatives(self)[0](theta, dP)

    @final
    def push_forward(self, theta: np.ndarray, dtheta: np.ndarray) -> Float[np.ndarray, "K K"]:
        """DP [dtheta], by one jvp."""
        theta, dtheta = self.checked(theta), self.checked(dtheta, "dtheta")
        return _derivatives(self)[1](theta, dtheta)


Map = Callable[[np.ndarray, np.ndarray], np.ndarray]


@lru_cache(maxsize=64)
def _derivatives(family: Family) -> tuple[Map, Map]:
    """(vjp, jvp) of a family, compiled at their first call."""
    jax = loaded()

    def form(theta: Any) -> Any:
        return family.form(jax.numpy, theta)

    def vjp(theta: Any, dP: Any) -> Any:
        return jax.vjp(form, theta)[1](dP)[0]

    def jvp(theta: Any, dtheta: Any) -> Any:
        return jax.jvp(form, (theta,), (dtheta,))[1]

    return _in_numpy(jax, jax.jit(vjp)), _in_numpy(jax, jax.jit(jvp))


def _in_numpy(jax: Any, function: Any) -> Map:
    """``function`` run in float64, its result a NumPy array of its own."""

    def call(*arrays: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.array(function(*arrays), dtype=np.float64)

    return call


def loaded() -> Any:
    """JAX, imported when it is needed."""
    if importlib.util.find_spec("jax") is None:
        raise ImportError("learned: JAX is missing; install the extra, twofold[learn]")
    import jax

    return jax
