r"""How far A(z) is proved to be from singular, and what is proved of a residual; matrix-free.

A(z) = sum_p a_p(z) E_p with E_p >= -delta_p I and sum_p E_p >= tau I, all symmetric, gives for
a(z) > 0

    lambda_min(A(z)) >= alpha(z) = min_p a_p(z) tau - sum_p (a_p(z) - min a) delta_p.

Both bounds on the pieces come from Gershgorin's discs after scaling by any w > 0,

    lambda_min(B) >= min_i (B_ii - sum_{j != i} |B_ij| w_j / w_i),

which is sharp for a discrete Laplacian with w its ground state. A(z) means the real operator of the
floats in z, a and E: the rounding of a(z) and of each product is inside every number here. Silent
(alpha not positive, residual inf) where coefficients leave 2^+-400, so that no underflow counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from scipy.sparse.linalg import splu

from twofold.measures.sparse_residual import squared_lengths
from twofold.rigor.compensated import exponents, length_upper
from twofold.rigor.roundoff import THETA, U, gamma, scaled_up, up
from twofold.tasks.affine import Sparse, Tridiagonal

TINY = 2.0**-600
RANGE = 2.0**400
Elliptic = Tridiagonal | Sparse


def gershgorin(B: Any, w: Float[np.ndarray, " n"]) -> float:
    """A proved lower bound of lambda_min of symmetric sparse B, by discs scaled with w > 0."""
    B = sp.csr_matrix(B)
    longest = int(np.max(np.diff(B.indptr), initial=1))
    center, size = B.diagonal(), abs(B) @ w
    low = (center + np.abs(center)) * w - size
    error = gamma(longest + 8) * up(2 * np.abs(center) * w + size, longest + 4) + TINY
    disc = (low - 2 * error) / np.where(w > 0, w, 1.0)
    lowest = float(np.min(disc)) if np.all(w > 0) and np.all(np.isfinite(disc)) else -np.inf
    return (
        float(np.nextafter(lowest - 4 * U * abs(lowest), -np.inf)) if lowest > -np.inf else lowest
    )


def pieces(operators: Elliptic) -> tuple[float, Float[np.ndarray, " p"]]:
    """(tau, delta): sum E_p >= tau I and E_p >= -delta_p I."""
    if isinstance(operators, Tridiagonal):
        n = operators.size[0]
        laplacian = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n)) * float(n + 1) ** 2
        w = np.sin(np.pi * np.arange(1, n + 1) / (n + 1))
        return gershgorin(laplacian, w), np.zeros(n + 1)
    ones = np.ones(operators.size[0])
    delta = np.array([max(0.0, -gershgorin(E, ones)) for E in operators.E])
    whole = sum(operators.E[1:], start=operators.E[0])
    added = len(operators.E) * U * up(float(np.max(_absolute(operators) @ ones)), 64)
    return gershgorin(whole, ground_state(whole)) - added, delta


def ground_state(B: Any) -> Float[np.ndarray, " n"]:
    """An approximate eigenvector of the smallest eigenvalue, by inverse iteration; no proof."""
    try:
        factor = splu(sp.csc_matrix(B))
    except RuntimeError:
        return np.ones(B.shape[0])
    w = np.ones(B.shape[0])
    for _ in range(40):
        w = factor.solve(w)
        w /= np.max(np.abs(w))
    return np.abs(w)


def coefficient_bounds(
    operators: Elliptic, z: Float[np.ndarray, "N K"]
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, "N p"]]:
    """(at most min_p a_p(z), at least |a_0| + sum |z_k| |a_k| on every piece)."""
    K = z.shape[1]
    with np.errstate(invalid="ignore", over="ignore"):
        size = up(np.abs(operators.a[0]) + np.abs(z) @ np.abs(operators.a[1:]), 2 * K + 2)
        low = np.min(operators.coefficient(z) - up(gamma(K + 2) * size, 2) - TINY, axis=1)
    sane = np.all((size < RANGE) & (size > 1 / RANGE), axis=1)
    return np.where(sane, low, -np.inf), size


def lowest(operators: Elliptic, z: Float[np.ndarray, "N K"]) -> Float[np.ndarray, " N"]:
    """alpha(z), a proved lower bound of lambda_min(A(z)); not positive where nothing is proved."""
    tau, delta = pieces(operators)
    low, size = coefficient_bounds(operators, z)
    defect = up(size @ delta, size.shape[1] + 2)
    with np.errstate(invalid="ignore"):
        alpha = low * tau - defect
        alpha = alpha - 8 * U * (np.abs(low * tau) + defect)
    return np.where((low > 0) & (tau > 0), alpha, -np.inf)


def residual_upper(
    operators: Elliptic, z: np.ndarray, u: Float[np.ndarray, "N n"], f: Float[np.ndarray, "N n"]
) -> Float[np.ndarray, " N"]:
    """At least ||f - A(z) u||_2, the rounding of A(z) and of the product included."""
    low, size = coefficient_bounds(operators, z)
    unit = np.maximum(exponents(u), exponents(f))
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        v, g = np.ldexp(u, -unit[:, None]), np.ldexp(f, -unit[:, None])
        if isinstance(operators, Tridiagonal):
            length = scaled_up(_banded(operators, z, size, v, g), unit)
        else:
            length = scaled_up(_sparse(operators, z, size, v, g), unit)
    return np.where(np.isfinite(low) & np.isfinite(length), length, np.inf)


def _banded(
    operators: Tridiagonal, z: np.ndarray, size: np.ndarray, v: np.ndarray, g: np.ndarray
) -> Float[np.ndarray, " N"]:
    """The lengths of |g - A(z) v| and its rounding, K + 8 roundings to an entry."""
    b = size * float(operators.a.shape[1]) ** 2
    t = (b[:, :-1] + b[:, 1:]) * np.abs(v)
    t[:, :-1] += b[:, 1:-1] * np.abs(v[:, 1:])
    t[:, 1:] += b[:, 1:-1] * np.abs(v[:, :-1])
    error = up(gamma(operators.size[1] + 8) * up(np.abs(g) + t, 8), 4) + TINY
    return length_upper(up(np.abs(g - operators.matvec(z, v)) + error, 2))


def _sparse(
    operators: Sparse, z: np.ndarray, size: np.ndarray, v: np.ndarray, g: np.ndarray
) -> Float[np.ndarray, " N"]:
    """The same: coefficients, pieces and the longest row's product make the roundings."""
    union, entries = operators.pattern
    longest = int(np.max(np.diff(union.indptr), initial=1))
    k = operators.size[1] + len(operators.E) + longest + 8
    c = gamma(k) * (1.0 + 4.0 * (2 * k + 8) * U)
    pattern, n = (union.indptr, union.indices, entries), v.shape[1]
    square = squared_lengths(pattern, operators.coefficient(z), size, v, g, c, TINY)
    return up(np.sqrt(up(square, n + 8) + n * THETA), 2)


def _absolute(operators: Sparse) -> Any:
    return sum((abs(E) for E in operators.E[1:]), start=abs(operators.E[0]))
