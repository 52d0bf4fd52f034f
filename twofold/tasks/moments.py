r"""Population moments of regression tasks in closed form: C = E dd', B = E z d', P* = B C^+.

With E[d | z] = a z and V the covariance of d that the finite prompt adds,

    C = a S a + V,    B = S a,    S = E zz',
    V = [Sigma S Sigma + (tr(S Sigma) + sigma^2) Sigma + k diag(s_i^2 S_ii)] / M,

where a = H_inf = Sigma + lambda I and sigma = 0 for target ``solve`` (d = H_M z), a = Sigma for
``coefficients`` (d = X'y/M), and k is the excess kurtosis of features that are independent along
the axes of Sigma. The second moments of z are all that is used of its law.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.protocol import Law, Target
from twofold.rigor import inputs
from twofold.tasks import fluctuation, laws, samplers

ARRAYS = ("C", "B", "oracle", "H", "S", "response", "spread")


@dataclass(frozen=True, eq=False)
class Moments:
    """Arrays are (K,) when sigma and prior are spectra, (K, K) otherwise."""

    C: np.ndarray
    """E dd'."""
    B: np.ndarray
    """E z d'."""
    oracle: np.ndarray
    """P* = B C^+, the best single matrix."""
    H: np.ndarray
    """H_inf = Sigma + lambda I."""
    S: np.ndarray
    """E zz'."""
    response: np.ndarray
    """a, with E[d | z] = a z."""
    spread: np.ndarray
    """V = C - a S a >= 0, what the finite prompt and the noise add."""
    floor: float
    """R_1(P*) = (1/K) E||P* d - z||^2, the least that one matrix can reach."""

    def risk(self, P: Any) -> float:
        """R_1(P) = (1/K) tr[(I - P a) S (I - P a)' + P V P'], a sum of non-negative terms."""
        P = inputs.real("P", P, ndim=(1, 2))
        if len(P) != len(self.S) or len(set(P.shape)) != 1:
            raise ValueError(f"P: expected ({len(self.S)},) or square, got shape {P.shape}")
        if P.ndim == self.S.ndim == 1:
            return float(np.mean((1.0 - P * self.response) ** 2 * self.S + P**2 * self.spread))
        full, P = self.full(), laws.matrix(P)
        T = np.eye(len(P)) - P @ full.response
        return float(np.sum(T @ full.S * T) + np.sum(P @ full.spread * P)) / len(P)

    @property
    def gain(self) -> np.ndarray:
        """P* H_inf, whose distance from I is the contraction; p*_i h_i on a diagonal."""
        return self.oracle * self.H if self.oracle.ndim == 1 else self.oracle @ self.H

    @property
    def contraction(self) -> float:
        """The 2-norm of I - P* H_inf; max_i |1 - p*_i h_i| on a diagonal."""
        return float(np.linalg.norm(np.eye(len(self.H)) - laws.matrix(self.gain), 2))

    @property
    def spectral_radius(self) -> float:
        """Largest |eigenvalue| of I - P* H_inf: the contraction on a diagonal, else at most it."""
        defect = np.eye(len(self.H)) - laws.matrix(self.gain)
        return float(np.max(np.abs(np.linalg.eigvals(defect))))

    def full(self) -> Moments:
        """The same moments, every array a matrix (K, K)."""
        return self.mapped(laws.matrix)

    def mapped(self, change: Callable[[np.ndarray], np.ndarray]) -> Moments:
        """The record with every array changed in the same way: a turn, or a wider form."""
        return replace(self, **{name: change(getattr(self, name)) for name in ARRAYS})


def regression(
    sigma: Any,
    *,
    prompt: int,
    ridge: float = 0.0,
    noise: float = 0.0,
    prior: Any = None,
    target: Target = "solve",
    kurtosis: float = 0.0,
) -> Moments:
    """The moments of a law given by its parts; see :class:`twofold.protocol.Law`."""
    return of(Law(sigma, prompt, ridge, noise, prior, None, target, kurtosis))


def of(law: Law) -> Moments:
    """The moments of a law; with a rank, those of beta = U* z under its U*."""
    law = laws.checked(law)
    S = laws.target_covariance(law)
    moments = _diagonal(law, S) if law.sigma.ndim == S.ndim == 1 else _matrix(law, laws.matrix(S))
    if not all(np.all(np.isfinite(x)) for x in vars(moments).values()):
        raise ValueError("sigma, prior, ridge, noise: a moment leaves float64; rescale the problem")
    return moments


def gradient_noise(law: Law) -> Float[np.ndarray, "K K"]:
    """G_ij = E[r_i^2 d_j^2], r = z - P* d, exactly; for Gaussian features and spectra only."""
    law = laws.checked(law)
    b = laws.target_covariance(law)
    if law.kurtosis or law.sigma.ndim != 1 or b.ndim != 1:
        raise ValueError(
            "law: the closed form needs Gaussian features, spectra for sigma and prior, no rank; "
            "moments.sampled_gradient_noise takes any law and states its standard error"
        )
    return fluctuation.closed(
        law.sigma, b, of(law).oracle, prompt=law.prompt,
        ridge=law.ridge if law.target == "solve" else 0.0, noise=math.sqrt(_noise(law)),
    )  # fmt: skip


