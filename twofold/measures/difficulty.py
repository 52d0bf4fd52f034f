r"""How hard the tasks, the operator, the decoder and the encoder are (001, sections 9 and 10).

The functional part, the diversity of Gaussian-process prompts, is spec(T_k) of the kernel's
integral operator and its ``effective_dimension``; a Mercer basis has the spectrum as its ``prior``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.measures.overlaps import sin2_norm
from twofold.measures.spectra import (
    UNIT,
    condition,
    norm2,
    preconditioned_condition,
    sample_contraction,
    spectrum,
)
from twofold.rigor.inputs import real, symmetric, whole


def effective_dimension(C: Any, ridge: float) -> Float[np.ndarray, "*N"]:
    """``d_eff(lambda) = Tr C (C + lambda I)^-1``; C a matrix or its spectrum.

    ``ridge = 0`` gives the rank, counting eigenvalues above rounding.
    """
    eigenvalues, ridge = spectrum(C), float(real("ridge", ridge, ndim=0))
    if ridge < 0:
        raise ValueError(f"ridge: lambda >= 0 is needed, got {ridge}")
    resolution = 2 * eigenvalues.shape[-1] * UNIT * eigenvalues[..., :1]
    kept = (eigenvalues > 0) if ridge > 0 else (eigenvalues > resolution)
    with np.errstate(over="ignore"):
        quotient = ridge / np.where(kept, eigenvalues, 1.0)
    return np.sum(np.where(kept, 1 / (1 + quotient), 0.0), axis=-1)


def effective_rank(S: Any) -> Float[np.ndarray, "*N"]:
    """``r_eff(S) = Tr S / ||S||_2``, between 1 and K; NaN for S = 0."""
    eigenvalues = spectrum(S)
    with np.errstate(invalid="ignore"):
        return np.sum(eigenvalues / eigenvalues[..., :1], axis=-1)


def diversity_entropy(S: Any) -> Float[np.ndarray, "*N"]:
    """``H_z = - sum_i p_i log p_i``, p = lambda / Tr S, 0 log 0 = 0; NaN for S = 0."""
    eigenvalues = spectrum(S)
    with np.errstate(invalid="ignore"):
        p = eigenvalues / eigenvalues[..., :1]
        p = p / np.sum(p, axis=-1, keepdims=True)
    return np.abs(np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=-1))


def prompt_aspect(dim: int, prompt: int) -> float:
    """``gamma = K / M``, coordinates per prompt row."""
    return whole("dim", dim, low=1) / whole("prompt", prompt, low=1)


def task_aspect(d_eff: Any, tasks: int) -> Float[np.ndarray, "*N"]:
    """``psi = d_eff / N``, effective dimensions per training task."""
    d_eff, tasks = real("d_eff", d_eff), whole("tasks", tasks, low=1)
    if np.any(d_eff < 0):
        raise ValueError(f"d_eff: an effective dimension is >= 0, got {d_eff!r}")
    return d_eff / tasks


@dataclass(frozen=True)
class TaskDiversity:
    """spec(Sigma_z), r_eff(Sigma_z), H_z and N: how much the tasks differ."""

    spectrum: tuple[float, ...]
    effective_rank: float
    entropy: float
    tasks: int


@dataclass(frozen=True)
class OperatorDifficulty:
    """kappa(H_M) (mean and worst over the prompts), noise sigma, ridge lambda, M and gamma.

    For prompts of an operator, kappa(A(z)) = sigma_max / sigma_min too; None where there is none.
    """

    kappa_mean: float
    kappa_worst: float
    noise: float
    ridge: float
    prompt: int
    gamma: float
    operator_kappa_mean: float | None = None
    operator_kappa_worst: float | None = None


@dataclass(frozen=True)
class DecoderDifficulty:
    """I - P H_M over the prompts, as 2-norm and as spectral radius, kappa_2(P H_M), depth L."""

    norm_mean: float
    norm_worst: float
    radius_mean: float
    radius_worst: float
    kappa_mean: float
    depth: int


@dataclass(frozen=True)
class EncoderDifficulty:
    """1/gamma_enc, ||Sigma_hat - Sigma_beta||_2 and ||(I - UU')U*||_2; inf for a closed gap."""

    inverse_gap: float
    covariance_error: float
    subspace_sine: float


@dataclass(frozen=True)
class GPDiversity:
    """spec(T_k), the level tau and d_eff(tau) = Tr T_k (T_k + tau I)^-1 of a Gaussian process."""

    spectrum: tuple[float, ...]
    tau: float
    effective_dimension: float


@dataclass(frozen=True)
class Difficulty:
    """The table of 001, section 10; a part that a run does not have is None."""

    tasks: TaskDiversity | None = None
    operator: OperatorDifficulty | None = None
    decoder: DecoderDifficulty | None = None
    encoder: EncoderDifficulty | None = None
    functional: GPDiversity | None = None


def task_diversity(sigma_z: Any, tasks: int) -> TaskDiversity:
    """The diversity of N tasks with latent covariance Sigma_z (a matrix or its spectrum)."""
    eigenvalues = spectrum(real("sigma_z", sigma_z, ndim=(1, 2)))
    return TaskDiversity(
        spectrum=tuple(float(x) for x in eigenvalues),
        effective_rank=float(effective_rank(eigenvalues)),
        entropy=float(diversity_entropy(eigenvalues)),
        tasks=whole("tasks", tasks, low=1),
    )


def gp_diversity(operator: Any, tau: float) -> GPDiversity:
    """The diversity of prompts f ~ GP(0, k) from spec(T_k), or a matrix that has it, at level tau.

    A prompt of M points with noise sigma tells about d_eff(sigma^2 / M) directions apart.
    """
    eigenvalues = spectrum(real("operator", operator, ndim=(1, 2)))
    return GPDiversity(
        spectrum=tuple(float(x) for x in eigenvalues),
        tau=float(real("tau", tau, ndim=0)),
        effective_dimension=float(effective_dimension(eigenvalues, tau)),
    )


def operator_difficulty(
    H: Any, *, prompt: int, ridge: float, noise: float, operators: Any = None
) -> OperatorDifficulty:
    """The difficulty of the sampled systems H_M (N, K, K), and of operators A(z) (N, n, n)."""
    kappa = condition(real("H", H, ndim=3))
    if kappa.size == 0:
        raise ValueError("H: an empty batch has no condition; pass at least one prompt")
    A = None if operators is None else real("operators", operators, ndim=3)
    own = None if A is None else preconditioned_condition(np.eye(A.shape[-1]), A)
    return OperatorDifficulty(
        kappa_mean=float(np.mean(kappa)),
        kappa_worst=float(np.max(kappa)),
        noise=float(real("noise", noise, ndim=0)),
        ridge=float(real("ridge", ridge, ndim=0)),
        prompt=prompt,
        gamma=prompt_aspect(np.shape(H)[-1], prompt),
        operator_kappa_mean=None if own is None else float(np.mean(own)),
        operator_kappa_worst=None if own is None else float(np.max(own)),
    )


def decoder_difficulty(P: Any, H: Any, depth: int) -> DecoderDifficulty:
    """The difficulty of P on the sampled systems H_M (N, K, K) at depth L."""
    contraction = sample_contraction(P, real("H", H, ndim=3))
    if contraction.norm.size == 0:
        raise ValueError("H: an empty batch has no contraction; pass at least one prompt")
    return DecoderDifficulty(
        norm_mean=float(np.mean(contraction.norm)),
        norm_worst=float(np.max(contraction.norm)),
        radius_mean=float(np.mean(contraction.radius)),
        radius_worst=float(np.max(contraction.radius)),
        kappa_mean=float(np.mean(preconditioned_condition(P, H))),
        depth=whole("depth", depth),
    )


def encoder_difficulty(sigma_beta: Any, estimate: Any, U: Any, U_star: Any) -> EncoderDifficulty:
    """The difficulty of recovering U* (K, r) from an estimate of Sigma_beta (K, K)."""
    sigma_beta, estimate = symmetric("sigma_beta", sigma_beta), symmetric("estimate", estimate)
    rank = np.shape(U_star)[-1]
    padded = np.append(spectrum(sigma_beta), 0.0)
    gap = float(padded[rank - 1] - padded[rank])
    return EncoderDifficulty(
        inverse_gap=1 / gap if gap > 0 else np.inf,
        covariance_error=float(norm2(estimate - sigma_beta)),
        subspace_sine=float(np.sqrt(sin2_norm(U, U_star))),
    )
