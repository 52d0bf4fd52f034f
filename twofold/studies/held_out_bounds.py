"""Seed 000, section 2 and the EB uppers of tables 2, 4 and 5: how much of them is the clip."""

from dataclasses import dataclass

import numpy as np

from twofold import claims
from twofold.claims import Measured
from twofold.findings import Axis, Figure, Findings, Panel, Series, Study, Table
from twofold.theorems import bernstein, betting

CASES = (
    ("000-T2-eb-upper", "000-T2-heldout-depth-risk", 512),
    ("000-T4-eb-upper", "000-T4-heldout-prediction-risk", 512),
    ("000-T5-eb-upper", "000-T5-best-mse", 1024),
)


@dataclass(frozen=True)
class Settings:
    """A clip and an error probability that explain the seed's three uppers (fitted to them)."""

    seed: int = 0
    clip: float = 10.0
    delta: float = 0.05
    repetitions: int = 400
    sizes: tuple[int, ...] = (64, 128, 256, 512, 1024, 2048, 4096)


def run(config: Settings) -> Findings:
    """Uppers from the printed risks, and both bounds on exponential losses of the same mean."""
    given = {"clip": config.clip, "delta": config.delta}
    rows, measured = [], {}
    for upper, risk, n in CASES:
        mean = claims.value(risk)
        ours = bernstein.bound(mean, 0.0, n, **given)
        floor = betting.floor(n, **given)
        rows.append([upper[4:6], n, mean, claims.value(upper), ours, ours - mean, floor])
        measured[upper] = Measured(ours, note="printed risk plus range term; no variance printed")
    columns = ["table", "n", "printed risk", "printed upper", "risk + range term", "range term",
               "floor of any valid bound"]  # fmt: skip
    table = Table("uppers", "The seed's uppers are its clip", CAPTION, columns, rows)
    mean = claims.value(CASES[0][1])
    losses = np.random.default_rng(config.seed).exponential(
        mean, (config.repetitions, max(config.sizes))
    )
    risk = mean * -np.expm1(-config.clip / mean)
    proofs = [rule.certify(losses[:, :512], risk=risk, **given) for rule in (bernstein, betting)]
    curves = {rule: [rule.upper(losses[0, :n], **given) for n in config.sizes]
              for rule in (bernstein, betting)}  # fmt: skip
    series = [
        Series("empirical Bernstein", config.sizes, curves[bernstein], role="bound"),
        Series("betting", config.sizes, curves[betting], role="predicted"),
        Series("floor of any valid bound", config.sizes,
               [betting.floor(n, **given) for n in config.sizes], "rule", "reference"),
        Series("true risk", config.sizes, [risk] * len(config.sizes), "rule", "observed"),
    ]  # fmt: skip
    axes = Axis("held-out tasks n", log=True), Axis("upper bound on the clipped risk", log=True)
    figure = Figure("bounds", "What n held-out tasks prove", SEE, [Panel("", *axes, series)])
    notes = [f"exponential losses with the mean of table 2; clip {config.clip}, "
             f"delta {config.delta} for each bound alone"]  # fmt: skip
    return Findings([table], [figure], proofs, measured, notes=notes)


CAPTION = (
    "Delta .05, clip 10 and n = 512, 512, 1024 reproduce the printed uppers from the printed risks "
    "alone: the range term 7c ln(2/delta)/(3(n-1)) is 95 to 100 % of each."
)
SEE = "Betting is about three times closer than empirical Bernstein, and near what any method can."
STUDY = Study(
    "000-bernstein", "Held-out certificates", "generalisation",
    "What a held-out sample proves of the clipped risk, by the seed's bound and by a sharper one.",
    Settings(), run, cost=2, full={"repetitions": 2000},
)  # fmt: skip
