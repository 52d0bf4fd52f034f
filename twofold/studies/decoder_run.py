"""The decoder-only run of seed 001, predicted and observed; several figures read it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from twofold.decoder import checkpoints
from twofold.protocol import Law, Tasks
from twofold.rigor import contraction_upper
from twofold.tasks import moments, regression, samplers
from twofold.training import band, online, trajectory


@dataclass(frozen=True)
class Settings:
    """The configuration that reproduces 001 §11 (post-hoc); ``held_out`` tasks are evaluated,
    the contraction of ``looked_at`` of them.
    """

    seed: int = 0
    repetitions: int = 5
    dim: int = 16
    prompt: int = 128
    condition: float = 10.0
    ridge: float = 1e-3
    eta: float = 0.6
    batch: int = 1024
    depth: int = 8
    steps: int = 800
    held_out: int = 8192
    looked_at: int = 1024

    @property
    def law(self) -> Law:
        """How tasks are drawn."""
        return regression.regression_law(
            dim=self.dim, prompt=self.prompt, condition=self.condition, ridge=self.ridge
        )

    @property
    def times(self) -> Float[np.ndarray, " S"]:
        """Outer times, dense at the start."""
        return np.unique(np.r_[0, np.geomspace(1, self.steps, 40)].round())


@dataclass(frozen=True, eq=False)
class Run:
    """States at ``times``, their errors on held-out tasks, and what theory says of both."""

    times: Float[np.ndarray, " S"]
    P: Float[np.ndarray, "S K K"]
    tasks: Tasks
    moments: moments.Moments
    path: trajectory.Trajectory
    band: band.Band
    errors: Float[np.ndarray, "S N l"]
    contraction: Float[np.ndarray, "S N"]

    def risk(self, depth: int) -> Float[np.ndarray, " S"]:
        """Observed risk after ``depth`` inner steps, in the tasks' scale."""
        return self.tasks.scale * np.mean(self.errors[:, :, depth] ** 2, axis=1)

    @property
    def predicted(self) -> Float[np.ndarray, " S"]:
        """The population risk of P_s d: closed form, nothing sampled."""
        return self.moments.floor + self.path.excess


@lru_cache(maxsize=8)
def repeated(settings: Settings, repetition: int = 0) -> Run:
    """One of ``settings.repetitions`` independent runs."""
    law, seed = settings.law, 1000 * settings.seed + repetition
    learner = online.DecoderSGD(law, settings.eta, settings.batch, seed)
    P = np.array([s["P"] for s in online.states(learner, learner.start(), settings.times)])
    known = moments.of(law)
    full = known.full()
    path = trajectory.decoder(P[0], full.C, full.B, eta=settings.eta, steps=settings.times)
    tasks = samplers.draw(law, settings.held_out, seed=seed + 500)
    return Run(
        settings.times, P, tasks, full, path,
        band.decoder(path, moments.gradient_noise(law), batch=settings.batch),
        checkpoints.error_norms(P, tasks.H, tasks.d, settings.depth, tasks.truth),
        np.array([contraction_upper(p, tasks.H[: settings.looked_at]) for p in P]),
    )  # fmt: skip
