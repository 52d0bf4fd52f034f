"""Arithmetic that stays true under rounding: norms, solves, error-free sums, input checks."""

from twofold.rigor.compensated import dot as dot
from twofold.rigor.compensated import length_upper as length_upper
from twofold.rigor.compensated import matvec as matvec
from twofold.rigor.compensated import residual as residual
from twofold.rigor.compensated import residual_upper as residual_upper
from twofold.rigor.compensated import total as total
from twofold.rigor.contraction import contraction_upper as contraction_upper
from twofold.rigor.linear import solve as solve
from twofold.rigor.norms import norm2_upper as norm2_upper
from twofold.rigor.powers import power_upper as power_upper
from twofold.rigor.selftest import checks as checks

__all__ = [
    "checks",
    "contraction_upper",
    "dot",
    "length_upper",
    "matvec",
    "norm2_upper",
    "power_upper",
    "residual",
    "residual_upper",
    "solve",
    "total",
]
