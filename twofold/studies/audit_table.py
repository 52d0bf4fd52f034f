"""Seed 002's causal audit: everything learned with its features permuted, constant, and oracles."""

from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from scipy.linalg import toeplitz

from twofold.decoder import preconditioner
from twofold.decoder.solving import solve
from twofold.findings import Axis, Figure, Findings, Panel, Series, Study, Table
from twofold.learned import attention, audit
from twofold.learned.flexformer import Flexformer, Kernel
from twofold.learned.softmax_spd import SoftmaxSPD
from twofold.protocol import Tasks
from twofold.tasks import moments, regression
from twofold.training import finite_set

WAYS = ("as learned", "permuted", "constant")


@dataclass(frozen=True)
class Settings:
    """Coordinates that are independent, and coordinates that are correlated by ``correlation``."""

    seed: int = 0
    dim: int = 8
    prompt: int = 256
    correlation: float = 0.3
    training: int = 128
    held_out: int = 256
    depth: int = 4
    eta: float = 0.05
    steps: int = 300

    def sets(self, correlated: bool) -> tuple[Tasks, Tasks]:
        """Tasks to train on and to be judged on."""
        chain = toeplitz(self.correlation ** np.arange(self.dim))
        drawn: Any = {"dim": self.dim, "prompt": self.prompt, "ridge": 1e-3, "condition": 4.0,
                      "spectrum": chain if correlated else "log"}  # fmt: skip
        return (regression.sample(seed=self.seed, count=self.training, **drawn),
                regression.sample(seed=self.seed + 500, count=self.held_out, **drawn))  # fmt: skip


def run(config: Settings) -> Findings:
    """Risks at the same depth of each family, whole and with its features taken away."""
    rows, panels = [], []
    for law in ("independent coordinates", "correlated coordinates"):
        train, held = config.sets(law.startswith("correlated"))
        risks = _learned(config, train, held) | _attention(config, train, held)
        rows += [[law, name, *(found[way] for way in WAYS)] for name, found in risks.items()]
        rows += [[law, name, risk, "", ""] for name, risk in _baselines(config, held).items()]
        panels.append(_panel(law, risks))
    table = Table("audit", "The causal audit", TOLD, HEADS, rows)
    figure = Figure("audit", "What the features cause", SEE, panels)
    return Findings([table], [figure], notes=[NOTE])


def _learned(config: Settings, train: Tasks, held: Tasks) -> dict[str, dict[str, float]]:
    scale, K, out = _scale(train), config.dim, {}
    families = {f"Flexformer, {k}": Flexformer(K, k, scale=scale) for k in get_args(Kernel)}
    for name, family in {**families, "softmax SPD": SoftmaxSPD(K, scale=scale)}.items():
        last = finite_set.train(
            family, family.start(config.seed), train.H, train.d, train.truth, depth=config.depth,
            eta=config.eta * scale, steps=config.steps, rule="adam",
        )[-1]  # fmt: skip
        made = audit.matrices(family, last["theta"], seed=config.seed)
        out[name] = {way: _risk(P, held, config) for way, P in made.items()}
    return out


def _attention(config: Settings, train: Tasks, held: Tasks) -> dict[str, dict[str, float]]:
    begun = attention.start(seed=config.seed, dim=config.dim, depth=config.depth)
    begun = replace(begun, diagonal=_scale(train) * begun.diagonal)
    (last,) = attention.train(begun, train.H, train.d, train.truth, eta=config.eta,
                              steps=config.steps, times=[config.steps])  # fmt: skip
    made = audit.attentions(last, seed=config.seed)
    risks = {w: 2 * attention.loss(m, held.H, held.d, held.truth) for w, m in made.items()}
    return {"attention that sees residuals": risks}


def _scale(tasks: Tasks) -> float:
    """The best multiple of the identity for the mean system: where every family starts."""
    return float(preconditioner.frozen(preconditioner.Scalar(), tasks.H.mean(axis=0)).P[0, 0])


def _baselines(config: Settings, held: Tasks) -> dict[str, float]:
    """Training-free preconditioners on the mean system, and the oracle of the law."""
    known = moments.of(held.facts["law"]).full()
    free = {"scalar": preconditioner.Scalar(), "Jacobi": preconditioner.Jacobi(),
            "inverse of the mean system": preconditioner.Inverse()}  # fmt: skip
    made = {n: preconditioner.frozen(p, known.H).P for n, p in free.items()}
    return {
        n: _risk(P, held, config) for n, P in {**made, "the law's oracle": known.oracle}.items()
    }


def _risk(P: np.ndarray, held: Tasks, config: Settings) -> float:
    x = solve(held.H, held.d, P=P, depth=config.depth)[-1]
    return float(np.mean((x - held.truth) ** 2))


def _panel(law: str, risks: dict[str, dict[str, float]]) -> Panel:
    roles = ("observed", "predicted", "bound")
    x = np.arange(1, len(risks) + 1)
    axis = Axis("family, in the order of the table")
    return Panel(law, axis, Axis("held-out risk", log=True), [
        Series(way, x, [found[way] for found in risks.values()], "points", role)
        for way, role in zip(WAYS, roles, strict=True)
    ])  # fmt: skip


HEADS = ["law", "preconditioner", "held-out risk", "features permuted", "features constant"]
TOLD = (
    "Tokens given to other coordinates, or one token for all; diagonals stay. Where permuting does "
    "not hurt, the features are not what works. What nobody trained stands below each block."
)
SEE = (
    "Where the points of one family lie apart, its features cause the difference. With coupled "
    "coordinates they bring most of it; the inverse of the mean system needs no training at all."
)
NOTE = "a free P has no features; the oracle features are the law's own, as the P that they give"
STUDY = Study("002-audit", "The causal audit of learned features", "training",
              "Features permuted, constant, oracle.", Settings(), run, cost=8)  # fmt: skip
