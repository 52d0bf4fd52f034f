r"""Named families of predictors q(y|code), fitted on some rows to be judged on others.

A family's risk is H(Y|U) + E KL(mu_{Y|U} || q): what the family cannot use of U counts as loss, so
every number that rests on one names it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize

from twofold.measures.cells import cell_sums
from twofold.rigor import inputs

Codes = Any
Targets = Float[np.ndarray, "n K"]
Predictor = Callable[[Codes], Float[np.ndarray, "n K"]]


class Family(Protocol):
    """A name, and a fit to (codes, targets) with weights that sum to what they like."""

    @property
    def name(self) -> str:
        """What is printed beside every number."""
        ...

    def fit(self, codes: Codes, targets: Targets, weight: Any = None) -> Predictor:
        """A predictor of the label's probabilities."""
        ...


@dataclass(frozen=True)
class Logistic:
    """Multinomial logistic regression on standardised features, by L-BFGS."""

    ridge: float = 1e-4
    iterations: int = 60
    most: int = 20000
    """Rows used for fitting, the first of a fixed shuffle."""

    @property
    def name(self) -> str:
        """Family and its settings."""
        return f"logistic (ridge {self.ridge:g}, {self.iterations} iterations)"

    def fit(self, codes: Codes, targets: Targets, weight: Any = None) -> Predictor:
        """Minimise the weighted cross-entropy plus ridge |W|^2 / 2."""
        Z = _features(codes)
        keep = np.random.default_rng(0).permutation(len(Z))[: self.most]
        w = np.full(len(keep), 1 / len(keep)) if weight is None else np.asarray(weight)[keep]
        middle, spread = Z[keep].mean(axis=0), Z[keep].std(axis=0)
        scale = np.where(spread > 0, spread, np.inf)
        A = np.column_stack([(Z[keep] - middle) / scale, np.ones(len(keep))])
        T, K = targets[keep], targets.shape[1]
        shape = (A.shape[1], K)

        def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
            W = flat.reshape(shape)
            log = _normalised(A @ W)
            grad = A.T @ (w[:, None] * (np.exp(log) - T)) + self.ridge * W
            value = -float(np.sum(w[:, None] * T * log)) + 0.5 * self.ridge * float(np.sum(W * W))
            return value, grad.ravel()

        found = minimize(loss, np.zeros(shape[0] * K), jac=True, method="L-BFGS-B",
                         options={"maxiter": self.iterations})  # fmt: skip
        W = found.x.reshape(shape)

        def predict(codes: Codes) -> np.ndarray:
            return np.exp(_normalised(((_features(codes) - middle) / scale) @ W[:-1] + W[-1]))

        return predict


@dataclass(frozen=True)
class Table:
    """Relative frequencies per cell, each label counted ``prior`` times more; unseen: uniform."""

    prior: float = 0.5

    @property
    def name(self) -> str:
        """Family and its settings."""
        return f"table (prior {self.prior:g})"

    def fit(self, codes: Codes, targets: Targets, weight: Any = None) -> Predictor:
        """Count; ``codes`` are labels of cells (n,)."""
        u = np.asarray(codes, dtype=np.int64)
        mass = targets if weight is None else targets * np.asarray(weight)[:, None]
        counts = cell_sums(mass, u, int(u.max()) + 1) + self.prior
        table = counts / counts.sum(axis=1, keepdims=True)
        K = targets.shape[1]

        def predict(codes: Codes) -> np.ndarray:
            v = np.asarray(codes, dtype=np.int64)
            seen = v < len(table)
            return np.where(seen[:, None], table[np.where(seen, v, 0)], 1 / K)

        return predict


def one_hot(y: Int[np.ndarray, " n"], classes: int) -> Targets:
    """Labels as rows of probabilities."""
    out = np.zeros((len(y), classes))
    out[np.arange(len(y)), y] = 1.0
    return out


def tied(activations: Any) -> Int[np.ndarray, " n"]:
    """A label per distinct row of activations (n,) or (n,k), compared bit by bit (-0 is 0)."""
    Z = _features(activations) + 0.0
    rows = np.ascontiguousarray(Z).view(np.dtype((np.void, Z.dtype.itemsize * Z.shape[1])))
    return np.unique(rows.ravel(), return_inverse=True)[1].reshape(-1).astype(np.int64)


def quantised(y: Any, bins: int) -> Int[np.ndarray, " n"]:
    """A real target as ``bins`` labels of about equal frequency: regression made discrete.

    The edges are part of the question: fix them on other data, or read every number as given them.
    """
    y = inputs.real("y", y, 1)
    edges = np.quantile(y, np.linspace(0, 1, inputs.whole("bins", bins, low=2) + 1)[1:-1])
    return np.searchsorted(edges, y, side="right").astype(np.int64)


def usable_entropy(family: Family, codes: Codes, p_x: np.ndarray, p: Targets) -> float:
    """The least E -ln q(Y|U) that the family reaches on a known law p_x (S,), p (S,K)."""
    q = family.fit(codes, p, p_x)(codes)
    return -math.fsum((p_x[:, None] * p * np.log(q)).ravel())


def _normalised(score: Targets) -> Targets:
    """Logarithms of the softmax."""
    score = score - score.max(axis=1, keepdims=True)
    return score - np.log(np.exp(score).sum(axis=1, keepdims=True))


def _features(codes: Codes) -> Float[np.ndarray, "n k"]:
    Z = inputs.real("codes", codes)
    return Z.reshape(len(Z), -1)
