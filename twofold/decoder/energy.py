r"""|x - x_dagger|_H = sqrt(e'He), the norm in which the fast solvers are bounded, with its slack.

A computed q = fl(e'He) misses the true one by at most eta = gamma_{2K+1} |e|'|H||e| + underflow,
and then sqrt q by min(eta / sqrt q, sqrt eta). A vector that moves by delta moves the norm by at
most sqrt(|H|_2) |delta|_2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from twofold.decoder.enclosure import Dagger
from twofold.rigor import inputs
from twofold.rigor.linear import solve
from twofold.rigor.norms import norm2_upper
from twofold.rigor.roundoff import THETA, U, gamma, up


@dataclass(frozen=True, eq=False)
class Energies:
    """Measured numbers per task, and how far each can be from its exact value."""

    error: Float[np.ndarray, " N"]
    """|x - x_dagger|_H as measured"""
    slack: Float[np.ndarray, " N"]
    """|error - the exact one| <= slack"""
    size: Float[np.ndarray, " N"]
    """at least |x_dagger|_H"""
    top: Float[np.ndarray, " N"]
    """at least sqrt(|H|_2)"""

    @property
    def applies(self) -> np.ndarray:
        """Where everything is a number."""
        return np.isfinite(self.error) & np.isfinite(self.slack) & np.isfinite(self.size)


def norm(H: np.ndarray, e: np.ndarray) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """(sqrt(e'He), how far it can be from the true one), row by row."""
    K = e.shape[1]
    with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
        Q = np.einsum("nk,nk->n", e, np.matmul(H, e[..., None])[..., 0])
        size = np.einsum("nk,nk->n", np.abs(e), np.matmul(np.abs(H), np.abs(e)[..., None])[..., 0])
        eta = up(gamma(2 * K + 1) * up(size, 2 * K) + K * K * THETA, 3)
        value = np.sqrt(np.maximum(Q, 0.0))
        near = np.where(Q > 0, up(eta / np.where(Q > 0, value, 1.0), 2), np.inf)
        return np.where(np.isnan(Q), np.nan, value), up(
            np.fmin(near, up(np.sqrt(eta), 1)) + U * value, 3
        )


def measured(H: np.ndarray, d: np.ndarray, x: np.ndarray, dagger: Dagger | None = None) -> Energies:
    """The error of x (N,K) against x_dagger, solved for unless given as (center, radius)."""
    center, radius = solve(H, d) if dagger is None else dagger
    center = inputs.real("dagger[0]", center, shape=d.shape, finite=False)
    radius = inputs.real("dagger[1]", radius, shape=(len(d),), finite=False)
    with np.errstate(over="ignore", invalid="ignore"):
        top = up(np.sqrt(norm2_upper(H)), 1)
        gap = x - center
        value, slack = norm(H, gap)
        size, more = norm(H, center)
        lost = up(top * U * up(np.sqrt(np.sum(gap * gap, axis=1)), d.shape[1] + 2), 2)
        moved = up(top * radius, 1)
        return Energies(value, up(slack + moved + lost, 3), up(size + more + moved, 2), top)
