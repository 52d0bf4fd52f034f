r"""A certified residual: how far any answer is from the solution of an elliptic system A(z) u = f.

Statement: with A(z) = sum_p a_p(z) E_p symmetric, E_p >= -delta_p I and sum_p E_p >= tau I,

    ||u - A(z)^-1 f||_2 <= ||f - A(z) u||_2 / alpha(z),
    alpha(z) = min_p a_p(z) tau - sum_p (a_p(z) - min a) delta_p.

Proof: A(z) >= alpha I because A(z) - min a sum E_p is a sum of E_p with weights >= 0, and
||A(z)^-1|| <= 1/alpha. Attained by an error along the ground state where a(z) is constant.
Hypotheses: a(z) > 0 and alpha > 0, proved by Gershgorin's discs (`measures.coercivity`), the
rounding of A(z) and of the residual included. Nothing is asked of where u came from. The measured
error is that against a direct solve, which has a radius by the same theorem.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.encoder.operator import OperatorSystem
from twofold.rigor import inputs
from twofold.rigor.compensated import length_upper
from twofold.rigor.roundoff import U, up
from twofold.tasks.affine import Tridiagonal

STATEMENT = (
    r"\|u - A(z)^{-1} f\|_2 \le \|f - A(z)u\|_2 / \alpha(z),\qquad"
    r" \alpha(z) = \min_p a_p(z)\,\tau \le \lambda_{\min}(A(z))"
)
REFERENCE = {"coercivity": "quarteroni2016reduced", "discs": "varga2004gersgorin"}
NOT_ELLIPTIC = "the operator is not proved coercive: no positive lower bound of its eigenvalues"
NOT_FINITE = "the answer or the residual is not finite"


def bound(system: OperatorSystem, u: Float[np.ndarray, "N n"]) -> Float[np.ndarray, " N"]:
    """||f - A(z) u|| / alpha(z), rounded up; inf where nothing is proved."""
    return system.distance(u)


def certify(system: OperatorSystem, u: Any) -> Certificate:
    """The distance of the answers u (N, n) to the true solutions, row by row."""
    u = inputs.real("u", u, shape=np.shape(system.d), finite=False)
    limit, (center, radius) = bound(system, u), system.enclosure()
    with np.errstate(invalid="ignore", over="ignore"):
        value = length_upper(u - center)
        width = up(radius + 4 * (u.shape[1] + 8) * U * value, 3)
        subtraction = U * up(length_upper(np.abs(u) + np.abs(center)), 3)
    ok = np.isfinite(limit) & np.isfinite(value) & np.isfinite(width)
    why = [NOT_FINITE if a > 0 else NOT_ELLIPTIC for a in system.coercive]
    family = system.operators
    held = (family.a,) if isinstance(family, Tridiagonal) else (family.a, family.pattern[1])
    return certificate(
        "operator residual", statement=STATEMENT, kind="bound", about="computed", value=value,
        bound=limit, rounding=up(width + subtraction, 2), applies=ok, reason=why,
        reference=REFERENCE["coercivity"], source=fingerprint(*held, system.z, system.d, u),
    )  # fmt: skip
