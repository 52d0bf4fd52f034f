r"""How far the estimates are from the exact risk: measured, with the law that is claimed.

|R_equivalent / R - 1| <= L^{3/2}/K and |R_corrected / R - 1| <= L^3/K^2 were seen in every tested
case (K = 16 to 64, M = 4K to 16K, condition 1 to 100, P near P*): estimates, no bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.protocol import Law
from twofold.training.closure import corrected, engines, equivalent, exact

STATEMENT = r"|\hat R_L/R_L-1|\lesssim L^{3/2}/K"
REFERENCE = "couillet2022random"


@dataclass(frozen=True)
class Errors:
    """Relative errors of the two estimates at one P, and what the law allows."""

    exact: float
    equivalent: float
    corrected: float
    allowed: float
    allowed_corrected: float


def measured(P: Any, law: Law, depth: int) -> Errors:
    """Both estimates beside the exact engine, which must reach this case."""
    P, case = engines.of(P, law, depth)
    true = exact.risk(P, case)
    plain, better = (float(np.real(m.risk(P, case))) for m in (equivalent, corrected))
    allowed = depth**1.5 / case.dim, depth**3 / case.dim**2
    return Errors(true, plain / true - 1, better / true - 1, *allowed)


def certify(cases: Any) -> Certificate:
    """One row per (P, law, depth): an estimate, never rendered as proved."""
    found = [measured(P, law, depth) for P, law, depth in cases]
    source = fingerprint(*(np.append(np.ravel(P), [law.prompt, depth]) for P, law, depth in cases))
    return certificate(
        "Equivalent's error",
        statement=STATEMENT, kind="estimate", side="upper", about="exact",
        value=np.array([abs(e.equivalent) for e in found]),
        bound=np.array([e.allowed for e in found]),
        rounding=np.zeros(len(found)), applies=np.ones(len(found), bool), reason="",
        reference=REFERENCE, source=source,
    )  # fmt: skip
