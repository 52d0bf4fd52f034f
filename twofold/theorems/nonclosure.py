r"""The risk alone is not a state: equal risks now, different risks one step later.

C q = lambda q, e_0 along q, R_0 = e_0' C e_0, e_1 = (I - eta C) e_0: R_1 = (1 - eta lambda)^2 R_0.
For two modes with the same R_0 and x = eta lambda_i, y = eta lambda_j,

    |R_1^i - R_1^j| = R_0 |y - x| |2 - x - y|,

so R_1 differs unless lambda_i = lambda_j **or eta (lambda_i + lambda_j) = 2**: the second exception
is missing in the usual statement, and there |1 - x| = |1 - y| makes the two runs equal for ever.
The order parameters that do close are overlaps with the spectrum, as in Saad and Solla.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.rigor import inputs
from twofold.rigor.roundoff import U, up

STATEMENT = (
    r"R_0^{(i)}=R_0^{(j)}=1,\ \lambda_i\ne\lambda_j,\ \eta(\lambda_i+\lambda_j)\ne2"
    r"\implies|R_1^{(i)}-R_1^{(j)}|=\eta|\lambda_i-\lambda_j|\,|2-\eta(\lambda_i+\lambda_j)|>0"
)
REFERENCE = "saad1995online"
SAME = "eta lambda_i = eta lambda_j: the two modes are one"
EXCEPTION = "eta (lambda_i + lambda_j) = 2 within rounding: R_1 agrees although lambda differs"
RANGE = "eta lambda is not finite, or out of 1e-100 .. 1e100"


def next_risk(x: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    """R_1 / R_0 = (1 - eta lambda)^2 of a mode with x = eta lambda."""
    return (1.0 - x) ** 2


def separation(x: Float[np.ndarray, " N"], y: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    """|R_1^i - R_1^j| for R_0 = 1, in closed form."""
    return np.abs(y - x) * np.abs(2.0 - x - y)


def rounding(x: Float[np.ndarray, " N"], y: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    """What float64 costs in both forms: 12 u of squares of 1 + |x|, 1 + |y| and their sum."""
    size = (1.0 + np.abs(x)) ** 2 + (1.0 + np.abs(y)) ** 2
    return up(12 * U * (size + (np.abs(x) + np.abs(y)) * (2.0 + np.abs(x) + np.abs(y))), 8)


def certify(x: Any, y: Any) -> Certificate:
    """Rows: pairs of modes by x = eta lambda_i and y = eta lambda_j (N,); R_0 = 1 for both."""
    x = np.atleast_1d(inputs.real("x", x, ndim=(0, 1), finite=False))
    y = np.atleast_1d(inputs.real("y", y, ndim=(0, 1), finite=False))
    if x.shape != y.shape or not len(x):
        raise ValueError(f"x, y: expected as many of each, at least one, got {x.shape}, {y.shape}")
    with np.errstate(invalid="ignore"):
        fit = (np.maximum(x, y) < 1e100) & (np.minimum(x, y) > 1e-100)
    a, b = np.where(fit, x, 0.25), np.where(fit, y, 0.75)
    value, bound, error = np.abs(next_risk(a) - next_risk(b)), separation(a, b), rounding(a, b)
    apart = bound > 2 * error
    reason = np.where(fit, np.where(a == b, SAME, EXCEPTION), RANGE)
    near = fit & ~apart & (a != b) & (np.abs(2 - a - b) > np.abs(a - b))
    reason = np.where(near, "the two eigenvalues agree within rounding", reason)
    return certificate(
        "nonclosure", kind="bound", side="lower", value=value, bound=bound, rounding=error,
        applies=fit & apart, reason=list(reason), statement=STATEMENT, reference=REFERENCE,
        source=fingerprint(x, y),
    )  # fmt: skip
