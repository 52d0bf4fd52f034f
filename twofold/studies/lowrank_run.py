"""The low-rank encoder-decoder run of seeds 000 and 001: both halves learn, the oracle moves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from jaxtyping import Float

from twofold.anatomy import Anatomy, take_apart
from twofold.certificate import Certificate
from twofold.decoder import closed_form
from twofold.decoder.richardson import Richardson
from twofold.encoder.dense import DenseSystem
from twofold.encoder.subspace import Subspace
from twofold.measures import overlaps
from twofold.measures.squared_error import split
from twofold.protocol import EncoderDecoder, Law, Tasks
from twofold.rigor import contraction_upper
from twofold.studies import evidence
from twofold.tasks import laws, regression, samplers
from twofold.theorems import decoder_bound, power, richardson, risk_decomposition
from twofold.training import latent, online


@dataclass(frozen=True)
class Settings:
    """Declared, not the seed's: it prints no K, r, M, noise, spectrum, batch or depth."""

    seed: int = 0
    dim: int = 16
    rank: int = 4
    prompt: int = 64
    condition: float = 10.0
    ridge: float = 1e-3
    noise: float = 0.3
    prior: tuple[float, ...] = (1.0, 0.5, 0.2, 0.05)
    eta: float = 0.5
    batch: int = 32
    depth: int = 11
    steps: int = 420
    held_out: int = 512
    oracle_tasks: int = 8192

    @property
    def law(self) -> Law:
        """How tasks are drawn: beta = U* z, y = X beta + noise."""
        return regression.regression_law(
            dim=self.dim, prompt=self.prompt, condition=self.condition, ridge=self.ridge,
            noise=self.noise, rank=self.rank, prior=np.array(self.prior), target="coefficients",
        )  # fmt: skip

    @property
    def times(self) -> Float[np.ndarray, " S"]:
        """Outer times, dense at the start."""
        return np.unique(np.r_[0, np.geomspace(1, self.steps, 25)].round())


@dataclass(frozen=True, eq=False)
class Run:
    """Per outer time: the state, its anatomy on the same held-out tasks, and the moving oracle."""

    settings: Settings
    times: Float[np.ndarray, " S"]
    states: list[online.State]
    tasks: Tasks
    anatomies: list[Anatomy]
    C: Float[np.ndarray, "S r r"]
    B: Float[np.ndarray, "S r r"]

    @property
    def P(self) -> Float[np.ndarray, "S r r"]:
        """The latent preconditioners."""
        return np.array([state["P"] for state in self.states])

    @property
    def U(self) -> Float[np.ndarray, "S K r"]:
        """The subspaces."""
        return np.array([state["U"] for state in self.states])

    @property
    def U_star(self) -> Float[np.ndarray, "K r"]:
        """The true subspace."""
        return self.tasks.facts["loading"]

    @property
    def sin2(self) -> Float[np.ndarray, " S"]:
        """Largest squared sine between U_s and U*."""
        return np.array([float(overlaps.sin2_norm(U, self.U_star)) for U in self.U])

    @cached_property
    def contraction(self) -> Float[np.ndarray, "S N"]:
        """Proved upper bounds of |I - P_z A| for every checkpoint and held-out task."""
        return np.array([
            contraction_upper(s["P"], self.system(i).H) for i, s in enumerate(self.states)
        ])  # fmt: skip

    def system(self, i: int) -> DenseSystem:
        """The held-out tasks' latent systems at checkpoint i."""
        system = self.anatomies[i].systems
        assert isinstance(system, DenseSystem)
        return system

    def part(self, name: str) -> Float[np.ndarray, " S"]:
        """One part of the risk, averaged over the tasks, at each time."""
        return np.array([anatomy.mean[name] for anatomy in self.anatomies])


@lru_cache(maxsize=4)
def trained(settings: Settings) -> Run:
    """Train both halves online and take the model apart at each checkpoint."""
    law = settings.law
    learner = online.JointSGD(law, settings.rank, settings.eta, settings.batch, settings.seed)
    states = list(online.states(learner, learner.start(), settings.times))
    tasks = samplers.draw(law, settings.held_out, seed=settings.seed + 500)
    pool = samplers.draw(law, settings.oracle_tasks, seed=settings.seed + 501)
    anatomies = [
        take_apart(EncoderDecoder(Subspace(s["U"]), Richardson(s["P"], settings.depth)), tasks)
        for s in states
    ]
    known = [latent.sampled_moments(s["U"], pool.H, pool.d) for s in states]
    C, B = (np.array(x) for x in zip(*known, strict=True))
    return Run(settings, settings.times, states, tasks, anatomies, C, B)


def identity_risk(run: Run, i: int) -> float:
    """The risk at checkpoint i through x_L = x_dagger - (I - P A)^L x_dagger, nothing iterated."""
    anatomy, state = run.anatomies[i], run.states[i]
    system = run.system(i)
    x = closed_form.answer(state["P"], system.H, system.exact(), run.settings.depth)
    parts = split(system.lift(x), anatomy.best, anatomy.truth, anatomy.metric)
    return float(np.mean(parts["total"]))


def identity_gap(run: Run) -> float:
    """Largest difference along the run between the risk observed and the risk by the identity."""
    return max(abs(identity_risk(run, i) - run.part("total")[i]) for i in range(len(run.times)))


def proofs(run: Run) -> dict[str, Certificate]:
    """What is proved of the last checkpoint."""
    anatomy, P, L = run.anatomies[-1], run.states[-1]["P"], run.settings.depth
    A, d, metric = run.system(-1).H, run.system(-1).d, latent_metric(run)
    return {
        "identity": richardson.certify_identity(P, A, d, L),
        "rate": richardson.certify(P, A, d, L),
        "power": power.certify(P, A, d, L),
        "decoder": decoder_bound.certify(P, A, d, L, metric),
        "decoder, power": decoder_bound.certify_power(P, A, d, L, metric),
        "sum": risk_decomposition.certify(anatomy),
    }


def proved_from(run: Run) -> evidence.Evidence:
    """The inputs of ``proofs``."""
    made, system = proofs(run), run.system(-1)
    given = {"P": run.P[-1], "H": system.H, "d": system.d, "depth": run.settings.depth}
    batch = [made["decoder"], made["decoder, power"]]
    iteration = [made["identity"], made["rate"], made["power"]]
    return (
        evidence.of(batch, **given, sigma=latent_metric(run))
        | evidence.of(iteration, **given)
        | evidence.of_anatomy([made["sum"]], run.anatomies[-1])
    )


def latent_metric(run: Run) -> Float[np.ndarray, "r r"]:
    """U' Sigma_x U of the last checkpoint."""
    return run.U[-1].T @ laws.matrix(run.settings.law.sigma) @ run.U[-1]
