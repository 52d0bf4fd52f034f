r"""Gaussian-process prompts of finite rank: z ~ N(0, Lambda), f(x) = phi(x)'z, y = f + noise.

The prompt's system is A z = d with A = Lambda^-1 + Phi'Phi/noise^2 and d = Phi'y/noise^2; its
solution is the posterior mean, and phi_q'z_post = k_q'(K + noise^2 I)^-1 y for
k(x, x') = phi(x)' Lambda phi(x'): kernel ridge regression with lambda = noise^2.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
from jaxtyping import Float

from twofold.protocol import Tasks
from twofold.rigor import inputs
from twofold.rigor.linear import solve
from twofold.tasks import woodbury
from twofold.tasks.woodbury import Posterior, Route

Asked = Literal["posterior", "held-out"]


class Basis(Protocol):
    """R features with independent latents, and the kernel that they stand for."""

    @property
    def prior(self) -> Float[np.ndarray, " R"]:
        """Variances of the latents."""
        ...

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """phi(x), along a last axis."""
        ...

    def kernel(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The full kernel, entry by entry."""
        ...

    def gap(self, x: np.ndarray) -> np.ndarray:
        """A g with |k - phi' Lambda phi|(x, x') <= sqrt(g(x) g(x'))."""
        ...

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Inputs x."""
        ...


def sample(
    *,
    seed: int,
    count: int,
    prompt: int,
    basis: Basis,
    noise: float,
    held_out: int = 16,
    target: Asked = "posterior",
    source: Basis | None = None,
) -> Tasks:
    """``count`` tasks of ``prompt`` points: ``x``, ``Phi``, ``y``, ``H`` = A, ``d``, ``Phi_q``.

    ``target``
        ``posterior``: the truth is z_post (N,R), what a decoder solves for, scale 1/R;
        ``held-out``: the truth is f at ``x_q`` (N,Q), to be answered by Phi_q z, scale 1/Q.
    ``source``
        the basis f is drawn from, if not ``basis``; one of far higher rank is the exact process.
    ``facts``
        ``prior``, ``noise``, ``basis``, ``x``, ``x_q``, ``f_q`` (the function's values there).
    """
    count = inputs.whole("count", count, low=1)
    shape = (count, inputs.whole("prompt", prompt, low=1))
    rng, truth = np.random.default_rng(inputs.whole("seed", seed)), source or basis
    x = basis.draw(rng, shape)
    x_q = basis.draw(rng, (count, inputs.whole("held_out", held_out, low=1)))
    z = np.sqrt(truth.prior) * rng.standard_normal((count, len(truth.prior)))
    f, f_q = (np.matmul(truth(at), z[..., None])[..., 0] for at in (x, x_q))
    y = f + noise * rng.standard_normal(shape)
    tasks = given(basis(x), y, prior=basis.prior, noise=noise, Phi_q=basis(x_q))
    facts = {**tasks.facts, "basis": basis, "x": x, "x_q": x_q, "f_q": f_q}
    parts: dict[str, Any] = {"latent": z, "ids": tasks.ids, "facts": facts}
    if target == "held-out":
        return Tasks(tasks.prompt, f_q, scale=1 / f_q.shape[1], **parts)
    if target != "posterior":
        raise ValueError(f"target: 'posterior' or 'held-out', got {target!r}")
    return Tasks(tasks.prompt, tasks.truth, scale=tasks.scale, **parts)


def given(Phi: Any, y: Any, *, prior: Any, noise: Any, Phi_q: Any = None) -> Tasks:
    """The tasks of features Phi (N,M,R) and values y (N,M) at hand; the truth is z_post.

    Rows with NaN, or whose A could not be proved regular, have a NaN truth.
    """
    Phi, y, noise = woodbury.prompts(Phi, y, noise)
    A, d = system(Phi, y, prior=prior, noise=noise)
    z, radius = solve(A, d)
    prompt = {"Phi": Phi, "y": y, "H": A, "d": d}
    if Phi_q is not None:
        prompt["Phi_q"] = woodbury.points("Phi_q", Phi_q, len(Phi), Phi.shape[2])
    return Tasks(
        prompt, np.where(np.isfinite(radius)[:, None], z, np.nan), scale=1 / Phi.shape[2],
        ids=np.arange(len(Phi)), facts={"prior": np.asarray(prior, float), "noise": noise},
    )  # fmt: skip


def system(
    Phi: Any, y: Any, *, prior: Any, noise: Any
) -> tuple[Float[np.ndarray, "N R R"], Float[np.ndarray, "N R"]]:
    """A = Lambda^-1 + Phi'Phi/noise^2, exactly symmetric, and d = Phi'y/noise^2."""
    Phi, y, noise = woodbury.prompts(Phi, y, noise)
    prior = woodbury.covariance(prior, Phi.shape[2])
    with np.errstate(divide="ignore", over="ignore"):
        inverse = np.diag(1 / prior) if prior.ndim == 1 else _inverse(prior)
    if not np.isfinite(inverse).all():
        raise ValueError("prior: A needs Lambda^-1, and Lambda is singular; drop its null space")
    Psi = np.swapaxes(Phi, 1, 2)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        A = inverse + Psi @ Phi / noise**2
        d = np.matmul(Psi, y[..., None])[..., 0] / noise**2
        return 0.5 * A + 0.5 * np.swapaxes(A, 1, 2), d


def posterior(
    Phi: Any, y: Any, *, prior: Any, noise: Any, queries: Any = None, route: Route | None = None
) -> Posterior:
    """Posterior mean and variance of every task, by the smaller of the two systems.

    Phi is (N,M,R), y (N,M), ``prior`` the variances (R,) or a covariance (R,R), ``noise`` the
    standard deviation; ``queries`` (N,Q,R) or (Q,R) are features of held-out points. The prior
    may be singular here, and a prompt may be empty. A row is NaN where R tr(I + W'W) u exceeds
    1/8, so that rounding could decide the answer. Variances carry an absolute error of that size
    times the prior's; :mod:`twofold.theorems.primal_dual` proves how far off the mean may be.
    """
    return woodbury.solved(Phi, y, prior=prior, noise=noise, queries=queries, route=route)


def exact(
    x: Any, y: Any, x_q: Any, *, kernel: Any, noise: Any
) -> tuple[Float[np.ndarray, "N Q"], Float[np.ndarray, "N Q"]]:
    """Mean and variance of the process itself at ``x_q``, by the full kernel matrix."""
    x, x_q = inputs.real("x", x, ndim=2), inputs.real("x_q", x_q, ndim=2)
    y, noise = inputs.real("y", y, shape=x.shape), float(inputs.real("noise", noise, ndim=0))
    if noise <= 0:
        raise ValueError(f"noise: a standard deviation > 0 is needed, got {noise}")
    K = kernel(x[:, :, None], x[:, None, :]) + noise**2 * np.eye(x.shape[1])
    k_q = kernel(x[:, :, None], x_q[:, None, :])
    solution = np.linalg.solve(K, np.concatenate([y[..., None], k_q], axis=2))
    mean = np.sum(k_q * solution[:, :, :1], axis=1)
    return mean, kernel(x_q, x_q) - np.sum(k_q * solution[:, :, 1:], axis=1)


def truncation(x: Any, y: Any, x_q: Any, *, basis: Basis, noise: float) -> Float[np.ndarray, "N Q"]:
    r"""How far the finite-rank mean may be from the exact one, in real arithmetic.

    With g the basis' gap, E = K - K_R and c = (K + s^2 I)^-1 y: |E|_2 <= sum g(x_i), and
    |(K_R + s^2)^-1 k_{R,q}| <= sqrt(k_R(q,q))/2s, so the means differ by at most
    |c| (sqrt(g_q sum g) + sqrt(k_R(q,q)) sum g / 2s).
    """
    c = np.linalg.solve(
        basis.kernel(x[:, :, None], x[:, None, :]) + noise**2 * np.eye(np.shape(x)[1]),
        np.asarray(y)[..., None],
    )[..., 0]
    total, own = np.sum(basis.gap(x), axis=1, keepdims=True), basis.gap(x_q)
    size = np.sqrt(np.sum(basis.prior * basis(x_q) ** 2, axis=2))
    return np.linalg.norm(c, axis=1)[:, None] * (np.sqrt(own * total) + size * total / (2 * noise))


def _inverse(prior: Float[np.ndarray, "R R"]) -> Float[np.ndarray, "R R"]:
    """Lambda^-1, its two-sided proof of existence from the verified solve; NaN without it."""
    R = len(prior)
    x, radius = solve(np.broadcast_to(prior, (R, R, R)), np.eye(R))
    inverse = np.where(np.isfinite(radius)[:, None], x, np.nan)
    return 0.5 * inverse + 0.5 * inverse.T
