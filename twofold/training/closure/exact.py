r"""The exact finite-K, finite-M engine: which route serves, and why none does.

diagonal P to depth 4 by Wick's pairings; any P to depth 2 by words; any P for K <= 3 by quadrature.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.training.closure import quadrature, wick, words
from twofold.training.closure.case import Case

MODULES: dict[str, Any] = {"wick": wick, "words": words, "quadrature": quadrature}


def route(case: Case) -> tuple[str, str]:
    """(wick, words, quadrature or nothing; the reason)."""
    L, K = case.depth, case.dim
    if case.diagonal and L <= wick.DEEPEST:
        return "wick", f"P is diagonal with sigma and prior, depth {L} <= {wick.DEEPEST}"
    if L <= words.DEEPEST:
        return "words", f"any P, depth {L} <= {words.DEEPEST}"
    if K <= quadrature.WIDEST and quadrature.nodes(case) <= quadrature.MOST:
        return "quadrature", f"K = {K} <= {quadrature.WIDEST}"
    kind = "diagonal" if case.diagonal else "full"
    deepest = wick.DEEPEST if case.diagonal else words.DEEPEST
    return "", f"P is {kind}, K = {K} and depth {L} > {deepest}: no exact route"


def risk(P: np.ndarray, case: Case) -> float:
    """R(P)."""
    return float(np.real(MODULES[_named(case)].risk(P, case)))


def gradient(P: np.ndarray, case: Case) -> tuple[float, np.ndarray]:
    """(R, its gradient in P)."""
    return MODULES[_named(case)].gradient(P, case)


def _named(case: Case) -> str:
    name, why = route(case)
    if not name:
        raise ValueError(f"engine 'exact': {why}; use 'corrected', 'equivalent' or 'pool'")
    return name
