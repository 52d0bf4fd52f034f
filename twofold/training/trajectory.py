r"""The exact path of gradient descent on a population least-squares loss, at any outer times.

P_{s+1} = P_s - eta (P_s C - B) with P* = B C^+ gives P_s - P* = (P_0 - P*)(I - eta C)^s: in the
eigenbasis C = Q diag(lambda) Q' each column w_i = (P_0 - P*) q_i is multiplied by mu_i^s, with
mu_i = 1 - eta lambda_i, or e^{-eta lambda_i} for the gradient flow. Nothing is iterated. The
encoder G Sigma_z = Sigma_bz moves in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from twofold.rigor import inputs
from twofold.training import error_bar
from twofold.training.eigenbasis import UNIT, Eigenbasis, check_scale, decompose
from twofold.training.rates import Rates, discrete, gradient_flow


@dataclass(frozen=True, eq=False)
class Trajectory:
    """P_s at the outer times ``s``; everything is formed on demand from K modes."""

    s: Float[np.ndarray, " S"]
    eta: float
    oracle: Float[np.ndarray, "m K"]
    """P* = B C^+, the least-norm minimiser."""
    basis: Eigenbasis
    modes: Float[np.ndarray, "m K"]
    """w_i = (P_0 - P*) q_i, one column per eigenvector."""
    rates: Rates
    misfit: float
    """A proved bound of |((P_0 - P*) C - (what the modes stand for) C)|_F: see ``error_bar``."""

    def __len__(self) -> int:
        return len(self.s)

    def at(self, i: int) -> Float[np.ndarray, "m K"]:
        """P_s at the i-th outer time; not finite where a diverging mode has left float64."""
        return self._moved(self.rates.powers(self.s[i]))

    @property
    def P(self) -> Float[np.ndarray, "S m K"]:
        """Every P_s; S m K numbers, formed anew at each call."""
        return self._moved(self.rates.powers(self.s)[:, None, :])

    def _moved(self, powers: Float[np.ndarray, "*S K"]) -> Float[np.ndarray, "*S m K"]:
        with np.errstate(invalid="ignore"):
            moved = np.where(self.modes == 0, 0.0, self.modes * powers)
            return self.oracle + moved @ self.basis.vectors.T

    def state(self, s: float) -> Float[np.ndarray, "m K"]:
        """P at one more outer time, on the same path."""
        return self._moved(self.rates.powers(np.float64(s)))

    @cached_property
    def mass(self) -> Float[np.ndarray, " K"]:
        """|(P_0 - P*) q_i|^2."""
        return np.einsum("mk,mk->k", self.modes, self.modes)

    @cached_property
    def squared(self) -> Float[np.ndarray, "S K"]:
        """mu_i^{2s}; inf where a diverging mode has left the range of float64."""
        return self.rates.powers(self.s, 2)

    @cached_property
    def excess(self) -> Float[np.ndarray, " S"]:
        """R(P_s) - R(P*) = (1/m) sum_i lambda_i mu_i^{2s} |w_i|^2, m the rows of P."""
        return weighted(self.squared, self.basis.values * self.mass) / len(self.modes)

    @cached_property
    def error_bar(self) -> Float[np.ndarray, " S"]:
        """A bound of |computed - true| for ``excess``, proved where C is proved to be regular.

        Elsewhere its premise is that C is singular in the directions it cannot tell from that
        (``basis.regular``, ``basis.rank``); see ``training.error_bar``.
        """
        return error_bar.excess(self)

    @property
    def distance(self) -> Float[np.ndarray, " S"]:
        """|P_s - P*|_F."""
        return np.sqrt(weighted(self.squared, self.mass))

    @property
    def error(self) -> Float[np.ndarray, " S"]:
        """|P_s - P*|_F / |P*|_F; inf where P* = 0 and P_s is not."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.distance / np.linalg.norm(self.oracle)

    @property
    def cosine_defect(self) -> Float[np.ndarray, " S"]:
        """1 - <P_s, P*> / (|P_s| |P*|), without cancellation near zero; NaN if either is 0."""
        size = np.linalg.norm(self.oracle)
        inner = np.einsum("mk,mk->k", self.modes, self.oracle @ self.basis.vectors)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            along = weighted(self.rates.powers(self.s), inner) / size
            across = np.maximum(self.distance**2 - along**2, 0.0)
            norm = np.sqrt((size + along) ** 2 + across)
            ahead = across / (norm * (norm + size + along))
            return np.where(size + along > 0, ahead, 1 - (size + along) / norm)

    @cached_property
    def weights(self) -> Float[np.ndarray, "S K"]:
        """Omega_{s,i} = lambda_i |(P_s - P*) q_i|^2 / sum_j (the same), in logarithms.

        They stay exact where the excess itself has underflowed or overflowed; NaN where it is 0.
        """
        with np.errstate(divide="ignore"):
            start = np.log(self.basis.values * self.mass)
        logs = start + self.rates.exponents(self.s, 2)
        logs = np.where(np.isneginf(start), -np.inf, logs)
        top = np.max(logs, axis=1, keepdims=True)
        with np.errstate(invalid="ignore", under="ignore"):
            shares = np.exp(logs - top)
            return shares / np.sum(shares, axis=1, keepdims=True)

    @property
    def diverging(self) -> Bool[np.ndarray, " K"]:
        """Modes that grow, |1 - eta lambda_i| > 1, and that the start excites."""
        return (self.rates.logs > 0) & (self.mass > 0)


