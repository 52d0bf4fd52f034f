r"""What a prompt of M rows costs the best single matrix, exactly.

With C = a^2 b + V on the axes of Sigma (a the response, b the prior, V = A / M the covariance that
the finite prompt adds; see ``tasks.moments``), floor(M) = (1/K) sum_i b_i V_i / C_i wherever
a_i b_i > 0; other axes are lost at every M and cancel. Hence

    floor(M) - floor(inf) = (1/K) sum_{a_i b_i > 0} b_i V_i / C_i
                         <= (1/M) (1/K) sum_{a_i b_i > 0} A_i / a_i^2,

and the ratio of the two sides tends to 1 with M. So the O(d_eff / M) of the seed has a constant;
it is a property of the law, not a number near 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.measures.difficulty import effective_dimension
from twofold.rigor import inputs, selftest
from twofold.tasks import moments

STATEMENT = (
    r"\mathrm{floor}(M)-\mathrm{floor}(\infty)=\tfrac1K\sum_i\frac{b_iV_i}{C_i}"
    r"\le\tfrac1M\,\tfrac1K\sum_i\frac{M V_i}{a_i^2}"
)
ESTIMATE = r"\mathrm{floor}(M)-\mathrm{floor}(\infty)\approx\kappa\,d_{\mathrm{eff}}/M"
REFERENCE = "ahn2023transformers"
UNIT = 2.0**-53


def terms(sigma: Any, prompt: int, **law: Any) -> tuple[moments.Moments, np.ndarray]:
    """The moments of a law given by spectra, and the axes with a b > 0, which alone count."""
    found = moments.regression(sigma, prompt=prompt, **law)
    if found.C.ndim != 1:
        raise ValueError("sigma, prior: give spectra (K,); the sum runs over common axes")
    return found, (found.response > 0) & (found.S > 0)


def gap(sigma: Any, prompt: int, **law: Any) -> float:
    """floor(M) - floor(inf), a sum of non-negative terms: no cancellation."""
    found, live = terms(sigma, prompt, **law)
    part = found.S[live] * (found.spread[live] / found.C[live])
    return float(np.sum(part)) / len(found.C)


def constant(sigma: Any, prompt: int, **law: Any) -> float:
    """(1/K) sum_i M V_i / a_i^2, whatever M: the limit of M (floor(M) - floor(inf))."""
    found, live = terms(sigma, prompt, **law)
    part = found.spread[live] / found.response[live] / found.response[live]
    return prompt * float(np.sum(part)) / len(found.C)


def roundoff(sigma: Any, prompt: int, **law: Any) -> float:
    """A bound on the relative error of ``gap`` and of ``constant``; inf where V cancels to 0.

    V_i is s_i times a sum over K whose one subtraction costs (K + 8) u of sum_j s_j b_j; the rest
    is at most 24 + K roundings of non-negative numbers, which ``tasks.laws`` keeps from underflow.
    """
    selftest.require()
    found, live = terms(sigma, prompt, **law)
    s, V, K = inputs.real("sigma", sigma), found.spread, len(found.C)
    if np.any(V[seen := live & (s > 0)] == 0):
        return np.inf
    worst = np.max(s[seen] * np.sum(s * found.S) / (prompt * V[seen]), initial=0.0)
    return float((K + 8) * worst + 24 + K) * 2 * UNIT


def certify(sigma: Any, prompts: Any, **law: Any) -> Certificate:
    """One row per M: floor(M) - floor(inf) <= constant / M, rounding included."""
    rows, value = _each(gap, sigma, prompts, law)
    bound, slack = _each(constant, sigma, rows, law)[1] / rows, _each(roundoff, sigma, rows, law)[1]
    return certificate(
        "prompt_size", statement=STATEMENT, kind="bound", value=value, bound=bound,
        rounding=np.minimum(slack, 1.0) * (value + bound), applies=slack < 1e-6,
        reference=REFERENCE, reason="kurtosis near -2: the spread of d is lost to cancellation",
        source=fingerprint(sigma, rows, *(x for x in law.values() if x is not None)),
    )  # fmt: skip


def estimate(sigma: Any, prompts: Any, *, ridge: float = 0.0, **law: Any) -> Certificate:
    """The exact gap beside kappa d_eff(Sigma, lambda) / M, kappa measured at the largest M."""
    law["ridge"] = ridge
    rows, value = _each(gap, sigma, prompts, law)
    d_eff = float(effective_dimension(sigma, ridge))
    kappa = np.max(rows) * value[np.argmax(rows)] / d_eff
    return certificate(
        "prompt_size", statement=rf"{ESTIMATE},\ \kappa={kappa:.4g}", kind="estimate", value=value,
        bound=kappa * d_eff / rows, reference=REFERENCE,
        source=fingerprint(sigma, rows, *(x for x in law.values() if x is not None)),
    )  # fmt: skip


def _each(number: Any, sigma: Any, prompts: Any, law: dict) -> tuple[np.ndarray, np.ndarray]:
    rows = inputs.real("prompts", prompts, ndim=1)
    if len(rows) == 0 or np.any(rows != np.round(rows)):
        raise ValueError(f"prompts: expected whole numbers of prompt rows, got {prompts!r}")
    return rows, np.array([number(sigma, int(M), **law) for M in rows])
