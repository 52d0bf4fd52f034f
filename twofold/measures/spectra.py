r"""What is read off one matrix: spectrum, effective sizes, condition; radius and 2-norm kept apart.

The seeds call two different numbers rho. ``norm`` is ||I - P H||_2, the factor by which one step
can stretch an error; ``radius`` is max |eig(I - P H)|, the rate after many steps. They agree for
normal matrices only, and :class:`Contraction` also says *whose* they are: a sampled H_M, the
population H_inf, or the latent A_inf = U' H_inf U. Everything here is measured (LAPACK), not
proved; the proved norms are in ``rigor``. All leading axes are batch axes, and a row whose
numbers overflow float64 comes back as NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor.inputs import real, square, symmetric, whole

UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class Contraction:
    """``norm`` and ``radius`` of I - P H, and which H it was (``sample``, ``population``, ...)."""

    matrix: str
    norm: Float[np.ndarray, "*N"]
    radius: Float[np.ndarray, "*N"]


def spectrum(S: Any) -> Float[np.ndarray, "*N K"]:
    """Eigenvalues of a covariance, descending; a 1-d ``S`` already is its spectrum.

    Eigenvalues that rounding makes negative are set to 0; a clearly negative one is refused.
    """
    given = real("S", S).ndim == 1
    values = np.sort(real("S", S))[::-1] if given else _eigenvalues(symmetric("S", S))
    if values.shape[-1] == 0:
        raise ValueError(f"S: no coordinate (K = 0), got shape {np.shape(S)}")
    floor = 0.0 if given else -4 * values.shape[-1] * UNIT * np.max(np.abs(values), axis=-1)
    if np.any(values[..., -1] < floor):
        raise ValueError(
            f"S: a covariance has no negative eigenvalue, got {np.min(values[..., -1]):.3g}"
        )
    return np.maximum(values, 0.0)


def extreme_eigenvalues(H: Any) -> tuple[Float[np.ndarray, "*N"], Float[np.ndarray, "*N"]]:
    """``(lambda_min, lambda_max)`` of symmetric H."""
    values = _eigenvalues(symmetric("H", H))
    return values[..., -1], values[..., 0]


def condition(H: Any) -> Float[np.ndarray, "*N"]:
    """``kappa(H) = lambda_max / lambda_min`` of symmetric H.

    inf where lambda_min is not resolved from 0 at working precision, NaN where H is indefinite.
    """
    low, high = extreme_eigenvalues(H)
    return _ratio(low, high, np.shape(H)[-1])


def preconditioned_condition(P: Any, H: Any) -> Float[np.ndarray, "*N"]:
    """``sigma_max(PH) / sigma_min(PH)``, the 2-norm condition of the preconditioned system."""
    values = singular_values(product(P, H))
    return _ratio(values[..., -1], values[..., 0], values.shape[-1])


def preconditioned_spread(P: Any, H: Any) -> Float[np.ndarray, "*N"]:
    """``max |eig(PH)| / min |eig(PH)|``: the eigenvalue ratio, equal to the 2-norm condition
    only where PH is normal.
    """
    moduli = np.abs(_general_eigenvalues(product(P, H)))
    return _ratio(moduli.min(axis=-1), moduli.max(axis=-1), moduli.shape[-1])


def singular_values(T: Any) -> Float[np.ndarray, "*N R"]:
    """Singular values, descending; NaN for a row that is not finite."""
    T = real("T", T, ndim=(2, 3), finite=False)
    return _by_row(T, lambda rows: np.linalg.svd(rows, compute_uv=False))


def norm2(T: Any) -> Float[np.ndarray, "*N"]:
    """``||T||_2``, measured."""
    return singular_values(real("T", T, ndim=(2, 3)))[..., 0]


def radius(T: Any) -> Float[np.ndarray, "*N"]:
    """``max |eig(T)|``, measured; never above ``norm2(T)`` but for rounding."""
    return np.max(np.abs(_general_eigenvalues(square("T", T))), axis=-1)


def stable_rank(P: Any) -> Float[np.ndarray, "*N"]:
    """``||P||_F^2 / ||P||_2^2``, between 1 and rank(P); NaN for P = 0."""
    energy = _energies(real("P", P, ndim=(2, 3)))
    return np.sum(energy, axis=-1)


def top_energy(P: Any, k: int) -> Float[np.ndarray, "*N"]:
    """``sum_{i<=k} sigma_i^2 / sum_i sigma_i^2``; NaN for P = 0."""
    energy = _energies(real("P", P, ndim=(2, 3)))
    k = whole("k", k, low=1)
    if k > energy.shape[-1]:
        raise ValueError(f"k: P has only {energy.shape[-1]} singular values, got k = {k}")
    return np.sum(energy[..., :k], axis=-1) / np.sum(energy, axis=-1)


def sample_contraction(P: Any, H: Any) -> Contraction:
    """I - P H_M for every sampled prompt H_M (N, K, K)."""
    return _contraction("sample", P, H)


def population_contraction(P: Any, H_inf: Any) -> Contraction:
    """I - P H_inf with H_inf = Sigma + lambda I (K, K), for one P or a trajectory (S, K, K)."""
    return _contraction("population", P, H_inf)


def latent_contraction(P_z: Any, U: Any, H_inf: Any) -> Contraction:
    """I - P_z A_inf with A_inf = U' H_inf U: the latent system of a subspace encoder."""
    return _contraction("latent", P_z, latent_matrix(U, H_inf))


