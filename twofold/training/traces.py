"""Sums over matrices, each with a proved bound of what rounding cost it.

Rows whose entries leave 1e-60 .. 1e60 are the caller's to silence: underflow is paid for there.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from twofold.rigor.roundoff import THETA, U, gamma, up
from twofold.training.eigenbasis import SCALE


def quadratic(
    T: Float[np.ndarray, "N m K"], C: Float[np.ndarray, "N K K"]
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """tr(T C T') and its rounding: gamma_{3K+4} sum |T| |C| |T|, two roundings in T allowed."""
    m, K = T.shape[-2:]
    size = np.sum(np.sum(np.abs(T) @ np.abs(C) * np.abs(T), axis=-1), axis=-1)
    value = np.sum(np.sum(T @ C * T, axis=-1), axis=-1)
    return value, cost(size, T, 2 * K + m + 4)


def inner(
    T: Float[np.ndarray, "N m K"], B: Float[np.ndarray, "N m K"]
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """<T, B> and its rounding, one rounding in T allowed."""
    m, K = T.shape[-2:]
    size = np.sum(np.sum(np.abs(T) * np.abs(B), axis=-1), axis=-1)
    return np.sum(np.sum(T * B, axis=-1), axis=-1), cost(size, T, K + m + 2)


def residual(
    P: Float[np.ndarray, "N m K"], C: Float[np.ndarray, "N K K"], B: Float[np.ndarray, "N m K"]
) -> Float[np.ndarray, "N m K"]:
    """Entrywise upper bounds of |P C - B|."""
    K = C.shape[-1]
    size = np.abs(P) @ np.abs(C) + np.abs(B)
    return up(np.abs(P @ C - B) + cost(size, P, K + 1, axis=True), K + 4)


def cost(size: np.ndarray, T: np.ndarray, k: int, axis: bool = False) -> np.ndarray:
    """gamma_k size, rounded up, with the underflows of m K^2 products."""
    top = np.max(np.abs(T), axis=(-1, -2), keepdims=axis, initial=0.0)
    return up(gamma(k) * up(size, 2 * k), 2) + T[0].size * T.shape[-1] * THETA * (1 + top)


def norm_upper(T: Float[np.ndarray, "*N m K"]) -> Float[np.ndarray, "*N"]:
    """The Frobenius norm, rounded up."""
    m, K = T.shape[-2:]
    return up(np.sqrt(np.sum(T * T, axis=(-1, -2))), m * K + 2) + m * K * 2.0**-500


def ordinary(*arrays: np.ndarray) -> Bool[np.ndarray, " N"]:
    """Rows that are finite and whose largest entry is 0 or within 1e-60 .. 1e60."""
    good = np.ones(len(arrays[0]), dtype=bool)
    for array in arrays:
        rows = np.abs(array.reshape(len(array), -1))
        top = np.max(rows, axis=1, initial=0.0)
        with np.errstate(invalid="ignore"):
            good &= (top == 0) | ((top >= 1 / SCALE) & (top <= SCALE))
    return good


def at_unit(size: Float[np.ndarray, " N"], terms: int) -> Float[np.ndarray, " N"]:
    """At least terms u size, rounded up: what adding ``terms`` numbers of total ``size`` costs."""
    return up(2 * terms * U * size, 4)
