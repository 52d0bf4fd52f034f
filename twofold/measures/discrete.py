r"""Entropies of a finite model seen through an encoder, in nats, each as (value, proved error).

With mu(y|x) = m(x,y)/m(x) and mu(y|u) = M(u,y)/M(u), as sums of one kind each, so that nothing is a
difference of two large numbers:

    H(Y)    = sum_y m(y) ln T/m(y)              I(X;Y)   = sum_xy m ln mu(y|x) T/m(y)
    H(Y|X)  = -sum_xy m ln mu(y|x)              I(U;Y)   = sum_uy M ln mu(y|u) T/m(y)
    H(Y|U)  = -sum_uy M ln mu(y|u)              I(X;Y|U) = sum_xy m ln mu(y|x)/mu(y|u)
    R(q)    = -sum_xy m ln q(y|u)               KL(q)    = sum_uy M ln mu(y|u)/q(y|u)
    D(mu || mu_X q) = sum_xy m ln mu(y|x)/q(y|u).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from twofold.measures.cells import Sums, mean_log

Pair = tuple[float, float]
Table = Float[np.ndarray, "C Y"]


def entropy(s: Sums) -> Pair:
    """H(Y)."""
    return mean_log(s.column, _quotient(s.total, s.column))


def conditional_entropy(s: Sums) -> Pair:
    """H(Y|X)."""
    return mean_log(s.joint, _quotient(s.row[:, None], s.joint))


def encoded_entropy(s: Sums) -> Pair:
    """H(Y|U)."""
    return mean_log(s.cell, _quotient(s.size[:, None], s.cell))


def mutual_information(s: Sums) -> Pair:
    """I(X;Y)."""
    return mean_log(s.joint, _product(posterior(s.joint, s.row), _quotient(s.total, s.column)))


def encoded_information(s: Sums) -> Pair:
    """I(U;Y)."""
    return mean_log(s.cell, _product(posterior(s.cell, s.size), _quotient(s.total, s.column)))


def loss(s: Sums) -> Pair:
    """I(X;Y|U), the mutual information lost by the encoder."""
    inverse = _quotient(s.size[:, None], s.cell)[s.labels]
    return mean_log(s.joint, _product(posterior(s.joint, s.row), inverse))


def merging_loss(fine: Sums, coarse: Sums) -> Pair:
    """I(U;Y|V), for cells V that are unions of cells U of the same model."""
    parent = np.zeros(len(fine.size), np.int64)
    parent[fine.labels] = coarse.labels
    inverse = _quotient(coarse.size[:, None], coarse.cell)[parent]
    return mean_log(fine.cell, _product(posterior(fine.cell, fine.size), inverse))


def risk(s: Sums, decoder: Table) -> Pair:
    """E -ln q(Y|U); inf where q forbids what occurs."""
    return mean_log(s.cell, _quotient(1.0, decoder))


def decoder_kl(s: Sums, decoder: Table) -> Pair:
    """E KL(mu_{Y|U} || q); inf where q forbids what occurs."""
    return mean_log(s.cell, _quotient(posterior(s.cell, s.size), decoder))


def divergence(s: Sums, decoder: Table) -> Pair:
    """D(mu || mu_X q): from the model to the information-sufficient one with this decoder."""
    return mean_log(s.joint, _quotient(posterior(s.joint, s.row), decoder[s.labels]))


def posterior(joint: np.ndarray, size: np.ndarray) -> np.ndarray:
    """``joint / size`` row by row; a row without mass stays 0."""
    return np.where(size[:, None] > 0, _quotient(joint, size[:, None]), 0.0)


def _quotient(top: np.ndarray | float, bottom: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return top / bottom


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a b``; NaN where an impossible label meets an infinite quotient, with weight 0."""
    with np.errstate(invalid="ignore", over="ignore"):
        return a * b
