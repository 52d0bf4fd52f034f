"""Seed 004, from data: every estimator beside the exact value it is meant for."""

import math
from dataclasses import dataclass

import numpy as np

from twofold.findings import Axis, Figure, Findings, Panel, Series, Study, Table
from twofold.information import decompose, exact, ksg, ross
from twofold.theorems import paired, self_bounding, table_loss

ROWS = ("I(X;Y|U), at least", "encoder gap R_U - R_X, cross-fitted", "I(X;Y|U), at most")


@dataclass(frozen=True)
class Settings:
    """A law whose encoder loses something, sample sizes, repetitions of the certified bounds."""

    seed: int = 0
    sparsity: int = 3
    discriminations: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    sizes: tuple[int, ...] = (300, 1000, 3000, 10000)
    repetitions: int = 200
    rows: int = 300
    neighbours: int = 2000
    delta: float = 0.05


def run(config: Settings) -> Findings:
    """Intervals against n, calibration over laws, coverage, and the nearest-neighbour estimates."""
    law = exact.SparseSoftmax(8, 4, config.sparsity, config.discriminations[-1], config.seed)
    known = exact.channel(law.p_x, law.p_y_given_x, law.biased)
    found = [_decomposed(law, n, config) for n in config.sizes]
    series = [Series(name.replace("|", " given "), config.sizes, [f[name].value for f in found],
                     role=role) for name, role in zip(ROWS, ("bound", "observed", "other"),
                                                      strict=True)]  # fmt: skip
    series.append(Series("exact", config.sizes, [known.loss] * len(found), "rule", "reference"))
    panel = Panel("", Axis("rows n", log=True), Axis("information lost", "nats"), series)
    figure = Figure("sizes", "What data say of the loss", SEE, [panel])
    return Findings([_laws(config), _neighbours(config)], [figure, _calibration(config)],
                    _covered(config, law, known), notes=[NOTE])  # fmt: skip


def _drawn(law: exact.SparseSoftmax, shape: tuple[int, ...], seed: int):
    """States and labels."""
    free = exact.channel(law.p_x, law.p_y_given_x, np.arange(len(law.p_x)))
    x, _, y = exact.sample(free, seed, math.prod(shape))
    return x.reshape(shape), y.reshape(shape)


def _decomposed(law: exact.SparseSoftmax, n: int, config: Settings):
    x, y = _drawn(law, (n,), config.seed)
    return decompose(law.biased[x], None, law.states[x], y, reference=law.p_y_given_x[x],
                     method="table", delta=config.delta)  # fmt: skip


def _covered(config: Settings, law: exact.SparseSoftmax, known: exact.Channel):
    """The two lower bounds over repetitions, against the truth."""
    x, y = _drawn(law, (config.repetitions, config.rows), config.seed + 1)
    u = exact.coordinates(law.states, range(1, 4))[x]
    few = exact.channel(law.p_x, law.p_y_given_x, exact.coordinates(law.states, range(1, 4)))
    loss, clip = paired.mixed(law.p_y_given_x[x, y].ravel(), 4)
    return [
        table_loss.certify(u, y, classes=4, delta=config.delta, losses=loss.reshape(x.shape),
                           clip=clip, truth=few.loss),
        self_bounding.certify(u, y, cells=8, classes=4, delta=config.delta,
                              truth=few.conditional_entropy + few.loss),
        *paired.certify(loss.reshape(x.shape), 0 * loss.reshape(x.shape), clip=clip,
                        delta=config.delta, difference=_mixed_risk(law)),
    ]  # fmt: skip


def _mixed_risk(law: exact.SparseSoftmax) -> float:
    """The exact risk of the true conditional, mixed as the losses were."""
    S, K = law.p_y_given_x.shape
    flat, _ = paired.mixed(law.p_y_given_x.ravel(), K)
    return float(np.sum(law.p_x[:, None] * law.p_y_given_x * flat.reshape(S, K)))


def _laws(config: Settings) -> Table:
    rows = []
    for b in config.discriminations:
        law = exact.SparseSoftmax(8, 4, config.sparsity, b, config.seed)
        known = exact.channel(law.p_x, law.p_y_given_x, law.biased)
        f = _decomposed(law, config.sizes[-1], config)
        rows.append([b, known.loss, *(f[name].value for name in ROWS)])
    return Table("laws", f"The loss from {config.sizes[-1]} rows, nats", LAWS,
                 ["discrimination", "exact", "at least", "gap", "at most"], rows)  # fmt: skip


def _calibration(config: Settings) -> Figure:
    rows = _laws(config).rows
    truth = [r[1] for r in rows]
    panel = Panel("", Axis("exact I(X;Y|U)", "nats"), Axis("from data", "nats"), [
        Series("at least", truth, [r[2] for r in rows], "points", "bound"),
        Series("cross-fitted gap", truth, [r[3] for r in rows], "points", "observed"),
        Series("exact", truth, truth, "rule", "reference"),
    ])  # fmt: skip
    return Figure("calibration", "Estimators against the exact loss", CALIBRATED, [panel])


def _neighbours(config: Settings) -> Table:
    """KSG on Gaussian pairs and Ross on two classes, whose informations are known."""
    rng, rows, n = np.random.default_rng(config.seed), [], config.neighbours
    for d in (1, 2, 3, 5):
        x, e = rng.standard_normal((2, n, d))
        true = d * exact.linear_gaussian([1.0], [[1.0]], 1.0, [1.0]).mutual_information
        rows.append([f"KSG, d = {d}", true, ksg(x, x + e)])
    labels = rng.integers(0, 2, n)
    x = 2.0 * labels - 1 + rng.standard_normal(n)
    rows.append(["Ross, two classes", exact.two_class_gaussian([1.0], [1.0]).mutual_information,
                 ross(x, labels)])  # fmt: skip
    return Table("neighbours", "Nearest neighbours, nats", NEAR, ["estimator", "exact", "estimate"],
                 rows)  # fmt: skip


SEE = (
    "The lower bound is certified for any law and closes in on the exact loss; the gap is an "
    "estimate; from above only the risk itself, minus what is certain of the noise, is known."
)
LAWS = (
    "The reference is the true conditional, so that the gap has no bias of its own but the table's."
)
CALIBRATED = "Certified points lie below the diagonal; the gap scatters around it, or above it."
NEAR = "Diagnostics: no interval, and biased low where there are many dimensions."
NOTE = "no distribution-free lower bound on a continuous code's loss exists, so none is printed"
STUDY = Study("004-estimators", "What data can say of an encoder's loss", "information",
              "Every estimator beside the exact value, certified and asymptotic.", Settings(), run,
              cost=6, full={"repetitions": 10000})  # fmt: skip
