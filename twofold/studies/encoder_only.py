"""Seed 000, table 1 and figure 1: an encoder learns its dictionary along a curve known exactly."""

import numpy as np

from twofold.claims import Measured, beside, over_seeds
from twofold.findings import Axis, Figure, Findings, Panel, Series, Study, Table
from twofold.measures import overlaps
from twofold.studies import evidence
from twofold.studies.encoder_run import Settings, repeated
from twofold.theorems import encoder_rate

S = Axis("outer time s", "steps")
NAMES = ("heldout-risk", "exact-population-risk", "observed-over-predicted", "relative-G-error",
         "subspace-sin2", "noise-floor")  # fmt: skip


def table(config: Settings) -> Findings:
    """The last checkpoint over independent runs."""
    rows, runs = [], [repeated(config, i) for i in range(config.repetitions)]
    for run in runs:
        held_out, exact = float(np.mean(run.held_out)), float(run.predicted[-1])
        frames = (np.linalg.qr(G)[0] for G in (run.G[-1], run.law.G_star))
        rows.append((held_out, exact, held_out / exact,
                     float(overlaps.relative_distance(run.G[-1], run.law.G_star)),
                     float(overlaps.sin2_norm(*frames)), run.law.noise**2))  # fmt: skip
    columns = dict(zip(NAMES, zip(*rows, strict=True), strict=True))
    measured = {f"000-T1-{name}": over_seeds(values) for name, values in columns.items()}
    measured["000-S3.3-step-800"] = Measured(float(config.steps))
    head = ["quantity", "seed", "ours, mean of the runs", "standard error of a run's distance"]
    return Findings([Table("last", "Last checkpoint", TOLD, head, beside(measured))],
                    measured=measured, notes=[CONFIGURATION])  # fmt: skip


def figure(config: Settings) -> Findings:
    """The curve, with the geometric bound that is proved of it."""
    run = repeated(config)
    proof = encoder_rate.certify(run.path)
    floor, later = run.law.noise**2, slice(1, None)
    risk = Panel("risk", S, Axis("risk", log=True), [
        Series("observed", run.times, run.risk, "points", "observed"),
        Series("population, exact", run.times, run.predicted, role="predicted"),
        Series("noise floor", run.times, floor + 0 * run.times, "rule", "reference"),
    ])  # fmt: skip
    excess = Panel("excess over the floor", S, Axis("excess risk", log=True, low=1e-12), [
        Series("observed", run.times[later], run.risk[later] - floor, "points", "observed"),
        Series("population, exact", run.times, run.path.excess, role="predicted"),
        Series("with SGD noise, exact mean", run.times, run.band.excess, role="other"),
        Series("geometric bound", run.times, proof.bound, "rule", "bound"),
    ])  # fmt: skip
    return Findings(figures=[Figure("curve", "Encoder only", SEE, [risk, excess])],
                    certificates=[proof], evidence=evidence.of_path([proof], run.path),
                    notes=[CONFIGURATION])  # fmt: skip


TOLD = "Means over independent runs; the excess over sigma² is SGD noise in G, not bias."
SEE = (
    "The risk falls on the exact curve to the noise floor. Right: below the floor's own size the "
    "batch's noise takes over, and its exact mean says where."
)
CONFIGURATION = "K=32, r=16, sigma=.02, batch 4096, eta=.12: near the seed's, fitted to its numbers"
TABLE = Study("000-table-1", "Encoder only: the last checkpoint", "encoder floor",
              "000 §3.3, table 1.", Settings(), table, cost=1)  # fmt: skip
FIGURE = Study("000-figure-1", "Encoder only: optimization and population risk", "encoder floor",
               "000 §3.2, figure 1.", Settings(), figure, cost=1)  # fmt: skip
