r"""The factor-two split: ||a + b||_S^2 <= 2 ||a||_S^2 + 2 ||b||_S^2.

Statement: with a the decoder's error and b the encoder's, total <= 2 floor + 2 decoder.
Hypothesis: S is positive semidefinite (proved by a Cholesky factorisation, up to a defect that is
added to the rounding). Proof: the difference of the two sides is ||a - b||_S^2. Equality exactly
where a = b in S; the cross term is then as large as floor and decoder together.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from twofold.anatomy import Anatomy
from twofold.certificate import Certificate, certificate
from twofold.rigor.roundoff import THETA, U, gamma, up
from twofold.theorems.risk_decomposition import part_errors, source

STATEMENT = (
    r"\|\hat x_L - x_\star\|_\Sigma^2 \le 2\|\hat x_L - x^\dagger\|_\Sigma^2"
    r" + 2\|x^\dagger - x_\star\|_\Sigma^2"
)
REFERENCE = "horn2012matrix"
NOT_PROVED = "the metric could not be proved positive semidefinite"


def bound(
    floor: Float[np.ndarray, " N"], decoder: Float[np.ndarray, " N"]
) -> Float[np.ndarray, " N"]:
    """2 floor + 2 decoder."""
    return 2.0 * (floor + decoder)


def indefiniteness(S: Float[np.ndarray, "K K"] | None) -> float:
    """Proved w >= 0 with v'Sv >= -w ||v||^2 for all v; inf where none near rounding is found.

    If the Cholesky factorisation of A = fl(S + shift I) runs to its end, A is semidefinite up to
    gamma_{K+1} / (1 - gamma_{K+1}) tr A (rump2006verification), whatever the order of its sums.
    """
    if S is None or not S.any():
        return 0.0
    K, trace = len(S), float(np.sum(np.abs(np.diagonal(S))))
    unit = 2.0 * gamma(K + 3) * trace
    for shift in (-2.0 * unit, 0.0, *(2.0**j * unit for j in range(10))):
        A = S + shift * np.eye(K)
        try:
            np.linalg.cholesky(A)
        except np.linalg.LinAlgError:
            continue
        total = up(float(np.sum(np.diagonal(A))), K)
        error = up(2.0 * gamma(K + 3) * total + K * K * THETA, 4)
        return max(0.0, float(np.nextafter(shift + error, np.inf)))
    return float("inf")


def rounding(anatomy: Anatomy) -> Float[np.ndarray, " N"]:
    """Errors of the three parts and of the bound, and what the metric's defect could cost.

    The last is defect ||a - b||^2 <= 2 defect (||a||^2 + ||b||^2).
    """
    errors = part_errors(anatomy)
    limit = bound(anatomy.parts["floor"], anatomy.parts["decoder"])
    rounded = errors["total"] + bound(errors["floor"], errors["decoder"]) + U * limit
    a, b = anatomy.answer - anatomy.best, anatomy.best - anatomy.truth
    squares = bound(np.sum(a**2, axis=1), np.sum(b**2, axis=1))
    defect = anatomy.scale * indefiniteness(anatomy.metric)
    return up(rounded, 8) + (up(defect * up(squares, a.shape[1] + 4), 4) if defect else 0.0)


def certify(anatomy: Anatomy) -> Certificate:
    """The inequality total <= 2 floor + 2 decoder on every row that could be split."""
    proved = np.isfinite(indefiniteness(anatomy.metric))
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        return certificate(
            "factor two",
            statement=STATEMENT,
            kind="bound",
            value=anatomy.parts["total"],
            bound=bound(anatomy.parts["floor"], anatomy.parts["decoder"]),
            rounding=rounding(anatomy),
            about="computed",
            applies=anatomy.applies & proved,
            reason=anatomy.reason if proved else NOT_PROVED,
            reference=REFERENCE,
            source=source(anatomy),
        )
