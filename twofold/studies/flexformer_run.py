"""The learned decoder of seed 000 §4.3: families trained on finitely many prompts, and rivals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.decoder import preconditioner
from twofold.decoder.richardson import error_norms
from twofold.encoder.dense import DenseSystem
from twofold.learned.flexformer import Flexformer
from twofold.learned.free import Free
from twofold.learned.softmax_spd import SoftmaxSPD
from twofold.protocol import Law, Tasks
from twofold.tasks import laws, moments, regression, samplers
from twofold.training import finite_set, online


@dataclass(frozen=True)
class Settings:
    """The law of 001 §11's decoder; widths, sizes and the plain descent are ours, chosen before
    any number was seen: the seed prints none of them. ``rotated`` turns the features' axes away
    from the coordinates, so that no diagonal P will do.
    """

    seed: int = 0
    dim: int = 16
    prompt: int = 128
    condition: float = 10.0
    ridge: float = 1e-3
    depth: int = 8
    tasks: int = 512
    held_out: int = 512
    eta: float = 4.0
    eta_adam: float = 0.01
    steps: int = 400
    rotated: bool = False
    rule: finite_set.Rule = "descent"

    @property
    def law(self) -> Law:
        """How tasks are drawn."""
        sigma = laws.spectrum("log", self.dim, self.condition)
        if self.rotated:
            ones = np.ones(self.dim)
            sigma = laws.target_covariance(Law(ones, self.prompt, prior=sigma, rank=self.dim))
        return regression.regression_law(
            dim=self.dim, prompt=self.prompt, spectrum=sigma, ridge=self.ridge
        )

    @property
    def times(self) -> Float[np.ndarray, " S"]:
        """Outer times, dense at the start."""
        return np.unique(np.r_[0, np.geomspace(1, self.steps, 16)].round())

    @property
    def families(self) -> dict[str, Any]:
        """What is trained, each with the same steps on the same tasks."""
        return {
            "Flexformer": Flexformer(self.dim),
            "Flexformer, pairs of frequencies": Flexformer(self.dim, "non-stationary"),
            "Flexformer, softmax": Flexformer(self.dim, "softmax"),
            "one-head softmax SPD": SoftmaxSPD(self.dim),
            "free linear": Free(self.dim, 1.0),
        }


@dataclass(frozen=True, eq=False)
class Run:
    """One family's states, and the tasks it was trained and is judged on."""

    settings: Settings
    family: Any
    states: list[online.State]
    seen: Tasks
    fresh: Tasks

    @property
    def P(self) -> Float[np.ndarray, "S K K"]:
        """The preconditioners along the run."""
        return np.array([self.family.matrix(state["theta"]) for state in self.states])

    @property
    def guarded(self) -> int:
        """Steps on which a row of the kernel was the guard's."""
        return int(self.states[-1]["guarded"])


@lru_cache(maxsize=4)
def tasks(settings: Settings) -> tuple[Tasks, Tasks]:
    """(those to train on, those to judge on)."""
    first = 1000 * settings.seed
    return (
        samplers.draw(settings.law, settings.tasks, seed=first),
        samplers.draw(settings.law, settings.held_out, seed=first + 500),
    )


@lru_cache(maxsize=16)
def trained(settings: Settings, name: str) -> Run:
    """The family of that name, by full-batch descent on the loss at depth L."""
    seen, fresh = tasks(settings)
    family = settings.families[name]
    states = finite_set.train(
        family, family.start(settings.seed), seen.H, seen.d, seen.truth, depth=settings.depth,
        eta=settings.eta, steps=settings.steps, times=settings.times, rule=settings.rule,
    )  # fmt: skip
    return Run(settings, family, states, seen, fresh)


def risk(P: np.ndarray, drawn: Tasks, depth: int) -> float:
    """Mean of |x_L - x*|^2 / K."""
    norms = error_norms(P, drawn.H, drawn.d, depth, drawn.truth)[:, -1]
    return float(drawn.scale * np.mean(norms**2))


def learned(settings: Settings) -> dict[str, Float[np.ndarray, "K K"]]:
    """The last P of every family."""
    return {name: trained(settings, name).P[-1] for name in settings.families}


def without_training(settings: Settings) -> dict[str, np.ndarray]:
    """Rivals that learn nothing: one P from H_inf, one for each system, and the oracle at L = 1."""
    fresh, K = tasks(settings)[1], settings.dim
    system = DenseSystem(fresh.H, fresh.d)
    limit = laws.matrix(settings.law.sigma) + settings.ridge * np.eye(K)
    each = {"scalar": preconditioner.Scalar(), "Jacobi": preconditioner.Jacobi(),
            "low-rank spectral, r = 4": preconditioner.LowRank(4)}  # fmt: skip
    out = {
        f"{name}, of each H": preconditioner.scaled(way.matrix(system), fresh.H)
        for name, way in each.items()
    }
    return out | {
        "scalar, of the mean H": preconditioner.frozen(preconditioner.Scalar(), limit).P,
        "inverse of the mean H": preconditioner.frozen(preconditioner.Inverse(), limit).P,
        "oracle P* at L = 1": moments.of(settings.law).full().oracle,
    }


def audited(settings: Settings) -> dict[str, Float[np.ndarray, "K K"]]:
    """The Flexformer as trained, with its tokens permuted or made equal, and the oracle."""
    run = trained(settings, "Flexformer")
    changed = run.family.audited(run.states[-1]["theta"], settings.seed)
    asked = {name: run.family.matrix(theta) for name, theta in changed.items()}
    oracle = moments.of(settings.law).full().oracle
    return {"Flexformer": run.P[-1]} | asked | {"oracle P* at L = 1": oracle}
