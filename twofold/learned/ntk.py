r"""The loss curve of training linearised at theta_0, for all s at once, without a Jacobian.

    r_s = (I - eta J J'/m)^s r_0,    L_s = |r_s|^2 / (2m)        (seed 002, eq. 25; J = dx_L/dtheta)

L_s = L_0 sum_i w_i (1 - eta lambda_i)^{2s} over the spectrum of J J'/m, with the weights of r_0 in
it: an integral. k steps of Lanczos from r_0, each a jvp and a vjp of the whole model, give its
Gauss quadrature, exact for s < k. All even derivatives of (1 - eta lambda)^{2s} are positive, so in
exact arithmetic Gauss is a lower bound of L_s, and Gauss-Lobatto with the ends of an interval that
holds the spectrum an upper one. The lower end is 0; the upper is the largest Ritz value and MARGIN
of it, which nothing proves: hence an estimate, whose error is the distance between the two.
(Golub and Meurant, Matrices, Moments and Quadrature, 2010, ch. 6.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from twofold.decoder import richardson, sensitivity
from twofold.learned.family import Parametrised
from twofold.rigor import inputs

MARGIN = 0.05


@dataclass(frozen=True, eq=False)
class Curve:
    """L_s at ``steps``: ``loss`` is the Gauss quadrature, in [``low``, ``high``] but for rounding.

    ``alpha``, ``beta``
        Lanczos' tridiagonal matrix; ``basis`` (k, m) its vectors.
    ``stable``
        whether eta lambda < 2 for the largest eigenvalue seen: else the curve grows.
    """

    steps: Float[np.ndarray, " S"]
    eta: float
    start: Float[np.ndarray, " m"]
    alpha: Float[np.ndarray, " k"]
    beta: Float[np.ndarray, " k"]
    basis: Float[np.ndarray, "k m"]
    kind: Literal["estimate"] = "estimate"

    @property
    def loss(self) -> Float[np.ndarray, " S"]:
        """The estimate of L_s."""
        return self.low

    @cached_property
    def low(self) -> Float[np.ndarray, " S"]:
        """By Gauss."""
        values, vectors = self._ritz
        return self._integral(values, vectors[0] ** 2)

    @cached_property
    def high(self) -> Float[np.ndarray, " S"]:
        """By Gauss-Lobatto; the same as ``low`` where Lanczos has seen all that r_0 holds."""
        if self.exhausted:
            return self.low
        values, vectors = np.linalg.eigh(self._prolonged())
        return self._integral(values, vectors[0] ** 2)

    @property
    def error(self) -> Float[np.ndarray, " S"]:
        """What the quadrature may be off by; inf where the curve overflows."""
        finite = np.isfinite(self.high)
        return np.where(finite, self.high, np.inf) - np.where(finite, self.low, 0.0)

    @property
    def top(self) -> float:
        """The largest eigenvalue of J J'/m that was seen."""
        return float(max(self._ritz[0][-1], 0.0))

    @property
    def stable(self) -> bool:
        """Whether the linearised descent contracts."""
        return self.eta * self.top < 2.0

    @property
    def exhausted(self) -> bool:
        """Whether Lanczos ended because its space is invariant: then quadrature is exact."""
        scale = max(self.top, np.finfo(float).tiny)
        return bool(self.beta[-1] <= 64 * np.finfo(float).eps * scale)

    def residual(self, s: int) -> Float[np.ndarray, " m"]:
        """r_s as Lanczos has it, exact for s < k."""
        values, vectors = self._ritz
        factor = (1.0 - self.eta * values) ** inputs.whole("s", s)
        return np.linalg.norm(self.start) * ((vectors * factor) @ vectors[0]) @ self.basis

    @cached_property
    def _ritz(self) -> tuple[np.ndarray, np.ndarray]:
        off = self.beta[:-1]
        return np.linalg.eigh(np.diag(self.alpha) + np.diag(off, 1) + np.diag(off, -1))

    def _integral(self, nodes: np.ndarray, weights: np.ndarray) -> Float[np.ndarray, " S"]:
        """L_0 sum w (1 - eta node)^{2s}."""
        with np.errstate(over="ignore"):
            powers = np.abs(1.0 - self.eta * nodes) ** (2.0 * self.steps[:, None])
        return np.sum(self.start**2) / (2 * len(self.start)) * (powers @ weights)

    def _prolonged(self) -> Float[np.ndarray, "j j"]:
        """The tridiagonal matrix with one more row, so that both ends are eigenvalues of it."""
        values, vectors = self._ritz
        k, last = len(values), vectors[-1] ** 2
        b = (1.0 + MARGIN) * self.top + self.beta[-1] * abs(vectors[-1, -1])
        a = min(0.0, values[0] - 8 * np.finfo(float).eps * b)
        low, high = np.sum(last / (values - a)), np.sum(last / (values - b))
        square = (b - a) / (low - high)
        T = np.zeros((k + 1, k + 1))
        T[:k, :k] = (vectors * values) @ vectors.T
        T[k, k], T[k, k - 1], T[k - 1, k] = a + square * low, np.sqrt(square), np.sqrt(square)
        return T