def sampled_gradient_noise(
    law: Law, *, count: int, seed: int
) -> tuple[Float[np.ndarray, "K K"], Float[np.ndarray, "K K"]]:
    """An estimate of G from ``count`` tasks, and its standard error; d in the eigenbasis of C.

    That basis is the given one for spectra. Rows may stay as they are: only sums over i are used.
    """
    count = inputs.whole("count", count, low=2)
    moments, tasks = of(law), samplers.draw(law, count, seed=seed, needs="d")
    r2 = (tasks.truth - laws.apply(moments.oracle, tasks.d)) ** 2
    axes = np.eye(law.dim) if moments.C.ndim == 1 else np.linalg.eigh(moments.C)[1]
    d2 = (tasks.d @ axes) ** 2
    G = r2.T @ d2 / count
    variance = np.maximum((r2**2).T @ d2**2 / count - G**2, 0.0)
    return G, np.sqrt(variance / (count - 1))


def _noise(law: Law) -> float:
    return law.noise**2 if law.target == "coefficients" else 0.0


def _diagonal(law: Law, b: Float[np.ndarray, " K"]) -> Moments:
    s, h = law.sigma, law.sigma + law.ridge
    a = h if law.target == "solve" else s
    V = _own_spread(law, s, b)
    C, B = b * a**2 + V, b * a
    oracle = np.divide(B, C, out=np.zeros_like(B), where=C > 0)
    floor = float(np.mean((1.0 - oracle * a) ** 2 * b + oracle**2 * V))
    return Moments(C, B, oracle, h, b, a, V, floor)


def _own_spread(law: Law, s: Float[np.ndarray, " K"], b: Float[np.ndarray, " K"]) -> np.ndarray:
    """V_ii as a sum of non-negative terms, also for the smallest kurtosis."""
    others = np.maximum(np.sum(s * b) - s * b, 0.0)
    return (s * (others + _noise(law)) + (2.0 + law.kurtosis) * b * s**2) / law.prompt


def _matrix(law: Law, S: Float[np.ndarray, "K K"]) -> Moments:
    """In the eigenbasis of Sigma, where every entry keeps its digits, and then turned back."""
    s, axes, S = _eigenbasis(law.sigma, S)
    h = s + law.ridge
    a = h if law.target == "solve" else s
    V = np.outer(s, s) * S / law.prompt
    V[np.diag_indices_from(V)] = _own_spread(law, s, np.diagonal(S))
    C, B = a[:, None] * S * a + V, S * a
    blur = 8 * len(s) * np.finfo(float).eps * np.linalg.norm(S, 2)
    P = _weighted_inverse(B, C, blur * (a**2 + s**2 / law.prompt))
    T = np.eye(len(s)) - P * a
    floor = float(np.sum(T @ S * T) + np.sum(P @ V * P)) / len(s)
    here = Moments(C, B, P, np.diag(h), S, np.diag(a), V, floor)
    return here.mapped(lambda x: axes @ x @ axes.T)


def _eigenbasis(
    sigma: np.ndarray, S: Float[np.ndarray, "K K"]
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, "K K"], Float[np.ndarray, "K K"]]:
    """Eigenvalues of Sigma, those lost in rounding set to 0, its axes, and S in these axes.

    Where Sigma vanishes nothing but S is seen, and it may be singular: the axes there are those of
    S, so that its kernel is a set of coordinates. Elsewhere V > 0 keeps C definite.
    """
    tiny = 4 * len(S) * np.finfo(float).eps
    if laws.is_diagonal(sigma):
        s, axes = np.diagonal(laws.matrix(sigma)), np.eye(len(S))
    else:
        s, axes = np.linalg.eigh(sigma)
        s = np.where(s > tiny * s[-1], s, 0.0)
    null = s == 0.0
    axes[:, null] = axes[:, null] @ np.linalg.eigh(axes[:, null].T @ S @ axes[:, null])[1]
    return s, axes, axes.T @ S @ axes


def _weighted_inverse(
    B: Float[np.ndarray, "K K"], C: Float[np.ndarray, "K K"], blur: Float[np.ndarray, " K"]
) -> Float[np.ndarray, "K K"]:
    """B C^+, with C brought to unit diagonal first, so that a graded spectrum keeps its small end.

    C is singular in coordinates only (see the axes): those with C_ii within its rounding ``blur``
    are given up. Where the rest is singular to rounding, the result is projected on the range of C,
    which makes it the least-norm solution of P C = B.
    """
    size = np.sqrt(np.where(np.diagonal(C) > blur, np.diagonal(C), 0.0))
    weight = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    w, Q = np.linalg.eigh(weight[:, None] * C * weight)
    keep = w > 4 * len(C) * np.finfo(float).eps * max(w[-1], 0.0)
    P = (B * weight @ Q[:, keep] / w[keep]) @ Q[:, keep].T * weight
    span = np.linalg.qr(size[:, None] * Q[:, keep])[0]
    return P if np.all(keep) else P @ span @ span.T
