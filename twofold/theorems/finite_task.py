r"""What a preconditioner fitted on N tasks loses against the best one.

P_N = Z D' (D D')^+ has the excess risk tr[(P_N - P*) C (P_N - P*)'] / K over P* = B C^-1. Write
z = P* d + r, R* = E |r|^2 / K, p for the length of d.

*Exact.* If d ~ N(0, C) and r is independent of it, then given D the excess has mean
R* tr W^-1, W = C^(-1/2) D D' C^(-1/2) ~ Wishart_p(N, I), so E excess = R* p / (N - p - 1) for
N > p + 1; with r ~ N(0, S) its variance follows from the second moments of W^-1, and Cantelli's
inequality bounds the mean excess over R independent training sets with probability 1 - delta.

*Estimate.* Elsewhere N excess / R* -> p ``factor`` with factor = E[|r|^2 d'C^-1 d] / (K R* p), 1
under independence; a ridge replaces p by d_eff: the seeds' R* d_eff / N.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.rigor import inputs
from twofold.theorems import heldout

STATEMENT = r"\mathbb E[R(\widehat P_N)-R(P_\star)] = R_\star\,\frac{p}{N-p-1}"
ESTIMATE = r"R(\widehat P_N)-R(P_\star) \asymp R_\star\,\frac{d_{\mathrm{eff}}}{N}"
PREMISE = r"d\sim\mathcal N(0,C),\ r\sim\mathcal N(0,S)\ \text{independent}"
REFERENCE = "vonrosen1988moments"


def least_squares(d: Any, z: Any) -> Float[np.ndarray, "K p"]:
    """P_N = Z D' (D D')^+ from tasks d (N, p), z (N, K): the least-norm minimiser."""
    d, z = inputs.real("d", d, ndim=2), inputs.real("z", z, ndim=2)
    if d.size == 0 or len(d) != len(z):
        raise ValueError(f"d, z: expected (N, p) and (N, K), N >= 1, got {d.shape} and {z.shape}")
    return np.linalg.lstsq(d, z)[0].T


def excess(risk: float, dim: int, count: int) -> float:
    """E excess = R* p / (N - p - 1), infinite unless N > p + 1."""
    dim, count = inputs.whole("dim", dim, low=1), inputs.whole("count", count, low=1)
    return risk * dim / (count - dim - 1) if count > dim + 1 else math.inf


def spread(S: Any, dim: int, count: int) -> float:
    """The standard deviation of the excess for r ~ N(0, S), infinite unless N > p + 3.

    Var = 2 tr S^2 E tr W^-2 + (tr S)^2 Var tr W^-1, all over K^2.
    """
    S, p, N = inputs.symmetric("S", S), dim, count
    if N <= p + 3:
        return math.inf
    k = math.frexp(float(np.max(np.abs(S))))[1]
    S = np.ldexp(S, -k)
    common = (N - p) * (N - p - 1) * (N - p - 3)
    square = p * ((N - p - 2) * p + 2) / common - (p / (N - p - 1)) ** 2
    quadratic = p * (N - 1) / common
    total = 2 * float(np.sum(S * S)) * quadratic + float(np.trace(S)) ** 2 * square
    return math.ldexp(math.sqrt(total) / len(S), k)


def factor(r: Any, whitened: Any) -> tuple[float, float]:
    """E[|r|^2 |w|^2] / (E |r|^2 p) with w = C^(-1/2) d, sampled, and its standard error.

    It is the ratio of the true leading term to R* p / N; C must be the population's.
    """
    r, w = inputs.real("r", r, ndim=2), inputs.real("whitened", whitened, ndim=2)
    residual, leverage = np.sum(r * r, axis=1), np.sum(w * w, axis=1) / w.shape[1]
    value = float(np.mean(residual * leverage) / np.mean(residual))
    scatter = np.std(residual * (leverage - value), ddof=1) / np.mean(residual)
    return value, float(scatter) / math.sqrt(len(r))


def certify(excesses: Any, *, S: Any, dim: int, count: int, delta: float) -> Certificate:
    """The mean of R independent excesses (R,) against law and Cantelli, under Gaussian d and r."""
    measured, delta = heldout.sample(excesses), heldout.share(delta)
    S = inputs.real("S", inputs.symmetric("S", S), ndim=2)
    if not len(S):
        raise ValueError(f"S: expected at least one coordinate, got shape {S.shape}")
    law = excess(float(np.trace(S)) / len(S), dim, count)
    width = spread(S, dim, count) * math.sqrt((1 - delta) / delta / len(measured))
    bound = (law + width) * (1 + 64 * len(S) * 2.0**-53)
    return certificate(
        "finite_task", statement=STATEMENT, kind="confidence", value=np.mean(measured),
        bound=bound, applies=math.isfinite(bound), reason="N > p + 3 tasks are needed",
        reference=REFERENCE, delta=delta, premise=PREMISE, source=fingerprint(measured),
    )  # fmt: skip


def estimate(excesses: Any, *, risk: float, d_eff: Any, counts: Any) -> Certificate:
    """Excesses measured at N = ``counts`` beside R* d_eff / N; nothing is proved."""
    counts, measured = inputs.real("counts", counts, ndim=1), heldout.sample(excesses)
    return certificate(
        "finite_task", statement=ESTIMATE, kind="estimate", value=measured,
        bound=risk * inputs.real("d_eff", d_eff) / counts, reference=REFERENCE,
        source=fingerprint(measured, counts),
    )  # fmt: skip
