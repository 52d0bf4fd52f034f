"""The cells of the scaling sweep: one problem and prompt size, its systems, and every P."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

import numpy as np
from jaxtyping import Float

from twofold import decoder
from twofold.decoder import preconditioner
from twofold.encoder.dense import DenseSystem
from twofold.encoder.weak_form import WeakForm
from twofold.measures import squared_error
from twofold.protocol import Tasks
from twofold.studies import gp_run
from twofold.tasks import families, gp, pde

LEARNED = ("free_linear", "Flexformer, stationary")


@dataclass(frozen=True)
class Settings:
    """Declared: the seed prints K and the prompt sizes, neither its methods nor its depths."""

    seed: int = 0
    latent: int = 4
    wider: tuple[int, ...] = ()
    gp_prompts: tuple[int, ...] = (16, 64)
    pde_pairs: tuple[int, ...] = (4, 16)
    depths: tuple[int, ...] = (2, 4, 8)
    trained_at: int = 4
    dim: int = 16
    ridge: float = 1e-3
    train: int = 512
    held_out: int = 256
    proved: int = 32
    steps: int = 200


@dataclass(frozen=True, eq=False)
class Cell:
    """Held-out systems of one problem and prompt size, and every P from its training tasks."""

    problem: str
    K: int
    prompt: int
    system: DenseSystem
    truth: Float[np.ndarray, "N K"]
    P: Mapping[str, Float[np.ndarray, "K K"]]

    def parts(self, name: str, depth: int) -> dict[str, Float[np.ndarray, " l"]]:
        """Mean total, floor, decoder and cross term after 0, ..., ``depth`` Richardson steps."""
        path = decoder.solve(self.system, P=self.P[name], depth=depth)
        best, scale = self.system.exact(), 1 / self.truth.shape[1]
        split = [squared_error.split(x, best, self.truth, None, scale) for x in path]
        return {part: np.array([np.mean(s[part]) for s in split]) for part in squared_error.PARTS}


def cells(settings: Settings) -> Iterator[Cell]:
    """For each K: GP at every prompt size, then PDE at every number of pairs."""
    for K in (settings.latent, *settings.wider):
        at = replace(settings, latent=K, wider=())
        yield from (_gp(at, prompt) for prompt in settings.gp_prompts)
        yield from (_pde(at, pairs) for pairs in settings.pde_pairs)


@lru_cache(maxsize=8)
def _gp(settings: Settings, prompt: int) -> Cell:
    base = gp_run.Settings(rank=settings.latent)
    drawn = {"prompt": prompt, "basis": base.basis, "noise": base.noise}
    train = gp.sample(seed=settings.seed, count=settings.train, **drawn)
    tasks = gp.sample(seed=settings.seed + 1000, count=settings.held_out, **drawn)
    system = DenseSystem(tasks.H, tasks.d)
    return Cell(
        "GP", settings.latent, prompt, system, tasks.truth, _preconditioners(settings, train)
    )


@lru_cache(maxsize=8)
def _pde(settings: Settings, pairs: int) -> Cell:
    family = families.gaussian(seed=settings.seed, dim=settings.dim, latent=settings.latent)
    encoder = WeakForm(family, ridge=settings.ridge)
    seeds = {"train": 2 * settings.seed, "held_out": 2 * settings.seed + 1}
    train, tasks = (
        pde.sample(family, seed=seed, count=getattr(settings, name), pairs=pairs)
        for name, seed in seeds.items()
    )
    seen = encoder(train.prompt)
    posed = Tasks({"H": cast(Any, seen).H, "d": train.query}, train.truth)
    system = cast(DenseSystem, encoder(tasks.prompt))
    return Cell(
        "PDE", settings.latent, pairs, system, tasks.truth, _preconditioners(settings, posed)
    )


def _preconditioners(settings: Settings, train: Tasks) -> dict[str, Float[np.ndarray, "K K"]]:
    """Training-free ones frozen on the mean system and scaled on it; two learned at one depth."""
    mean = train.H.mean(axis=0)
    P = {
        name: preconditioner.scaled(preconditioner.frozen(p, mean).P, mean)
        for name, p in gp_run.FREE_OF_TRAINING.items()
    }
    how = replace(
        gp_run.Settings(), seed=settings.seed, rank=len(mean), depth=settings.trained_at,
        steps=settings.steps,
    )  # fmt: skip
    begun, times = gp_run.families(how, P), np.array([settings.steps // 2, settings.steps])
    return P | {n: gp_run.fitted(*begun[n], train, how, times)[0] for n in LEARNED}
