"""Regression prompts: x ~ (0, Sigma), y = x'beta + xi, H = X'X/M + lambda I, beta of any rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.protocol import Law, Target, Tasks
from twofold.rigor import inputs
from twofold.tasks import laws, samplers


def sample(
    *,
    seed: int,
    dim: int,
    prompt: int,
    count: int,
    condition: float = 10.0,
    spectrum: str | np.ndarray = "log",
    ridge: float = 0.0,
    noise: float = 0.0,
    rank: int | None = None,
    prior: Any = None,
    target: Target = "solve",
    kurtosis: float = 0.0,
    needs: samplers.Needs = "H",
) -> Tasks:
    """``count`` tasks with ``H`` (N,K,K), ``d`` (N,K), ``c`` (N,K), ``truth`` (N,K), ``ids`` (N,).

    ``spectrum``
        ``log``, ``power``, ``spiked``, ``isotropic`` (see :func:`twofold.tasks.laws.spectrum`), or
        an array: a spectrum (K,), or a matrix Sigma (K, K).
    ``target``
        ``solve``: truth x ~ N(0, prior) and d = H x, so the noise enters y and c = X'y/M only.
        ``coefficients``: y = X beta + xi, truth beta and d = c.
    ``rank``
        truth = U* z, z ~ N(0, prior) in r coordinates, under either target; ``latent`` is z, and
        risks are prediction risks: metric Sigma, scale 1. Without it metric None, scale 1/K.
    ``needs``
        ``H``, ``d`` (without H) or ``X`` (with X and y): see :mod:`twofold.tasks.samplers`.
    """
    law = regression_law(
        dim=dim, prompt=prompt, condition=condition, spectrum=spectrum, ridge=ridge, noise=noise,
        rank=rank, prior=prior, target=target, kurtosis=kurtosis,
    )  # fmt: skip
    return samplers.draw(law, count, seed=seed, needs=needs)


def regression_law(
    *,
    dim: int,
    prompt: int,
    condition: float = 10.0,
    spectrum: str | np.ndarray = "log",
    ridge: float = 0.0,
    noise: float = 0.0,
    rank: int | None = None,
    prior: Any = None,
    target: Target = "solve",
    kurtosis: float = 0.0,
) -> Law:
    """The checked law of :func:`sample`, for samplers, moments and streams."""
    dim = inputs.whole("dim", dim, low=1)
    condition = laws.number("condition", condition, low=1.0)
    if isinstance(spectrum, str):
        sigma = laws.spectrum(spectrum, dim, condition)
    else:
        sigma = laws.covariance("spectrum", spectrum, dim)
    return laws.checked(Law(sigma, prompt, ridge, noise, prior, rank, target, kurtosis))
