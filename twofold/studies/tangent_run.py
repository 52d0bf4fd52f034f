"""Runs of a Flexformer beside their linearisation at the start, on regression and on GP prompts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from twofold.decoder.richardson import error_norms
from twofold.learned import ntk
from twofold.learned.flexformer import Flexformer
from twofold.measures import spectra
from twofold.protocol import Tasks
from twofold.tasks import gp, mercer, regression
from twofold.training import finite_set, online


@dataclass(frozen=True)
class Settings:
    """``share`` is eta times the largest eigenvalue of JJ'/m, so that 1/share steps are one time
    constant of the fastest mode: ``local`` is a tenth of one, ``long`` one, ``last`` ten.
    """

    seed: int = 0
    dim: int = 16
    prompt: int = 128
    tasks: int = 64
    depth: int = 8
    rank: int = 8
    points: int = 16
    noise: float = 0.3
    share: float = 0.01
    local: int = 10
    long: int = 100
    last: int = 1000
    held_out: int = 512

    def regression(self) -> tuple[Tasks, Tasks]:
        """(seen, fresh) regression prompts."""
        first = 1000 * self.seed
        given = {"dim": self.dim, "prompt": self.prompt, "ridge": 1e-3}
        return (
            regression.sample(seed=first, count=self.tasks, **given),
            regression.sample(seed=first + 500, count=self.held_out, **given),
        )

    def gp(self) -> tuple[Tasks, Tasks]:
        """(seen, fresh) GP prompts; what is asked is the posterior mean of the latents."""
        basis, first = mercer.RBF(self.rank), 1000 * self.seed
        given = {"prompt": self.points, "basis": basis, "noise": self.noise}
        return (
            gp.sample(seed=first, count=self.tasks, **given),
            gp.sample(seed=first + 500, count=self.held_out, **given),
        )


@dataclass(frozen=True, eq=False)
class Run:
    """Every loss of the run, the linearised one, and the relative distance up to each horizon."""

    eta: float
    steps: np.ndarray
    observed: np.ndarray
    predicted: ntk.Curve
    held_out: float
    median: float

    @property
    def distance(self) -> np.ndarray:
        """|L - L_lin| / |L| over the steps up to s."""
        return ntk.discrepancy(self.observed, self.predicted.loss)


@lru_cache(maxsize=8)
def trained(settings: Settings, prompts: str) -> Run:
    """The run on ``prompts`` ("regression" or "GP") to the last horizon.

    P starts near I over the mean largest eigenvalue; ``held_out`` and ``median`` are those of
    |x_L - x*|^2 on fresh prompts after the local horizon.
    """
    seen, fresh = settings.regression() if prompts == "regression" else settings.gp()
    scale = 1 / float(np.mean(spectra.extreme_eigenvalues(seen.H)[1]))
    family = Flexformer(seen.d.shape[1], scale=scale)
    theta, steps = family.start(settings.seed), np.arange(settings.last + 1)
    given = (seen.H, seen.d, seen.truth)
    eta = settings.share / ntk.largest(family, theta, *given, settings.depth)
    curve = ntk.curve(family, theta, *given, depth=settings.depth, eta=eta, steps=steps)
    learner = finite_set.FiniteSet(family, *given, settings.depth, eta)
    states = list(online.states(learner, learner.start(theta), steps))
    P = family.matrix(states[settings.local]["theta"])
    fresh_errors = error_norms(P, fresh.H, fresh.d, settings.depth, fresh.truth)[:, -1]
    return Run(
        eta, steps, np.array([learner.loss(state) for state in states]), curve,
        float(np.mean(fresh_errors**2)), float(np.median(fresh_errors**2)),
    )  # fmt: skip
