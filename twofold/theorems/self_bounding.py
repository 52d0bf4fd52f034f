r"""A lower bound on H(Y|U) for discrete U, from n independent pairs and nothing else.

With B = ln n + 1, b = min(n, |U||Y|)/B fixed beforehand, F = n H_hat(Y|U)/B, l = ln(1/delta):

    H(Y|U) >= max{0, (B/n) [F + 2l/3 - sqrt(2l (F + b) + 4l^2/9)]}   with probability 1 - delta.

Proof. phi(m) = m ln m, n H_hat = sum_u phi(n_u) - sum_uy phi(n_uy). Taking one sample out of (u,y)
lowers it by dphi(n_u) - dphi(n_uy), dphi(m) = phi(m) - phi(m-1) <= ln m + 1 increasing: between 0
and B. As m dphi(m) - phi(m) = m (m-1) ln(m/(m-1)) lies between m - 1 and m, those n removals sum to
at most n H_hat + #{occupied (u,y)}. So Z = F + b is self-bounding, and P(Z >= EZ + t) <=
exp(-t^2/(2 EZ + 2t/3)) (Boucheron, Lugosi and Massart); solve for EZ. E H_hat <= H by concavity.

The cardinalities are known a priori: the number of *occupied* cells would make b random. The
encoder has not seen these pairs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Int

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.measures.cells import whole
from twofold.rigor import inputs
from twofold.theorems import heldout

STATEMENT = (
    r"H(Y|U)\ge\tfrac Bn\Bigl[F+\tfrac{2\ell}3-\sqrt{2\ell(F+b)+\tfrac{4\ell^2}9}\Bigr],"
    r"\ F=n\hat H(Y|U)/B,\ B=\ln n+1,\ b=\min(n,|U||Y|)/B"
)
REFERENCE = "boucheron2000sharp"
SLACK = 1e-12


def counts(u: Any, y: Any, cells: Any, classes: Any) -> Int[np.ndarray, " occupied"]:
    """n_uy of the occupied pairs, u-sorted, checked against the cardinalities; and n_u."""
    u, y = whole("u", u), whole("y", y)
    cells, classes = (
        inputs.whole(n, v, low=1) for n, v in (("cells", cells), ("classes", classes))
    )
    if u.shape != y.shape or u.ndim != 1 or not len(u):
        raise ValueError(f"u, y: expected n >= 1 labels each, got shapes {u.shape}, {y.shape}")
    if u.max() >= cells or y.max() >= classes:
        raise ValueError(
            f"cells, classes: labels reach {u.max()} and {y.max()}, beyond {cells} and {classes}; "
            "give the cardinalities that were known before the sample"
        )
    return np.unique(u * classes + y, return_counts=True)[1]


def empirical(u: Any, y: Any, cells: int, classes: int) -> float:
    """N H_hat(Y|U)."""
    pairs = counts(u, y, cells, classes)
    alone = np.unique(whole("u", u), return_counts=True)[1]
    return math.fsum(alone * np.log(alone)) - math.fsum(pairs * np.log(pairs))


def lower(u: Any, y: Any, *, cells: int, classes: int, delta: float) -> float:
    """L with P(L > H(Y|U)) <= delta, U in 0 .. cells - 1, Y in 0 .. classes - 1."""
    log = heldout.log_ratio(1.0, heldout.share(delta))
    total, n = empirical(u, y, cells, classes), len(np.asarray(u))
    B = math.log(n) + 1
    F, b = max(total, 0.0) / B, min(n, cells * classes) / B
    spent = math.sqrt(2 * log * (F + b) + 4 * log * log / 9)
    return max(0.0, (B / n) * (F + 2 * log / 3 - spent) - SLACK * (1 + F * B / n))


def certify(
    u: Any, y: Any, *, cells: int, classes: int, delta: float, truth: Any = None
) -> Certificate:
    """One row per sample, u and y (n,) or (R,n); ``truth`` is H(Y|U) where known."""
    u, y = np.atleast_2d(whole("u", u)), np.atleast_2d(whole("y", y))
    given = {"cells": cells, "classes": classes}
    bound = [lower(a, b, delta=delta, **given) for a, b in zip(u, y, strict=True)]
    if truth is None:
        truth = [empirical(a, b, **given) / len(a) for a, b in zip(u, y, strict=True)]
    return certificate(
        "conditional entropy", statement=STATEMENT, kind="confidence", side="lower", delta=delta,
        value=np.broadcast_to(truth, len(u)), bound=bound, reference=REFERENCE,
        source=fingerprint(u, y),
    )  # fmt: skip