def decoder(P0: Any, C: Any, B: Any, *, eta: float, steps: Any) -> Trajectory:
    """P_s after ``steps`` discrete steps: an integer s, or any set of them (S,)."""
    return _trajectory(P0, C, B, eta, _whole(steps), "steps", discrete, ("P0", "C", "B"))


def encoder(G0: Any, Sigma_z: Any, Sigma_bz: Any, *, eta: float, steps: Any) -> Trajectory:
    """G_s - G* = (G_0 - G*)(I - eta Sigma_z)^s with G* Sigma_z = Sigma_bz: the same algebra."""
    names = ("G0", "Sigma_z", "Sigma_bz")
    return _trajectory(G0, Sigma_z, Sigma_bz, eta, _whole(steps), "steps", discrete, names)


def flow(P0: Any, C: Any, B: Any, *, eta: float = 1.0, times: Any) -> Trajectory:
    """The gradient flow dP/dt = -eta (P C - B) at any set of real times: mu_i^s is e^{-eta l t}."""
    t = np.atleast_1d(inputs.real("times", times, ndim=(0, 1)))
    return _trajectory(P0, C, B, eta, t, "times", gradient_flow, ("P0", "C", "B"))


def _whole(steps: Any) -> Float[np.ndarray, " S"]:
    s = np.atleast_1d(inputs.real("steps", steps, ndim=(0, 1)))
    if np.any(s != np.floor(s)):
        raise ValueError("steps: expected whole numbers of steps; `flow` takes fractional times")
    return s


def weighted(powers: Float[np.ndarray, "S K"], weights: Float[np.ndarray, " K"]) -> np.ndarray:
    """``powers @ weights``, where a mode without weight stays without even if its power is inf."""
    alive = weights != 0
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(powers[:, alive] @ weights[alive])


def _trajectory(
    P0: Any, C: Any, B: Any, eta: Any, s: np.ndarray, times: str,
    kind: Callable[[float, Eigenbasis], Rates], names: tuple[str, str, str],
) -> Trajectory:  # fmt: skip
    eta = float(inputs.real("eta", eta, ndim=0))
    if not 0 < eta < np.inf:
        raise ValueError(f"eta: expected a positive step size, got {eta}")
    if not s.size or np.any(s < 0):
        raise ValueError(f"{times}: expected at least one outer time >= 0, got {s}")
    basis = decompose(names[1], C)
    K = len(basis.values)
    P0 = inputs.real(names[0], P0, shape=(None, K))
    B = inputs.real(names[2], B, shape=P0.shape)
    if not len(P0):
        raise ValueError(f"{names[0]}: expected at least one row, got shape {P0.shape}")
    check_scale(names[0], P0)
    check_scale(names[2], B)
    optimum = _oracle(names, B, basis)
    start = P0 @ basis.vectors
    modes = start - optimum
    rates = kind(eta, basis)
    misfit = error_bar.misfit(P0, B, start, modes, basis)
    return Trajectory(s, eta, optimum @ basis.vectors.T, basis, modes, rates, misfit)


def _oracle(
    names: tuple[str, str, str], B: np.ndarray, basis: Eigenbasis
) -> Float[np.ndarray, "m K"]:
    """P* q_i = B q_i / lambda_i on the range of C and 0 on its kernel, where B must vanish."""
    seen = basis.values > 0
    turned = B @ basis.vectors
    optimum = np.zeros_like(turned)
    optimum[:, seen] = turned[:, seen] / basis.values[seen]
    outside = float(np.linalg.norm(turned[:, ~seen]))
    explained = 4 * len(basis.values) * UNIT * float(np.linalg.norm(B))
    explained += 4 * basis.distance * float(np.linalg.norm(optimum))
    if outside > explained:
        raise ValueError(
            f"{names[2]}: no P solves P {names[1]} = {names[2]}: {names[1]} is singular and "
            f"{names[2]} has a part of size {outside:.3g} in its kernel (rounding explains "
            f"{explained:.3g}); there gradient descent drifts without end"
        )
    return optimum
