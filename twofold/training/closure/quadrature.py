r"""Exact risk for any P by Gauss quadrature over Bartlett's factor, for K <= 3 and any P.

X'X = A T T' A' with Sigma = A A', T lower triangular, T_ii^2 ~ chi^2_{M-i} and T_ij ~ N(0, 1). The
risk is a polynomial of degree 2L in the T_ii^2 and 4L in the T_ij: L + 1 Gauss-Laguerre nodes and
2L + 1 Gauss-Hermite nodes integrate it exactly (odd powers vanish by symmetry).
"""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
from jaxtyping import Float
from scipy.special import roots_genlaguerre

from twofold.tasks import laws
from twofold.training.closure import draws
from twofold.training.closure.case import Case

WIDEST = 3
MOST = 4_000_000


def nodes(case: Case) -> int:
    """How many matrices the rule evaluates."""
    K, m, L = case.dim, min(case.dim, case.prompt), case.depth
    free = K * m - m * (m + 1) // 2
    return (L + 1) ** m * (2 * L + 1) ** free


def risk(P: np.ndarray, case: Case) -> float:
    """R exactly."""
    return gradient(P, case)[0]


def gradient(P: np.ndarray, case: Case) -> tuple[float, np.ndarray]:
    """(R, its gradient in P), the same rule for both."""
    full = case.full()
    W, weight = rule(case.dim, case.prompt, case.depth)
    A = laws.matrix(laws.root(full.sigma))
    P_full = np.diag(P) if P.ndim == 1 else P
    value, bar = 0.0, np.zeros((case.dim, case.dim))
    for at in range(0, len(W), 1 << 16):
        part = slice(at, at + (1 << 16))
        v, b = draws.gradients(P_full, A @ W[part] @ A.T, full, weight[part])
        value, bar = value + v, bar + b
    return value, (np.diagonal(bar).copy() if P.ndim == 1 else bar)


@lru_cache(maxsize=4)
def rule(K: int, M: int, L: int) -> tuple[Float[np.ndarray, "n K K"], Float[np.ndarray, " n"]]:
    """(T T'/M, weights)."""
    m = min(K, M)
    axes = [_chi(M - i, L) for i in range(m)]
    z, v = np.polynomial.hermite_e.hermegauss(2 * L + 1)
    places = [(i, j) for j in range(m) for i in range(j + 1, K)]
    axes += [(z, v / np.sum(v))] * len(places)
    grid = np.array(list(itertools.product(*(axis[0] for axis in axes))))
    weight = np.prod(np.array(list(itertools.product(*(axis[1] for axis in axes)))), axis=1)
    T = np.zeros((len(grid), K, m))
    T[:, np.arange(m), np.arange(m)] = grid[:, :m]
    for k, (i, j) in enumerate(places):
        T[:, i, j] = grid[:, m + k]
    return T @ T.swapaxes(1, 2) / M, weight


def _chi(freedom: int, L: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of sqrt(chi^2) and their weights."""
    x, w = roots_genlaguerre(L + 1, freedom / 2 - 1)
    return np.sqrt(2 * x), w / np.sum(w)
