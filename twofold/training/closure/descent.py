r"""Population descent of any family theta -> P_theta, global and without sampling.

    theta_{s+1} = theta_s - eta DP_theta* [(K/2) grad R_L(P_theta)]

R_L is a polynomial in P whose coefficients are moments of the law, so this recursion is closed for
every smooth family: nothing is linearised. Population gradients also make momentum and Adam
deterministic: v <- m v + gradient, theta <- theta - eta v, and Kingma and Ba's rule.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from twofold.learned.family import Parametrised
from twofold.protocol import Law
from twofold.rigor import inputs
from twofold.tasks import laws, moments
from twofold.training.closure import case as cases
from twofold.training.closure import engines, pool
from twofold.training.closure.engines import Choice, Oracle

Rule = Literal["descent", "momentum", "adam"]
DECAYS, EPSILON = (0.9, 0.999), 1e-8
LARGEST = 1e12


@dataclass(frozen=True)
class Diagonal:
    """P = diag(theta) in the common eigenbasis of Sigma and S: it stays there by symmetry."""

    dim: int
    scale: float = 0.0

    def start(self, seed: int) -> Float[np.ndarray, " n"]:
        """The same for every seed."""
        return np.full(inputs.whole("dim", self.dim, low=1), float(self.scale))

    def matrix(self, theta: np.ndarray) -> Float[np.ndarray, "K K"]:
        """diag(theta)."""
        return np.diag(inputs.real("theta", theta, shape=(self.dim,)))

    def pull_back(self, theta: np.ndarray, dP: np.ndarray) -> Float[np.ndarray, " n"]:
        """The diagonal."""
        return np.diagonal(inputs.real("dP", dP, shape=(self.dim, self.dim))).copy()

    def push_forward(self, theta: np.ndarray, dtheta: np.ndarray) -> Float[np.ndarray, "K K"]:
        """diag(dtheta)."""
        return self.matrix(dtheta)


@dataclass(frozen=True, eq=False)
class Path:
    """States at ``times``; ``P`` is (S, K) for `Diagonal`, else (S, K, K)."""

    times: Float[np.ndarray, " S"]
    theta: Float[np.ndarray, "S n"]
    P: np.ndarray
    risk: Float[np.ndarray, " S"]
    choice: Choice
    law: Law
    depth: int
    eta: float

    def time_to(self, level: float) -> float | None:
        """The first recorded outer time at which the predicted risk is at most ``level``."""
        reached = np.flatnonzero(self.risk <= level)
        return float(self.times[reached[0]]) if len(reached) else None

    def order_parameters(self) -> dict[str, np.ndarray]:
        """Overlaps along the way: tr(P Sigma)/K, |P Sigma|^2/K, the asymmetry, |P - P*|/|P*|.

        For `Diagonal` the state itself, the joint law of (s, b, p), is ``P``.
        """
        known = moments.of(self.law).full()
        Sigma = laws.matrix(laws.checked(self.law).sigma)
        P = np.array([laws.matrix(p) for p in self.P])
        size = np.linalg.norm(P, axis=(1, 2))
        seen, star, K = P @ Sigma, known.oracle, len(Sigma)
        skew = np.linalg.norm(P - P.swapaxes(1, 2), axis=(1, 2)) / np.where(size > 0, 2 * size, 1)
        return {
            "gain": np.trace(seen, axis1=1, axis2=2) / K,
            "square": np.sum(seen * seen.swapaxes(1, 2), axis=(1, 2)) / K,
            "skew": skew,
            "distance": np.linalg.norm(P - star, axis=(1, 2)) / np.linalg.norm(star),
        }


def path(
    theta0: Any, model: Parametrised, law: Law, *, depth: int, eta: float, steps: int,
    engine: str = "auto", rule: Rule = "descent", momentum: float = 0.9, times: Any = None,
    weights: Any = None, count: int = 4096, seed: int = 0,
) -> Path:  # fmt: skip
    """The predicted states at ``times`` (all of 0 .. steps by default).

    ``weights`` replaces Richardson's T^L by sum_j c_j T^j (see `closure.case.polynomial`).
    """
    if rule not in get_args(Rule):
        raise ValueError(f"rule: expected one of {get_args(Rule)}, got {rule!r}")
    theta = inputs.real("theta0", theta0, ndim=1).copy()
    law, steps = laws.checked(law), inputs.whole("steps", steps)
    wanted = np.arange(steps + 1) if times is None else inputs.real("times", times, ndim=1)
    c = _weights(depth, weights)
    driver = _Driver.of(theta, model, law, c, engine, count, seed)
    walk = partial(_walk, theta, model, law, set(wanted.astype(int)), steps)
    try:
        found = walk(driver, _Mover(rule, eta, momentum))
    except pool.Refusal as refusal:
        if engine != "auto" or law.target != "solve" or law.kurtosis:
            raise
        why = f"{driver.choice.reason}; it refused: {refusal}"
        driver = driver.instead(Choice("equivalent", "corrected", why))
        found = walk(driver, _Mover(rule, eta, momentum))
    return Path(*found, driver.choice, law, len(c) - 1, eta)


def _walk(
    theta: np.ndarray, model: Parametrised, law: Law, kept: set[int], steps: int,
    driver: _Driver, mover: _Mover,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """(times, theta, P, risk); a run that leaves float64 stays where it is, its risk NaN."""
    states = []
    for s in range(steps + 1):
        P = driver.form(theta)
        alive = bool(np.all(np.isfinite(P))) and bool(np.all(np.abs(P) < LARGEST))
        value, bar = driver.drive(P) if alive else (np.nan, None)
        if s in kept:
            states.append((float(s), theta, P, driver.measured(P, value) if alive else np.nan))
        if bar is not None and s < steps:
            theta = mover.step(theta, driver.pulled(theta, bar))
    t, thetas, Ps, risks = (np.array(x) for x in zip(*states, strict=True))
    return t, thetas, Ps, risks


def _weights(depth: int, weights: Any) -> np.ndarray:
    if weights is None:
        return np.eye(inputs.whole("depth", depth) + 1)[-1]
    return inputs.real("weights", weights, ndim=1)


@dataclass(frozen=True, eq=False)
class _Driver:
    """Theta -> P in the case's own form, what drives it, and what reports its risk."""

    model: Parametrised
    law: Law
    case: cases.Case
    choice: Choice
    drive: Oracle
    report: Oracle | None

    @classmethod
    def of(
        cls, theta: np.ndarray, model: Parametrised, law: Law, weights: np.ndarray,
        engine: str = "auto", count: int = 4096, seed: int = 0,
    ) -> _Driver:  # fmt: skip
        """The driver of a path; ``engine`` is one of the four, or auto."""
        P = theta if isinstance(model, Diagonal) else model.matrix(theta)
        case = cases.of(
            P, sigma=law.sigma, prior=laws.target_covariance(law), prompt=law.prompt,
            ridge=law.ridge, weights=weights,
        )[1]  # fmt: skip
        if P.ndim == 1 and not case.diagonal:
            raise ValueError("model: a diagonal P needs sigma and prior as spectra; or use Free")
        asked = Choice(engine, engine, "as asked")  # pyright: ignore[reportArgumentType]
        choice = engines.choose(law, case) if engine == "auto" else asked
        drive = engines.oracle(law, case, choice.drift, count=count, seed=seed)
        return cls(model, law, case, choice, drive, None).instead(choice, drive)

    def instead(self, choice: Choice, drive: Oracle | None = None) -> _Driver:
        """The same with another choice of engines."""
        drive = engines.oracle(self.law, self.case, choice.drift) if drive is None else drive
        other = choice.risk != choice.drift
        report = engines.oracle(self.law, self.case, choice.risk, slope=False) if other else None
        return replace(self, choice=choice, drive=drive, report=report)

    def form(self, theta: np.ndarray) -> np.ndarray:
        """P, a vector for `Diagonal`."""
        return theta if self.case.diagonal else self.model.matrix(theta)

    def measured(self, P: np.ndarray, value: float) -> float:
        """The risk that is reported."""
        return value if self.report is None else self.report(P)[0]

    def pulled(self, theta: np.ndarray, bar: np.ndarray) -> np.ndarray:
        """DP* [(K/2) bar]."""
        drift = 0.5 * self.case.dim * bar
        return self.model.pull_back(theta, np.diag(drift) if drift.ndim == 1 else drift)


