r"""|x_L - x_dagger| with a proved distance from what was measured to what is true.

x_L and x_dagger are exact: the iteration in real arithmetic and the solution of H x = d. Measured
is the kernel's x^_L against the center of an enclosure of x_dagger.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from twofold.decoder import richardson
from twofold.decoder.drift import drift, norm_lower, norm_upper, power_growth
from twofold.rigor import inputs
from twofold.rigor.linear import solve
from twofold.rigor.roundoff import THETA, U, up

Dagger = tuple[np.ndarray, np.ndarray]
TOGETHER = 512


@dataclass(frozen=True, eq=False)
class Enclosed:
    """Measured numbers per task, and how far each can be from its exact value."""

    last: Float[np.ndarray, "N K"]
    """x^_L as computed"""
    center: Float[np.ndarray, "N K"]
    """what was taken for x_dagger"""
    radius: Float[np.ndarray, " N"]
    """|x_dagger - center| <= radius"""
    drift: Float[np.ndarray, " N"]
    """|x^_L - x_L| <= drift"""
    error: Float[np.ndarray, " N"]
    """|x_L - x_dagger| as measured"""
    error_slack: Float[np.ndarray, " N"]
    """| error - |x_L - x_dagger| | <= error_slack"""
    size: Float[np.ndarray, " N"]
    """at least |x_dagger|"""
    growth: Float[np.ndarray, "N l"]
    """at least |T^j|, j = 0, ..., L"""

    @property
    def applies(self) -> np.ndarray:
        """Where everything is a number."""
        return np.isfinite(self.error) & np.isfinite(self.error_slack) & np.isfinite(self.size)

    @property
    def reason(self) -> tuple[str, ...]:
        """Why a row is silent."""
        return tuple(
            ""
            if applies
            else "x_dagger could not be enclosed"
            if np.isfinite(last).all() and not np.isfinite(radius)
            else "the input or an iterate is not finite, or rounding cannot be bounded"
            for applies, last, radius in zip(self.applies, self.last, self.radius, strict=True)
        )


def enclosed(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int, dagger: Dagger | None = None
) -> Enclosed:
    """The measured error of ``depth`` steps; ``dagger`` = (center, radius), or the verified solve.

    A radius of zero says that the center is exactly x_dagger.
    """
    P, H, d, depth = richardson.checked(P, H, d, depth)
    center, radius = solve(H, d) if dagger is None else dagger
    center = inputs.real("dagger[0]", center, shape=d.shape, finite=False)
    radius = inputs.real("dagger[1]", radius, shape=(len(d),), finite=False)
    growth = power_growth(P, H, depth)
    last, moved = np.empty_like(d), np.empty(len(d))
    for start in range(0, len(d), TOGETHER):
        rows = slice(start, start + TOGETHER)
        P_ = P if P.ndim == 2 else P[rows]
        path = richardson.iterates(P_, H[rows], d[rows], depth)
        last[rows], moved[rows] = path[:, -1], drift(P_, H[rows], d[rows], path, growth[rows])
    return _assembled(last, center, radius, moved, growth)


def _assembled(
    last: np.ndarray, center: np.ndarray, radius: np.ndarray, moved: np.ndarray, growth: np.ndarray
) -> Enclosed:
    """The norms, with what computing them may cost."""
    with np.errstate(over="ignore", invalid="ignore"):
        gap = last - center
        error = norm_upper(gap)
        width = up(error - norm_lower(gap) + 2 * U * error + THETA, 3)
        slack = up(moved + radius + width, 2)
        size = up(norm_upper(center) + radius, 1)
    return Enclosed(last, center, radius, moved, error, slack, size, growth)
