r"""A bound on the raw mean loss that needs no clip, only a premise about two moments.

For n independent losses l >= 0 with E l^2 <= kappa (E l)^2 and n > 2 kappa ln(1/delta), with
probability at least 1 - delta: R <= R_hat / (1 - sqrt(2 kappa ln(1/delta) / n)).

Proof: e^-x <= 1 - x + x^2/2 for x >= 0, so E e^(-a l) <= exp(-a R + a^2 kappa R^2 / 2); Chernoff at
a = eps / (kappa R) gives P(R_hat <= (1 - eps) R) <= exp(-n eps^2 / (2 kappa)).

The premise cannot be read off the losses; ``quadratic`` and ``over_systems`` give kappa where the
law is known. A quadratic form of a Gaussian has kappa <= 3.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from twofold.certificate import Certificate
from twofold.rigor import inputs
from twofold.theorems import heldout

STATEMENT = r"R \le \widehat R\,\bigl(1-\sqrt{2\kappa\ln(1/\delta)/n}\bigr)^{-1}"
REFERENCE = "boucheron2013concentration"


def quadratic(A: Any) -> float:
    """The kappa of l = g'A g, A >= 0, g ~ N(0, I): 1 + 2 tr A^2 / (tr A)^2, from 1 + 2/K to 3."""
    A = inputs.symmetric("A", A)
    lowest = float(np.linalg.eigvalsh(A)[0])
    if not np.trace(A) > 0 or lowest < -1e-12 * np.trace(A):
        raise ValueError(f"A: a loss g'A g needs A >= 0, not 0; lowest eigenvalue {lowest:.3g}")
    weight = A / np.trace(A)
    return 1.0 + 2.0 * float(np.sum(weight * weight))


def over_systems(risks: Any) -> float:
    """3 E r^2 / (E r)^2: kappa of a Gaussian quadratic whose mean r changes with the system H."""
    r = heldout.sample(risks)
    if not np.max(r) > 0:
        raise ValueError("risks: every mean loss is 0; there is no ratio of moments")
    r = r / np.max(r)
    return 3.0 * float(np.mean(r * r)) / float(np.mean(r)) ** 2


def deviation(count: int, *, kappa: float, delta: float) -> float:
    """sqrt(2 kappa ln(1/delta) / n), rounded upward: five roundings, ln in balls."""
    kappa = float(inputs.real("kappa", kappa, ndim=0))
    if kappa < 1:
        raise ValueError(f"kappa: E l^2 >= (E l)^2 always, so kappa >= 1 is needed, got {kappa!r}")
    log = heldout.log_ratio(1.0, heldout.share(delta))
    return math.sqrt(2.0 * kappa * log / count) * (1 + 8 * 2.0**-53)


def upper(losses: Any, *, kappa: float, delta: float) -> float:
    """U with P(E l > U) <= delta under the premise, rounded upward; inf for too few losses."""
    loss = heldout.sample(losses)
    left = 1.0 - deviation(len(loss), kappa=kappa, delta=delta)
    if left <= 0:
        return math.inf
    k = max(math.frexp(float(np.max(loss)))[1], -1021)
    mean = math.fsum(np.ldexp(loss, -k)) / len(loss)
    bound = mean / math.nextafter(left, 0.0) * (1 + 8 * 2.0**-53)
    return heldout.raised(bound, k)


def certify(losses: Any, *, kappa: float, delta: float, risk: Any = None) -> Certificate:
    """One row per sample (n,) or (R, n); silent unless n > 2 kappa ln(1/delta)."""
    deviation(1, kappa=kappa, delta=delta)

    def bound(row: np.ndarray) -> float:
        value = upper(row, kappa=kappa, delta=delta)
        if math.isinf(value):
            raise ValueError(f"n = {len(row)} is not above 2 kappa ln(1/delta): take more losses")
        return value

    return heldout.certify(
        "moment_ratio", losses, bound, risk, delta=float(delta), kind="assumption",
        statement=STATEMENT, reference=REFERENCE,
        premise=rf"\mathbb E\ell^2\le{float(kappa):.6g}\,(\mathbb E\ell)^2",
    )  # fmt: skip
