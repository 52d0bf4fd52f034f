r"""Posterior mean and kernel weights of Gaussian prompts, with enclosed residuals.

The residuals come from Phi, y, prior and noise by compensated sums; neither A nor K, as formed in
floats, is trusted. (What they prove is in :mod:`twofold.theorems.primal_dual`.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.rigor.compensated import length_upper, matvec, residual
from twofold.rigor.linear import solve
from twofold.rigor.roundoff import ETA, U, up
from twofold.tasks import gp

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


def weights(Phi: np.ndarray, c: np.ndarray, prior: np.ndarray) -> Enclosed:
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
    (s, error), q = weights(Phi, c, prior), noise * c
    r, own = residual(_beside(Phi, noise), np.concatenate([s, q], axis=1), y)
    carried = np.matmul(np.abs(Phi), error[..., None])[..., 0] + 2 * noise * U * np.abs(q)
    return r, up(own + carried + noise * ETA, Phi.shape[2] + 6)


def _beside(Phi: np.ndarray, x: float) -> np.ndarray:
    """[Phi, x I] of every task."""
    N, M, _ = Phi.shape
    return np.concatenate([Phi, np.broadcast_to(x * np.eye(M), (N, M, M))], axis=2)
