r"""What a decoder of finite depth can add to the risk, over a batch.

Statement. In the metric Sigma_x, with z_L - z_dagger = -T^L z_dagger on every task,
R_dec = E (z_L - z_dagger)' Sigma_x (z_L - z_dagger) <= |Sigma_x|_2 E[rho^{2L} |z_dagger|^2], and
with |T^L|_2 for rho^L. The expectation is the mean over the batch; it is silent if one of its tasks
is. Hypothesis: Sigma_x positive semidefinite. For a lifted answer U z pass U' Sigma_x U.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.decoder.enclosure import Dagger, Enclosed, enclosed
from twofold.rigor import contraction_upper, inputs, norm2_upper, power_upper
from twofold.rigor.roundoff import THETA, gamma, up
from twofold.theorems.richardson import rate_power
from twofold.theorems.trace_risk import covariance

STATEMENT = (
    r"\mathcal R_{\rm dec}\le\|\Sigma_x\|_2\,\mathbb E\bigl[\rho^{2L}\|z^\dagger\|_2^2\bigr]"
)
POWER = (
    r"\mathcal R_{\rm dec}\le\|\Sigma_x\|_2\,\mathbb E\bigl[\|(I-PA)^L\|_2^2\|z^\dagger\|_2^2\bigr]"
)
REFERENCE = "saad2003iterative"
OVERFLOWS = "the sum over the batch overflows"


def certify(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int, sigma: np.ndarray | None = None,
    dagger: Dagger | None = None, known: Enclosed | None = None,
) -> Certificate:  # fmt: skip
    """One row, for the whole batch, with rho^L; ``sigma`` is a spectrum, a matrix or the identity.

    ``dagger`` and ``known`` as for the rate.
    """
    known = known or enclosed(P, H, d, depth, dagger)
    factor = rate_power(contraction_upper(P, H), depth)
    weight = np.eye(1) if sigma is None else inputs.real("sigma", sigma)
    source = fingerprint(P, H, d, np.int64(depth), weight)
    return of_batch("Decoder bound", STATEMENT, factor, known, sigma, source)


def certify_power(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int, sigma: np.ndarray | None = None,
    dagger: Dagger | None = None, known: Enclosed | None = None,
) -> Certificate:  # fmt: skip
    """The same with the norm of the power."""
    known = known or enclosed(P, H, d, depth, dagger)
    weight = np.eye(1) if sigma is None else inputs.real("sigma", sigma)
    source = fingerprint(P, H, d, np.int64(depth), weight)
    factor = power_upper(P, H, depth)
    return of_batch("Decoder bound, power", POWER, factor, known, sigma, source)


def of_batch(
    name: str, statement: str, factor: np.ndarray, known: Enclosed, sigma: np.ndarray | None,
    source: str,
) -> Certificate:  # fmt: skip
    """The mean of e' Sigma e against the mean of the squared bounds."""
    S = covariance("sigma", sigma, known.last.shape[1])
    norm = float(norm2_upper(S))
    with np.errstate(over="ignore", invalid="ignore"):
        loss, slack = losses(known, S, norm)
        bound = up(norm * up(factor * known.size, 1) ** 2, 2)
    silent = ~(known.applies & np.isfinite(bound) & np.isfinite(slack) & np.isfinite(loss))
    value, rounding, limit = (mean(x) for x in (loss, slack, bound))
    limit, rounding = up(limit, 2), up(rounding + 2.0**-51 * abs(value), 4)
    few = f"{int(silent.sum())} of {len(loss)} tasks are silent" if silent.any() else OVERFLOWS
    return certificate(
        name, statement=statement, kind="bound", value=value, bound=limit, rounding=rounding,
        applies=not silent.any() and math.isfinite(value + limit + rounding), reason=few,
        reference=REFERENCE, source=source,
    )  # fmt: skip


def losses(
    known: Enclosed, S: Float[np.ndarray, "K K"], norm: float
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """(e' S e per task, its distance from the exact one at most)."""
    K = len(S)
    e, off = known.last - known.center, known.error_slack
    size = up(np.sum((np.abs(e) @ np.abs(S)) * np.abs(e), axis=1), 2 * K + 1)
    moved = norm * off * (2 * known.error + off)
    return np.sum((e @ S) * e, axis=1), up(gamma(2 * K + 1) * size + moved + K * K * THETA, 6)


def mean(x: Float[np.ndarray, " N"]) -> float:
    """The mean of terms >= 0, rounded twice; NaN where a term is no number, inf on overflow."""
    try:
        return math.fsum(x) / len(x) if np.all(np.isfinite(x)) else math.nan
    except OverflowError:
        return math.inf
