r"""Encoder and decoder trained together (001, section 6.4): the population recursion, and a run.

    U_{s+1} = polar(U_s + eta_e (U* - U_s) Sigma_z),    P_{s+1} = P_s - eta (P_s C(U_s) - B(U_s))

with the decoder's gradient stopped at U: then E_{s+1} = E_s (I - eta C_s) + D_s, with both the
oracle drift D_s = P*(U_s) - P*(U_{s+1}) and the tracking error E_s = P_s - P*(U_s) predicted.
Without the stop the decoder's loss (1/2) E|P U'c - t|^2 moves U as well; its gradient in U closes
on the same moments for the targets ``latent`` and ``projection``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.protocol import Law
from twofold.rigor import inputs
from twofold.tasks import laws, samplers
from twofold.training import triangular
from twofold.training.closure import joint
from twofold.training.closure.joint import Setting, Target


@dataclass(frozen=True)
class Recipe:
    """How both halves are trained; ``law`` is one of target ``coefficients`` with a rank."""

    law: Law
    eta: float
    eta_encoder: float
    target: Target = "coefficients"
    stop: bool = True

    def __post_init__(self) -> None:
        if self.law.rank is None or self.law.target != "coefficients":
            raise ValueError("law: expected a rank and target 'coefficients', beta = U* z")
        if not self.stop and self.target == "coefficients":
            raise ValueError("stop: without it the target must be 'latent' or 'projection'")

    def setting(self, U: np.ndarray) -> Setting:
        """What U makes of the law."""
        law = self.law
        return joint.setting(
            U, sigma=law.sigma, loading=laws.loading(law), latent=laws.latent_covariance(law),
            prompt=law.prompt, noise=law.noise,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class JointPath:
    """States s = 0 .. S-1, with the moments that each U makes."""

    U: Float[np.ndarray, "S K r"]
    tracking: triangular.Tracking
    C: Float[np.ndarray, "S r r"]
    B: Float[np.ndarray, "S r r"]

    @property
    def identity_gap(self) -> float:
        """max_s |E_{s+1} - E_s (I - eta C_s) - D_s|: zero up to rounding under the stop."""
        t = self.tracking
        moved = t.E[:-1] @ (np.eye(self.C.shape[-1]) - t.eta * self.C[:-1]) + t.drift
        return float(np.max(np.abs(t.E[1:] - moved), initial=0.0))


def polar(G: np.ndarray) -> Float[np.ndarray, "K r"]:
    """The nearest matrix with orthonormal columns."""
    left, _, right = np.linalg.svd(G, full_matrices=False)
    return left @ right


def predicted(recipe: Recipe, U0: Any, P0: Any, *, steps: int) -> JointPath:
    """The population recursion: nothing is drawn."""
    U, P = polar(inputs.real("U0", U0, ndim=2)), inputs.real("P0", P0, ndim=2)
    star, Sigma_z = laws.loading(recipe.law), laws.matrix(laws.latent_covariance(recipe.law))
    Us, Ps, Cs, Bs = [], [], [], []
    for _ in range(inputs.whole("steps", steps) + 1):
        s = recipe.setting(U)
        C, B = s.C, s.B(recipe.target)
        for kept, x in zip((Us, Ps, Cs, Bs), (U, P, C, B), strict=True):
            kept.append(x)
        slope = recipe.eta_encoder * (U @ Sigma_z - star @ Sigma_z)
        if not recipe.stop:
            slope = slope + recipe.eta * _leak(s, P, recipe.target)
        U, P = polar(U - slope), P - recipe.eta * (P @ C - B)
    C, B = np.array(Cs), np.array(Bs)
    oracle = triangular.oracles(C, B)
    return JointPath(np.array(Us), triangular.Tracking(np.array(Ps), oracle, recipe.eta), C, B)


def _leak(s: Setting, P: np.ndarray, target: Target) -> Float[np.ndarray, "K r"]:
    """The gradient of (1/2) E|P U'c - t|^2 in U."""
    if target == "latent":
        seen = s.Sigma @ s.loading @ s.latent
        return (s.C_full @ s.U @ P.T - seen) @ P
    cross = s.Sigma @ s.S_b
    inner = s.C_full @ s.U @ P.T - cross @ s.U
    return inner @ P - (cross.T @ s.U @ P.T - s.S_b @ s.U)


