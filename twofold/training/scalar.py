r"""Where everything commutes, one number per mode closes the dynamics.

With Sigma_z, C, B, A diagonal in one fixed basis,

    g_i(s) = g*_i + (g_i(0) - g*_i)(1 - eta_e sigma_i)^s
    p_i(s+1) = (1 - eta_d c_i(s)) p_i(s) + eta_d b_i(s)
    p_i(s) = p_i(0) prod_{t<s} (1 - eta_d c_i(t))
             + sum_{tau<s} eta_d b_i(tau) prod_{tau<t<s} (1 - eta_d c_i(t))
    R_dec(s, L) = sum_i w_i(s) (1 - p_i(s) a_i(s))^{2L}
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs


def encoder_modes(
    g0: Any, g_star: Any, sigma: Any, *, eta: float, steps: Any
) -> Float[np.ndarray, "S r"]:
    """g_i(s) at any set of outer times ``steps`` (S,)."""
    sigma = inputs.real("sigma", sigma, ndim=1)
    g0, g_star = (
        inputs.real(name, g, shape=sigma.shape) for name, g in (("g0", g0), ("g_star", g_star))
    )
    s = np.atleast_1d(inputs.real("steps", steps, ndim=(0, 1)))
    if np.any(s < 0) or np.any(s != np.floor(s)):
        raise ValueError("steps: expected whole numbers >= 0")
    with np.errstate(over="ignore", invalid="ignore"):
        return g_star + (g0 - g_star) * (1 - eta * sigma) ** s[:, None]


def decoder_modes(p0: Any, c: Any, b: Any, *, eta: float) -> Float[np.ndarray, "s r"]:
    """p_i(0) .. p_i(S) by the recursion, from c, b (S, r)."""
    p0, c, b = checked(p0, c, b)
    p = np.empty((len(c) + 1, len(p0)))
    p[0] = p0
    for s in range(len(c)):
        p[s + 1] = (1 - eta * c[s]) * p[s] + eta * b[s]
    return p


def decoder_modes_unrolled(p0: Any, c: Any, b: Any, *, eta: float) -> Float[np.ndarray, " r"]:
    """p_i(S) by the sum of products, S the length of c and b."""
    p0, c, b = checked(p0, c, b)
    after = np.ones((len(c) + 1, len(p0)))
    after[:-1] = np.cumprod((1 - eta * c)[::-1], axis=0)[::-1]
    return p0 * after[0] + np.sum(eta * b * after[1:], axis=0)


def decoder_risk(p: Any, a: Any, w: Any, depth: int) -> Float[np.ndarray, " S"]:
    """R_dec(s, L) = sum_i w_i(s) (1 - p_i(s) a_i(s))^{2L}; a, w (S, r) or (r,)."""
    p = inputs.real("p", p, ndim=2)
    a, w = (
        np.broadcast_to(inputs.real(name, x, ndim=(1, 2)), p.shape)
        for name, x in (("a", a), ("w", w))
    )
    return np.sum(w * (1 - p * a) ** (2 * inputs.whole("depth", depth)), axis=1)


def checked(p0: Any, c: Any, b: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """p0 (r,), c and b (S, r) with S >= 1."""
    p0 = inputs.real("p0", p0, ndim=1)
    c = inputs.real("c", c, shape=(None, len(p0)))
    b = inputs.real("b", b, shape=c.shape)
    if not c.size:
        raise ValueError(f"c: expected at least one step and one mode, got shape {c.shape}")
    return p0, c, b
