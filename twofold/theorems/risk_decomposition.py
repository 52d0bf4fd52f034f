r"""The risk decomposition: end to end = encoder floor + decoder error + cross term, exactly.

Statement: for any answer, best, truth and any symmetric S,
||answer - truth||_S^2 = ||best - truth||_S^2 + ||answer - best||_S^2
+ 2 <answer - best, best - truth>_S. No hypothesis; the cross term is not small in general.
Proof: the sum of the two differences is the first one; expand. The rounding is proved by a running
analysis: every quadratic form errs by at most gamma_k |v|'|S||w| with k = 2K + 3 (K + 3 without a
metric), differences and scale included, and underflow adds a few units of 2^-1074 per product.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from twofold.anatomy import Anatomy
from twofold.certificate import Certificate, fingerprint, identity
from twofold.measures.squared_error import inner
from twofold.rigor.roundoff import ETA, THETA, U, gamma, up

STATEMENT = (
    r"\mathcal R_{\mathrm{e2e}} = \mathcal R_{\mathrm{floor}} + \mathcal R_{\mathrm{dec}}"
    r" + 2\,\langle x^\dagger - x_\star,\ \hat x_L - x^\dagger \rangle_\Sigma"
)
REFERENCE = "higham2002accuracy"


def gap(anatomy: Anatomy) -> Float[np.ndarray, " N"]:
    """The total - (floor + decoder + cross), as computed."""
    return _sums(anatomy)[-1]


def part_errors(anatomy: Anatomy) -> dict[str, Float[np.ndarray, " N"]]:
    """What rounding may have cost each part, at most."""
    solving, encoding = anatomy.answer - anatomy.best, anatomy.best - anatomy.truth
    error = anatomy.answer - anatomy.truth
    return {
        "total": form_error(error, error, anatomy.metric, anatomy.scale),
        "floor": form_error(encoding, encoding, anatomy.metric, anatomy.scale),
        "decoder": form_error(solving, solving, anatomy.metric, anatomy.scale),
        "cross": 2.0 * form_error(solving, encoding, anatomy.metric, anatomy.scale),
    }


def form_error(
    v: Float[np.ndarray, "N K"],
    w: Float[np.ndarray, "N K"],
    metric: Float[np.ndarray, "K K"] | None,
    scale: float,
) -> Float[np.ndarray, " N"]:
    """Proved error of scale * <v, w>_S, where v and w are rounded differences themselves."""
    K = v.shape[1]
    k = K + 3 if metric is None else 2 * K + 3
    S = None if metric is None else np.abs(metric)
    magnitude = up(scale * inner(np.abs(v), np.abs(w), S), k)
    underflow = 2 * K * ETA * max(scale, 1.0) * (np.sum(np.abs(v), axis=1) + 1.0) + THETA
    return up(gamma(k) * magnitude + 2.0 * underflow, K + 8)


def rounding(anatomy: Anatomy) -> Float[np.ndarray, " N"]:
    """Proved bound on |gap|: the four parts' errors and the three additions."""
    parts = np.sum([*part_errors(anatomy).values()], axis=0)
    return up(parts + U * np.sum(np.abs(_sums(anatomy)), axis=0), 12)


def certify(anatomy: Anatomy) -> Certificate:
    """The identity on every row that could be split."""
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        return identity(
            "risk decomposition",
            gap=gap(anatomy),
            rounding=rounding(anatomy),
            statement=STATEMENT,
            about="computed",
            applies=anatomy.applies,
            reason=anatomy.reason,
            reference=REFERENCE,
            source=source(anatomy),
        )


def source(anatomy: Anatomy) -> str:
    """The hash of what the parts were computed from."""
    S = np.zeros(0) if anatomy.metric is None else anatomy.metric
    return fingerprint(anatomy.answer, anatomy.best, anatomy.truth, S, np.float64(anatomy.scale))


def _sums(anatomy: Anatomy) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sum floor + decoder, + cross, and total minus that: the three rounded additions."""
    two = anatomy.parts["floor"] + anatomy.parts["decoder"]
    three = two + anatomy.parts["cross"]
    return two, three, anatomy.parts["total"] - three
