r"""Compensated sums: residuals, products and sums as if in twice the precision, with a bound each.

For one entry of r = d - H x, with s_0 = d and c_0 = 0,

    p_j + pi_j = -h_j x_j,   s_j + sigma_j = s_{j-1} + p_j   (error-free)
    c_j = fl(c_{j-1} + fl(pi_j + sigma_j)),   t = sum_j |pi_j| + |sigma_j|,   r = fl(s_n + c_n)

    |r - (d - H x)| <= u |r| + gamma_n t + n theta.

Proof. d - H x = s_n + sum (pi_j + sigma_j) exactly, up to 5 n 2^-1074; each of the n terms of c_n
goes through n roundings at most, so |c_n - sum (pi_j + sigma_j)| <= gamma_n t; the last sum is
rounded once. Every system is first scaled by powers of two so that |h| < 1, |x| < 1, |d| < 1, which
costs at most 2^-1074 per entry of H, x and d, hence (2 n + 1) 2^-1074 in r: all within n theta.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from numba import njit, prange

from twofold.rigor import inputs
from twofold.rigor.eft import two_prod, two_sum
from twofold.rigor.ieee import is_ieee, probe
from twofold.rigor.roundoff import THETA, U, gamma, scaled_up, up
from twofold.rigor.selftest import require

Vectors = Float[np.ndarray, "N M"]


@njit(cache=True, fastmath=False)
def accumulate(H, x, s, c, t):
    """Subtract H x from s + c, error-free in s; c collects the errors and t their sizes."""
    columns = H.T.copy()
    for j in range(x.size):
        column, factor = columns[j], -x[j]
        for i in range(s.size):
            p, pi = two_prod(column[i], factor)
            s[i], sigma = two_sum(s[i], p)
            c[i] += pi + sigma
            t[i] += abs(pi) + abs(sigma)


@njit(cache=True, fastmath=False, parallel=True)
def accumulate_all(H, x, s, c, t, sound, values):
    """Accumulate for every system of the batch; one H may serve all of them."""
    for row in prange(x.shape[0]):
        index = np.int64(row)
        sound[index] = is_ieee(values)
        accumulate(H[index % H.shape[0]], x[index], s[index], c[index], t[index])


def residual(H: Any, x: Any, d: Any) -> tuple[Vectors, Vectors]:
    """(r, error) with |d - H x - r| <= error entry by entry; H (M,K) or (N,M,K), x (N,K), d (N,M).

    A row with a NaN or an infinite entry, or one that overflows, has error inf.
    """
    x, d = inputs.real("x", x, 2, finite=False), inputs.real("d", d, 2, finite=False)
    H = inputs.real("H", H, (2, 3), finite=False)
    (N, K), M = x.shape, d.shape[1]
    if H.shape not in ((M, K), (N, M, K)) or len(d) != N:
        raise ValueError(f"H: expected ({M}, {K}) or ({N}, {M}, {K}), got {H.shape}, d {d.shape}")
    return _residual(H[None] if H.ndim == 2 else H, x, d)


def _residual(H: np.ndarray, x: np.ndarray, d: np.ndarray) -> tuple[Vectors, Vectors]:
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        own = exponents(H)
        scale = np.maximum(own + exponents(x), exponents(d))
        s = np.ldexp(d, -scale[:, None])
        c, t, sound = np.zeros_like(s), np.zeros_like(s), np.ones(len(x), dtype=np.bool_)
        scaled = np.ldexp(H, -own[:, None, None])
        accumulate_all(scaled, np.ldexp(x, (own - scale)[:, None]), s, c, t, sound, probe())
        require(sound)
        r, K = s + c, x.shape[1]
        error = up(U * np.abs(r) + up(gamma(K) * up(t, K + 1), 1), 2) + (K + 1) * THETA
        r, error = np.ldexp(r, scale[:, None]), scaled_up(error, scale[:, None])
        tiny = np.where(np.abs(r) < THETA, 2.0**-1074, 0.0)
        error = np.where(np.isfinite(r) & np.isfinite(error), error + tiny, np.inf)
    return r, error


def residual_upper(H: Any, x: Any, d: Any) -> Float[np.ndarray, " N"]:
    """u_n >= ||d_n - H_n x_n||_2; inf where a number is not finite."""
    r, error = residual(H, x, d)
    return length_upper(up(np.abs(r) + error, 1))


def matvec(H: Any, x: Any) -> tuple[Vectors, Vectors]:
    """(y, error) with |H x - y| <= error entry by entry; H (M,K) or (N,M,K), x (N,K)."""
    x, H = inputs.real("x", x, 2, finite=False), inputs.real("H", H, (2, 3), finite=False)
    r, error = residual(H, x, np.zeros((len(x), H.shape[-2])))
    return -r, error


def dot(x: Any, y: Any) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """(s, error) with |x_n'y_n - s_n| <= error_n for x, y (N,K)."""
    x = inputs.real("x", x, 2, finite=False)
    y = inputs.real("y", y, shape=x.shape, finite=False)
    s, error = matvec(x[:, None, :], y)
    return s[:, 0], error[:, 0]


def total(x: Any) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """(s, error) with |sum_k x_nk - s_n| <= error_n for x (N,K)."""
    x = inputs.real("x", x, 2, finite=False)
    return dot(x, np.ones_like(x))


def length_upper(v: Any) -> Float[np.ndarray, " N"]:
    """u_n >= ||v_n||_2 for v (N,K), whatever its scale; inf where a number is not finite.

    Scaled to a largest entry below 1; what underflows then, also on squaring, is paid by theta.
    """
    v = inputs.real("v", v, 2, finite=False)
    exponent, K = exponents(v), v.shape[1]
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        unit = np.ldexp(v, -exponent[:, None])
        square = up(np.sum(unit * unit, axis=1), K + 2)
        bound = scaled_up(up(np.sqrt(square), 1), exponent)
    bound = np.where(np.any(v != 0, axis=1), bound, 0.0)
    return np.where(np.isnan(bound), np.inf, bound)


def exponents(x: np.ndarray) -> np.ndarray:
    """The e_n with max |x_n| in [2^(e-1), 2^e); 0 where that is zero or not finite."""
    flat = np.abs(x.reshape(len(x), int(np.prod(x.shape[1:]))))
    top = np.max(flat, axis=1, initial=0.0)
    return np.frexp(np.where(np.isfinite(top), top, 0.0))[1].astype(np.int64)
