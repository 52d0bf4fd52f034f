r"""Iterations with a fixed error polynomial: Richardson, heavy ball, Chebyshev.

    x_{l+1} = x_l + alpha_l P (d - H x_l) + beta_l (x_l - x_{l-1}),      x_0 = 0,  beta_0 = 0

Its error is e_l = p_l(P H) e_0 with p_0 = 1 and
p_{l+1}(t) = (1 + beta_l - alpha_l t) p_l(t) - beta_l p_{l-1}(t).
A `Schedule` holds the steps; it never looks at d, so p_L is fixed before d is seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs

Map = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Schedule:
    """The steps: one row (L,) for all tasks, or one for each (N, L)."""

    alpha: Float[np.ndarray, "*N L"]
    beta: Float[np.ndarray, "*N L"]

    @property
    def depth(self) -> int:
        """L."""
        return self.alpha.shape[-1]

    def at(self, ell: int) -> tuple[np.ndarray, np.ndarray]:
        """(alpha, beta) of one step, shaped to scale rows (N, K)."""
        return self.alpha[..., ell, None], self.beta[..., ell, None]


def endpoints(interval: Any) -> tuple[np.ndarray, np.ndarray]:
    """(m, M) of an interval (2,) or of one for each task (N, 2), 0 < m <= M; NaN rows pass."""
    ends = inputs.real("interval", interval, ndim=(1, 2), finite=False)
    if ends.shape[-1:] != (2,):
        raise ValueError(f"interval: expected (m, M) or one pair for each task, got {ends.shape}")
    m, M = ends[..., 0], ends[..., 1]
    bad = np.argwhere(~((m > 0) & (m <= M) & np.isfinite(M) | np.isnan(m) & np.isnan(M)))
    if len(bad):
        row = tuple(bad[0])
        raise ValueError(
            f"interval: expected 0 < m <= M < inf, got ({m[row]:.3g}, {M[row]:.3g}); it has to "
            "contain the spectrum of P H"
        )
    return m, M


def rate(interval: Any) -> Float[np.ndarray, "*N"]:
    """Q = (sqrt M - sqrt m) / (sqrt M + sqrt m): what a step of either fast method gains."""
    m, M = endpoints(interval)
    return (M - m) / (np.sqrt(M) + np.sqrt(m)) ** 2


def richardson(depth: int, alpha: float = 1.0) -> Schedule:
    """alpha_l = alpha, beta_l = 0."""
    return _constant(inputs.real("alpha", alpha, ndim=0), np.float64(0.0), depth)


def scaled(interval: Any, depth: int) -> Schedule:
    """Richardson with the best fixed step of an interval, alpha = 2 / (m + M)."""
    m, M = endpoints(interval)
    return _constant(2.0 / (m + M), np.zeros_like(m), depth)


def heavy_ball(interval: Any, depth: int) -> Schedule:
    """Alpha = 4 / (sqrt M + sqrt m)^2, beta = q^2: the best fixed pair of an interval."""
    m, M = endpoints(interval)
    return _constant(4.0 / (np.sqrt(M) + np.sqrt(m)) ** 2, rate(interval) ** 2, depth)


def chebyshev(interval: Any, depth: int) -> Schedule:
    r"""The semi-iteration: p_L is the Chebyshev polynomial of the interval, scaled to p_L(0) = 1.

    With theta = (M + m)/2 and delta = (M - m)/2, tau_0 = 1/theta and
    tau_l = 1 / (2 theta - delta^2 tau_{l-1}): alpha_0 = 1/theta, alpha_l = 2 tau_l and
    beta_l = delta^2 tau_l tau_{l-1}.
    """
    m, M = endpoints(interval)
    theta, delta = 0.5 * (M + m), 0.5 * (M - m)
    depth = inputs.whole("depth", depth)
    alpha, beta = np.zeros((depth, *theta.shape)), np.zeros((depth, *theta.shape))
    tau = 1.0 / theta
    for ell in range(depth):
        if ell:
            last, tau = tau, 1.0 / (2.0 * theta - delta**2 * tau)
            beta[ell] = delta**2 * tau * last
        alpha[ell] = 2.0 * tau if ell else tau
    return Schedule(np.moveaxis(alpha, 0, -1), np.moveaxis(beta, 0, -1))


def _constant(alpha: Any, beta: Any, depth: int) -> Schedule:
    shape = (*np.shape(alpha), inputs.whole("depth", depth))
    return Schedule(
        *(np.broadcast_to(np.asarray(x)[..., None], shape).copy() for x in (alpha, beta))
    )


def walk(
    schedule: Schedule, d: Float[np.ndarray, "N K"], product: Map, precondition: Map
) -> Float[np.ndarray, "l N K"]:
    """x_0, ..., x_L; ``product`` is v -> H v and ``precondition`` r -> P r, row by row."""
    path = np.zeros((schedule.depth + 1, *d.shape))
    with np.errstate(over="ignore", invalid="ignore"):
        for ell in range(schedule.depth):
            alpha, beta = schedule.at(ell)
            residual = d - product(path[ell]) if ell else d
            path[ell + 1] = path[ell] + alpha * precondition(residual)
            if ell:
                path[ell + 1] += beta * (path[ell] - path[ell - 1])
    return path


def values(schedule: Schedule, t: Any) -> np.ndarray:
    """p_0(t), ..., p_L(t) at points t, real or complex, of a schedule that all tasks share."""
    if schedule.alpha.ndim != 1:
        raise ValueError(
            f"schedule: expected one row of steps, got shape {schedule.alpha.shape}; "
            "evaluate the rows one by one"
        )
    t = np.asarray(t)
    out = np.ones((schedule.depth + 1, *t.shape), dtype=np.result_type(t, float))
    for ell, (a, b) in enumerate(zip(schedule.alpha, schedule.beta, strict=True)):
        out[ell + 1] = (1.0 - a * t) * out[ell]
        if ell:
            out[ell + 1] += b * (out[ell] - out[ell - 1])
    return out


def matrices(
    schedule: Schedule, P: np.ndarray, H: Float[np.ndarray, "N K K"]
) -> Float[np.ndarray, "N K K"]:
    """p_L(P_n H_n), by the recurrence."""
    now = np.broadcast_to(np.eye(H.shape[-1]), H.shape).copy()
    before = now
    with np.errstate(over="ignore", invalid="ignore"):
        for ell in range(schedule.depth):
            alpha, beta = (x[..., None] for x in schedule.at(ell))
            moved = now - alpha * np.matmul(P, np.matmul(H, now))
            if ell:
                moved += beta * (now - before)
            before, now = now, moved
    return now
