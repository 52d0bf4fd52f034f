r"""Power series in x and y, truncated: arrays (n, m) of coefficients of x^i y^j.

A truncated product is bilinear, so the adjoint of u -> <w, u v> is v -> the correlation of w and v.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Shaped

Series = Shaped[np.ndarray, "n n"]


def product(u: Series, v: Series) -> Series:
    """U v, cut at the size of both."""
    n, m = u.shape
    out = np.zeros(u.shape, np.result_type(u, v))
    for i, j in zip(*np.nonzero(u), strict=True):
        out[i:, j:] += u[i, j] * v[: n - i, : m - j]
    return out


def correlation(w: Series, v: Series) -> Series:
    """The adjoint of `product` in its first argument: out_ij = sum_kl w_{i+k, j+l} v_kl."""
    n, m = w.shape
    out = np.zeros(w.shape, np.result_type(w, v))
    for i, j in zip(*np.nonzero(v), strict=True):
        out[: n - i, : m - j] += w[i:, j:] * v[i, j]
    return out


def shifted(u: Series) -> Series:
    """X y u."""
    out = np.zeros_like(u)
    out[1:, 1:] = u[:-1, :-1]
    return out


def inverse(u: Series) -> Series:
    """1 / (1 - u) for a u without constant term, by doubling: prod_k (1 + u^(2^k))."""
    out = np.eye(1, len(u), dtype=u.dtype).T @ np.eye(1, len(u), dtype=u.dtype)
    power, degree = u, 1
    while degree < 2 * len(u):
        out = out + product(power, out)
        power, degree = product(power, power), 2 * degree
    return out


def toeplitz(g: Shaped[np.ndarray, " n"]) -> Float[np.ndarray, "n n"]:
    """The lower triangular matrix that multiplies by g."""
    i = np.arange(len(g))
    lag = i[:, None] - i
    return np.where(lag >= 0, g[lag], 0.0)


def diagonals(T: Shaped[np.ndarray, "n n"]) -> Shaped[np.ndarray, " n"]:
    """The adjoint of `toeplitz`: the sums along its diagonals."""
    return np.array([np.trace(T, -k) for k in range(len(T))])
