r"""The error of a fixed polynomial iteration is its polynomial of P H applied to the first error.

Statement. For the steps (alpha_l, beta_l) of an interval that holds spec(P H), P and H symmetric
positive definite, x_L - x_dagger = -p_L(P H) x_dagger, with p_0 = 1 and
p_{l+1}(t) = (1 + beta_l - alpha_l t) p_l(t) - beta_l p_{l-1}(t). With x_dagger of covariance S,
independent of H, the risk is E|x_L - x_dagger|^2 / K = tr(p_L S p_L') / K: known before any d is.
The gap is measured in the norm (e'He)^{1/2} between the solver's x_L and the formed p_L(P H).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, fingerprint, identity
from twofold.decoder import polynomial, semi_drift, solving
from twofold.decoder.drift import norm_upper
from twofold.decoder.enclosure import Dagger
from twofold.decoder.energy import measured
from twofold.decoder.energy import norm as energy_norm
from twofold.decoder.richardson import checked
from twofold.rigor import inputs
from twofold.rigor.linear import solve
from twofold.rigor.pencil import pencil_bounds
from twofold.rigor.roundoff import U, gamma, up
from twofold.theorems import trace_risk
from twofold.theorems.semi_iteration import MISSED, NAMES, NOT_SPD, Form

STATEMENT = r"x_L-x^\dagger=-p_L(PH)\,x^\dagger"
REFERENCE = "saad2003iterative"


def risk(
    P: np.ndarray, H: np.ndarray, depth: int, form: Form, interval: Any = None, prior: Any = None
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """(tr(p_L S p_L') / K per H, a bound of its rounding: inf where the interval is not proved)."""
    P, H, _ = inputs.systems(P, H, finite=False)
    ends, inside = intervals(P, H, interval)
    schedule = getattr(polynomial, form)(ends, depth)
    M, error = semi_drift.formed(P, H, schedule)
    error = np.where(inside, error, np.inf)
    return trace_risk.trace(M, error, trace_risk.covariance("prior", prior, H.shape[1]))


def intervals(P: np.ndarray, H: np.ndarray, interval: Any) -> tuple[np.ndarray, np.ndarray]:
    """((N, 2), each its own proved bounds where none is given; is the spectrum proved inside?)."""
    low, high = pencil_bounds(P, H)
    own = np.stack([low, high], axis=1)
    ends = own if interval is None else inputs.real("interval", interval, (1, 2), finite=False)
    ends = np.broadcast_to(ends, own.shape).copy()
    return ends, (ends[:, 0] <= low) & (high <= ends[:, 1])


def certify(
    P: np.ndarray,
    H: np.ndarray,
    d: np.ndarray,
    depth: int,
    form: Form,
    interval: Any = None,
    dagger: Dagger | None = None,
) -> Certificate:
    """The gap per task between the solver's x_L - x_dagger and -p_L(P H) x_dagger."""
    P, H, d, depth = checked(P, H, d, depth)
    ends, inside = intervals(P, H, interval)
    schedule = getattr(polynomial, form)(ends, depth)
    center, radius = dagger = solve(H, d) if dagger is None else dagger
    path = polynomial.walk(schedule, d, lambda v: solving.times(H, v),
                           lambda r: solving.times(P, r))  # fmt: skip
    top = measured(H, d, path[-1], dagger).top
    with np.errstate(over="ignore", invalid="ignore"):
        M, error = semi_drift.formed(P, H, schedule)
        size = norm_upper(center)
        gap, slack = energy_norm(H, path[-1] - center + solving.times(M, center))
        product = gamma(len(M[0])) * norm_upper(M.reshape(len(M), -1)) * size
        small = 4 * U * (norm_upper(path[-1]) + 2 * size)
        moved = up(top * (up(error * size, 1) + product + small), 6)
        enclosed = up(top * radius * (2 + up(norm_upper(M.reshape(len(M), -1)) + error, 1)), 4)
        carried = semi_drift.drift(P, H, d, path, schedule, top)
        rounding = up(carried + moved + enclosed + slack, 4)
    applies = inside & np.isfinite(gap) & np.isfinite(rounding)
    known = np.isfinite(pencil_bounds(P, H)[0])
    reason = np.where(known, np.where(inside, "rounding is not bounded", MISSED), NOT_SPD)
    return identity(
        f"{NAMES[form]} identity", statement=STATEMENT, about="exact", gap=gap, rounding=rounding,
        applies=applies, reason=[str(r) for r in reason], reference=REFERENCE,
        source=fingerprint(P, H, d, ends, np.int64(depth)),
    )  # fmt: skip
