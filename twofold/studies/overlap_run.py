"""Checkpoint trajectories on GP and PDE prompts, and what seed 002 logs along them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate
from twofold.decoder import preconditioner
from twofold.encoder.weak_form import WeakForm
from twofold.learned.family import Parametrised
from twofold.learned.flexformer import Flexformer
from twofold.learned.free import Free
from twofold.learned.softmax_spd import SoftmaxSPD
from twofold.measures.overlap_state import OverlapState, fluctuation, overlap_state
from twofold.rigor import solve
from twofold.tasks import families, gp, pde
from twofold.tasks.matern import Matern
from twofold.theorems import power, reconstruction, richardson
from twofold.training import finite_set

FAMILIES = ("free linear", "Flexformer", "softmax SPD")


@dataclass(frozen=True)
class Settings:
    """Declared, not the seed's: it prints prompt sizes and 108 rows; 4 x 3 x 9 are ours."""

    seed: int = 0
    gp_prompts: tuple[int, ...] = (16, 64)
    pde_prompts: tuple[int, ...] = (4, 16)
    training: int = 128
    held_out: int = 64
    steps: int = 200
    times: tuple[int, ...] = (0, 1, 3, 10, 30, 60, 100, 150, 200)
    eta: float = 0.01
    gp_depth: int = 8
    pde_depth: int = 4
    ridge: float = 1e-3


@dataclass(frozen=True, eq=False)
class Log:
    """One trajectory: its checkpoints, the systems it is judged on, and what is logged of it."""

    problem: str
    family: str
    times: tuple[int, ...]
    P: Float[np.ndarray, "S K K"]
    H: Float[np.ndarray, "N K K"]
    d: Float[np.ndarray, "N K"]
    x: Float[np.ndarray, "N K"]
    depth: int
    state: OverlapState
    proof: Certificate
    risk: Float[np.ndarray, " S"]
    rebuilt: Float[np.ndarray, " S"]

    @property
    def fluctuation(self) -> Float[np.ndarray, " S"]:
        """The depth-one risk beyond that of the mean system."""
        return fluctuation(self.P, self.H, self.x)

    def bounds(self, s: int) -> list[Certificate]:
        """The rate and the power bound of checkpoint number ``s`` on every task."""
        return [r.certify(self.P[s], self.H, self.d, self.depth) for r in (richardson, power)]


@lru_cache(maxsize=2)
def logs(settings: Settings) -> tuple[Log, ...]:
    """Every problem with every family."""
    drawn = [(f"GP, {m} points", settings.gp_depth, _gp(settings, m)) for m in settings.gp_prompts]
    drawn += [(f"PDE, {m} pairs", settings.pde_depth, _pde(settings, m))
              for m in settings.pde_prompts]  # fmt: skip
    return tuple(
        _logged(settings, problem, family, depth, *sets)
        for problem, depth, sets in drawn
        for family in FAMILIES
    )


Set = tuple[np.ndarray, np.ndarray]


def _gp(settings: Settings, prompt: int) -> tuple[Set, Set]:
    """Systems of GP prompts, to train on and to judge on: four Fourier features of a Matern."""
    basis = Matern(4, 1.5, half=3.0, padding=4.0)
    made = [gp.sample(seed=settings.seed + 500 * i, count=n, prompt=prompt, basis=basis, noise=1.0)
            for i, n in enumerate((settings.training, settings.held_out))]  # fmt: skip
    return (made[0].H, made[0].d), (made[1].H, made[1].d)


def _pde(settings: Settings, pairs: int) -> tuple[Set, Set]:
    """Systems A(z_enc) u = query of PDE prompts, K = 4."""
    family = families.gaussian(seed=settings.seed)
    encoder = WeakForm(family, ridge=settings.ridge)
    made = []
    for i, n in enumerate((settings.training, settings.held_out)):
        prompt = pde.sample(family, seed=settings.seed + 500 * i, count=n, pairs=pairs).prompt
        made.append((family.dense(encoder.estimate(prompt)), prompt["query"]))
    return made[0], made[1]


def _family(name: str, K: int, scale: float) -> Parametrised:
    if name == "free linear":
        return Free(K, scale)
    return Flexformer(K, scale=scale) if name == "Flexformer" else SoftmaxSPD(K, scale=scale)


def _logged(settings: Settings, problem: str, name: str, depth: int, seen: Set, held: Set) -> Log:
    mean = seen[0].mean(axis=0)
    scale = float(preconditioner.frozen(preconditioner.Scalar(), mean).P[0, 0])
    family = _family(name, len(mean), scale)
    states = finite_set.train(
        family, family.start(settings.seed), *seen, solve(*seen)[0], depth=depth, rule="adam",
        eta=settings.eta * scale, steps=settings.steps, times=np.array(settings.times),
    )  # fmt: skip
    P = np.array([family.matrix(state["theta"]) for state in states])
    (risk, _), (rebuilt, _) = reconstruction.risks(P, *held, depth)
    x = solve(*held)[0]
    return Log(
        problem, name, settings.times, P, *held, x, depth, overlap_state(P, held[0], x),
        reconstruction.certify(P, *held, depth), risk, rebuilt,
    )  # fmt: skip
