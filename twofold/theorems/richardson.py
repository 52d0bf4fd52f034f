r"""Richardson's iteration: its error is T^L applied to the first one, T = I - P H.

Statement. With x_0 = 0, x_{l+1} = x_l + P (d - H x_l) and H x_dagger = d,
x_L - x_dagger = -T^L x_dagger, so |x_L - x_dagger| <= rho^L |x_dagger| for rho = |T|_2.
Hypotheses: H regular (for x_dagger to be one vector); the entries of P, H, d are what the arrays
hold. Nothing is assumed of symmetry or of rho < 1.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint, identity
from twofold.decoder.drift import norm_upper
from twofold.decoder.enclosure import Dagger, Enclosed, enclosed
from twofold.decoder.transport import transport
from twofold.rigor import contraction_upper, inputs
from twofold.rigor.roundoff import U, up

STATEMENT = r"\|x_L - x^\dagger\|_2 \le \rho^L \|x^\dagger\|_2,\qquad \rho = \|I - PH\|_2"
IDENTITY = r"x_L - x^\dagger = -(I - PH)^L x^\dagger"
REFERENCE = "saad2003iterative"


def rate_power(rho: Float[np.ndarray, " N"], depth: int) -> Float[np.ndarray, " N"]:
    """At least rho^depth, for rho >= 0."""
    power = np.ones_like(rho)
    with np.errstate(over="ignore"):
        for _ in range(depth):
            power = up(power * rho, 1)
    return power


def certify(
    P: np.ndarray,
    H: np.ndarray,
    d: np.ndarray,
    depth: int,
    dagger: Dagger | None = None,
    known: Enclosed | None = None,
) -> Certificate:
    """The rate bound per task. ``dagger`` is (center, radius) of x_dagger if not to be solved for.

    ``known`` spares the measuring where ``enclosed`` of the same arguments is at hand.
    """
    known = known or enclosed(P, H, d, depth, dagger)
    return bounded(
        "Richardson rate", STATEMENT, rate_power(contraction_upper(P, H), depth), known,
        REFERENCE, fingerprint(P, H, d, np.int64(depth)),
    )  # fmt: skip


def bounded(
    name: str, statement: str, factor: np.ndarray, known: Enclosed, reference: str, source: str
) -> Certificate:
    """The claim |x_L - x_dagger| <= factor |x_dagger|, with the slack of what was measured."""
    with np.errstate(over="ignore", invalid="ignore"):
        bound = up(factor * known.size, 1)
    applies = known.applies & np.isfinite(bound)
    reason = [text or "the bound of the factor is not finite" for text in known.reason]
    return certificate(
        name, statement=statement, kind="bound", about="exact", value=known.error, bound=bound,
        rounding=known.error_slack, applies=applies, reason=reason, reference=reference,
        source=source,
    )  # fmt: skip


def certify_identity(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int, dagger: Dagger | None = None
) -> Certificate:
    """The gap between the decoder's x_L - x_dagger and -T^L x_dagger through the formed T."""
    known = enclosed(P, H, d, depth, dagger)
    P, H = inputs.systems(P, H, finite=False)[:2]
    with np.errstate(over="ignore", invalid="ignore"):
        e, moved = transport(P, H, -known.center[..., None], depth, known.growth)
        left = known.last - known.center
        gap = norm_upper(left - e[..., 0])
        subtractions = 2 * U * (norm_upper(left) + norm_upper(e[..., 0]))
        radius = (1.0 + known.growth[:, -1]) * known.radius
        rounding = up(known.drift + moved + radius + subtractions, 5)
        rounding = rounding * (1.0 + 4.0 * (H.shape[1] + 5) * U)
    return identity(
        "Richardson identity", statement=IDENTITY, about="exact", gap=gap, rounding=rounding,
        applies=known.applies & np.isfinite(rounding), reason=known.reason,
        reference=REFERENCE, source=fingerprint(P, H, d, np.int64(depth)),
    )  # fmt: skip
