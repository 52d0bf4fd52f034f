"""Seed 001, figures 3 and 5: the decoder learns its preconditioner on a curve known exactly."""

import numpy as np

from twofold.findings import Axis, Figure, Findings, Panel, Series, Study
from twofold.measures import overlaps
from twofold.studies.decoder_run import Run, Settings, repeated

S = Axis("outer time s", "steps")


def risk_panel(run: Run) -> Panel:
    """Observed one-step risk on held-out tasks, the population curve, its band and its floor."""
    low, high = (run.moments.floor + edge for edge in run.band.edges)
    floor = run.moments.floor + 0 * run.times
    return Panel("direct risk", S, Axis("risk", log=True), [
        Series("observed", run.times, run.risk(1), "points", "observed"),
        Series("population, exact", run.times, run.predicted, role="predicted",
               low=low, high=high),
        Series("oracle floor", run.times, floor, "rule", "reference"),
    ])  # fmt: skip


def depth_panel(run: Run, depth: int) -> Panel:
    """What the same P_s buys at one and at many inner steps."""
    return Panel("one step and many", S, Axis("risk", log=True), [
        Series("direct, 1 step", run.times, run.risk(1), role="observed"),
        Series(f"Richardson, {depth} steps", run.times, run.risk(depth), role="predicted"),
    ])  # fmt: skip


def alignment_panel(run: Run) -> Panel:
    """Distance and angle of P_s to the oracle, observed and predicted."""
    oracle = run.moments.oracle
    band = run.band.distance / np.linalg.norm(oracle)
    return Panel("P_s against the oracle", S, Axis("defect", log=True), [
        Series("relative error", run.times, overlaps.relative_distance(run.P, oracle), "points",
               "observed"),
        Series("with SGD noise, predicted", run.times, band, role="predicted"),
        Series("population, exact", run.times, run.path.error, "rule", "reference"),
        Series("cosine defect", run.times, overlaps.cosine_defect(run.P, oracle), "points",
               "other"),
    ])  # fmt: skip


def detailed(config: Settings) -> Findings:
    """The four panels of figure 3."""
    run = repeated(config)
    contraction = Panel("contraction of I - P_s H, sampled H", S, Axis("2-norm"), [
        Series("mean", run.times, run.contraction.mean(axis=1), role="observed"),
        Series("largest", run.times, run.contraction.max(axis=1), role="bound"),
        Series("one", run.times, 1 + 0 * run.times, "rule", "reference"),
    ])  # fmt: skip
    weights = overlaps.overlap_weights(run.P - run.moments.oracle, run.moments.C)
    third = np.array_split(np.arange(weights.shape[1]), 3)
    roles = ("observed", "other", "predicted")
    overlap = Panel("where the error lies", S, Axis("share of the excess risk"), [
        Series(name, run.times, weights[:, i].sum(axis=1), role=role)
        for name, i, role in zip(("slow", "middle", "fast"), third, roles, strict=True)
    ])  # fmt: skip
    panels = [depth_panel(run, config.depth), contraction, alignment_panel(run), overlap]
    return Findings(figures=[Figure("detail", "Decoder-only diagnostics", SEE, panels)])


def training(config: Settings) -> Findings:
    """Figure 5: the observed curve on the predicted one."""
    run = repeated(config)
    ratio = Panel("observed over predicted", S, Axis("ratio"), [
        Series("held-out tasks", run.times, run.risk(1) / run.predicted, "points", "observed"),
        Series("one", run.times, 1 + 0 * run.times, "rule", "reference"),
    ])  # fmt: skip
    return Findings(
        figures=[Figure("curve", "Decoder-only training", SEEN, [risk_panel(run), ratio])],
        checkpoints={"times": run.times, "P": run.P},
    )


SEE = (
    "One multiplication stays at its floor while eight steps with the same matrix gain three "
    "decades; the largest contraction may exceed one where few tasks lie."
)
SEEN = "The observed risk on fresh tasks follows the closed form; the ratio is evaluation noise."
FIGURE_3 = Study("001-figure-3", "Decoder only: alignment, contraction, overlap", "decoder error",
                 "001 §12.3.", Settings(), detailed, cost=3)  # fmt: skip
FIGURE_5 = Study("001-figure-5", "Online decoder training", "decoder error", "001 §12.5.",
                 Settings(), training, cost=3)  # fmt: skip
