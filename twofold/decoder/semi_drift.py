r"""How far a computed heavy-ball or Chebyshev iterate can be from the exact one, in the H-norm.

One step misses the exact one (exact alpha_l and beta_l of the interval, at the computed x_l) by

    |delta| <= alpha (c + (4u + eps_l) |p|) + 4u |x| + (4u + eps_l) beta |x - x_prev| + underflow

entry by entry, with p = P (d - H x), c what two products of K roundings cost, and
eps_l = 64 (l + 1) u for the schedule: tau' = 1 / (2 theta - delta^2 tau) passes on at most the
relative error of tau (its factor is beta <= 1) and adds less than 14 u; alpha shows it once, beta
twice, and neither cancels.

What was missed in step l is carried to the end by a fundamental solution of the recurrence,
U_j(t) T_{l+1}(s) / T_L(s) for Chebyshev and q^j U_j(t) for heavy ball, j = L - l - 1 and |t| <= 1
on the interval: at most L - l, as |U_j| <= j + 1. P H is self-adjoint in the H-norm, so this is
the norm of the matrix; and |delta|_H <= sqrt |H|_2 |delta|_2.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from twofold.decoder.drift import norm_upper
from twofold.decoder.polynomial import Schedule
from twofold.decoder.solving import times
from twofold.rigor.norms import norm2_upper
from twofold.rigor.pencil import least
from twofold.rigor.roundoff import THETA, U, gamma, up


def drift(
    P: np.ndarray,
    H: Float[np.ndarray, "N K K"],
    d: Float[np.ndarray, "N K"],
    path: Float[np.ndarray, "l N K"],
    schedule: Schedule,
    top: Float[np.ndarray, " N"],
) -> Float[np.ndarray, " N"]:
    """A bound of |x^_L - x_L|_H where spec(P H) lies in the interval; top >= sqrt |H|_2."""
    L, total = schedule.depth, np.zeros(len(d))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for ell in range(L):
            before = path[max(ell - 1, 0)]
            local = norm_upper(step_error(P, H, d, path[ell], before, schedule, ell))
            total = up(total + (L - ell) * local, 2)
        return up(total * top, 1)


def step_error(
    P: np.ndarray,
    H: np.ndarray,
    d: np.ndarray,
    x: np.ndarray,
    before: np.ndarray,
    schedule: Schedule,
    ell: int,
) -> Float[np.ndarray, "N K"]:
    """|delta| of one step, entry by entry."""
    K = d.shape[1]
    alpha, beta = schedule.at(ell)
    eps = (64 * (ell + 1) + 4) * U
    product = up(times(np.abs(H), np.abs(x)), K)
    again = np.abs(d - times(H, x))
    residual = up((1 + 4 * U) * again + gamma(2 * K + 1) * product + K * THETA, 3)
    cost = gamma(K) * product + gamma(K + 1) * residual + K * THETA
    inner = times(np.abs(P), up(cost + eps * residual, 4))
    moved = up(np.abs(x - before), 1)
    return up(
        (1 + eps) * (alpha * inner + eps * beta * moved) + 4 * U * np.abs(x) + K * THETA, K + 9
    )


def formed(
    P: np.ndarray, H: Float[np.ndarray, "N K K"], schedule: Schedule
) -> tuple[Float[np.ndarray, "N K K"], Float[np.ndarray, " N"]]:
    r"""(M, error): |M - p_L(P H)|_F <= error where spec(P H) lies in the schedule's interval.

    The same recurrence on the columns of I. What step l misses grows by at most L - l in the
    H-norm, hence by sqrt(|H|_2 |H^{-1}|_2) more in the Frobenius norm. error is inf where H is not
    proved positive definite.
    """
    N, K, _ = H.shape
    now = before = np.broadcast_to(np.eye(K), H.shape).copy()
    total = np.zeros(N)
    with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
        for ell in range(schedule.depth):
            alpha, beta = (x[..., None] for x in schedule.at(ell))
            moved, kept = np.matmul(P, np.matmul(H, now)), now - before
            local = _column_errors(P, H, now, moved, kept, alpha, beta, ell)
            total = up(total + (schedule.depth - ell) * norm_upper(local.reshape(N, -1)), 2)
            before, now = now, now - alpha * moved + beta * kept
        low = least(H, np.zeros(N))
        stretch = up(np.sqrt(up(norm2_upper(H) / low, 1)), 1)
        error = up(total * stretch, 1)
    return now, np.where((low > 0) & np.isfinite(error), error, np.inf)


def _column_errors(
    P: np.ndarray,
    H: np.ndarray,
    E: np.ndarray,
    moved: np.ndarray,
    kept: np.ndarray,
    alpha: np.ndarray,
    beta: np.ndarray,
    ell: int,
) -> Float[np.ndarray, "N K K"]:
    """What one step of the recurrence on matrices misses, entry by entry."""
    K, eps = H.shape[1], (64 * (ell + 1) + 4) * U
    formed = up(np.matmul(np.abs(P), np.matmul(np.abs(H), np.abs(E))), 2 * K)
    cost = (gamma(2 * K + 2) * formed + eps * np.abs(moved)) * alpha
    rest = eps * beta * up(np.abs(kept), 1) + 4 * U * np.abs(E) + K * K * THETA
    return up((1 + eps) * (cost + rest), 12)
