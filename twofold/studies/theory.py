"""Seed 001, sections 3 to 6, 9 and 10: the theorems that no figure shows, on the runs of record."""

from dataclasses import asdict
from typing import Any

import numpy as np

from twofold.findings import Axis, Figure, Findings, Panel, Series, Study, Table
from twofold.measures import difficulty
from twofold.studies import decoder_run, evidence, lowrank_run
from twofold.studies.outer_time import Settings
from twofold.tasks import laws, regression
from twofold.theorems import (
    covariance_rate,
    excess_risk,
    factor_two,
    moment_ratio,
    resolvent,
    ridge_bias,
    subspace_floor,
    trace_risk,
)
from twofold.training import trajectory

ROWS, LONG_PROMPT, RIDGE_Z, DELTA = 256, 8192, 1e-3, 0.05


def run(config: Settings) -> Findings:
    """Certificates of both runs, how hard they are, and the two kinds of outer time."""
    alone, joint = decoder_run.repeated(config.decoder), lowrank_run.trained(config.joint)
    known, H = alone.moments, alone.tasks.H[:ROWS]
    law = config.joint.law
    sigma, sigma_z = laws.matrix(law.sigma), laws.matrix(laws.latent_covariance(law))
    sigma_beta = laws.matrix(laws.target_covariance(law))
    long = regression.sample(seed=config.seed, dim=16, prompt=LONG_PROMPT, count=ROWS)
    losses = alone.errors[-1, :, 1] ** 2 / H.shape[1]
    systems, betas = joint.system(-1), joint.tasks.truth
    proofs, given = [], {}

    def prove(made: Any, **inputs: Any) -> None:
        made = made if isinstance(made, list) else [made]
        proofs.extend(made)
        given.update(evidence.of(made, **inputs) if inputs else {})

    P, depth, last = alone.P[-1], config.decoder.depth, joint.anatomies[-1]
    four = {"P": alone.P, "P_star": known.oracle, "C": known.C, "B": known.B}
    prove(
        excess_risk.certify(**four),
        **dict(zip(four, np.broadcast_arrays(*four.values()), strict=True)),
    )
    prove(trace_risk.certify(P, H, depth), P=P, H=H, depth=depth, prior=np.eye(1))
    proofs.append(factor_two.certify(last))
    given |= evidence.of_anatomy(proofs[-1:], last)
    prove(subspace_floor.certify(joint.U, joint.U_star, sigma, sigma_z),
          U=joint.U, U_star=joint.U_star, sigma_x=sigma, sigma_z=sigma_z)  # fmt: skip
    prove(ridge_bias.certify(systems.H, joint.tasks.latent, RIDGE_Z),
          H=systems.H, z=joint.tasks.latent, ridge=RIDGE_Z)  # fmt: skip
    prove(
        covariance_rate.certify(
            (betas.T @ betas / len(betas))[None], sigma_beta, count=len(betas), delta=DELTA
        )
    )
    H_inf = laws.matrix(long.facts["law"].sigma)
    prove(resolvent.certify(long.H, H_inf), H_M=long.H, H_inf=H_inf)
    prove(moment_ratio.certify(losses, kappa=moment_ratio.over_systems(losses), delta=DELTA))
    parts = {
        "tasks": difficulty.task_diversity(sigma_z, len(betas)),
        "operator": difficulty.operator_difficulty(
            H, prompt=config.decoder.prompt, ridge=config.decoder.ridge, noise=0.0),
        "decoder": difficulty.decoder_difficulty(alone.P[-1], H, config.decoder.depth),
        "encoder": difficulty.encoder_difficulty(
            sigma_beta, joint.states[-1]["S"], joint.U[-1], joint.U_star),
    }  # fmt: skip
    rows = [[part, name.replace("_", " "), value] for part, record in parts.items()
            for name, value in asdict(record).items()
            if isinstance(value, (int, float))]  # fmt: skip
    table = Table("difficulty", "How hard the runs are", TOLD, ["part", "quantity", "ours"], rows)
    return Findings([table], [_flow(config, known)], proofs, evidence=given)


def _flow(config: Settings, known) -> Figure:
    s, eta = np.unique(np.geomspace(1, config.steps, 60).round()), config.decoder.eta
    P0 = np.zeros_like(known.C)
    steps = trajectory.decoder(P0, known.C, known.B, eta=eta, steps=s)
    flow = trajectory.flow(P0, known.C, known.B, eta=eta, times=s)
    panel = Panel("", Axis("outer time s", "steps", log=True), Axis("excess risk", log=True), [
        Series("steps of eta", s, steps.excess, role="predicted",
               low=steps.excess - steps.error_bar, high=steps.excess + steps.error_bar),
        Series("gradient flow", s, flow.excess, role="observed"),
    ])  # fmt: skip
    return Figure("flow", "Discrete steps and gradient flow", SEE, [panel])


TOLD = "The quantities of 001 §10 for the decoder-only run and the low-rank run."
SEE = "Both in closed form, each with a proved error bar, here far thinner than its line."
STUDY = Study("001-theory", "The theorems that no figure shows", "spectra",
              "001 §§3 to 6, 9, 10, each as a certificate.", Settings(), run, cost=3)  # fmt: skip
