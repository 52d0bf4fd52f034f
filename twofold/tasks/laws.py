"""How regression tasks are drawn: the spectrum, the prior, the loading U* of a checked `Law`.

A sigma or prior given as a vector is a spectrum: the law lives in its own eigenbasis, and nothing
of size K x K is formed for it. With ``rank=r`` the prior is that of the latent z (r,), and the
target is U* z. U* belongs to the law, not to the draw: it is a fixed function of (K, r), so that
tasks drawn with another seed, to train or to test, share it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np
from jaxtyping import Float

from twofold.protocol import Law, Target
from twofold.rigor import inputs

SPECTRA = ("log", "power", "spiked", "isotropic")
SMALLEST, LARGEST = 1e-70, 1e70  # beyond these a fourth moment leaves the range of float64


def spectrum(kind: str, dim: int, condition: float = 10.0) -> Float[np.ndarray, " K"]:
    """A spectrum from 1 down to 1/condition.

    ``log``: logspace(0, -log10 condition); ``power``: i^-a with K^-a = 1/condition; ``spiked``: one
    1 above a flat bulk at 1/condition; ``isotropic``: all ones, whatever the condition.
    """
    dim = inputs.whole("dim", dim, low=1)
    condition = number("condition", condition, low=1.0)
    if kind == "log":
        return np.logspace(0.0, -np.log10(condition), dim)
    if kind == "power":
        exponent = np.log(condition) / np.log(dim) if dim > 1 else 0.0
        return np.arange(1.0, dim + 1.0) ** -exponent
    if kind == "spiked":
        return np.where(np.arange(dim) == 0, 1.0, 1.0 / condition)
    if kind == "isotropic":
        return np.ones(dim)
    raise ValueError(f"spectrum: expected one of {SPECTRA} or an array, got {kind!r}")


def checked(law: Law) -> Law:
    """The same law with every field validated and its arrays in float64, or a ValueError."""
    sigma = covariance("sigma", law.sigma)
    K = len(sigma)
    rank = None if law.rank is None else inputs.whole("rank", law.rank, low=1)
    if rank is not None and rank > K:
        raise ValueError(f"rank: expected at most dim = {K}, got {rank}")
    prior = (
        None if law.prior is None else covariance("prior", law.prior, K if rank is None else rank)
    )
    if law.target not in get_args(Target):
        raise ValueError(f"target: expected one of {get_args(Target)}, got {law.target!r}")
    kurtosis = number("kurtosis", law.kurtosis, low=-2.0)
    if kurtosis and not is_diagonal(sigma):
        raise ValueError(
            "kurtosis: independent features need axes and a non-diagonal sigma names none; "
            "give sigma as a spectrum (K,), the features are independent along its axes"
        )
    return replace(
        law, sigma=sigma, prior=prior, rank=rank, kurtosis=kurtosis,
        prompt=inputs.whole("prompt", law.prompt, low=1),
        ridge=scale("ridge", number("ridge", law.ridge)),
        noise=scale("noise", number("noise", law.noise)),
    )  # fmt: skip


def covariance(name: str, value: Any, dim: int | None = None) -> np.ndarray:
    """A spectrum (K,), entries >= 0, or a positive semidefinite matrix (K, K)."""
    array = inputs.real(name, value, ndim=(1, 2))
    if array.ndim == 2:
        array = inputs.symmetric(name, array)
    if len(array) == 0 or (dim is not None and len(array) != dim):
        wanted = "at least one coordinate" if dim is None else f"{dim} coordinates"
        raise ValueError(f"{name}: expected {wanted}, got shape {np.shape(value)}")
    diagonal = array if array.ndim == 1 else np.diagonal(array)
    if np.any(diagonal < 0):
        raise ValueError(f"{name}: a variance is negative ({diagonal.min():.3g}); it must be >= 0")
    for variance in (diagonal.min(where=diagonal > 0, initial=diagonal.max()), diagonal.max()):
        scale(name, float(variance))
    if array.ndim == 2:
        lowest, highest = np.linalg.eigvalsh(array)[[0, -1]]
        if lowest < -8 * len(array) * np.finfo(float).eps * highest:
            raise ValueError(
                f"{name}: not positive semidefinite, its lowest eigenvalue is {lowest:.3g}"
            )
    return array


def root(sigma: np.ndarray) -> np.ndarray:
    """A with A A' = sigma: the square roots of a spectrum, or V diag(sqrt s) of a matrix.

    A diagonal matrix keeps its axes, as the spectrum would.
    """
    if sigma.ndim == 1:
        return np.sqrt(sigma)
    if is_diagonal(sigma):
        return np.diag(np.sqrt(np.diagonal(sigma)))
    s, V = np.linalg.eigh(sigma)
    return V * np.sqrt(np.maximum(s, 0.0))


def apply(A: np.ndarray, v: Float[np.ndarray, "*N K"]) -> Float[np.ndarray, "*N K"]:
    """A v for each row v, A a diagonal (K,) or a matrix."""
    return v * A if A.ndim == 1 else v @ A.T


def transposed(A: np.ndarray, v: Float[np.ndarray, "*N K"]) -> Float[np.ndarray, "*N K"]:
    """A' v for each row v, A a diagonal (K,) or a matrix."""
    return v * A if A.ndim == 1 else v @ A


def matrix(sigma: np.ndarray) -> Float[np.ndarray, "K K"]:
    """A spectrum as its diagonal matrix; a matrix as it is."""
    return np.diag(sigma) if sigma.ndim == 1 else sigma


def is_diagonal(sigma: np.ndarray) -> bool:
    """Whether sigma is a spectrum, or a matrix with nothing off its diagonal."""
    return sigma.ndim == 1 or not np.any(sigma - np.diag(np.diagonal(sigma)))


def loading(law: Law) -> Float[np.ndarray, "K r"] | None:
    """U* with orthonormal columns, uniformly distributed, one for all seeds; None without rank."""
    if law.rank is None:
        return None
    Q, R = np.linalg.qr(
        np.random.default_rng((law.dim, law.rank)).standard_normal((law.dim, law.rank))
    )
    return Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)


def latent_covariance(law: Law) -> np.ndarray:
    """Sigma_z: the prior, or ones."""
    return np.ones(law.rank or law.dim) if law.prior is None else law.prior


def target_covariance(law: Law) -> np.ndarray:
    """S = E[target target']: Sigma_z, or U* Sigma_z U*' (K, K) with a rank."""
    Sigma_z, U = latent_covariance(law), loading(law)
    if U is None:
        return Sigma_z
    factor = U @ matrix(root(Sigma_z))
    return factor @ factor.T


def number(name: str, value: Any, low: float = 0.0) -> float:
    """A finite real scalar, at least ``low``."""
    if isinstance(value, bool):
        raise ValueError(f"{name}: expected a number >= {low:g}, got {value!r}")
    out = float(inputs.real(name, value, ndim=0))
    if out < low:
        raise ValueError(f"{name}: expected a number >= {low:g}, got {out!r}")
    return out


def scale(name: str, value: float) -> float:
    """``value``, refused where its powers would overflow or lose digits to underflow."""
    if value != 0.0 and not SMALLEST <= value <= LARGEST:
        raise ValueError(
            f"{name}: {value:.3g} is outside [{SMALLEST:g}, {LARGEST:g}], where its powers leave "
            f"the range of float64; rescale the problem"
        )
    return value
