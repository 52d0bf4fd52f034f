"""Asymptotic intervals: estimates, never certificates."""

from __future__ import annotations

from typing import Any

from scipy.stats import t as students

from twofold.rigor import inputs


def student(values: Any, level: float = 0.95) -> tuple[float, float]:
    """Student's interval for the mean of a few runs."""
    runs = inputs.real("values", values, 1)
    if len(runs) < 2:
        raise ValueError(f"values: a spread needs at least two runs, got {len(runs)}")
    half = float(students.ppf(0.5 + level / 2, len(runs) - 1)) * runs.std(ddof=1) / len(runs) ** 0.5
    return float(runs.mean() - half), float(runs.mean() + half)
