r"""The power bound: |x_L - x_dagger| <= |(I - P H)^L|_2 |x_dagger|.

Never worse than rho^L, and sharp in the worst direction: what a non-normal T = I - P H gains by
being raised to a power is in it. Hypotheses: as for the rate.
"""

from __future__ import annotations

import numpy as np

from twofold.certificate import Certificate, fingerprint
from twofold.decoder.enclosure import Dagger, Enclosed, enclosed
from twofold.rigor import power_upper
from twofold.theorems.richardson import bounded

STATEMENT = r"\|x_L - x^\dagger\|_2 \le \|(I - PH)^L\|_2 \,\|x^\dagger\|_2"
REFERENCE = "saad2003iterative"


def certify(
    P: np.ndarray,
    H: np.ndarray,
    d: np.ndarray,
    depth: int,
    dagger: Dagger | None = None,
    known: Enclosed | None = None,
) -> Certificate:
    """The power bound per task; the arguments are those of the rate."""
    known = known or enclosed(P, H, d, depth, dagger)
    factor = power_upper(P, H, depth)
    source = fingerprint(P, H, d, np.int64(depth))
    return bounded("Power bound", STATEMENT, factor, known, REFERENCE, source)
