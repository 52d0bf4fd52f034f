r"""One softmax head, symmetrised: a learned P that is positive definite by construction.

Queries and keys are the same, g_ij = <q_i, q_j>/sqrt p; l_i = log sum_j exp g_ij; and

    A_ij = exp(g_ij - (l_i + l_j)/2),    P = D_a A D_a + exp(D_s)

A is similar to the row-stochastic softmax D_l^{-1} exp(g), D_l = diag exp(l): a diagonal congruence
of exp(g). exp(g) is positive semidefinite: it is the sum of g^{o n}/n!, and Schur's product theorem
makes every entrywise power of the Gram matrix g positive semidefinite. Hence D_a A D_a is, and
lambda_min(P) >= min exp(s_i) > 0 for every theta. Nothing overflows: A_ij <= 1, for
exp(g)_ij^2 <= exp(g)_ii exp(g)_jj and l_i >= g_ii.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.learned.family import Family, Shapes
from twofold.rigor import inputs


@dataclass(frozen=True)
class SoftmaxSPD(Family):
    """``dim`` tokens with queries of ``width``; P starts near ``scale`` I."""

    dim: int
    width: int = 4
    scale: float = 1.0

    def __post_init__(self) -> None:
        inputs.whole("dim", self.dim, low=1)
        inputs.whole("width", self.width, low=1)
        if not 0 < self.scale < np.inf:
            raise ValueError(f"scale: expected a positive number, got {self.scale!r}")

    @property
    def shapes(self) -> Shapes:
        """Queries, the head's output gains, and the logarithm of the diagonal."""
        return {"q": (self.dim, self.width), "a": (self.dim,), "s": (self.dim,)}

    def parts(self, seed: int) -> dict[str, np.ndarray]:
        """Gaussian queries, small gains."""
        rng, K = np.random.default_rng(seed), self.dim
        gains = np.full(K, 0.3 * np.sqrt(self.scale))
        return {
            "q": rng.standard_normal((K, self.width)), "a": gains,
            "s": np.full(K, np.log(self.scale)),
        }  # fmt: skip

    def formula(self, xp: Any, part: Mapping[str, Any]) -> Any:
        """P, symmetric to the last bit."""
        q, a = part["q"], part["a"]
        g = q @ q.T / np.sqrt(self.width)
        top = xp.max(xp.real(g), axis=1)
        total = top + xp.log(xp.sum(xp.exp(g - top[:, None]), axis=1))
        A = xp.exp(g - (total[:, None] + total) / 2)
        A = a[:, None] * A * a
        return (A + A.T) / 2 + xp.diag(xp.exp(part["s"]))

    def least_eigenvalue(self, theta: np.ndarray) -> float:
        """Min exp(s_i), which no eigenvalue of P undercuts in exact arithmetic."""
        return float(np.exp(np.min(self.split(self.checked(theta))["s"])))

    def frozen(self, theta: np.ndarray) -> Float[np.ndarray, "K K"]:
        """P of a theta that training is done with."""
        return self.matrix(theta)
