r"""Power series in x and y, truncated: arrays (n, m) of coefficients of x^i y^j.

A truncated product is bilinear, so the adjoint of u -> <w, u v> is v -> the correlation of w and v.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from jaxtyping import Float, Int, Shaped

Series = Shaped[np.ndarray, "n n"]


def product(u: Series, v: Series) -> Series:
    """U v, cut at the size of both."""
    return (_matrix(u) @ v.ravel()).reshape(v.shape)


def correlation(w: Series, v: Series) -> Series:
    """The adjoint of `product` in its first argument: out_ij = sum_kl w_{i+k, j+l} v_kl."""
    return (_matrix(v).T @ w.ravel()).reshape(w.shape)


def _matrix(u: Series) -> Float[np.ndarray, "nn nn"]:
    """What multiplies by u, on coefficients in one row."""
    return np.append(u.ravel(), 0.0)[_places(len(u))]


@lru_cache(maxsize=32)
def _places(n: int) -> Int[np.ndarray, "nn nn"]:
    """Where the coefficient (i - k, j - l) of u stands, n n if it is none."""
    i, j = (x.ravel() for x in np.indices((n, n)))
    a, b = i[:, None] - i, j[:, None] - j
    return np.where((a >= 0) & (b >= 0), a * n + b, n * n)


def shifted(u: Series) -> Series:
    """X y u."""
    out = np.zeros_like(u)
    out[1:, 1:] = u[:-1, :-1]
    return out


def inverse(u: Series) -> Series:
    """1 / (1 - u) for a u without constant term: a triangular system."""
    one = np.eye(len(u) ** 2)
    return np.linalg.solve(one - _matrix(u), one[0]).reshape(u.shape)


def toeplitz(g: Shaped[np.ndarray, " n"]) -> Float[np.ndarray, "n n"]:
    """The lower triangular matrix that multiplies by g."""
    i = np.arange(len(g))
    lag = i[:, None] - i
    return np.where(lag >= 0, g[lag], 0.0)


def diagonals(T: Shaped[np.ndarray, "n n"]) -> Shaped[np.ndarray, " n"]:
    """The adjoint of `toeplitz`: the sums along its diagonals."""
    return np.array([np.trace(T, -k) for k in range(len(T))])