def discrepancy(observed: np.ndarray, predicted: np.ndarray) -> Float[np.ndarray, " S"]:
    """|observed - predicted| / |observed| up to each horizon: norms over the steps so far."""
    observed = inputs.real("observed", observed, ndim=1)
    predicted = inputs.real("predicted", predicted, shape=observed.shape)
    return np.sqrt(np.cumsum((observed - predicted) ** 2) / np.cumsum(observed**2))


def largest(
    family: Parametrised,
    theta0: np.ndarray,
    H: np.ndarray,
    d: np.ndarray,
    target: np.ndarray,
    depth: int,
) -> float:
    """The largest eigenvalue of J J'/m that r_0 sees, from 8 steps of Lanczos: a guide to eta."""
    found = curve(
        family, theta0, H, d, target, depth=depth, eta=1.0, steps=[0], tolerance=-1.0, most=8
    )
    return found.top


def curve(
    family: Parametrised,
    theta0: np.ndarray,
    H: np.ndarray,
    d: np.ndarray,
    target: np.ndarray,
    *,
    depth: int,
    eta: float,
    steps: Any,
    tolerance: float = 1e-9,
    most: int = 256,
) -> Curve:
    """L_s for all ``steps`` (whole numbers), by Lanczos until error <= tolerance L_s everywhere.

    ``most`` bounds the number of Lanczos steps; `Curve.error` says what was reached.
    """
    P, H, d, depth = sensitivity.checked(family.matrix(theta0), H, d, depth)
    theta0, target = np.array(theta0), inputs.real("target", target, shape=d.shape)
    steps = _steps(steps)
    if not 0 < float(inputs.real("eta", eta, ndim=0)):
        raise ValueError(f"eta: expected a positive step size, got {eta!r}")
    start = np.ravel(richardson.iterate(P, H, d, depth) - target)
    sensitivity.explained(P, H, d, depth, start)
    if not np.all(np.isfinite(start)) or not start.any():
        raise ValueError("theta0: the residual r_0 is zero or not finite; there is no curve")

    def kernel(u: np.ndarray) -> np.ndarray:
        dP = sensitivity.cotangent(P, H, d, depth, u.reshape(d.shape))[1]
        turn = family.push_forward(theta0, family.pull_back(theta0, dP))
        return np.ravel(sensitivity.tangent(P, H, d, depth, turn)[1]) / d.size

    return _lanczos(kernel, start, steps, float(eta), tolerance, inputs.whole("most", most, low=1))


def _lanczos(
    kernel: Any, start: np.ndarray, steps: np.ndarray, eta: float, tolerance: float, most: int
) -> Curve:
    """Lanczos with full reorthogonalisation, asked every fourth step whether it is enough."""
    m = len(start)
    basis = [start / np.linalg.norm(start)]
    alpha, beta = np.zeros(0), np.zeros(0)
    while True:
        w = kernel(basis[-1])
        alpha = np.append(alpha, w @ basis[-1])
        V = np.array(basis)
        for _ in range(2):
            w = w - (V @ w) @ V
        beta = np.append(beta, np.linalg.norm(w))
        found = Curve(steps, eta, start, alpha, beta, V)
        k = len(alpha)
        asked = k % 4 == 0 or k >= min(most, m) or found.exhausted
        if asked and (k >= min(most, m) or np.all(found.error <= tolerance * found.low)):
            return found
        basis.append(w / beta[-1])


def _steps(steps: Any) -> Float[np.ndarray, " S"]:
    steps = inputs.real("steps", steps, ndim=1)
    if np.any(steps != np.floor(steps)) or np.any(steps < 0) or not len(steps):
        raise ValueError(f"steps: expected whole numbers >= 0, got {steps}")
    return steps
