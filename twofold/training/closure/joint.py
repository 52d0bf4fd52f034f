r"""A subspace encoder U and a decoder P together, in closed form for Gaussian prompts.

    beta = U* z, z ~ N(0, Sigma_z), y = X beta + noise, U'U = I_r, c = X'y/M, d = U'c,
    S_b = U* Sigma_z U*', S_U = U'Sigma U, J = U'Sigma S_b Sigma U, A = W + lambda I, W = U'X'XU/M,
    z_0 = S_U^-1 U'Sigma beta  (the best coefficients in span U),  f = E|beta - U z_0|^2_Sigma.

Given beta, y = x'U z_0 + (a part independent of U'x), so d = W z_0 + eta,
E[eta eta' | W] = (s^2/M) W with s^2 = noise^2 + f: a well-specified regression of its own. From it

    C = E dd' = (1 + 1/M) J + ((tr Sigma S_b + noise^2) / M) S_U,      B = E t d',    P* = B C^-1,

B = U'S_b Sigma U for the target ``projection`` t = U'beta, S_U^-1 J for ``coefficients`` t = z_0,
and Sigma_z U*'Sigma U for ``latent`` t = z, at any ridge. Pythagoras in Sigma splits, at any depth,

    E|U z_L - beta|^2_Sigma = f + E|z_L - z_0|^2_{S_U},       no cross term.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from twofold.protocol import Law
from twofold.rigor import inputs
from twofold.tasks import laws, samplers
from twofold.training.closure import corrected, draws, latent_words, quadrature
from twofold.training.closure.case import Case

Target = Literal["projection", "coefficients", "latent"]
Engine = Literal["auto", "exact", "pool"]


@dataclass(frozen=True, eq=False)
class Setting:
    """What U makes of the law."""

    U: Float[np.ndarray, "K r"]
    Sigma: Float[np.ndarray, "K K"]
    loading: Float[np.ndarray, "K k"]
    latent: Float[np.ndarray, "k k"]
    M: int
    noise: float
    S_b: Float[np.ndarray, "K K"]
    S_U: Float[np.ndarray, "r r"]
    J: Float[np.ndarray, "r r"]

    @property
    def power(self) -> float:
        """tr(Sigma S_b) + noise^2, the variance of y."""
        return float(np.sum(self.Sigma * self.S_b)) + self.noise**2

    @property
    def C_full(self) -> Float[np.ndarray, "K K"]:
        """E cc', before the encoder."""
        seen = self.Sigma @ self.S_b @ self.Sigma
        return (1 + 1 / self.M) * seen + self.power / self.M * self.Sigma

    @property
    def Z_0(self) -> Float[np.ndarray, "r r"]:
        """E z_0 z_0'."""
        half = np.linalg.solve(self.S_U, self.J)
        return np.linalg.solve(self.S_U, half.T)

    @property
    def floor(self) -> float:
        """f, what the subspace loses."""
        return float(np.sum(self.Sigma * self.S_b) - np.trace(np.linalg.solve(self.S_U, self.J)))

    @property
    def latent_noise(self) -> float:
        """s^2 = noise^2 + f."""
        return self.noise**2 + self.floor

    def B(self, target: Target) -> np.ndarray:
        """E t d'."""
        if target == "projection":
            return self.U.T @ self.S_b @ self.Sigma @ self.U
        if target == "coefficients":
            return np.linalg.solve(self.S_U, self.J)
        return self.latent @ self.loading.T @ self.Sigma @ self.U

    @property
    def C(self) -> Float[np.ndarray, "r r"]:
        """E dd'."""
        return (1 + 1 / self.M) * self.J + self.power / self.M * self.S_U


def setting(
    U: Any, *, sigma: Any, loading: Any, latent: Any, prompt: int, noise: float = 0.0
) -> Setting:
    """The checked setting; U must have orthonormal columns."""
    Sigma = laws.matrix(laws.covariance("sigma", sigma))
    K = len(Sigma)
    U, star = inputs.real("U", U, shape=(K, None)), inputs.real("loading", loading, shape=(K, None))
    Sigma_z = laws.matrix(laws.covariance("latent", latent, star.shape[1]))
    gap = float(np.max(np.abs(U.T @ U - np.eye(U.shape[1])), initial=0.0))
    if gap > 1e-8 or not U.size:
        raise ValueError(f"U: U'U differs from I by {gap:.2g}; orthonormalise its columns (polar)")
    S_b = star @ Sigma_z @ star.T
    S_U, seen = U.T @ Sigma @ U, Sigma @ U
    M, sd = inputs.whole("prompt", prompt, low=1), laws.number("noise", noise)
    return Setting(U, Sigma, star, Sigma_z, M, sd, S_b, S_U, seen.T @ S_b @ seen)


def moments(
    U: Any, *, sigma: Any, loading: Any, latent: Any, prompt: int, noise: float = 0.0,
    target: Target = "projection",
) -> tuple[Float[np.ndarray, "r r"], np.ndarray]:  # fmt: skip
    """(C, B); P*(U) = B C^-1. No ridge: d = U'c does not see it."""
    if target not in get_args(Target):
        raise ValueError(f"target: expected one of {get_args(Target)}, got {target!r}")
    s = setting(U, sigma=sigma, loading=loading, latent=latent, prompt=prompt, noise=noise)
    return s.C, s.B(target)


@dataclass(frozen=True)
class Split:
    """total = floor + decoder (+ cross), and the standard error of a pool (0: exact)."""

    floor: float
    decoder: float
    standard_error: float
    route: str
    cross: float = 0.0

    @property
    def total(self) -> float:
        """R_e2e."""
        return self.floor + self.decoder + self.cross


