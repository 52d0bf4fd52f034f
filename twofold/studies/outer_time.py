"""Seed 001, figures 1 and 2: what outer training does, for one half and for both."""

from dataclasses import dataclass

from twofold.claims import Measured, over_seeds
from twofold.findings import Axis, Figure, Findings, Panel, Series, Study
from twofold.measures import overlaps
from twofold.studies import decoder_only, decoder_run, lowrank_panels, lowrank_run

S = Axis("outer time s", "steps")


@dataclass(frozen=True)
class Settings:
    """Both runs, each with its own settings."""

    seed: int = 0
    repetitions: int = 5
    steps: int = 800
    joint_steps: int = 420

    @property
    def decoder(self) -> decoder_run.Settings:
        """The decoder-only run."""
        return decoder_run.Settings(seed=self.seed, steps=self.steps)

    @property
    def joint(self) -> lowrank_run.Settings:
        """The low-rank run of encoder and decoder."""
        return lowrank_run.Settings(seed=self.seed, steps=self.joint_steps)


def central(config: Settings) -> Findings:
    """Figure 1: P_s learns the preconditioner; the joint decoder tracks a moving one."""
    run, joint = decoder_run.repeated(config.decoder), lowrank_run.trained(config.joint)
    runs = [decoder_run.repeated(config.decoder, i) for i in range(config.repetitions)]
    last = [(r.P[-1], r.moments.oracle) for r in runs]
    measured = {
        "001-S12.1-relerr-threshold": Measured(max(
            float(overlaps.relative_distance(*pair)) for pair in last)),
        "001-S12.1-cosine-defect": over_seeds(
            float(overlaps.cosine_defect(*pair)) for pair in last),
    }  # fmt: skip
    panels = [
        decoder_only.alignment_panel(run), decoder_only.depth_panel(run, config.decoder.depth),
        lowrank_panels.tracking(joint), lowrank_panels.risk(joint),
    ]  # fmt: skip
    return Findings(figures=[Figure("central", "Outer pretraining", SEE, panels)],
                    measured=measured, notes=[lowrank_panels.NOTE])  # fmt: skip


def overlap(config: Settings) -> Findings:
    """Figure 2: observed risk on predicted risk, and observed risk on the identity."""
    run, joint = decoder_run.repeated(config.decoder), lowrank_run.trained(config.joint)
    exact = [lowrank_run.identity_risk(joint, i) for i in range(len(joint.times))]
    identity = Panel("encoder and decoder", S, Axis("prediction risk", log=True, low=1e-9), [
        Series("observed", joint.times, joint.part("total"), "points", "observed"),
        Series("by the identity", joint.times, exact, role="predicted"),
        Series("encoder floor", joint.times, joint.part("floor"), "rule", "reference"),
        Series("decoder error", joint.times, joint.part("decoder"), role="other"),
    ])  # fmt: skip
    panels = [decoder_only.risk_panel(run), identity]
    return Findings(figures=[Figure("overlap", "Observed and predicted risk", SEEN, panels)],
                    notes=[lowrank_panels.NOTE])  # fmt: skip


SEE = (
    "Above: P_s reaches the oracle to the noise of its batches, and depth turns that into decades "
    "of risk. Below: the oracle moves with the encoder; what is left in the end is the floor."
)
SEEN = "Left: points in the SGD band of the closed form. Right: an equality, not a fit."
FIGURE_1 = Study("001-figure-1", "Outer training as learned preconditioning", "decoder error",
                 "001 §12.1, the central diagnostic.", Settings(), central, cost=6)  # fmt: skip
FIGURE_2 = Study("001-figure-2", "Observed and exact predicted risk", "decoder error",
                 "001 §12.2.", Settings(), overlap, cost=1)  # fmt: skip
