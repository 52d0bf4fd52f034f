"""What seed 002 leaves open, predicted and run: the settings and the runs that 002-open reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from twofold.learned import ntk
from twofold.learned.flexformer import Flexformer
from twofold.protocol import Law
from twofold.tasks import moments, regression, samplers
from twofold.training import closure
from twofold.training.closure import error_law, joint, joint_path, observed


@dataclass(frozen=True)
class Settings:
    """Declared, not the seed's. ``batch`` and ``runs`` are those of the Flexformer's training."""

    seed: int = 0
    dim: int = 12
    prompt: int = 48
    ridge: float = 1e-3
    condition: float = 10.0
    depth: int = 2
    scale: float = 0.3
    eta: float = 0.05
    steps: int = 120
    batch: int = 256
    runs: int = 3
    ntk_tasks: int = 512
    checked: int = 16000
    sizes: tuple[int, ...] = (16, 32, 64)
    joint_batch: int = 2048
    joint_steps: int = 100

    @property
    def model(self) -> Flexformer:
        """The Flexformer that is trained."""
        return Flexformer(self.dim, scale=self.scale)

    @property
    def times(self) -> Float[np.ndarray, " S"]:
        """Outer times, dense at the start."""
        return np.unique(np.r_[0, np.geomspace(1, self.steps, 13).round()])

    @property
    def law(self) -> Law:
        """Prompts whose eigenbasis is not that of the coordinates."""
        s = regression.regression_law(dim=self.dim, prompt=1, condition=self.condition).sigma
        random = np.random.default_rng(self.seed).standard_normal((self.dim, self.dim))
        Q = np.linalg.qr(random)[0]
        return Law(Q * s @ Q.T, self.prompt, self.ridge)

    def aligned(self, dim: int, prompt: int, condition: float | None = None) -> Law:
        """Prompts in their own eigenbasis."""
        return regression.regression_law(
            dim=dim, prompt=prompt, condition=condition or self.condition, ridge=self.ridge
        )

    @property
    def recipe(self) -> joint_path.Recipe:
        """The low-rank encoder and decoder, trained together."""
        law = regression.regression_law(
            dim=16, prompt=64, condition=10.0, noise=0.3, rank=4, target="coefficients",
            prior=np.array([1.0, 0.5, 0.2, 0.05]),
        )  # fmt: skip
        return joint_path.Recipe(law, eta=0.5, eta_encoder=0.05)


@dataclass(frozen=True, eq=False)
class Flex:
    """The Flexformer's path as predicted, as run, and as its tangent kernel has it."""

    predicted: closure.Path
    P: Float[np.ndarray, "R S K K"]
    risk: Float[np.ndarray, "R S"]
    ntk: Float[np.ndarray, " S"]

    @property
    def path_error(self) -> float:
        """The largest relative Frobenius distance between the runs' mean and the prediction."""
        mean = self.P.mean(axis=0) - self.predicted.P
        size = np.linalg.norm(self.predicted.P, axis=(1, 2))
        return float(np.max(np.linalg.norm(mean, axis=(1, 2)) / size))

    def risk_error(self, curve: np.ndarray) -> float:
        """The largest relative distance of a curve to the predicted risk."""
        return float(np.max(np.abs(curve / self.predicted.risk - 1)))


@lru_cache(maxsize=4)
def flexformer(config: Settings) -> Flex:
    """One prediction, ``config.runs`` trainings, one curve of the kernel at theta_0."""
    model, law, times = config.model, config.law, config.times
    start, given = model.start(config.seed), {"depth": config.depth, "eta": config.eta}
    predicted = closure.path(start, model, law, steps=config.steps, times=times, **given)
    thetas = [observed.train(start, model, law, steps=config.steps, batch=config.batch, seed=i,
                             times=times, **given) for i in range(config.runs)]  # fmt: skip
    P = np.array([[model.matrix(t) for t in run] for run in thetas])
    risk = np.array([[risk_of(p, law, config.depth) for p in run] for run in P])
    tasks = samplers.draw(law, config.ntk_tasks, seed=config.seed + 900)
    curve = ntk.curve(model, start, tasks.H, tasks.d, tasks.truth, depth=config.depth,
                      eta=config.dim * config.eta, steps=times)  # fmt: skip
    return Flex(predicted, P, risk, 2 * curve.loss)


def risk_of(P: np.ndarray, law: Law, depth: int, engine: closure.engines.Engine = "exact") -> float:
    """A risk of a law, by one engine."""
    return closure.risk(P, sigma=law.sigma, prior=law.prior, prompt=law.prompt, ridge=law.ridge,
                        depth=depth, engine=engine)  # fmt: skip


@lru_cache(maxsize=4)
def estimates(config: Settings) -> list[tuple[int, int, float, error_law.Errors]]:
    """(K, depth, condition, errors) at the oracle of each law, M = 4 K."""
    out = []
    for condition in (1.0, config.condition, 100.0):
        for depth in (2, 4):
            for K in config.sizes:
                law = config.aligned(K, 4 * K, condition)
                P = moments.of(law).oracle
                out.append((K, depth, condition, error_law.measured(P, law, depth)))
    return out


@dataclass(frozen=True, eq=False)
class Joint:
    """The joint recursion and the run beside it."""

    recipe: joint_path.Recipe
    predicted: joint_path.JointPath
    U: Float[np.ndarray, "S K r"]
    P: Float[np.ndarray, "S r r"]

    @property
    def path_error(self) -> Float[np.ndarray, " S"]:
        """|P_run - P|_F / |P|_F."""
        size = np.linalg.norm(self.predicted.tracking.P, axis=(1, 2))
        gap = np.linalg.norm(self.P - self.predicted.tracking.P, axis=(1, 2))
        return gap / np.where(size > 0, size, 1.0)

    def risk(self, U: np.ndarray, P: np.ndarray, depth: int = 2) -> float:
        """R_e2e of a state."""
        return joint.split(self.recipe.setting(U), P, depth=depth).total


@lru_cache(maxsize=4)
def jointly(config: Settings) -> Joint:
    """From one random subspace, both halves."""
    recipe = config.recipe
    random = np.random.default_rng(config.seed).standard_normal((recipe.law.dim, 4))
    start = joint_path.polar(random), np.zeros((4, 4))
    predicted = joint_path.predicted(recipe, *start, steps=config.joint_steps)
    U, P = joint_path.trained(recipe, *start, steps=config.joint_steps, batch=config.joint_batch,
                              seed=config.seed)  # fmt: skip
    return Joint(recipe, predicted, U, P)
