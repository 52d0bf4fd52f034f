r"""How far the computed iterate of the kernel can be from the exact one.

With y = fl(H x), r = fl(d - y), p = fl(P r), x' = fl(x + p) and k roundings in a dot product, one
step misses the exact step x + P (d - H x) by delta with

    |delta| <= |P| (gamma_k |H||x| + gamma_{k+1} |r|) + u |x'| + underflow        (entry by entry)

and T = I - P H carries what was missed to the end: |x^_L - x_L| <= sum_l |T^(L-1-l)| |delta_l|.
The residual r is computed again, here, in another order: both differ from d - H x by little, so
|r| <= (1 + 4u) |r'| + gamma_{K+k+1} |H||x| + underflow.
"""

from __future__ import annotations

from math import isqrt

import numpy as np
from jaxtyping import Float

from twofold.decoder.lanes import roundings
from twofold.rigor import contraction_upper, power_upper
from twofold.rigor.roundoff import THETA, U, gamma, scaled_up, up


def drift(
    P: np.ndarray,
    H: Float[np.ndarray, "N K K"],
    d: Float[np.ndarray, "N K"],
    path: Float[np.ndarray, "N l K"],
    growth: Float[np.ndarray, "N l"],
) -> Float[np.ndarray, " N"]:
    """A bound of |x^_L - x_L|, where ``path`` holds the kernel's x^_0, ..., x^_L."""
    if path.shape[1] == 1:
        return np.zeros(len(d))
    return carried(norm_upper(step_errors(P, H, d, path)), growth)


def step_errors(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, path: np.ndarray
) -> Float[np.ndarray, "N L K"]:
    """|delta_l| <= this, entry by entry, for l = 0, ..., L - 1."""
    K = d.shape[1]
    k = roundings(K)
    x, moved = path[:, :-1], path[:, 1:]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        product = up(np.abs(x) @ np.abs(H).swapaxes(1, 2), K)
        again = np.abs(d[:, None] - x @ H.swapaxes(1, 2))
        residual = (1 + 4 * U) * again + gamma(K + k + 1) * product + K * THETA
        inner = gamma(k) * product + gamma(k + 1) * residual + K * THETA
        outer = inner @ np.abs(P).swapaxes(-1, -2)
        return up(outer + U * np.abs(moved) + K * THETA, K + 12)


def power_growth(P: np.ndarray, H: np.ndarray, depth: int) -> Float[np.ndarray, "N l"]:
    """Bounds of |T^j| for j = 0, ..., depth: rho^j, and where rho >= 1 by one proved power."""
    rho = contraction_upper(P, H)
    bounds = np.ones((len(H), depth + 1))
    with np.errstate(over="ignore"):
        for j in range(1, depth + 1):
            bounds[:, j] = up(bounds[:, j - 1] * rho, 1)
        rows, m = np.flatnonzero((rho >= 1) & np.isfinite(rho)), isqrt(max(depth - 1, 0)) + 1
        if len(rows) and m > 1:
            sharp = power_upper(P if P.ndim == 2 else P[rows], H[rows], m)
            for j in range(m, depth + 1):
                bounds[rows, j] = np.fmin(bounds[rows, j], up(bounds[rows, j - m] * sharp, 1))
    return bounds


def carried(
    local: Float[np.ndarray, "N L"], growth: Float[np.ndarray, "N l"]
) -> Float[np.ndarray, " N"]:
    """sum_l growth_(L-1-l) local_l, rounded up; inf where a term is not a number."""
    L = local.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        total = up(np.sum(local * growth[:, :L][:, ::-1], axis=1), L + 1)
    return np.where(np.isnan(total), np.inf, total)


def norm_upper(v: np.ndarray) -> np.ndarray:
    """At least |v|_2 along the last axis, at any scale; NaN or inf where v has one."""
    return _norm(v, +1)


def norm_lower(v: np.ndarray) -> np.ndarray:
    """At most |v|_2 along the last axis."""
    return _norm(v, -1)


def _norm(v: np.ndarray, side: int) -> np.ndarray:
    K = v.shape[-1]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        top = np.max(np.abs(v), axis=-1)
        exponent = np.frexp(np.where(np.isfinite(top) & (top > 0), top, 0.5))[1].astype(np.int64)
        unit = np.ldexp(v, -exponent[..., None])
        norm = np.sqrt(np.sum(unit * unit, axis=-1))
        if side > 0:
            norm = scaled_up(up(norm + K * THETA, K + 3), exponent)
            return np.where(top == 0, 0.0, norm)
        low = np.ldexp(norm * (1 - 2 * (K + 5) * U) - K * THETA, exponent)
        return np.where(top == 0, 0.0, np.maximum(np.nextafter(low, -np.inf), 0.0))