def risk(
    U: Any, P: Any, *, sigma: Any, loading: Any, latent: Any, prompt: int, noise: float = 0.0,
    ridge: float = 0.0, depth: int,
) -> float:  # fmt: skip
    """R_e2e = E|U z_L - beta|^2_Sigma at any depth and ridge."""
    s = setting(U, sigma=sigma, loading=loading, latent=latent, prompt=prompt, noise=noise)
    return split(s, P, ridge=ridge, depth=depth).total


def split(
    s: Setting, P: Any, *, ridge: float = 0.0, depth: int, engine: Engine = "auto",
    count: int = 65536, seed: int = 0,
) -> Split:  # fmt: skip
    """Floor f and decoder error E|z_L - z_0|^2_{S_U}: exact where a route reaches, else a pool.

    Depth 1 is closed; r <= 3 goes by Gauss quadrature; depth 2 and 3 by words of matrices.
    """
    r = len(s.S_U)
    P, depth = inputs.real("P", P, shape=(r, r)), inputs.whole("depth", depth)
    case = Case(s.S_U, s.Z_0, s.M, laws.number("ridge", ridge), np.eye(depth + 1)[-1])
    if depth <= latent_words.DEEPEST and engine != "pool":
        value = latent_words.error(P, case, s.latent_noise)
        return Split(s.floor, value, 0.0, f"words of matrices, depth {depth}")
    if r <= quadrature.WIDEST and quadrature.nodes(case) <= quadrature.MOST and engine != "pool":
        return Split(s.floor, _by_quadrature(P, case, s), 0.0, f"quadrature, r = {r}")
    if engine == "exact":
        raise ValueError(f"engine 'exact': no route to depth {depth} at r = {r}; use 'pool'")
    bare = Law(s.S_U, s.M)
    W = samplers.draw(bare, count, seed=seed, needs="H").H
    loss = _losses(P, W, case, s)
    mean, sd = float(np.mean(loss)), float(np.std(loss))
    if not sd < mean:
        why = f"equivalent with its 1/M term: the pool's sd / mean is {sd / mean:.2g}"
        return Split(s.floor, _by_equivalent(P, case, s), float("nan"), why)
    return Split(s.floor, mean, sd / np.sqrt(count), f"pool of {count}")


def _by_quadrature(P: np.ndarray, case: Case, s: Setting) -> float:
    # one degree more than the error's: G W G' has the degree 2L - 1 in W, beside T T' with 2L
    W, weight = quadrature.rule(len(P), s.M, case.depth)
    A = laws.matrix(laws.root(s.S_U))
    return sum(
        float(weight[part] @ _losses(P, A @ W[part] @ A.T, case, s))
        for part in (slice(at, at + 65536) for at in range(0, len(W), 65536))
    )


def _by_equivalent(P: np.ndarray, case: Case, s: Setting) -> float:
    """z_L - z_0 = -(T^L + lambda G) z_0 + G eta and G W = I - T^L - lambda G, G = sum_j T^j P.

    Both terms are sums over i, j of tr(S_U T^i A (T^j)'), each with few different A.
    """
    L, ridge, eye = case.depth, case.ridge, np.eye(len(P))
    last, first = np.eye(L + 1)[L], np.eye(L + 1)[0]
    early = 1.0 - last
    left = [(last, eye), (early, ridge * P)]
    terms = [(np.outer(u, v), a @ s.Z_0 @ b.T) for u, a in left for v, b in left]
    scale = s.latent_noise / s.M
    seen = [(first, eye), (last, -eye), (early, -ridge * P)]
    terms += [(scale * np.outer(u, early), a @ P.T) for u, a in seen]
    used = [(weight, A) for weight, A in terms if np.any(A)]
    return float(sum(np.sum(w * corrected.table(P, case, A, s.S_U)) for w, A in used))


def _losses(P: np.ndarray, W: np.ndarray, case: Case, s: Setting) -> Float[np.ndarray, " N"]:
    """E[|z_L - z_0|^2_{S_U} | W] for each W."""
    values, V = np.linalg.eigh(W)
    noise = np.sqrt(s.latent_noise / s.M) * V * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    ridge = np.broadcast_to(-case.ridge * laws.matrix(laws.root(case.prior)), W.shape)
    errors = draws.errors(P, W, case, np.concatenate([ridge, noise], axis=2))
    return np.einsum("nic,ij,njc->n", errors, s.S_U, errors, optimize=True)


def split_at_solution(s: Setting, P: Any, *, depth: int) -> Split:
    """The seeds' split, at z_dagger = A^-1 d (ridge 0, M > r + 1): its cross term is never zero.

    floor = f + s^2 r/(M - r - 1),  cross = 2 s^2 [tr(S_U E G_L)/M - r/(M - r - 1)],
    decoder = R_e2e - floor - cross,    E G_1 = P,  E G_2 = 2P - P S_U P.
    """
    r, M = len(s.S_U), s.M
    if M <= r + 1 or depth not in (1, 2):
        raise ValueError(f"prompt, depth: expected M > r + 1 and depth 1 or 2, got {M}, {depth}")
    P = inputs.real("P", P, shape=(r, r))
    G = P if depth == 1 else 2 * P - P @ s.S_U @ P
    total, s2 = split(s, P, depth=depth).total, s.latent_noise
    floor = s.floor + s2 * r / (M - r - 1)
    cross = 2 * s2 * (float(np.sum(s.S_U * G.T)) / M - r / (M - r - 1))
    return Split(floor, total - floor - cross, 0.0, f"closed, depth {depth}", cross)
