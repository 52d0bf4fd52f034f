"""The PDE run of seeds 000 and 002: encode A(z) from pairs, then decode the query, by each P."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold import decoder
from twofold.anatomy import Anatomy, take_apart
from twofold.certificate import Certificate
from twofold.decoder import preconditioner
from twofold.decoder.richardson import Richardson
from twofold.encoder.dense import DenseSystem
from twofold.encoder.weak_form import WeakForm
from twofold.learned.free import Free
from twofold.measures import encoded, squared_error
from twofold.protocol import EncoderDecoder, Tasks
from twofold.studies import evidence
from twofold.tasks import families, pde
from twofold.tasks.affine import Dense
from twofold.theorems import (
    encoded_floor,
    finite_task,
    power,
    richardson,
    ridge_bias,
    risk_decomposition,
    weak_bias,
)
from twofold.training import finite_set

METHODS = ("scalar", "Jacobi", "one-step oracle", "free linear")


@dataclass(frozen=True)
class Settings:
    """The tasks' configuration was fitted to the seed's numbers; how P is trained is ours."""

    seed: int = 0
    dim: int = 16
    latent: int = 4
    pairs: int = 8
    ridge: float = 1e-3
    spread: float = 0.5
    depth: int = 4
    deepest: int = 8
    held_out: int = 1024
    training: int = 512
    eta: float = 1e-3
    steps: int = 400
    repetitions: int = 5
    clip: float = 10.0
    delta: float = 0.05
    descent: float = 2.0
    descent_steps: int = 6400


@dataclass(frozen=True, eq=False)
class Run:
    """One family of operators, its training and held-out tasks, and a P by every method."""

    settings: Settings
    encoder: WeakForm
    train: Tasks
    tasks: Tasks
    P: Mapping[str, Float[np.ndarray, "n n"]]

    @property
    def family(self) -> Dense:
        """A_0, ..., A_K."""
        operators = self.encoder.operators
        assert isinstance(operators, Dense)
        return operators

    @cached_property
    def system(self) -> DenseSystem:
        """The encoded systems of the held-out tasks."""
        return encoded_systems(self.encoder, self.tasks)

    @cached_property
    def z_enc(self) -> Float[np.ndarray, "N K"]:
        """What the encoder says of the held-out latents."""
        return self.encoder.estimate(self.tasks.prompt)

    @cached_property
    def A(self) -> Float[np.ndarray, "N n n"]:
        """The true operators of the held-out tasks."""
        return self.encoder.operators.dense(np.asarray(self.tasks.latent))

    @property
    def z_mse(self) -> float:
        """Mean squared error of the latents."""
        return float(np.mean(encoded.latent_error(self.z_enc, self.tasks.latent)))

    @property
    def A_error(self) -> float:
        """Ratio of root mean squares of A(z_enc) - A(z) and A(z)."""
        return encoded.operator_error(self.system.H, self.A)

    def anatomy(self, method: str) -> Anatomy:
        """The held-out tasks taken apart, decoded by Richardson at the seed's depth."""
        model = EncoderDecoder(self.encoder, Richardson(self.P[method], self.settings.depth))
        return take_apart(model, self.tasks)

    @cached_property
    def means(self) -> dict[str, dict[str, float]]:
        """Total, floor, decoder and cross term of each P at the seed's depth."""
        ends = {m: decoder.solve(self.system, P=self.P[m], depth=self.settings.depth)[-1:]
                for m in METHODS}  # fmt: skip
        return {m: {part: float(x[0]) for part, x in along(self, end).items()}
                for m, end in ends.items()}  # fmt: skip

    @cached_property
    def best(self) -> str:
        """The method of least end-to-end error at the seed's depth."""
        return min(METHODS, key=lambda name: self.means[name]["total"])


@lru_cache(maxsize=8)
def decoded(settings: Settings, repetition: int = 0) -> Run:
    """Everything of one repetition: its own operators, tasks and training."""
    seed = 1000 * settings.seed + repetition
    family = families.gaussian(seed=seed, dim=settings.dim, latent=settings.latent)
    drawn = {"pairs": settings.pairs, "spread": settings.spread}
    train = pde.sample(family, seed=2 * seed, count=settings.training, **drawn)
    tasks = pde.sample(family, seed=2 * seed + 1, count=settings.held_out, **drawn)
    encoder = WeakForm(family, ridge=settings.ridge)
    return Run(settings, encoder, train, tasks, preconditioners(settings, encoder, train))


