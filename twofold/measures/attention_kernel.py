r"""What of queries and keys is there to be seen: the kernel M = W_Q' W_K, averaged over the heads.

W_Q -> A W_Q, W_K -> A^-T W_K leaves M as it is, so neither factor can be identified and M can. The
imbalance W_Q W_Q' - W_K W_K' is invariant under rotations A only; it is here because gradient flow
conserves it (`theorems.balance`). Leading axes before (heads, width, K) are batch axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor.inputs import real


def effective_kernel(query: Any, key: Any) -> Float[np.ndarray, "*S K K"]:
    """Mean over the heads of W_Q' W_K, for query and key (h,m,K) or (S,h,m,K)."""
    query, key = _factors(query, key)
    return np.mean(np.swapaxes(query, -1, -2) @ key, axis=-3)


def skew_ratio(M: Any) -> Float[np.ndarray, "*S"]:
    """``||M - M'||_F / ||M + M'||_F``: 0 for symmetric M, inf for skew M, NaN for M = 0."""
    M = real("M", M, ndim=(2, 3))
    if M.shape[-1] != M.shape[-2] or 0 in M.shape:
        raise ValueError(f"M: expected square matrices (K,K) or (S,K,K), got shape {M.shape}")
    top = np.max(np.abs(M), axis=(-1, -2), keepdims=True)
    M = M / np.where(top > 0, top, 1.0)
    odd, even = (_length(M + sign * np.swapaxes(M, -1, -2)) for sign in (-1, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(odd / even)


def imbalance(query: Any, key: Any) -> Float[np.ndarray, "*S h m m"]:
    """W_Q W_Q' - W_K W_K' of every head."""
    query, key = _factors(query, key)
    return query @ np.swapaxes(query, -1, -2) - key @ np.swapaxes(key, -1, -2)


def relative_imbalance(query: Any, key: Any) -> Float[np.ndarray, "*S"]:
    """||imbalance||_F / (||W_Q||_F^2 + ||W_K||_F^2) over all heads: in [0, 1]; NaN for 0."""
    query, key = _factors(query, key)
    top = np.maximum(np.max(np.abs(query)), np.max(np.abs(key)))
    query, key = (x / np.where(top > 0, top, 1.0) for x in (query, key))
    size = np.sum(query**2 + key**2, axis=(-1, -2, -3))
    gap = np.sqrt(np.sum(imbalance(query, key) ** 2, axis=(-1, -2, -3)))
    with np.errstate(invalid="ignore"):
        return np.asarray(gap / size)


def _factors(query: Any, key: Any) -> tuple[np.ndarray, np.ndarray]:
    query = real("query", query, ndim=(3, 4))
    if 0 in query.shape:
        raise ValueError(f"query: expected (heads, width, K), got shape {query.shape}")
    return query, real("key", key, shape=query.shape)


def _length(M: np.ndarray) -> np.ndarray:
    return np.linalg.norm(M, axis=(-1, -2))
