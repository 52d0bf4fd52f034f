r"""The Marchenko-Pastur window with slack t: where the spectrum of a whitened prompt may lie.

X has M independent rows N(0, Sigma), W = Sigma^{-1/2} (X'X/M) Sigma^{-1/2}, gamma = K/M, t > 0:

    P[ lam_max(W) > (1 + sqrt(gamma) + t)^2 ]    <= exp(-M t^2 / 2)
    P[ lam_min(W) < (1 - sqrt(gamma) - t)_+^2 ]  <= exp(-M t^2 / 2)

(Gordon's E sigma_max <= sqrt(M) + sqrt(K) and E sigma_min >= sqrt(M) - sqrt(K), concentration of
1-Lipschitz functions; Davidson and Szarek). Together 2 exp(-M t^2 / 2), as 001, section 4 has it.
The positive part is not in the seed: where 1 - sqrt(gamma) - t < 0 its lower edge squares a
negative number, grows with t and is false; the true edge there is 0. Gaussian rows are the premise
of the probability, and it belongs to matrices drawn afresh, not chosen.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from twofold.certificate import Certificate, Side, certificate, fingerprint
from twofold.measures import enclosures as enc
from twofold.rigor.inputs import real, symmetric, whole
from twofold.rigor.roundoff import U

REFERENCE = "davidson2001local"
STATEMENT_UPPER = r"\mathbb{P}[\lambda_{\max}(\tilde\Sigma_M)>(1+\sqrt\gamma+t)^2]\le e^{-Mt^2/2}"
STATEMENT_LOWER = r"\mathbb{P}[\lambda_{\min}(\tilde\Sigma_M)<(1-\sqrt\gamma-t)_+^2]\le e^{-Mt^2/2}"


def upper_edge(dim: int, prompt: int, t: float) -> float:
    """``(1 + sqrt(gamma) + t)^2``, rounded up."""
    return (1 + math.sqrt(dim / prompt) + t) ** 2 * (1 + 16 * U)


def lower_edge(dim: int, prompt: int, t: float) -> float:
    """``max(0, 1 - sqrt(gamma) - t)^2``, rounded down."""
    root = math.sqrt(dim / prompt)
    return max(0.0, 1 - root - t - 8 * U * (1 + root + t)) ** 2 * (1 - 4 * U)


def seed_lower_edge(dim: int, prompt: int, t: float) -> float:
    """``(1 - sqrt(gamma) - t)^2`` as the seed prints it: false once the base is negative."""
    return (1 - math.sqrt(dim / prompt) - t) ** 2


def failure(prompt: int, t: float) -> float:
    """``exp(-M t^2 / 2)``, rounded up: what one edge spends."""
    exponent = prompt * t * t / 2 * (1 - 8 * U)
    return max(math.exp(-exponent) * (1 + 8 * U), 5e-324)


def deviation(prompt: int, delta: float) -> float:
    """``t = sqrt(2 log(2 / delta) / M)``, rounded up: both edges together spend delta."""
    delta, prompt = float(real("delta", delta, ndim=0)), whole("prompt", prompt, low=1)
    if not 0 < delta < 1:
        raise ValueError(f"delta: a probability in (0, 1) is needed, got {delta}")
    return math.sqrt(2 * (math.log(2) - math.log(delta)) / prompt) * (1 + 32 * U)


def certify(whitened: Any, *, prompt: int, t: float) -> list[Certificate]:
    """``[upper edge, lower edge]`` for whitened prompt covariances (N, K, K), each at its delta."""
    whitened = symmetric("whitened", real("whitened", whitened, ndim=3))
    if 0 in whitened.shape:
        raise ValueError(f"whitened: shape {whitened.shape} is empty; pass at least one matrix")
    prompt, t = whole("prompt", prompt, low=1), float(real("t", t, ndim=0))
    delta = failure(prompt, t) if t > 0 else 1.0
    if delta >= 1:
        raise ValueError(f"t: the window needs exp(-M t^2 / 2) < 1 with t > 0, got t = {t}")
    values, radius, _ = enc.eigenvalues(whitened)
    dim, source = whitened.shape[-1], fingerprint(whitened)
    cases: tuple[tuple[str, str, Side, np.ndarray, float], ...] = (
        ("upper edge", STATEMENT_UPPER, "upper", values[:, 0], upper_edge(dim, prompt, t)),
        ("lower edge", STATEMENT_LOWER, "lower", values[:, -1], lower_edge(dim, prompt, t)),
    )
    return [
        certificate(
            f"Marchenko-Pastur window, {name}", statement=statement, kind="confidence", side=side,
            value=value, bound=bound, rounding=radius, applies=np.isfinite(radius), delta=delta,
            reason="the eigenvalues are not resolved", reference=REFERENCE, source=source,
        )
        for name, statement, side, value, bound in cases
    ]  # fmt: skip