def preconditioners(
    settings: Settings, encoder: WeakForm, train: Tasks
) -> dict[str, Float[np.ndarray, "n n"]]:
    """One dense P for each method, from the training tasks alone."""
    A = encoder.operators.dense(np.asarray(train.latent))
    base = encoder.operators.dense(np.zeros((1, settings.latent)))[0]
    scalar = preconditioner.frozen(preconditioner.Scalar(), base).P
    last = trained(settings, encoder, train, float(scalar[0, 0]), [settings.steps])
    return {
        "scalar": scalar,
        "Jacobi": preconditioner.frozen(preconditioner.Jacobi(), A.mean(axis=0)).P,
        "one-step oracle": finite_task.least_squares(train.query, train.truth),
        "free linear": last[0],
    }


def encoded_systems(encoder: WeakForm, tasks: Tasks) -> DenseSystem:
    """A(z_enc) u = query of every task."""
    system = encoder(tasks.prompt)
    assert isinstance(system, DenseSystem)
    return system


def trained(
    settings: Settings,
    encoder: WeakForm,
    train: Tasks,
    start: float,
    times: Any,
    rule: Any = "adam",
) -> list[Float[np.ndarray, "n n"]]:
    """The free dense P at ``times``, from ``start`` I, on the loss of the seed at its depth."""
    family, eta = Free(settings.dim, start), {"adam": settings.eta, "descent": settings.descent}
    states = finite_set.train(
        family, family.start(settings.seed), encoded_systems(encoder, train).H, train.query,
        train.truth, depth=settings.depth, eta=eta[rule], steps=int(times[-1]), times=times,
        rule=rule,
    )  # fmt: skip
    return [family.matrix(state["theta"]) for state in states]


def along(run: Run, path: Float[np.ndarray, "l N n"]) -> dict[str, Float[np.ndarray, " l"]]:
    """Total, floor, decoder and cross term after each step, averaged over the held-out tasks."""
    best, tasks = run.system.exact(), run.tasks
    split = [squared_error.split(x, best, tasks.truth, None, tasks.scale) for x in path]
    return {part: np.array([np.mean(s[part]) for s in split]) for part in squared_error.PARTS}


def runs(settings: Settings) -> list[Run]:
    """Every repetition."""
    return [decoded(settings, i) for i in range(settings.repetitions)]


def proofs(run: Run, method: str) -> tuple[list[Certificate], evidence.Evidence]:
    """What is proved of encoder, decoder and split, with the inputs it is proved from."""
    z, system, ridge = np.asarray(run.tasks.latent), run.system, run.settings.ridge
    G_ridge = run.encoder.normal(run.tasks.prompt)[0]
    given = {"P": run.P[method], "H": system.H, "d": system.d, "depth": run.settings.depth}
    iteration = [rule(**given) for rule in (richardson.certify_identity, richardson.certify,
                                            power.certify)]  # fmt: skip
    bias = [ridge_bias.certify(G_ridge, z, ridge)]
    weak = [weak_bias.certify(run.encoder, run.tasks.prompt, z)]
    floor = [encoded_floor.certify(system.H, run.A, run.tasks.query)]
    anatomy = run.anatomy(method)
    split = [risk_decomposition.certify(anatomy)]
    return [*bias, *weak, *floor, *iteration, *split], (
        evidence.of(iteration, **given)
        | evidence.of(bias, H=G_ridge, z=z, ridge=np.float64(ridge))
        | evidence.of(
            weak,
            A=run.family.A,
            u=run.tasks.u,
            f=run.tasks.f,
            probes=np.zeros((0, 0)),
            z=z,
            ridge=np.float64(ridge),
            metric=run.encoder.metric,
        )
        | evidence.of(floor, A_enc=system.H, A=run.A, f=run.tasks.query)
        | evidence.of_anatomy(split, anatomy)
    )
