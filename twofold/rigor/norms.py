r"""A proved upper bound of the 2-norm of every matrix of a batch.

With C = 2^-e T, G = fl(C'C), any tau, A = fl(tau I - G) and Cholesky's R run to its end,

    ||C||_2^2 <= tau + E2 + E3
    E2 = gamma_n || |C|'|C| ||_inf + n^2 theta
    E3 = gamma_{n+1} || |R|'|R| ||_inf + u max A_ii + n^2 theta
    ||T||_2   <= 2^e (sqrt(tau + E2 + E3) + n theta)

Proof. |G - C'C| <= gamma_n |C|'|C| + n 2^-1074 entry by entry: n products, summed in any order; so
||G - C'C||_2 <= E2, both being symmetric. tau I - G differs from A on the diagonal only, by at most
u A_ii. In Cholesky's row j there are j - 1 products before a root, or before a product with a
rounded reciprocal: two roundings more, so |R'R - A| <= gamma_{j+1} |R|'|R|, j <= n, plus underflow
(n products, and one scaling by R_jj <= 2 n: at most 3 n 2^-1074 < theta per entry). Nothing
overflows unseen: an infinite or NaN entry of R reaches the pivot of its column, and the
factorization fails. Hence tau I - C'C = R'R + (errors) >= -(E2 + E3) I. Scaling by 2^-e is exact
but for entries that underflow, by at most 2^-1074 each, n 2^-1074 < n theta in norm. Neither
eigensolver nor Cholesky is trusted to be accurate, only to have run to its end.

(Higham, Accuracy and Stability of Numerical Algorithms, ch. 3, 10; Rump 2006, BIT 46, 433-452.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs, kernel
from twofold.rigor.ieee import probe
from twofold.rigor.roundoff import THETA, U, gamma, scaled_up, up
from twofold.rigor.selftest import require

Parts = Float[np.ndarray, "N 9"]


def norm2_upper(T: Any) -> Float[np.ndarray, " N"]:
    """u_n >= ||T_n||_2 for T (N,K,K), rounding included; (K,K) gives one number, shape ().

    A row with a NaN or an infinite entry, or whose norm overflows, gets inf: whatever is certified
    from it falls silent. Zero exactly for the zero matrix and for K = 0.
    """
    T = inputs.square("T", T, finite=False)
    return bounds(T[None])[0] if T.ndim == 2 else bounds(T)


def bounds(T: Float[np.ndarray, "N K K"]) -> Float[np.ndarray, " N"]:
    """norm2_upper without the checks of its argument."""
    N, K, _ = T.shape
    if N == 0 or K == 0:
        return np.zeros(N)
    parts = kernel.table(N)
    kernel.norm_parts(T, start(K), np.zeros(N), parts, probe())
    retry(lambda rows: T[rows], parts)
    return assemble(parts, K)


def assemble(parts: Parts, K: int) -> Float[np.ndarray, " N"]:
    """2^e (sqrt(tau + E2 + E3) + n theta), rounded up; inf where a part is not a number.

    Refuses (ArithmeticError) where the arithmetic is not the one assumed.
    """
    require(parts[:, kernel.SOUND])
    tau, exponent = parts[:, kernel.TAU], parts[:, kernel.EXPONENT].astype(np.int64)
    with np.errstate(invalid="ignore", over="ignore"):
        square = up(tau + gram_error(parts, K) + factor_error(parts, K), 2)
        bound = scaled_up(up(np.sqrt(square) + K * THETA, 2), exponent)
    bound = np.where(tau == 0.0, 0.0, bound)
    return np.where(np.isnan(bound), np.inf, bound)


def gram_error(parts: Parts, K: int) -> Float[np.ndarray, " N"]:
    """E2: what rounding G = fl(C'C) may hide."""
    return up(gamma(K) * up(parts[:, kernel.GRAM], 2 * K + 2), 1) + K * K * THETA


def factor_error(parts: Parts, K: int) -> Float[np.ndarray, " N"]:
    """E3: what tau I - G and its factorization may hide."""
    factor = up(gamma(K + 1) * up(parts[:, kernel.FACTOR], 2 * K + 2), 1)
    return up(factor + U * parts[:, kernel.DIAGONAL], 2) + K * K * THETA


def retry(matrices: Any, parts: Parts) -> None:
    """Where Lanczos guessed too low, take tau from LAPACK, then from the Frobenius norm.

    ``matrices(rows)`` gives the matrices of these rows again. Only tau is guessed: the bound that
    comes of it is as proved as any other.
    """
    for slack in (0.0, 1e-12, 1e-6):
        rows = np.flatnonzero(np.isnan(parts[:, kernel.TAU]) & (parts[:, kernel.GRAM] > 0))
        if not len(rows):
            return
        T = np.ascontiguousarray(matrices(rows))
        C = np.ldexp(T, -parts[rows, kernel.EXPONENT].astype(np.int64)[:, None, None])
        frobenius = np.sum(C * C, axis=(1, 2))
        guess = np.linalg.eigvalsh(np.swapaxes(C, 1, 2) @ C)[:, -1] if slack < 1e-6 else frobenius
        again = kernel.table(len(rows))
        kernel.norm_parts(T, start(T.shape[1]), guess * (1.0 + slack), again, probe())
        parts[rows, : kernel.ROWS] = again[:, : kernel.ROWS]


def start(K: int) -> Float[np.ndarray, " K"]:
    """The vector that Lanczos starts from: Gaussian, so that no given matrix is made against it."""
    return np.random.default_rng(2006).normal(size=K)
