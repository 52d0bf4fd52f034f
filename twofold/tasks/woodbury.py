r"""The posterior of a finite-rank Gaussian model, for many prompts at once.

z ~ N(0, Lambda), y = Phi z + noise xi. With A = Lambda^-1 + Phi'Phi/noise^2,

    z_post = A^-1 Phi'y/noise^2,    Cov(z | y) = A^-1

In whitened coordinates w = Lambda^{-1/2} z this is I + W'W, W = Phi Lambda^{1/2}/noise (primal,
R x R) or, by Woodbury, I + WW' (dual, M x M): the smaller one is factored, once, and carries mean
and variance along. Kernel ridge regression with penalty lambda = noise^2 is the same mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs
from twofold.tasks import elimination

Route = Literal["primal", "dual"]


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the prompts say. Rows that hold NaN, or that float64 cannot decide, are NaN.

    ``z``
        posterior mean of the latent.
    ``mean``, ``variance``
        of phi_q'z for each query; of every coordinate of z where none was asked for.
    ``route``
        the system that was factored: ``primal`` R x R, ``dual`` M x M.
    """

    z: Float[np.ndarray, "N R"]
    mean: Float[np.ndarray, "N Q"]
    variance: Float[np.ndarray, "N Q"]
    route: Route


def solved(
    Phi: Any, y: Any, *, prior: Any, noise: Any, queries: Any = None, route: Route | None = None
) -> Posterior:
    """See :func:`twofold.tasks.gp.posterior`."""
    Phi, y, noise = prompts(Phi, y, noise)
    N, M, R = Phi.shape
    if route not in (None, "primal", "dual"):
        raise ValueError(f"route: 'primal', 'dual' or None (the smaller), got {route!r}")
    prior = covariance(prior, R)
    asked = None if queries is None else points("queries", queries, N, R)
    scale, turned, seen = _whitened(prior, Phi, asked)
    dual = M < R if route is None else route == "dual"
    w, s = np.empty((N, R)), np.empty((N, R if seen is None else seen.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        given = np.empty((N, 0, R)) if seen is None else np.ascontiguousarray(seen)
        elimination.posteriors(turned, y, scale / noise, 1 / noise, given, dual, w, s)
        size = 1.0 if seen is None else np.sum(seen * seen, axis=2)
        s = np.maximum(size - s, 0.0) if dual else s
        z = scale * w if prior.ndim == 1 else w @ _root(prior).T
        z, s = _mark(z, s, Phi, y)
        if asked is None:
            return Posterior(z, z, s * prior if seen is None else s, "dual" if dual else "primal")
        mean = np.matmul(asked, z[..., None])[..., 0]
    return Posterior(z, mean, s, "dual" if dual else "primal")


def prompts(Phi: Any, y: Any, noise: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """Phi (N,M,R), y (N,M) and noise > 0, checked; a prompt may have no points."""
    Phi = inputs.real("Phi", Phi, finite=False)
    if Phi.ndim != 3:
        raise ValueError(f"Phi: expected (N, M, R), got shape {Phi.shape}; one task is Phi[None]")
    if 0 in (Phi.shape[0], Phi.shape[2]):
        raise ValueError(f"Phi: at least one task and one feature are needed, got {Phi.shape}")
    noise = float(inputs.real("noise", noise, ndim=0))
    if not (noise > 0 and np.isfinite(1 / noise)):
        raise ValueError(
            f"noise: a standard deviation > 0 is needed, got {noise}; without noise the posterior "
            f"is an interpolation, which no ridge makes regular"
        )
    return Phi, inputs.real("y", y, shape=Phi.shape[:2], finite=False), noise


def covariance(prior: Any, R: int) -> np.ndarray:
    """Lambda as its diagonal (R,) or as a matrix (R,R), positive semidefinite."""
    prior = inputs.real("prior", prior, ndim=(1, 2))
    if prior.shape not in ((R,), (R, R)):
        raise ValueError(f"prior: expected shape ({R},) or ({R}, {R}), got {prior.shape}")
    if prior.ndim == 2:
        prior = inputs.symmetric("prior", prior)
    lowest = np.min(prior if prior.ndim == 1 else np.linalg.eigvalsh(prior))
    if lowest < (0.0 if prior.ndim == 1 else -1e-12 * np.max(np.abs(prior))):
        raise ValueError(f"prior: variances >= 0 are needed, the smallest is {lowest:.3g}")
    return prior


def points(name: str, Phi: Any, N: int, R: int) -> Float[np.ndarray, "N Q R"]:
    """Features of held-out points: (N,Q,R), or (Q,R) for all tasks alike."""
    Phi = inputs.real(name, Phi, ndim=(2, 3), finite=False)
    whole = np.broadcast_to(Phi, (N, *Phi.shape)) if Phi.ndim == 2 else Phi
    if whole.shape[0] != N or whole.shape[2] != R or whole.shape[1] == 0:
        raise ValueError(f"{name}: expected shape ({N}, Q, {R}) or (Q, {R}), got {Phi.shape}")
    return whole


def _whitened(
    prior: np.ndarray, Phi: np.ndarray, queries: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """(column scale, features, whitened queries), so that w ~ N(0, I)."""
    N, _, R = Phi.shape
    if prior.ndim == 1:
        root = np.sqrt(prior)
        return root, Phi, None if queries is None else queries * root
    root = _root(prior)
    rows = np.broadcast_to(root, (N, R, R)) if queries is None else queries @ root
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ones(R), Phi @ root, rows


def _root(prior: Float[np.ndarray, "R R"]) -> Float[np.ndarray, "R R"]:
    """Some L with LL' = Lambda."""
    values, vectors = np.linalg.eigh(prior)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def _mark(z: np.ndarray, s: np.ndarray, Phi: np.ndarray, y: np.ndarray) -> tuple[Any, Any]:
    """NaN wherever a task held something that is not finite."""
    bad = ~(np.isfinite(y).all(axis=1) & np.isfinite(z).all(axis=1))
    if bad.any():
        z[bad], s[bad] = np.nan, np.nan
    return z, s
