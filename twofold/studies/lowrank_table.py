"""Seed 000, table 3 and figure 3: the identity, the certified decoder, and the angle."""

import numpy as np

from twofold.claims import Measured, beside
from twofold.encoder.subspace import expected_covariance
from twofold.findings import Axis, Figure, Findings, Panel, Series, Study, Table
from twofold.measures import overlaps
from twofold.studies import evidence
from twofold.studies import lowrank_panels as panels
from twofold.studies.lowrank_run import (
    Settings,
    identity_gap,
    identity_risk,
    proofs,
    proved_from,
    trained,
)
from twofold.tasks import laws
from twofold.theorems import davis_kahan


def table(config: Settings) -> Findings:
    """Table 3, the certificates behind it, and the floor of the subspace."""
    run = trained(config)
    proved = proofs(run)
    last = run.anatomies[-1].mean
    sigma = laws.matrix(laws.target_covariance(config.law))
    forms = davis_kahan.certify(sigma, run.states[-1]["S"][None], config.rank)
    seed_form = davis_kahan.seed_bound(
        np.linalg.norm(run.states[-1]["S"] - sigma, 2), min(config.prior)
    )
    values = {
        "heldout-prediction-risk": last["total"],
        "exact-identity-risk": identity_risk(run, -1),
        "identity-gap": identity_gap(run),
        "decoder-actual-risk": last["decoder"],
        "decoder-certified-risk": float(proved["decoder"].bound[0]),
        "true-subspace-sin2": float(run.sin2[-1]),
        "davis-kahan-bound": float(seed_form) ** 2,
    }
    floor = expected_covariance(run.tasks.H, prior=sigma, ridge=config.ridge, noise=config.noise,
                                prompt=config.prompt)  # fmt: skip
    top = np.linalg.eigh(floor)[1][:, -config.rank :]
    measured = {f"000-T3-{name}": Measured(value) for name, value in values.items()}
    rows = [row[:3] for row in beside(measured)]
    rows += [
        ["encoder floor risk", "", last["floor"]],
        ["cross term", "", last["cross"]],
        ["decoder certified risk, power bound", "", float(proved["decoder, power"].bound[0])],
        ["sin² that no number of tasks removes", "", float(overlaps.sin2_norm(top, run.U_star))],
    ]
    rows += [[f"sin², {c.name}", "", float(c.bound[0]) ** 2] for c in forms if c.applies[0]]
    given = proved_from(run) | evidence.of(
        forms, sigma=sigma, estimate=run.states[-1]["S"][None], rank=config.rank
    )
    return Findings(
        [Table("last", "Last checkpoint", TOLD, ["quantity", "seed", "ours"], rows)],
        certificates=[*proved.values(), *forms], evidence=given, notes=[panels.NOTE],
        measured=measured,
    )  # fmt: skip


def figure(config: Settings) -> Findings:
    """Figure 3: the identity and the angle along the run."""
    run = trained(config)
    y = Axis("prediction risk", log=True)
    risk = Panel("risk by iterating and by the identity", panels.S, y, [
        Series("observed", run.times, run.part("total"), "points", "observed"),
        Series("by the identity", run.times,
               [identity_risk(run, i) for i in range(len(run.times))], role="predicted"),
    ])  # fmt: skip
    both = [risk, panels.tracking(run)]
    return Findings(figures=[Figure("identity", "Identity and subspace", SEE, both)],
                    notes=[panels.NOTE])  # fmt: skip


TOLD = (
    "The decoder's error is far below the encoder's floor, the cross term above it: the sum is "
    "exact, the approximation floor + decoder is not."
)
SEE = "The identity is an equality: the points lie on the line at every checkpoint, to rounding."
TABLE = Study("000-table-3", "Low-rank encoder and decoder: the last checkpoint", "cross term",
              "000 §5.2, table 3.", Settings(), table, cost=4)  # fmt: skip
FIGURE = Study("000-figure-3", "Low-rank encoder and decoder: identity and subspace",
               "cross term", "000 §5.2, figure 3.", Settings(), figure, cost=1)  # fmt: skip
