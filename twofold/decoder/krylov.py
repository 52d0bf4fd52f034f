r"""Preconditioned conjugate gradients over a batch: each row has its own step sizes.

Minimises |x - x_dagger|_H over x in span{P d, (P H) P d, ...}. P and H have to be symmetric
positive definite: a row in which p'H p or r'P r is negative shows that they are not, and is NaN
from there on. A row that has converged exactly stays where it is.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from twofold.decoder.polynomial import Map


def pcg(
    d: Float[np.ndarray, "N K"], product: Map, precondition: Map, depth: int
) -> Float[np.ndarray, "l N K"]:
    """x_0 = 0, ..., x_depth; one product with H and one with P in each step."""
    path = np.zeros((depth + 1, *d.shape))
    r = d.copy()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        s = precondition(r)
        p, energy = s, _inner(r, s)
        for ell in range(depth):
            Hp = product(p)
            alpha = _ratio(energy, _inner(p, Hp))
            path[ell + 1] = path[ell] + alpha * p
            r = r - alpha * Hp
            s = precondition(r)
            last, energy = energy, _inner(r, s)
            p = s + _ratio(energy, last) * p
    return path


def _inner(a: np.ndarray, b: np.ndarray) -> Float[np.ndarray, "N 1"]:
    return np.einsum("nk,nk->n", a, b)[:, None]


def _ratio(above: np.ndarray, below: np.ndarray) -> Float[np.ndarray, "N 1"]:
    """Above / below for a form that must be positive: 0 where it has vanished, NaN if negative."""
    out = np.where(below > 0, above / below, np.nan)
    return np.where((above == 0) & (below == 0), 0.0, np.where(above < 0, np.nan, out))
