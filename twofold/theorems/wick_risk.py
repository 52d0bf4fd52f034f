r"""The mean of a polynomial in a Wishart matrix, by two sums over Wick's pairings: exact algebra.

Statement. x ~ N(0, diag s), W = X'X/M of M rows, T = I - P (W + lambda I), P = diag p, S = diag b.
Then (1/K) E tr(T^L S (T^L)') is the sum over pairings of products of power sums of (s, b, p), and
also the sum over pairings of products of traces of words in P, Sigma, S. Depth L <= 2.

Rounding. Either is a sum of products; with -|p| for p (and lambda >= 0) every term turns positive,
so the same code gives the sum A of their sizes, and |computed - exact| <= gamma_n A, n the largest
number of roundings that a term passes: at most K + 256 in power sums, 24 K + 512 in words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, fingerprint, identity
from twofold.rigor import inputs
from twofold.rigor.roundoff import THETA, gamma, up
from twofold.training.closure import case as cases
from twofold.training.closure import wick, words
from twofold.training.closure.case import Case

STATEMENT = (
    r"\tfrac1K\,\mathbb E\operatorname{tr}(T^L S(T^L)^\top)=\sum_{\pi}M^{|\pi|_{\rm rows}-n}"
    r"\prod_{B\in\pi}\sum_i\prod_{k\in B}a_k(i)\,s_i"
)
REFERENCE = "isserlis1918formula"
DEEPEST = 2


def sides(p: Float[np.ndarray, " K"], case: Case) -> tuple[float, float, float]:
    """(by power sums, by words, what rounding may cost both)."""
    if case.depth > DEEPEST or not case.diagonal:
        raise ValueError(f"depth: expected at most {DEEPEST} and spectra, got {case.depth}")
    one, two = (float(np.real(route.risk(p, case))) for route in (wick, words))
    cost, K = 0.0, case.dim
    for route, n in ((wick, K + 256), (words, 24 * K + 512)):
        size = float(np.real(route.risk(-np.abs(p), case)))
        cost += up(gamma(n) * up(size / (1.0 - gamma(n)), 8), 4) + K**4 * THETA
    return one, two, up(cost, 2)


def certify(
    p: Any, *, sigma: Any, prior: Any, prompt: int, ridge: float = 0.0, depth: int
) -> Certificate:
    """The gap between both sums, for each row of p (N, K)."""
    p = inputs.real("p", p, ndim=2)
    sigma, prior = inputs.real("sigma", sigma, ndim=1), inputs.real("prior", prior, ndim=1)
    given = {"prompt": prompt, "ridge": ridge, "depth": depth}
    case = cases.of(sigma, sigma=sigma, prior=prior, **given)[1]
    if p.shape[1] != case.dim:
        raise ValueError(f"p: expected (N, {case.dim}) like sigma, got shape {p.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.array([sides(row, case) for row in p]).reshape(-1, 3)
        gap = np.abs(found[:, 0] - found[:, 1])
        rounding = up(found[:, 2] + 2.0**-52 * gap, 2)
    numbers = np.array([case.prompt, case.ridge, case.depth], dtype=np.float64)
    return identity(
        "Wick risk", statement=STATEMENT, about="exact", gap=gap, rounding=rounding,
        applies=np.isfinite(gap) & np.isfinite(rounding), reason="the risk leaves float64",
        reference=REFERENCE, source=fingerprint(p, sigma, prior, numbers),
    )  # fmt: skip
