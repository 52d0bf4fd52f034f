"""Arithmetic that stays true under rounding: norms, solves, error-free sums, input checks."""

from twofold.rigor.contraction import contraction_upper as contraction_upper
from twofold.rigor.norms import norm2_upper as norm2_upper
from twofold.rigor.powers import power_upper as power_upper
from twofold.rigor.selftest import checks as checks

__all__ = ["checks", "contraction_upper", "norm2_upper", "power_upper"]
