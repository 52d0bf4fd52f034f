"""The GP prompts of seed 002, with preconditioners learned and not, one for all or one for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import numpy as np
from jaxtyping import Float

from twofold.decoder import preconditioner as pc
from twofold.decoder import solving
from twofold.encoder.dense import DenseSystem
from twofold.learned.family import Parametrised
from twofold.learned.flexformer import Flexformer
from twofold.learned.free import Free
from twofold.learned.softmax_spd import SoftmaxSPD
from twofold.measures.squared_error import split
from twofold.protocol import System, Tasks
from twofold.tasks import gp
from twofold.tasks.matern import Matern
from twofold.training import finite_set

Matrices = dict[str, np.ndarray]
Begun = tuple[Parametrised, np.ndarray]
# Training-free, by name: each frozen on the mean system, and built anew for each prompt.
FREE_OF_TRAINING: dict[str, pc.Linear] = {
    "scalar": pc.Scalar(), "Jacobi": pc.Jacobi(), "block Jacobi": pc.BlockJacobi(2),
    "low rank": pc.LowRank(1), "Nyström": pc.Nystrom(2), "inverse": pc.Inverse(),
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """Declared, not the seed's: it prints no kernel, noise, depth or width, only K = 4 elsewhere.

    Inputs on an interval and a noise as large as the signal keep the systems so much alike that one
    P for all prompts contracts on every one of them.
    """

    seed: int = 0
    rank: int = 4
    half: float = 3.0
    padding: float = 4.0
    noise: float = 1.0
    depth: int = 8
    train: int = 2048
    held_out: int = 512
    steps: int = 300
    every_kernel: bool = False

    @property
    def basis(self) -> Matern:
        """Four Fourier features of a Matern 3/2 process."""
        return Matern(self.rank, 1.5, half=self.half, padding=self.padding)


@dataclass(frozen=True, eq=False)
class Run:
    """Prompts of one size to train on and to be judged on, and every P."""

    settings: Settings
    train: Tasks
    tasks: Tasks
    shared: Matrices
    learned: Matrices
    own: Matrices
    loss: dict[str, Float[np.ndarray, " S"]]
    times: Float[np.ndarray, " S"]

    def predicted(self, P: np.ndarray) -> Float[np.ndarray, " 2"]:
        """An interval that holds the spectra of P H of the first prompts trained on."""
        ends = solving.oracle(P, self.train.H[:256])
        return np.array([ends[:, 0].min(), ends[:, 1].max()])

    def path(
        self, P: np.ndarray, method: solving.Method, interval: np.ndarray | None = None
    ) -> list[float]:
        """The held-out risk |x_l - z_post|^2 / K at every depth."""
        L, t = self.settings.depth, self.tasks
        made = solving.solve(t.H, t.d, P=P, method=method, depth=L, interval=interval)
        return [float(split(x, t.truth, t.truth, None, t.scale)["total"].mean()) for x in made]


@lru_cache(maxsize=4)
def made(settings: Settings, prompt: int) -> Run:
    """Draw both sets, freeze the training-free P on the mean system, learn the others."""
    drawn = {"prompt": prompt, "basis": settings.basis, "noise": settings.noise}
    train = gp.sample(seed=settings.seed, count=settings.train, **drawn)
    tasks = gp.sample(seed=settings.seed + 1000, count=settings.held_out, **drawn)
    mean, system = train.H.mean(axis=0), cast(System, DenseSystem(tasks.H, tasks.d))
    shared = {n: pc.scaled(pc.frozen(p, mean).P, mean) for n, p in FREE_OF_TRAINING.items()}
    own = {n: pc.scaled(p.matrix(system), tasks.H) for n, p in FREE_OF_TRAINING.items()}
    times = np.arange(0, settings.steps + 1, 50)
    learned, loss = {}, {}
    for name, (family, start) in families(settings, shared).items():
        learned[name], loss[name] = fitted(family, start, train, settings, times)
    return Run(settings, train, tasks, shared, learned, own, loss, times)


def families(settings: Settings, shared: Matrices) -> Mapping[str, Begun]:
    """What is learned, and from where; free_linear starts at the inverse of the mean system."""
    K, scale = settings.rank, float(shared["scalar"][0, 0])
    kernels = ("stationary", "non-stationary", "softmax")[: 3 if settings.every_kernel else 1]
    flexformers = {f"Flexformer, {k}": Flexformer(K, k, scale=scale) for k in kernels}
    drawn = flexformers | {"softmax SPD": SoftmaxSPD(K, scale=scale)}
    out: dict[str, Begun] = {"free_linear": (Free(K), shared["inverse"].ravel())}
    return out | {name: (family, family.start(settings.seed)) for name, family in drawn.items()}


def fitted(
    family: Parametrised, start: np.ndarray, train: Tasks, settings: Settings, times: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(P after Adam on all prompts, the step a tenth in the second half; the loss at ``times``)."""
    states, half = [], settings.steps // 2
    for part, (eta, seen) in enumerate(((0.02, times <= half), (0.002, times > half))):
        before = states[-1]["theta"] if part else start
        states += finite_set.train(
            family, before, train.H, train.d, train.truth, depth=settings.depth, rule="adam",
            eta=eta * float(np.abs(family.matrix(start)).max()), steps=half,
            times=times[seen] - part * half,
        )  # fmt: skip
    learner = finite_set.FiniteSet(
        family, train.H, train.d, train.truth, settings.depth, eta=1.0, rule="adam"
    )
    return family.matrix(states[-1]["theta"]), np.array([learner.loss(s) for s in states])
