r"""A proved upper bound of ||(I - P H)^L||_2: sharper than ||I - P H||^L, often by far.

The powers are formed by the binary digits of L, each kept as 2^s M with the largest entry of M in
[1/2, 1), so that nothing overflows and next to nothing underflows. Beside M_k there are

    e_k >= ||T^k - M_k||_2    and    b_k = min(||M_k||_2 + e_k, b_i b_j) >= ||T^k||_2,

and for k = i + j, with M_k = fl(M_i M_j), the identity
T^k - M_i M_j = T^i (T^j - M_j) + (T^i - M_i) M_j gives

    e_k = b_i e_j + e_i ||M_j||_2
          + gamma_n sqrt(|| |M_i||M_j| ||_1 || |M_i||M_j| ||_inf) + n^2 theta.

All of these live in the scale of their power: e_k and b_k are stored divided by 2^s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs, kernel
from twofold.rigor.contraction import formed, product_error
from twofold.rigor.ieee import probe
from twofold.rigor.norms import assemble, retry, start
from twofold.rigor.roundoff import THETA, scaled_up, up

DEEPEST = 2**40


@dataclass(frozen=True, eq=False)
class Power:
    """2^exponent M ~ T^k, with proved bounds in units of 2^exponent."""

    M: Float[np.ndarray, "N K K"]
    norm: Float[np.ndarray, " N"]
    """>= ||M||_2"""
    error: Float[np.ndarray, " N"]
    """>= ||2^-exponent T^k - M||_2"""
    bound: Float[np.ndarray, " N"]
    """>= ||2^-exponent T^k||_2"""
    exponent: np.ndarray


def power_upper(P: Any, H: Any, depth: int) -> Float[np.ndarray, " N"]:
    """u_n >= ||(I - P_n H_n)^depth||_2, the rounding of all the powers included.

    1 for depth 0; inf for a row with a NaN or an infinite entry, or whose power overflows.
    """
    P, H, _ = inputs.systems(P, H, finite=False)
    depth = inputs.whole("depth", depth)
    if depth > DEEPEST:
        raise ValueError(f"depth: at most 2^40 (beyond, exponents overflow), got {depth}")
    if depth == 0 or H.size == 0:
        return np.full(len(H), 1.0 if depth == 0 else 0.0)
    T = first(P, H)
    power = T
    for digit in bin(depth)[3:]:
        power = times(power, power)
        power = times(power, T) if digit == "1" else power
    bound = scaled_up(power.bound, power.exponent)
    return np.where(np.isnan(bound), np.inf, bound)


def first(P: np.ndarray, H: Float[np.ndarray, "N K K"]) -> Power:
    """T^1, with the rounding of PH as its error."""
    norm, C, error = formed(P, H, keep=True)
    return rescaled(C, norm, error, up(norm + error, 1), np.zeros(len(H), dtype=np.int64))


def times(left: Power, right: Power) -> Power:
    """T^(i+j) from T^i and T^j."""
    N, K, _ = left.M.shape
    parts, M = kernel.table(N), np.empty_like(left.M)
    kernel.product_parts(left.M, right.M, start(K), np.zeros(N), parts, M, probe())
    retry(lambda rows: M[rows], parts)
    with np.errstate(invalid="ignore", over="ignore"):
        norm = assemble(parts, K)
        carried = up(left.bound * right.error + left.error * right.norm, 2)
        error = up(carried + product_error(parts, K), 1)
        bound = np.fmin(up(norm + error, 1), up(left.bound * right.bound, 1))
    return rescaled(M, norm, error, bound, left.exponent + right.exponent)


def rescaled(
    M: np.ndarray, norm: np.ndarray, error: np.ndarray, bound: np.ndarray, exponent: np.ndarray
) -> Power:
    """The same power with the largest entry of M in [1/2, 1); what underflows enters the error."""
    K = M.shape[1]
    with np.errstate(invalid="ignore", under="ignore"):
        top = np.max(np.abs(M), axis=(1, 2))
        shift = np.frexp(np.where(np.isfinite(top) & (top > 0), top, 0.5))[1].astype(np.int64)
        M = np.ldexp(M, -shift[:, None, None])
        norm, error, bound = (scaled_up(x, -shift) for x in (norm, error, bound))
        norm, error = up(norm + K * THETA, 1), up(error + K * THETA, 1)
    return Power(M, norm, error, bound, exponent + shift)
