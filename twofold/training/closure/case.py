r"""What every engine is asked: a Gaussian law and a polynomial of T = I - P H, checked once.

    R(P) = (1/K) E |p(T) x*|^2,   T = I - P H = D - P W,   D = I - lambda P,   H = W + lambda I,
    W = X'X / M,  rows of X ~ N(0, Sigma),   x* ~ N(0, S) independent of X,   p(T) = sum_j c_j T^j

(Richardson's is c = e_L). Where P, Sigma and S are diagonal together everything stays (K,) and a
product is elementwise; otherwise all three are (K, K).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.decoder.polynomial import Schedule
from twofold.protocol import Law
from twofold.rigor import inputs
from twofold.tasks import laws


@dataclass(frozen=True, eq=False)
class Case:
    """A checked setting; ``sigma`` and ``prior`` are both (K,) or both (K, K)."""

    sigma: np.ndarray
    prior: np.ndarray
    prompt: int
    ridge: float
    weights: Float[np.ndarray, " J"]

    @property
    def dim(self) -> int:
        """K."""
        return len(self.sigma)

    @property
    def diagonal(self) -> bool:
        """Whether everything is a vector."""
        return self.sigma.ndim == 1

    @property
    def depth(self) -> int:
        """The degree of the polynomial."""
        return len(self.weights) - 1

    @property
    def pairs(self) -> Float[np.ndarray, "J J"]:
        """c_i c_j / K, the weight of [x^i y^j] tr F in the risk."""
        return np.outer(self.weights, self.weights) / self.dim

    def times(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The product of two matrices, elementwise if they are diagonals."""
        return a * b if self.diagonal else a @ b

    def summed(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The sum of a_n b_n over two stacks, as one product."""
        return np.sum(a * b, axis=0) if self.diagonal else np.tensordot(a, b, ((0, 2), (0, 1)))

    @cached_property
    def spectra(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The diagonals of sigma and prior where they are diagonal, for cheaper products."""
        pair = (laws.matrix(self.sigma), laws.matrix(self.prior))
        found = [np.diagonal(x) if laws.is_diagonal(x) else None for x in pair]
        return found[0], found[1]

    def sigma_times(self, X: np.ndarray) -> np.ndarray:
        """Sigma X, for a stack of X as well."""
        s = self.spectra[0]
        if self.diagonal or s is None:
            return self.times(self.sigma, X)
        return s[:, None] * X

    def times_sigma(self, X: np.ndarray) -> np.ndarray:
        """X Sigma."""
        s = self.spectra[0]
        return self.times(X, self.sigma) if self.diagonal or s is None else X * s

    def times_prior(self, X: np.ndarray) -> np.ndarray:
        """X S."""
        b = self.spectra[1]
        return self.times(X, self.prior) if self.diagonal or b is None else X * b

    def turned(self, a: np.ndarray) -> np.ndarray:
        """The transpose; a diagonal is its own."""
        return a if self.diagonal else np.swapaxes(a, -1, -2)

    @property
    def identity(self) -> np.ndarray:
        """I in the case's own form."""
        return np.ones(self.dim) if self.diagonal else np.eye(self.dim)

    def full(self) -> Case:
        """The same with matrices."""
        parts = (laws.matrix(self.sigma), laws.matrix(self.prior))
        return Case(*parts, self.prompt, self.ridge, self.weights)


def of(
    P: Any,
    *,
    sigma: Any,
    prior: Any = None,
    prompt: int,
    ridge: float = 0.0,
    depth: int | None = None,
    weights: Any = None,
) -> tuple[np.ndarray, Case]:
    """(P, the case) in one form; P may be complex, so that a complex step can run through it."""
    P = np.asarray(P)
    P = P if np.iscomplexobj(P) else inputs.real("P", P, ndim=(1, 2))
    law = laws.checked(Law(sigma, prompt, ridge, prior=prior))
    K = law.dim
    if P.shape not in ((K,), (K, K)):
        raise ValueError(f"P: expected ({K},) or ({K}, {K}) like sigma, got shape {P.shape}")
    if (depth is None) == (weights is None):
        raise ValueError("depth: give the depth, or the weights c_j of a polynomial, not both")
    if weights is None:
        weights = np.eye(inputs.whole("depth", depth) + 1)[-1]
    weights = inputs.real("weights", weights, shape=(None,))
    S = np.ones(K) if law.prior is None else law.prior
    case = Case(law.sigma, S, law.prompt, law.ridge, weights)
    if P.ndim == law.sigma.ndim == S.ndim == 1:
        return P, case
    return (np.diag(P) if P.ndim == 1 else P), case.full()


def polynomial(schedule: Schedule) -> Float[np.ndarray, " J"]:
    """The c_j of an iteration with fixed steps: p_{l+1} = (1 + b - a + a T) p_l - b p_{l-1}."""
    now, last = np.eye(schedule.depth + 1)[0], np.zeros(schedule.depth + 1)
    betas = np.where(np.arange(schedule.depth) > 0, schedule.beta, 0.0)
    for a, b in zip(schedule.alpha, betas, strict=True):
        now, last = (1 + b - a) * now + a * np.roll(now, 1) - b * last, now
    return now
