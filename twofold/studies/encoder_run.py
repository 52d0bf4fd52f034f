"""The encoder-only runs of seeds 000 and 001: a dictionary learned online, and its closed form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from twofold.encoder.dictionary import DictionaryLaw, held_out_risk
from twofold.training import band, online, trajectory


@dataclass(frozen=True)
class Settings:
    """Defaults: 000 table 1, near the seed's own configuration (post-hoc)."""

    seed: int = 0
    repetitions: int = 5
    dim: int = 32
    rank: int = 16
    noise: float = 0.02
    eta: float = 0.12
    batch: int = 4096
    steps: int = 800
    held_out: int = 8192

    @property
    def times(self) -> Float[np.ndarray, " S"]:
        """Outer times, dense at the start."""
        return np.unique(np.r_[0, np.geomspace(1, self.steps, 40)].round())

    def law(self, seed: int) -> DictionaryLaw:
        """Pairs b = G* z + xi with G* of N(0, 1/K) entries drawn from ``seed`` and z ~ N(0, I)."""
        gaussian = np.random.default_rng(seed).standard_normal((self.dim, self.rank))
        return DictionaryLaw(gaussian / np.sqrt(self.dim), np.ones(self.rank), self.noise)


@dataclass(frozen=True, eq=False)
class Run:
    """States at ``times``; observed and predicted risk."""

    times: Float[np.ndarray, " S"]
    law: DictionaryLaw
    G: Float[np.ndarray, "S K r"]
    path: trajectory.Trajectory
    band: band.Band
    held_out: Float[np.ndarray, " N"]
    """Losses of the last state on fresh pairs."""

    @property
    def risk(self) -> Float[np.ndarray, " S"]:
        """The population risk of the states that SGD visited."""
        return self.law.risk(self.G)

    @property
    def predicted(self) -> Float[np.ndarray, " S"]:
        """The risk along the exact population path."""
        return self.law.noise**2 + self.path.excess


@lru_cache(maxsize=8)
def repeated(settings: Settings, repetition: int = 0) -> Run:
    """One of ``settings.repetitions`` independent runs, from a random G_0."""
    seed = 1000 * settings.seed + repetition
    law = settings.law(seed)
    learner = online.EncoderSGD(law, settings.eta, settings.batch, seed)
    G0 = settings.law(seed + 250).G_star
    G = np.array([s["G"] for s in online.states(learner, learner.start(G0), settings.times)])
    given = {"eta": settings.eta, "steps": settings.times}
    return Run(
        settings.times, law, G,
        trajectory.encoder(G0, law.sigma_z, law.sigma_bz, **given),
        band.encoder(law, G0, batch=settings.batch, **given),
        held_out_risk(G[-1], *law.sample(seed + 500, settings.held_out)),
    )  # fmt: skip
