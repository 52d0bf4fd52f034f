r"""A verified linear solve: x with a proved radius around it in which the true solution lies.

With any R and alpha >= ||I - R H||_2 < 1, H is regular and, for r = d - H x,

    H^-1 d - x = (R H)^-1 R r,    ||H^-1 d - x||_2 <= ||R r||_2 / (1 - alpha).

R is an approximate inverse, alpha is `contraction_upper`, and r is known as rh with |r - rh| <= e
from a compensated sum. With z = fl(R rh),

    |R r| <= |z| + |R| (gamma_K |rh| + e) + K theta    entry by entry.

Two steps x += R r before that leave x within about one rounding of the solution. H and d are scaled
by powers of two; an entry of H that underflows thereby moves by 2^-1074 at most. That adds
K theta ||R||_F to alpha; e pays for it already, its K theta being in the scale of max |x|.
(Rump 2010, Acta Numerica 19, 287-449, ch. 10.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs
from twofold.rigor.compensated import exponents, length_upper, residual
from twofold.rigor.contraction import contraction_upper
from twofold.rigor.inverse import approximate_inverse
from twofold.rigor.roundoff import THETA, gamma, scaled_up, up

AT_ONCE = 2**22


def solve(H: Any, d: Any) -> tuple[Float[np.ndarray, "N K"], Float[np.ndarray, " N"]]:
    """(x, radius) with ||H_n^-1 d_n - x_n||_2 <= radius_n, for H (N,K,K), regular, and d (N,K).

    radius is inf (say nothing, x is a guess or NaN) where H could not be proved regular, or where a
    number is not finite.
    """
    H = inputs.square("H", H, finite=False)
    if H.ndim == 2:
        raise ValueError(f"H: expected a batch (N, K, K), got shape {H.shape}; pass H[None]")
    N, K, _ = H.shape
    d = inputs.real("d", d, shape=(N, K), finite=False)
    x, radius = np.zeros((N, K)), np.zeros(N)
    step = max(1, AT_ONCE // max(K * K, 1))
    for first in range(0, N if K else 0, step):
        rows = slice(first, first + step)
        x[rows], radius[rows] = _solve(H[rows], d[rows])
    return x, radius


def _solve(H: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(invalid="ignore", over="ignore", under="ignore", divide="ignore"):
        own, right = exponents(H), exponents(d)
        H, d = np.ldexp(H, -own[:, None, None]), np.ldexp(d, -right[:, None])
        R = approximate_inverse(H)
        x = _times(R, d)
        for _ in range(2):
            x = x + _times(R, residual(H, x, d)[0])
        radius = enclosure(R, H, x, d)
        radius = np.where(np.all(d == 0, axis=1) & np.isfinite(radius), 0.0, radius)
        out = np.ldexp(x, (right - own)[:, None])
        lost = np.any((np.abs(out) < THETA) & (x != 0), axis=1)
        radius = scaled_up(radius, right - own) + np.where(lost, H.shape[1] * 2.0**-1074, 0.0)
    return out, np.where(np.all(np.isfinite(out), axis=1), radius, np.inf)


def enclosure(R: Any, H: Any, x: Any, d: Any) -> Float[np.ndarray, " N"]:
    """||H^-1 d - x||_2 at most, given any R: inf where ||I - R H||_2 < 1 is not proved."""
    K = x.shape[1]
    r, error = residual(H, x, d)
    entries = product_upper(R, r, error)
    frobenius = length_upper(R.reshape(len(R), K * K))
    alpha = up(contraction_upper(R, H) + K * THETA * frobenius, 2)
    below = np.nextafter(1.0 - alpha, 0.0)
    return np.where(alpha < 1.0, up(length_upper(entries) / below, 1), np.inf)


def product_upper(R: Any, r: Any, error: Any) -> Float[np.ndarray, "N K"]:
    """|R v| at most, entry by entry, for every v with |v - r| <= error."""
    K = r.shape[1]
    slack = up(gamma(K) * np.abs(r) + error, 2)
    return up(np.abs(_times(R, r)) + up(_times(np.abs(R), slack), K), 1) + 2 * K * THETA


def _times(A: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.matmul(A, v[:, :, None])[:, :, 0]
