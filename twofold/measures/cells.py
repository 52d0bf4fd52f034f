r"""Sums over the cells of an encoder, and means of logarithms, each with a proved error.

An encoder of a finite X is a table of labels. From the measure m(x,y) = p(x) p(y|x) >= 0 come

    row m(x) = sum_y m(x,y),  cell M(u,y) = sum_{x in u} m(x,y),  M(u),  column m(y),  total T,

all non-negative and summed with compensation, so that each is within ``STEPS`` u of itself: one
product, and at most three sums within 1.01 u of themselves each (Ogita, Rump and Oishi:
u + gamma_{n-1}^2, n <= 2^22). A quotient of two of them, or of two such quotients, is within
``RATIO`` u. Nothing asks that the total is 1: entropies are about m / m(x) and M / M(u).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numba import njit

from twofold.rigor import inputs
from twofold.rigor.eft import two_sum
from twofold.rigor.logarithm import log
from twofold.rigor.roundoff import U, up

STEPS, RATIO = 5, 20
LONGEST = 2**22
SMALLEST = 2.0**-400
Table = Float[np.ndarray, "S Y"]
Labels = Int[np.ndarray, " S"]


@njit(cache=True, fastmath=False)
def cell_sums(table: Table, labels: Labels, count: int) -> Table:
    """The sum of the rows of each label, compensated."""
    high, low = np.zeros((count, table.shape[1])), np.zeros((count, table.shape[1]))
    for i in range(table.shape[0]):
        u = labels[i]
        for y in range(table.shape[1]):
            high[u, y], error = two_sum(high[u, y], table[i, y])
            low[u, y] += error
    return high + low


@dataclass(frozen=True, eq=False)
class Sums:
    """A measure on X x Y, seen through an encoder."""

    joint: Float[np.ndarray, "S Y"]
    """m(x, y)"""
    row: Float[np.ndarray, " S"]
    """m(x)"""
    cell: Float[np.ndarray, "C Y"]
    """M(u, y)"""
    size: Float[np.ndarray, " C"]
    """M(u)"""
    column: Float[np.ndarray, " Y"]
    """m(y)"""
    total: float
    labels: Labels

    @property
    def exact(self) -> bool:
        """Whether no number is so small, and no sum so long, that an error is not paid for."""
        positive = self.joint[self.joint > 0]
        return len(self.joint) <= LONGEST and bool(np.all(positive >= SMALLEST))


def whole(name: str, labels: Any) -> Int[np.ndarray, "*N S"]:
    """Labels of cells as whole numbers from 0, or a ValueError."""
    found = inputs.real(name, labels, (1, 2))
    if np.any((found < 0) | (found != np.floor(found)) | (found >= LONGEST)):
        raise ValueError(f"{name}: labels of cells are whole numbers 0 .. C-1; use np.unique")
    return found.astype(np.int64)


def sums(p_x: np.ndarray, p_y_given_x: np.ndarray, labels: Labels, count: int) -> Sums:
    """All sums of one model; labels in 0 .. count - 1."""
    if len(labels) != len(p_x) or labels.max() >= count:
        raise ValueError(
            f"encoder: {len(labels)} labels up to {labels.max()} for {len(p_x)} states and {count} "
            "cells; one label per state, one row of the decoder per cell"
        )
    m = p_x[:, None] * p_y_given_x
    cell = cell_sums(m, labels, count)
    column = _along(cell)
    return Sums(m, _along(m.T), cell, _along(cell.T), column, float(_along(column[:, None])[0]),
                labels)  # fmt: skip


def mean_log(weight: np.ndarray, ratio: np.ndarray) -> tuple[float, float]:
    """(sum w ln r, its error), w within STEPS u of itself, r within RATIO u; 0 ln r = 0.

    ln r is off by 1.01 RATIO u and 10 u |ln r|, the product by STEPS + 1 more of |w ln r|.
    """
    kept = weight > 0
    w, r = weight[kept], ratio[kept]
    if np.any(r == np.inf):
        return math.inf, math.inf
    terms = w * log(r)
    value = math.fsum(terms)
    spent = 21 * float(np.sum(w)) + 20 * float(np.sum(np.abs(terms))) + abs(value)
    return value, float(up(spent * U, len(w) + 8))


def _along(table: Float[np.ndarray, "S Y"]) -> Float[np.ndarray, " Y"]:
    """The sum over the first axis, compensated."""
    return cell_sums(np.ascontiguousarray(table), np.zeros(len(table), np.int64), 1)[0]
