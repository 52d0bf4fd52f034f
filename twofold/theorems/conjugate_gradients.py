r"""Conjugate gradients are never worse than Chebyshev: a theorem of real arithmetic.

Statement. P, H symmetric positive definite, spec(P H) in [m, M]. In real arithmetic PCG has
|x_L - x_dagger|_H <= 2 q^L / (1 + q^{2L}) |x_dagger|_H, q = (sqrt M - sqrt m)/(sqrt M + sqrt m),
and x_L = x_dagger from L = K on. Floats lose the orthogonality that the proof rests on, so about
the computed x_L this is an assumption, which a violation refutes; `energy_bound` is proved instead.
"""

from __future__ import annotations

import numpy as np

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.decoder import solving
from twofold.decoder.enclosure import Dagger
from twofold.decoder.energy import measured
from twofold.decoder.richardson import checked
from twofold.rigor.pencil import pencil_bounds
from twofold.rigor.roundoff import up
from twofold.theorems.semi_iteration import NOT_SPD, factor

STATEMENT = r"\|x_L-x^\dagger\|_H\le\tfrac{2q^L}{1+q^{2L}}\,\|x^\dagger\|_H\quad\text{(PCG)}"
REFERENCE = "saad2003iterative"
PREMISE = (
    "rounding costs the directions of PCG none of the orthogonality that matters at this depth"
)


def certify(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, depth: int, dagger: Dagger | None = None
) -> Certificate:
    """The envelope per task, of the proved bounds of its own spectrum."""
    P, H, d, depth = checked(P, H, d, depth)
    low, high = pencil_bounds(P, H)
    x = solving.solve(H, d, P=P, method="pcg", depth=depth)[-1]
    known = measured(H, d, x, dagger)
    with np.errstate(over="ignore", invalid="ignore"):
        bound = up(factor("chebyshev", np.stack([low, high], axis=1), depth) * known.size, 1)
    return certificate(
        "PCG envelope", statement=STATEMENT, kind="assumption", about="computed",
        value=known.error, bound=bound, rounding=known.slack,
        applies=known.applies & np.isfinite(bound),
        reason=[NOT_SPD if np.isnan(m) else "x_L is not finite" for m in low],
        reference=REFERENCE, source=fingerprint(P, H, d, np.int64(depth)),
        premise=PREMISE,
    )  # fmt: skip