def latent_matrix(U: Any, H_inf: Any) -> Float[np.ndarray, "*N r r"]:
    """``A_inf,s = U_s' H_inf U_s`` for U (K, r) or (S, K, r)."""
    U, H_inf = real("U", U, ndim=(2, 3)), symmetric("H_inf", H_inf)
    if U.shape[-2] != H_inf.shape[-1]:
        raise ValueError(f"U: expected {H_inf.shape[-1]} rows, got shape {U.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        A = np.swapaxes(U, -1, -2) @ (H_inf @ U)
        return (A + np.swapaxes(A, -1, -2)) / 2


def whiten(S: Any, sigma: Any) -> Float[np.ndarray, "*N K K"]:
    """``Sigma^-1/2 S Sigma^-1/2`` for S (K, K) or (N, K, K); Sigma a matrix or its diagonal (K,).

    Sigma must be resolved from singular at working precision.
    """
    S, sigma = symmetric("S", S), real("sigma", sigma, ndim=(1, 2))
    if sigma.ndim == 1:
        values, Q = sigma, np.eye(len(sigma))
    else:
        values, Q = np.linalg.eigh(symmetric("sigma", sigma))
    if S.shape[-1] != len(values):
        raise ValueError(f"sigma: expected K = {S.shape[-1]} to fit S, got shape {sigma.shape}")
    if not np.min(values) > (0 if sigma.ndim == 1 else len(values) * UNIT * np.max(values)):
        raise ValueError(f"sigma: only a definite covariance whitens, got {np.min(values):.3g}")
    with np.errstate(over="ignore", invalid="ignore"):
        root = (Q / np.sqrt(values)) @ Q.T
        W = root @ S @ root
        return (W + np.swapaxes(W, -1, -2)) / 2


def product(P: Any, H: Any) -> Float[np.ndarray, "*N K K"]:
    """``P H`` in float64, either factor shared or batched; overflow shows as inf or NaN."""
    P, H = real("P", P, ndim=(2, 3)), real("H", H, ndim=(2, 3))
    if P.shape[-1] != H.shape[-2] or P.shape[-2] != H.shape[-1]:
        raise ValueError(f"P, H: shapes {P.shape} and {H.shape} have no square product")
    if P.ndim == H.ndim == 3 and len(P) != len(H):
        raise ValueError(f"P, H: {len(P)} and {len(H)} matrices; pass as many, or one (K, K)")
    with np.errstate(over="ignore", invalid="ignore"):
        return P @ H


def _contraction(matrix: str, P: Any, H: Any) -> Contraction:
    PH = product(P, H)
    T = np.eye(PH.shape[-1]) - PH
    return Contraction(
        matrix, singular_values(T)[..., 0], np.max(np.abs(_general_eigenvalues(T)), axis=-1)
    )


def _eigenvalues(S: np.ndarray) -> np.ndarray:
    return _by_row(S, lambda rows: np.linalg.eigvalsh(rows)[..., ::-1])


def _general_eigenvalues(T: np.ndarray) -> np.ndarray:
    return _by_row(T, lambda rows: np.abs(np.linalg.eigvals(rows)))


def _energies(P: np.ndarray) -> np.ndarray:
    """``(sigma_i / sigma_1)^2``: free of overflow; NaN for P = 0."""
    values = singular_values(P)
    with np.errstate(invalid="ignore"):
        return (values / values[..., :1]) ** 2


def _ratio(low: np.ndarray, high: np.ndarray, K: int) -> np.ndarray:
    resolution = 2 * K * UNIT * np.maximum(np.abs(high), np.abs(low))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(np.abs(low) <= resolution, np.inf, high / low)
    return np.where((low < -resolution) | np.isnan(low) | (high <= 0), np.nan, ratio)


def _by_row(T: np.ndarray, decompose: Any) -> np.ndarray:
    """``decompose`` on rows scaled to size 1, scaled back; NaN for rows that are not finite.

    LAPACK returns finite numbers for some NaN matrices, so bad rows never reach it.
    """
    if 0 in T.shape[-2:]:
        raise ValueError(f"matrix: no coordinate (K = 0), got shape {T.shape}")
    top = np.max(np.abs(T), axis=(-1, -2))
    good = np.isfinite(top)
    exponent = np.frexp(np.where(good, top, 1.0))[1]
    scaled = np.where(good[..., None, None], np.ldexp(T, -exponent[..., None, None]), 0.0)
    with np.errstate(over="ignore"):
        values = np.ldexp(decompose(scaled), exponent[..., None])
    return np.where(good[..., None], values, np.nan)
