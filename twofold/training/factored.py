r"""Outer time of linear attention with factors: P = mean over heads of W_Q' W_K on the population.

    L(P) = tr(P C P' - 2 P B') / 2,    G = P C - B,
    W_Q <- W_Q - (eta / h) W_K G',     W_K <- W_K - (eta / h) W_Q G.

The free P of `trajectory` moves along G itself; factors move it along W_Q' W_Q G + G W_K' W_K, so
that from small weights the modes are learned one after the other, the strongest first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.measures.attention_kernel import effective_kernel
from twofold.rigor import inputs


@dataclass(frozen=True, eq=False)
class Factors:
    """Queries and keys (h,m,K) at outer time ``s``."""

    s: int
    query: Float[np.ndarray, "h m K"]
    key: Float[np.ndarray, "h m K"]

    @property
    def matrix(self) -> Float[np.ndarray, "K K"]:
        """P."""
        return effective_kernel(self.query, self.key)


def start(*, seed: int, dim: int, heads: int = 2, width: int = 4, size: float = 0.05) -> Factors:
    """Gaussian factors of standard deviation ``size``, queries half as large as keys."""
    rng = np.random.default_rng(inputs.whole("seed", seed))
    query, key = size * rng.standard_normal((2, heads, width, inputs.whole("dim", dim, low=1)))
    return Factors(0, query / 2, key)


def gradient(P: Any, C: Any, B: Any) -> Float[np.ndarray, "K K"]:
    """G = P C - B."""
    return np.asarray(P @ C - B)


def states(begun: Factors, C: Any, B: Any, *, eta: float, times: Any) -> Iterator[Factors]:
    """The factors at each of ``times`` (whole, increasing), by gradient descent from ``begun``."""
    K = begun.query.shape[-1]
    C, B = inputs.real("C", C, shape=(K, K)), inputs.real("B", B, shape=(K, K))
    if not 0 < float(inputs.real("eta", eta, ndim=0)) < np.inf:
        raise ValueError(f"eta: expected a positive step size, got {eta!r}")
    query, key, s = begun.query, begun.key, begun.s
    for time in inputs.real("times", times, ndim=1):
        while s < time:
            G, rate = gradient(effective_kernel(query, key), C, B), eta / len(query)
            query, key, s = query - rate * (key @ G.T), key - rate * (query @ G), s + 1
        yield Factors(s, query, key)
