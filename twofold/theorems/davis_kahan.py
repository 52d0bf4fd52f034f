r"""Davis-Kahan: how far Top_r(S_hat) may lie from Top_r(Sigma), in three true forms.

Sigma, S_hat symmetric, E = S_hat - Sigma, 1 <= r < K; U holds orthonormal eigenvectors of S_hat for
its r largest eigenvalues; Theta are the angles between span U and Top_r(Sigma):

    separation      ||sin Theta||_2 <= ||E||_2 / max(lam_r(S_hat) - lam_{r+1}(Sigma),
                                                      lam_r(Sigma) - lam_{r+1}(S_hat))
    population gap  ||sin Theta||_2 <= 2 ||E||_2 / (lam_r(Sigma) - lam_{r+1}(Sigma))
    residual        ||sin Theta||_2 <= ||Sigma U - U M||_2 / (lam_min(M) - lam_{r+1}(Sigma)),
                    M = U' Sigma U, for any orthonormal U.

Each needs its gap > 0. (The first is the sine theorem; with it the second follows from Weyl where
||E|| < gap/2 and is trivial elsewhere.) The seeds' form, ||E|| over the population gap, constant 1,
is false: in two dimensions sin(2 Theta) = 2 ||E|| / gap is attained, and 2 sin Theta is larger.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.measures import enclosures as enc
from twofold.rigor.inputs import real, whole
from twofold.rigor.roundoff import up

REFERENCE = {
    "separation": "davis1970rotation",
    "population gap": "yu2015useful",
    "residual": "davis1970rotation",
}
STATEMENT = {
    "separation": r"\|\sin\Theta\|_2\le\|\hat\Sigma-\Sigma\|_2/\max\{\lambda_r(\hat\Sigma)"
    r"-\lambda_{r+1}(\Sigma),\lambda_r(\Sigma)-\lambda_{r+1}(\hat\Sigma)\}",
    "population gap": r"\|\sin\Theta\|_2\le2\|\hat\Sigma-\Sigma\|_2/(\lambda_r(\Sigma)"
    r"-\lambda_{r+1}(\Sigma))",
    "residual": r"\|\sin\Theta\|_2\le\|\Sigma U-UM\|_2/(\lambda_{\min}(M)-\lambda_{r+1}(\Sigma)),"
    r"\ M=U^\top\Sigma U",
}
SILENT = ("the gap is not proved to be positive", "rounding hides the subspace")
Batch = Float[np.ndarray, "*N"]


def seed_bound(error: Any, population_gap: Any) -> Batch:
    """``||E|| / (lam_r - lam_{r+1})``, what 001, section 5.2 prints: false, kept to be refuted."""
    return real("error", error) / real("population_gap", population_gap)


def separation(sigma: np.ndarray, estimate: np.ndarray, rank: int) -> tuple[Batch, Batch]:
    """``(||E||, the larger separation)``: the first from above, the second from below."""
    (mine, a, _), (theirs, b, _) = enc.eigenvalues(sigma), enc.eigenvalues(estimate)
    forth = enc.gap_lower(theirs[..., rank - 1], mine[..., rank], up(a + b, 1))
    back = enc.gap_lower(mine[..., rank - 1], theirs[..., rank], up(a + b, 1))
    return enc.distance_upper(estimate, sigma), np.maximum(forth, back)


def population_gap(sigma: np.ndarray, estimate: np.ndarray, rank: int) -> tuple[Batch, Batch]:
    """``(2 ||E||, lam_r(Sigma) - lam_{r+1}(Sigma))``, from above and from below."""
    values, spread, _ = enc.eigenvalues(sigma)
    gap = enc.gap_lower(values[..., rank - 1], values[..., rank], 2 * spread)
    return 2 * enc.distance_upper(estimate, sigma), gap


def residual(sigma: np.ndarray, frame: np.ndarray) -> tuple[Batch, Batch]:
    """``(||Sigma U - U M||, lam_min(M) - lam_{r+1}(Sigma))``, from above and from below.

    M may be any symmetric matrix, so the rounded one serves; ||U'U - I|| costs 1 / (1 - delta).
    """
    U, S = enc.exact(frame), enc.exact(sigma)
    product = (U.T @ (S @ U)).mid
    M = product / 2 + np.swapaxes(product, -1, -2) / 2
    (ritz, a, _), (values, b, _) = enc.eigenvalues(M), enc.eigenvalues(sigma)
    gap = enc.gap_lower(ritz[..., -1], values[..., frame.shape[-1]], up(a + b, 1))
    length = np.maximum(enc.lower(1.0, enc.orthonormal_defect(frame)), 0.0)
    return enc.norm_upper(S @ U - U @ enc.exact(M)), enc.lower(gap * length, 0.0)


def certify(sigma: Any, estimate: Any, rank: int) -> list[Certificate]:
    """The three forms, for Sigma (K, K) or (N, K, K) and S_hat (N, K, K); silent where gap <= 0."""
    sigma, estimate = enc.symmetric_pair("sigma", sigma, "estimate", estimate)
    if not 1 <= whole("rank", rank) < estimate.shape[-1]:
        raise ValueError(f"rank: 1 <= rank < K = {estimate.shape[-1]} leaves a gap, got {rank}")
    (V, off), (U, drift) = enc.top_subspace(sigma, rank), enc.top_subspace(estimate, rank)
    value, rounding = enc.sine(np.broadcast_to(V, U.shape), U)
    forms = {
        "separation": (*separation(sigma, estimate, rank), up(rounding + off + drift, 2)),
        "population gap": (*population_gap(sigma, estimate, rank), up(rounding + off + drift, 2)),
        "residual": (*residual(sigma, U), up(rounding + off, 1)),
    }
    return [
        certificate(
            f"Davis-Kahan, {form}", statement=STATEMENT[form], kind="bound", value=value,
            bound=enc.quotient_upper(above, gap), rounding=spent, reference=REFERENCE[form],
            applies=(gap > 0) & (spent < 1), source=fingerprint(sigma, estimate, np.int64(rank)),
            reason=[SILENT[bool(g > 0)] for g in np.broadcast_to(gap, value.shape)],
        )
        for form, (above, gap, spent) in forms.items()
    ]  # fmt: skip
