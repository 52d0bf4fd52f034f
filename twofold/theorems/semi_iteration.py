r"""The sharp envelopes of three fixed polynomials on an interval, in the norm |e|_H = sqrt(e'He).

Statement. Let P and H be symmetric positive definite and spec(P H) in [m, M], 0 < m <= M, and
q = (sqrt M - sqrt m) / (sqrt M + sqrt m). From x_0 = 0, |x_L - x_dagger|_H <= f |x_dagger|_H with

    scaled Richardson  f = ((M - m) / (M + m))^L
    heavy ball         f = (1 + L (1 + q)) q^L        (attained at M: q^L is exceeded)
    Chebyshev          f = 2 q^L / (1 + q^{2L})       (the least that any polynomial can do)

Proof. P H is self-adjoint in this norm, so f is max |p_L| over [m, M]. For heavy ball
p_l = q^l (U_l(t) - q U_{l-1}(t)) with |t| <= 1 there, and |U_l| <= l + 1.
Hypotheses are proved for each task; where the interval misses the spectrum the row is silent.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.decoder import polynomial, semi_drift, solving
from twofold.decoder.enclosure import Dagger
from twofold.decoder.energy import measured
from twofold.decoder.richardson import checked
from twofold.rigor.pencil import pencil_bounds
from twofold.rigor.roundoff import up
from twofold.theorems.richardson import rate_power

Form = Literal["scaled", "heavy_ball", "chebyshev"]
NAMES: dict[Form, str] = {
    "scaled": "Scaled Richardson",
    "heavy_ball": "Heavy ball",
    "chebyshev": "Chebyshev",
}
STATEMENT = r"\|x_L-x^\dagger\|_H\le\max_{t\in[m,M]}|p_L(t)|\,\|x^\dagger\|_H"
REFERENCE = "saad2003iterative"
NOT_SPD = "P or H is not proved symmetric positive definite"
MISSED = "the interval does not contain the spectrum of P H"


def factor(form: Form, interval: Any, depth: int) -> Float[np.ndarray, " N"]:
    """At least f, for every interval."""
    m, M = polynomial.endpoints(interval)
    if form == "scaled":
        return rate_power(up((M - m) / (M + m), 4), depth)
    q = np.minimum(up(polynomial.rate(interval), 9), 1.0)
    power = np.minimum(rate_power(q, depth), 1.0)
    if form == "heavy_ball":
        return up((1 + depth * (1 + q)) * power, 4)
    return up(2 * power / (1 + power * power), 4)


def certify(
    P: np.ndarray,
    H: np.ndarray,
    d: np.ndarray,
    depth: int,
    form: Form,
    interval: Any = None,
    dagger: Dagger | None = None,
) -> Certificate:
    """The envelope per task; without an interval, of the proved bounds of its own spectrum."""
    P, H, d, depth = checked(P, H, d, depth)
    if form not in NAMES:
        raise ValueError(f"form: there are {', '.join(NAMES)}; got {form!r}")
    low, high = pencil_bounds(P, H)
    ends = np.stack([low, high], axis=1) if interval is None else np.asarray(interval, float)
    ends = np.broadcast_to(ends, (len(d), 2)).copy()
    schedule = getattr(polynomial, form)(ends, depth)
    path = polynomial.walk(schedule, d, lambda v: solving.times(H, v),
                           lambda r: solving.times(P, r))  # fmt: skip
    known = measured(H, d, path[-1], dagger)
    with np.errstate(over="ignore", invalid="ignore"):
        slack = up(known.slack + semi_drift.drift(P, H, d, path, schedule, known.top), 1)
        bound = up(factor(form, ends, depth) * known.size, 1)
    inside = (ends[:, 0] <= low) & (high <= ends[:, 1])
    applies = known.applies & np.isfinite(slack) & np.isfinite(bound) & inside
    reason = np.where(np.isnan(low), NOT_SPD, np.where(inside, "rounding is not bounded", MISSED))
    return certificate(
        f"{NAMES[form]} envelope", statement=STATEMENT, kind="bound", value=known.error,
        bound=bound, rounding=slack, applies=applies, reason=[str(r) for r in reason],
        reference=REFERENCE, source=fingerprint(P, H, d, ends, np.int64(depth)),
    )  # fmt: skip