@dataclass
class _Mover:
    """The outer rule and what it remembers."""

    rule: Rule
    eta: float
    momentum: float
    s: int = 0
    m: Any = 0.0
    v: Any = 0.0

    def step(self, theta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """One outer step."""
        self.s += 1
        if self.rule == "descent":
            return theta - self.eta * gradient
        if self.rule == "momentum":
            self.m = self.momentum * self.m + gradient
            return theta - self.eta * self.m
        b1, b2 = DECAYS
        self.m = b1 * self.m + (1 - b1) * gradient
        self.v = b2 * self.v + (1 - b2) * gradient**2
        scale = np.sqrt(self.v / (1 - b2**self.s)) + EPSILON
        return theta - self.eta * (self.m / (1 - b1**self.s)) / scale


def modes(
    theta: Any, model: Parametrised, law: Law, *, depth: int, engine: str = "auto",
    width: float = 1e-5,
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n n"]]:  # fmt: skip
    """(curvatures, ascending; directions) of (K/2) R_L(P_theta): differences of exact gradients.

    Descent near a minimum is stable for eta < 2 / the largest; the i-th mode decays as
    (1 - eta curvature_i)^s, so the first columns are the slow ones.
    """
    theta = inputs.real("theta", theta, ndim=1)
    driver = _Driver.of(theta, model, laws.checked(law), _weights(depth, None), engine)

    def gradient(at: np.ndarray) -> np.ndarray:
        return driver.pulled(at, driver.drive(driver.form(at))[1])

    steps = width * np.eye(len(theta))
    H = np.array([(gradient(theta + e) - gradient(theta - e)) / (2 * width) for e in steps])
    values, vectors = np.linalg.eigh((H + H.T) / 2)
    return values, vectors


def compared(
    theta0: Any, model: Parametrised, law: Law, *, depths: Any, etas: Any, steps: int
) -> Float[np.ndarray, "D E"]:
    """The predicted last risk for each depth and eta: its least entry is the best pair."""
    table = np.empty((len(depths), len(etas)))
    for i, depth in enumerate(depths):
        for j, eta in enumerate(etas):
            run = path(theta0, model, law, depth=depth, eta=eta, steps=steps, times=[steps])
            table[i, j] = run.risk[-1] if np.isfinite(run.risk[-1]) else np.inf
    return table
