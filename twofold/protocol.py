"""What the parts hand to each other. NumPy float64; axis 0 is the N tasks.

A *law* says how tasks are drawn; *tasks* are what was drawn; an *encoder* turns a prompt into a
*system* (or a code, when nothing is to be solved); a *decoder* turns the system into x. Neither
half ever sees ``truth`` or ``latent``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

Target = Literal["solve", "coefficients"]


@dataclass(frozen=True, eq=False)
class Law:
    r"""Gaussian-type least-squares prompts: x ~ (0, Sigma), y = x'beta + xi, H = X'X/M + lambda I.

    ``sigma``
        spectrum (K,) or matrix (K, K) of the features' covariance.
    ``prior``
        spectrum or matrix of the target's covariance; None means the identity.
    ``target``
        ``solve``: the target is x, and d = H x; ``coefficients``: the target is beta, and
        d = c = X'y/M.
    ``kurtosis``
        excess kurtosis of the independent whitened features, 0 for Gaussian.
    """

    sigma: np.ndarray
    prompt: int
    ridge: float = 0.0
    noise: float = 0.0
    prior: np.ndarray | None = None
    rank: int | None = None
    target: Target = "solve"
    kurtosis: float = 0.0

    @property
    def dim(self) -> int:
        """K, the number of coordinates."""
        return len(self.sigma)


@dataclass(frozen=True, eq=False)
class Tasks:
    """N drawn tasks. ``prompt`` is all that an encoder may read."""

    prompt: Mapping[str, np.ndarray]
    truth: Float[np.ndarray, "N K"]
    latent: np.ndarray | None = None
    metric: Any = None
    scale: float = 1.0
    ids: np.ndarray | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.truth)

    def __getattr__(self, name: str) -> Any:
        """``tasks.H`` is ``tasks.prompt['H']``; X and y are None where no prompt was formed."""
        prompt = self.__dict__.get("prompt", {})
        if name in prompt:
            return prompt[name]
        if name in ("X", "y"):
            return None
        raise AttributeError(f"these tasks have no {name!r}; their prompt has {sorted(prompt)}")


@runtime_checkable
class System(Protocol):
    """N linear problems H x = d, in whatever form they come."""

    d: np.ndarray

    def matvec(self, v: np.ndarray) -> np.ndarray:
        """H v, row by row."""
        ...

    def dense(self) -> np.ndarray | None:
        """H as (N, r, r), or None when it is never formed."""
        ...

    def exact(self) -> np.ndarray | None:
        """x_dagger, the solution that a perfect decoder would return; None if unknown."""
        ...

    def lift(self, x: np.ndarray) -> np.ndarray:
        """The answer, in the coordinates of ``truth``."""
        ...


Encoder = Callable[[Mapping[str, np.ndarray]], Any]
Decoder = Callable[[Any], np.ndarray]


@dataclass(frozen=True)
class EncoderDecoder:
    """The model: ``encoder(prompt) -> System | code`` and ``decoder(System | code) -> x``."""

    encoder: Encoder
    decoder: Decoder

    def __call__(self, tasks: Tasks) -> np.ndarray:
        """The model's answer on each task."""
        system = self.encoder(tasks.prompt)
        x = self.decoder(system)
        return system.lift(x) if isinstance(system, System) else np.asarray(x)
