"""Arithmetic that stays true under rounding: norms, solves, error-free sums, input checks."""
