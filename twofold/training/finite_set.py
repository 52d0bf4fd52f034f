r"""Training on a finite set of tasks, all of it in every step: nothing is drawn.

    theta_{s+1} = theta_s - eta DP_theta* [grad_P L_N(P_theta)]              (descent; 002, eq. 24)

or Adam on the same gradient. The gradient in P is the adjoint sweep, its pull-back one vjp of the
family. A state holds all that the next step needs, so a run resumed from a stored one walks bit for
bit where the uninterrupted run walked. It also counts the steps on which a family's kernel had to
be guarded. A run whose theta is no longer finite stays where it is: `diverged` says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from twofold.learned.family import Parametrised
from twofold.rigor import inputs
from twofold.training import adjoint, online
from twofold.training.online import State

Rule = Literal["descent", "adam"]
DECAYS, EPSILON = (0.9, 0.999), 1e-8


@dataclass(frozen=True, eq=False)
class FiniteSet:
    """The learner: ``family`` trained on (H, d) -> target at depth L, full batch, step ``eta``."""

    family: Parametrised
    H: Float[np.ndarray, "N K K"]
    d: Float[np.ndarray, "N K"]
    target: Float[np.ndarray, "N K"]
    depth: int
    eta: float
    rule: Rule = "descent"

    def __post_init__(self) -> None:
        if not 0 < float(inputs.real("eta", self.eta, ndim=0)):
            raise ValueError(f"eta: expected a positive step size, got {self.eta!r}")
        if self.rule not in get_args(Rule):
            raise ValueError(f"rule: expected one of {get_args(Rule)}, got {self.rule!r}")
        inputs.whole("depth", self.depth, low=1)

    def start(self, theta0: Any) -> State:
        """The state at s = 0."""
        theta = inputs.real("theta0", theta0, ndim=1)
        still = {"m": np.zeros_like(theta), "v": np.zeros_like(theta)}
        arrays = {"theta": theta, "guarded": np.array(0)}
        return State(0, arrays | (still if self.rule == "adam" else {}))

    def loss(self, state: State) -> float:
        """L_N of a state; NaN where it has diverged."""
        if diverged(state):
            return float("nan")
        P = self.family.matrix(state["theta"])
        return adjoint.loss(P, self.H, self.d, self.target, self.depth)

    def gradient(self, theta: Float[np.ndarray, " n"]) -> tuple[float, Float[np.ndarray, " n"]]:
        """(L_N, its gradient in theta); NaN where P or the iteration overflows."""
        P = self.family.matrix(theta)
        if not np.all(np.isfinite(P)):
            return float("nan"), np.full_like(theta, np.nan)
        loss, dP = adjoint.gradient(P, self.H, self.d, self.target, self.depth)
        if not np.all(np.isfinite(dP)):
            return loss, np.full_like(theta, np.nan)
        return loss, self.family.pull_back(theta, dP)

    def step(self, state: State) -> State:
        """One step of the rule; a state that is not finite only grows older."""
        if diverged(state):
            return State(state.s + 1, state.arrays)
        theta = state["theta"]
        gradient = self.gradient(theta)[1]
        with np.errstate(over="ignore", invalid="ignore"):
            if self.rule == "adam":
                moved = _adam(state, gradient, self.eta)
            else:
                moved = {"theta": theta - self.eta * gradient}
        seen = state["guarded"] + bool(rows_guarded(self.family, theta))
        return State(state.s + 1, moved | {"guarded": np.asarray(seen)})


def train(
    family: Parametrised,
    theta0: Any,
    H: np.ndarray,
    d: np.ndarray,
    target: np.ndarray,
    *,
    depth: int,
    eta: float,
    steps: int,
    times: Any = None,
    rule: Rule = "descent",
) -> list[State]:
    """The states at ``times`` (whole, increasing, at most ``steps``); only the last by default.

    ``theta0`` is a theta, or a `State` to resume from. It holds theta and what the rule remembers.
    """
    learner = FiniteSet(family, H, d, target, depth, eta, rule)
    begun = theta0 if isinstance(theta0, State) else learner.start(theta0)
    steps = inputs.whole("steps", steps)
    times = np.array([steps]) if times is None else inputs.real("times", times, ndim=1)
    if len(times) and times[-1] > steps:
        raise ValueError(f"times: {times[-1]:g} lies beyond steps = {steps}")
    return list(online.states(learner, begun, times))


def diverged(state: State) -> bool:
    """Whether theta holds a number that is not finite."""
    return not bool(np.all(np.isfinite(state["theta"])))


def rows_guarded(family: Parametrised, theta: np.ndarray) -> int:
    """How many rows of the family's kernel are the guard's; 0 for a family that needs none."""
    rows = getattr(family, "guarded", None)
    return 0 if rows is None else len(rows(theta))


def _adam(state: State, gradient: np.ndarray, eta: float) -> dict[str, np.ndarray]:
    """Kingma and Ba: both moments with their bias taken out."""
    (b1, b2), s = DECAYS, state.s + 1
    m = b1 * state["m"] + (1 - b1) * gradient
    v = b2 * state["v"] + (1 - b2) * gradient**2
    direction = (m / (1 - b1**s)) / (np.sqrt(v / (1 - b2**s)) + EPSILON)
    return {"theta": state["theta"] - eta * direction, "m": m, "v": v}
