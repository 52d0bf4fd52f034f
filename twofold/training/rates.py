r"""How fast each mode moves: mu_i^s = (+-1)^s e^{s log|mu_i|}, for steps and for gradient flow.

With x_i = eta lambda_i, log|mu_i| is log1p(-min(x_i, 2 - x_i)) for steps and -x_i for the flow: no
digit of a slow mode is lost to 1 - x, and s may be 1e6 or 1e12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from twofold.training.eigenbasis import Eigenbasis


@dataclass(frozen=True, eq=False)
class Rates:
    """log|mu_i|, the modes whose sign alternates, and 1 for steps, 0 for the flow."""

    logs: Float[np.ndarray, " K"]
    alternates: Bool[np.ndarray, " K"]
    slower: Float[np.ndarray, " K"]
    """An upper bound of log|mu_i| for any eigenvalue within the basis's distance of lambda_i."""
    step: int

    def exponents(self, s: np.ndarray | float, fold: int = 1) -> Float[np.ndarray, "*S K"]:
        """The logarithms fold s log|mu_i|, with 0 where s = 0 even if mu_i = 0."""
        return products(np.multiply(fold, s), self.logs)

    def powers(self, s: np.ndarray | float, fold: int = 1) -> Float[np.ndarray, "*S K"]:
        """mu_i^{fold s}, signs and all."""
        with np.errstate(over="ignore", under="ignore"):
            out = np.exp(self.exponents(s, fold))
        odd = np.multiply(fold, s)[..., None] % 2 == 1
        return np.where(odd & self.alternates, -out, out) if np.any(self.alternates) else out


def products(s: np.ndarray | float, logs: Float[np.ndarray, " K"]) -> Float[np.ndarray, "*S K"]:
    """Each s log|mu|, 0 at s = 0 whatever the mode."""
    s = np.asarray(s)[..., None]
    return np.multiply(s, logs, where=s > 0, out=np.zeros(np.broadcast_shapes(s.shape, logs.shape)))


def discrete(eta: float, basis: Eigenbasis) -> Rates:
    """mu_i = 1 - eta lambda_i."""
    x = eta * basis.values
    near = np.where(x > 1, x - 2, -x)  # |1 - x| = 1 + near, and x - 2 is exact on [1, 4]
    with np.errstate(divide="ignore"):
        slower = np.log1p(near + widening(eta, basis))
        return Rates(np.log1p(near), x > 1, slower, 1)


def gradient_flow(eta: float, basis: Eigenbasis) -> Rates:
    """mu_i = e^{-eta lambda_i}."""
    x = eta * basis.values
    return Rates(-x, np.zeros(len(x), bool), widening(eta, basis) - x, 0)


def widening(eta: float, basis: Eigenbasis) -> float:
    """How far eta lambda may be from its computed value, rounding of the product included."""
    return (1 + 1e-12) * eta * (basis.distance + 2.0**-51 * float(basis.values[-1]))
