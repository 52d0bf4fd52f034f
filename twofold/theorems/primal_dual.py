r"""A Gaussian posterior by its features and by its kernel: two systems, one prediction.

Statement. For z ~ N(0, Lambda), y = Phi z + s xi, A = Lambda^-1 + Phi'Phi/s^2, K = Phi Lambda Phi',

    phi_q' A^-1 Phi'y/s^2  =  k_q' (K + s^2 I)^-1 y,      k_q = Phi Lambda phi_q.

Hypotheses: Lambda = diag(prior) > 0, s > 0; nothing on ranks. (Kernel ridge with lambda = s^2.)

Rounding. No inverse needs enclosing, for Lambda^{1/2} A Lambda^{1/2} >= I, and the singular values of
(K + s^2)^-1 Phi Lambda^{1/2}, t/(t^2 + s^2), are at most 1/2s. Any z and c are therefore off by

    |phi_q'(A^-1 d - z)| <= |Lambda^{1/2} phi_q| |Lambda^{1/2} (d - A z)|,
    |k_q'((K + s^2)^-1 y - c)| <= |Lambda^{1/2} phi_q| |y - (K + s^2) c| / 2s,

and compensated sums enclose both residuals from Phi, y, prior and s: A and K are never trusted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, fingerprint, identity
from twofold.rigor import inputs
from twofold.rigor.compensated import length_upper, matvec, residual
from twofold.rigor.linear import solve
from twofold.rigor.roundoff import ETA, U, up
from twofold.tasks import gp, woodbury

STATEMENT = r"\phi_q^\top A^{-1} \Phi^\top y/\sigma^2 = k_q^\top (K + \sigma^2 I)^{-1} y"
REFERENCE = "rasmussen2006gaussian"
WHY = "a number is not finite, or so small or large that underflow is not paid"
RANGE = 1e-100, 1e100
Enclosed = tuple[np.ndarray, np.ndarray]


def primal(Phi: np.ndarray, y: np.ndarray, prior: np.ndarray, noise: float) -> Enclosed:
    """(z, bound of |Lambda^{1/2} (d - A z)|), z the posterior mean by A, once refined."""
    A, d = gp.system(Phi, y, prior=prior, noise=noise)
    z = solve(A, d)[0]
    z = z + solve(A, _whitened_residual(Phi, y, z, prior, noise)[0] / np.sqrt(prior))[0]
    r, error = _whitened_residual(Phi, y, z, prior, noise)
    return z, length_upper(up(np.abs(r) + error, 1))


def dual(Phi: np.ndarray, y: np.ndarray, prior: np.ndarray, noise: float) -> Enclosed:
    """(c, bound of |y - (K + s^2) c|), c by the kernel's system, once refined."""
    K = (Phi * prior) @ np.swapaxes(Phi, 1, 2)
    S = 0.5 * (K + np.swapaxes(K, 1, 2)) + noise**2 * np.eye(K.shape[1])
    c = solve(S, y)[0]
    c = c + solve(S, _kernel_residual(Phi, y, c, prior, noise)[0])[0]
    r, error = _kernel_residual(Phi, y, c, prior, noise)
    return c, length_upper(up(np.abs(r) + error, 1))


def certify(Phi: Any, y: Any, Phi_q: Any, *, prior: Any, noise: Any) -> Certificate:
    """The largest gap over the queries (N,Q,R) or (Q,R) of each prompt Phi (N,M,R), y (N,M)."""
    Phi, y, noise = woodbury.prompts(Phi, y, noise)
    N, _, R = Phi.shape
    Phi_q, prior = woodbury.points("Phi_q", Phi_q, N, R), inputs.real("prior", prior, shape=(R,))
    if not np.all(prior > 0):
        raise ValueError(f"prior: A needs variances > 0, the smallest is {np.min(prior):.3g}")
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        (z, off_z), (c, off_c) = primal(Phi, y, prior, noise), dual(Phi, y, prior, noise)
        s, error = _weights(Phi, c, prior)
        gap, rounding = np.zeros(N), np.zeros(N)
        for q in range(Phi_q.shape[1]):
            left, e_left = matvec(Phi_q[:, q : q + 1], z)
            right, e_right = matvec(Phi_q[:, q : q + 1], s)
            carried = np.sum(np.abs(Phi_q[:, q]) * error, axis=1)
            size = length_upper(Phi_q[:, q] * np.sqrt(prior) * (1 + 4 * U))
            off = size * (off_z + off_c / noise) + carried
            own = e_left[:, 0] + e_right[:, 0] + U * np.abs(left[:, 0] - right[:, 0])
            gap = np.maximum(gap, np.abs(left[:, 0] - right[:, 0]))
            rounding = np.maximum(rounding, up(off + own, R + 8))
    sized = RANGE[0] < noise < RANGE[1] and RANGE[0] < prior.min() and prior.max() < RANGE[1]
    return identity(
        "primal-dual", gap=gap, rounding=rounding, statement=STATEMENT, reference=REFERENCE,
        applies=np.isfinite(rounding) & np.isfinite(gap) & sized, reason=WHY,
        source=fingerprint(Phi, y, Phi_q, prior, np.float64(noise)),
    )  # fmt: skip


def _weights(Phi: np.ndarray, c: np.ndarray, prior: np.ndarray) -> Enclosed:
    """(s, error): s ~ Lambda Phi'c."""
    t, error = matvec(np.swapaxes(Phi, 1, 2), c)
    return prior * t, up(prior * error + 2 * U * np.abs(prior * t), 3)


def _whitened_residual(Phi: Any, y: Any, z: Any, prior: Any, noise: float) -> Enclosed:
    """(r, error): Lambda^{1/2} (Phi'(y - Phi z)/s^2 - z/Lambda)."""
    Psi, root = np.swapaxes(Phi, 1, 2), np.sqrt(prior) / noise**2
    v, e_v = residual(Phi, z, y)
    p = z / prior * noise**2
    r, error = matvec(_beside(Psi, -1.0), np.concatenate([v, p], axis=1))
    carried = np.matmul(np.abs(Psi), e_v[..., None])[..., 0] + 4 * U * np.abs(p)
    carried = error + carried + ETA * (1 + noise**2) + 8 * U * np.abs(r)
    return root * r, up(root * carried, Psi.shape[2] + 12)


def _kernel_residual(Phi: Any, y: Any, c: Any, prior: Any, noise: float) -> Enclosed:
    """(r, error): y - Phi Lambda Phi'c - s^2 c."""
    (s, error), q = _weights(Phi, c, prior), noise * c
    r, own = residual(_beside(Phi, noise), np.concatenate([s, q], axis=1), y)
    carried = np.matmul(np.abs(Phi), error[..., None])[..., 0] + 2 * noise * U * np.abs(q)
    return r, up(own + carried + noise * ETA, Phi.shape[2] + 6)


def _beside(Phi: np.ndarray, x: float) -> np.ndarray:
    """[Phi, x I] of every task."""
    N, M, _ = Phi.shape
    return np.concatenate([Phi, np.broadcast_to(x * np.eye(M), (N, M, M))], axis=2)
