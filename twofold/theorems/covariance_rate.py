r"""How fast a sample covariance of N Gaussian vectors approaches S: two proved forms and the rate.

S_N = (1/N) sum b_n b_n', b_n ~ N(0, S) independent. With probability at least 1 - 2 exp(-N t^2 / 2)

    rank             ||S_N - S||_2 <= ||S||_2 (2 a + a^2),   a = sqrt(rank(S) / N) + t
    effective rank   ||S_N - S||_2 <= ||S||_2 (2 w + w^2),   w = sqrt(r_eff / N) + 1/sqrt(N) + t

with r_eff = Tr S / ||S||. The first is the whitened window of ``mp_window``. The second has no
dimension in it: let T = {S^{1/2} v : |v| = 1}, G (N, K) standard Gaussian. By Gordon's comparison

    E sup_T (|G a| - sqrt(N) |a|) <=   sqrt(Tr S) + |S|^{1/2} E(|g| - sqrt(N))_+
    E inf_T (|G a| - sqrt(N) |a|) >= - sqrt(Tr S) - |S|^{1/2} E(sqrt(N) - |g|)_+

and E (|g| - sqrt(N))^2 <= 1 for g ~ N(0, I_N). Both are |S|^{1/2}-Lipschitz in G, hence within
|S|^{1/2} sqrt(N) t of their means; so | |Ga|/sqrt(N) - |a| | <= |S|^{1/2} w on T; squaring gives
the claim. Which form is smaller depends on S, N and t alone, so the smaller one may be taken.
The seed's O_P(||S|| sqrt(r_eff / N)) names no constant: with constant 1 it is an estimate only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.measures import enclosures as enc
from twofold.rigor.inputs import whole
from twofold.rigor.roundoff import U, up
from twofold.theorems.mp_window import deviation

REFERENCE = "gordon1985inequalities"
REFERENCE_RATE = "koltchinskii2017concentration"
STATEMENT = (
    r"\|S_N-S\|_2\le\|S\|_2(2w+w^2),\ w=\min\{\sqrt{K/N}+t,\ \sqrt{r_{\mathrm{eff}}/N}+"
    r"1/\sqrt N+t\},\ t=\sqrt{2\log(2/\delta)/N}"
)
STATEMENT_RATE = r"\|S_N-S\|_2=O_{\mathbb P}(\|S\|_2\sqrt{r_{\mathrm{eff}}/N})"
Batch = Float[np.ndarray, "*N"]


def rank_width(rank: int, count: int, t: float) -> float:
    """``a = sqrt(rank / N) + t``."""
    return math.sqrt(rank / count) + t


def effective_width(norm: Batch, trace: Batch, count: int, t: float) -> Batch:
    """``w = sqrt(r_eff / N) + 1 / sqrt(N) + t``; 0 samples' worth of norm gives inf."""
    r_eff = np.where(norm > 0, trace / np.where(norm > 0, norm, 1.0), np.inf)
    return np.sqrt(r_eff / count) + 1 / math.sqrt(count) + t


def bound(norm: Batch, width: Batch | float) -> Batch:
    """``||S|| (2 w + w^2)``, rounded up."""
    return up(norm * (2 * width + width**2), 24)


def rate(norm: Batch, trace: Batch, count: int) -> Batch:
    """``||S|| sqrt(r_eff / N) = sqrt(||S|| Tr S / N)``: the rate with constant 1."""
    return np.sqrt(norm) * np.sqrt(trace / count)


def certify(estimate: Any, sigma: Any, *, count: int, delta: float) -> list[Certificate]:
    """``[confidence, estimate]`` for sample covariances (M, K, K) of ``count`` vectors each."""
    sigma, estimate = enc.symmetric_pair("sigma", sigma, "estimate", estimate)
    count, t = whole("count", count, low=1), deviation(count, delta)
    values, spread, _ = enc.eigenvalues(estimate - sigma)
    rounding = up(spread + U * enc.frobenius_upper(estimate - sigma), 2)
    norm = enc.norm_upper(enc.exact(sigma))
    trace = up(np.sum(np.abs(np.diagonal(sigma, axis1=-2, axis2=-1)), axis=-1), sigma.shape[-1])
    width = np.minimum(
        rank_width(sigma.shape[-1], count, t), effective_width(norm, trace, count, t)
    )
    lowest, radius, _ = enc.eigenvalues(sigma)
    covariance = np.broadcast_to(lowest[..., -1] >= -radius, values.shape[:1])
    shared: dict[str, Any] = {
        "value": np.max(np.abs(values), axis=-1),
        "rounding": rounding,
        "applies": covariance & np.isfinite(rounding),
        "reason": "sigma is not a covariance (negative eigenvalue), or rounding hides the norm",
        "source": fingerprint(sigma, estimate),
    }
    return [
        certificate(
            "covariance rate, Gaussian", statement=STATEMENT, kind="confidence", delta=delta,
            bound=bound(norm, width), reference=REFERENCE, **shared,
        ),
        certificate(
            "covariance rate, constant 1", statement=STATEMENT_RATE, kind="estimate",
            bound=rate(norm, trace, count), reference=REFERENCE_RATE, **shared,
        ),
    ]  # fmt: skip
