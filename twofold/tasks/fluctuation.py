r"""The gradient noise of online training in closed form, G_ij = E[r_i^2 d_j^2] with r = z - p d.

For Gaussian tasks and features in one eigenbasis d is Gaussian given z and t = chi^2_M / M,

    E d = beta z,  beta = lambda + t s,    Cov d = (t/M) [r' diag(s) - (s z)(s z)'],
    r' = sum_k s_k z_k^2 + sigma^2,        E r = alpha z,  alpha = 1 - p beta,

so E[r_i^2 d_j^2 | z, t] = (m_r^2 + v_r)(m_d^2 + v_d) + 4 m_r m_d c + 2 c^2 is a polynomial in t and
in the squares z_k^2, whose means are known. (lambda is 0 for target ``coefficients``, sigma for
``solve``.)
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

Vector = Float[np.ndarray, " K"]


def closed(
    s: Vector, b: Vector, p: Vector, *, prompt: int, ridge: float, noise: float
) -> Float[np.ndarray, "K K"]:
    """G for spectra s of the features and b of the tasks, and a diagonal p."""
    t = _chi_square_moments(prompt)
    alpha = np.stack([1.0 - p * ridge, -p * s])
    beta = np.stack([np.full_like(s, ridge), s])
    alpha2, beta2 = _square(alpha), _square(beta)
    lone, cross = _quadratics(s, b, noise)
    pair = s[:, None] * s * np.outer(b, b)
    M = float(prompt)
    G = np.outer(b, b) * _expected(alpha2, beta2, t)
    G += (t[1:4] @ alpha2)[:, None] * lone * s / M
    G += (p**2 * s)[:, None] * lone.T * (t[1:4] @ beta2) / M
    G += (t[2] / M**2) * (p**2 * s)[:, None] * s * cross
    G += (4.0 / M) * p[:, None] * pair * _expected(alpha, beta, t[1:])
    G += (2.0 * t[2] / M**2) * (p**2)[:, None] * s[:, None] * s * pair
    G[np.diag_indices_from(G)] = _diagonal(s, b, p, (alpha, beta, alpha2, beta2), t, M, noise)
    return G


def _diagonal(
    s: Vector,
    b: Vector,
    p: Vector,
    powers: tuple[np.ndarray, ...],
    t: np.ndarray,
    M: float,
    noise: float,
) -> Vector:
    """G_ii, where r_i and d_i share one conditional variance v: Var r = p^2 v, Cov = -p v."""
    alpha, beta, alpha2, beta2 = powers
    y = s * b
    others = np.sum(y) - y + noise**2
    squares = np.sum(y**2) - y**2
    mixed = t[1:4] @ (alpha2 + p**2 * beta2 - 4.0 * p * _product(alpha, beta))
    fourth = 3.0 * b**2 * np.sum(_product(alpha2, beta2) * t[:, None], axis=0)
    v2 = (s / M) ** 2 * (others**2 + 2.0 * squares)
    return fourth + mixed * b * (s / M) * others + 3.0 * p**2 * t[2] * v2


def _quadratics(s: Vector, b: Vector, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """E[z_i^2 (r' - y_j)] and E[(r' - y_i)(r' - y_j)] for i != j, with y_k = s_k z_k^2."""
    y = s * b
    total = np.sum(y) + noise**2
    lone = b[:, None] * (total + 2.0 * y[:, None] - y)
    own = y * (total + 2.0 * y)
    cross = total**2 + 2.0 * np.sum(y**2) - own[:, None] - own + np.outer(y, y)
    return lone, cross


def _chi_square_moments(prompt: int) -> Float[np.ndarray, " 5"]:
    """E (chi^2_M / M)^k for k = 0..4: products of 1 + 2 j / M."""
    return np.cumprod([1.0, *(1.0 + 2.0 * np.arange(4) / prompt)])


def _product(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Coefficients of the product of polynomials in t, column by column."""
    out = np.zeros((len(u) + len(v) - 1, u.shape[1]))
    for i, row in enumerate(u):
        out[i : i + len(v)] += row * v
    return out


def _square(u: np.ndarray) -> np.ndarray:
    return _product(u, u)


def _expected(u: np.ndarray, v: np.ndarray, t: np.ndarray) -> Float[np.ndarray, "K K"]:
    """E of u_i(t) v_j(t), where t holds the moments from the lowest power on."""
    return sum(t[i + j] * np.outer(x, y) for i, x in enumerate(u) for j, y in enumerate(v))  # pyright: ignore