def trained(
    recipe: Recipe, U0: Any, P0: Any, *, steps: int, batch: int, seed: int
) -> tuple[Float[np.ndarray, "S K r"], Float[np.ndarray, "S r r"]]:
    """(U_s, P_s) of a run on fresh batches: what the recursion predicts."""
    law = recipe.law
    U, P = polar(inputs.real("U0", U0, ndim=2)), inputs.real("P0", P0, ndim=2)
    stream, Sigma = samplers.stream(law, batch, seed), laws.matrix(laws.checked(law).sigma)
    Us, Ps = [U], [P]
    for s in range(inputs.whole("steps", steps)):
        tasks = stream.tasks(s, needs="d")
        z, beta, c = tasks.latent, tasks.truth, tasks.d
        assert z is not None
        t = _targets(recipe.target, U, Sigma, beta, z)
        d = c @ U
        residual = d @ P.T - t
        slope = recipe.eta_encoder * (z @ U.T - beta).T @ z
        if not recipe.stop:
            moved = c.T @ residual @ P
            if recipe.target == "projection":
                moved = moved - beta.T @ residual
            slope = slope + recipe.eta * moved
        U, P = polar(U - slope / batch), P - recipe.eta / batch * residual.T @ d
        Us.append(U)
        Ps.append(P)
    return np.array(Us), np.array(Ps)


def _targets(
    target: Target, U: np.ndarray, Sigma: np.ndarray, beta: np.ndarray, z: np.ndarray
) -> np.ndarray:
    if target == "latent":
        return z
    if target == "projection":
        return beta @ U
    return np.linalg.solve(U.T @ Sigma @ U, U.T @ Sigma @ beta.T).T


@dataclass(frozen=True, eq=False)
class Sampled:
    """Means over drawn prompts with their standard errors."""

    C: tuple[np.ndarray, np.ndarray]
    B: tuple[np.ndarray, np.ndarray]
    risk: tuple[np.ndarray, np.ndarray]


def sampled(
    recipe: Recipe, U: Any, P: Any, *, depth: int, count: int, seed: int
) -> Sampled:  # fmt: skip
    """C, B and R_e2e after 1 .. ``depth`` steps by Monte Carlo: prompts with H, d and truth."""
    law, U = recipe.law, polar(inputs.real("U", U, ndim=2))
    Sigma = laws.matrix(laws.checked(law).sigma)
    sums: list[Any] = [[0.0, 0.0] for _ in range(3)]
    for part, at in enumerate(range(0, count, 16384)):
        n = min(16384, count - at)
        tasks = samplers.stream(law, n, seed).tasks(part, needs="H")
        z, beta, d = tasks.latent, tasks.truth, tasks.d @ U
        assert z is not None
        t = _targets(recipe.target, U, Sigma, beta, z)
        risks = _risks(U.T @ (tasks.H @ U), d, np.asarray(P), depth, U, beta, Sigma)
        rows = (d[:, :, None] * d[:, None], t[:, :, None] * d[:, None], risks)
        for kept, x in zip(sums, rows, strict=True):
            kept[0] = kept[0] + x.sum(axis=0)
            kept[1] = kept[1] + (x**2).sum(axis=0)
    means = [(a / count, np.sqrt((b / count - (a / count) ** 2) / count)) for a, b in sums]
    return Sampled(*means)


def _risks(
    A: np.ndarray, d: np.ndarray, P: np.ndarray, depth: int, U: np.ndarray, beta: np.ndarray,
    Sigma: np.ndarray,
) -> Float[np.ndarray, "N L"]:  # fmt: skip
    x, out = np.zeros_like(d), []
    for _ in range(depth):
        x = x + (d - np.einsum("nij,nj->ni", A, x)) @ P.T
        e = x @ U.T - beta
        out.append(np.sum((e @ Sigma) * e, axis=1))
    return np.array(out).T
