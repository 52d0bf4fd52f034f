r"""Davis-Kahan in three forms: the angle itself, and what each form says about it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from flint import arb, arb_mat, ctx

from twofold.rigor.opinion.balls import eye, frobenius, matrix, norm, require, spread
from twofold.rigor.opinion.sides import Sides
from twofold.rigor.opinion.subspaces import Frame, frame


def sines(form: str) -> Callable[..., Sides]:
    """||sin Theta|| <= above / gap between Top_r(Sigma) and Top_r(S_hat), in three forms."""

    def route(sigma: np.ndarray, estimate: np.ndarray, rank: np.ndarray) -> Sides:
        K, r = len(sigma), int(rank)
        one, two = (frame(x.tobytes(), K, r, ctx.prec) for x in (sigma, estimate))
        missed = two.V - one.V * (one.V.transpose() * two.V)
        left = norm(missed) + spread(one.radius + two.radius)
        above, gap = FORMS[form](matrix(sigma), matrix(estimate), one, two)
        require(gap > 0, gap <= 0, "the gap is not positive")
        drift = one.drift + two.drift
        return Sides(left, above / gap, 1.0, 8 * drift * (1 + above / gap), arb("inf"))

    return route


def separation(A: arb_mat, B: arb_mat, one: Frame, two: Frame) -> tuple[arb, arb]:
    """||E|| over the larger of the two mixed gaps."""
    return norm(B - A), max(two.last - one.after, one.last - two.after)


def population_gap(A: arb_mat, B: arb_mat, one: Frame, two: Frame) -> tuple[arb, arb]:
    """2 ||E|| over lambda_r - lambda_{r+1}."""
    return 2 * norm(B - A), one.last - one.after


def residual(A: arb_mat, B: arb_mat, one: Frame, two: Frame) -> tuple[arb, arb]:
    """||A V - V M|| over lambda_min(M) - lambda_{r+1}, M = V'AV."""
    M = two.V.transpose() * A * two.V
    lift = 2 * frobenius(M).upper()
    least = lift - norm(eye(M.nrows()) * lift - M)
    return norm(A * two.V - two.V * M), least - one.after


FORMS = {"separation": separation, "population gap": population_gap, "residual": residual}
