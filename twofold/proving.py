"""From an anatomy to what is proved about it: one certificate per theorem that speaks of it.

Deterministic ones cost nothing; ``delta`` is for the whole list and is split evenly over the
confidence certificates, each of which says so. What cannot be said is in the list too, silent, with
the reason.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from twofold.anatomy import Anatomy
from twofold.certificate import Certificate
from twofold.theorems import bernstein, betting, factor_two, heldout, risk_decomposition, tail
from twofold.theorems.risk_decomposition import part_errors

CLIP = 10.0


def certify(anatomy: Anatomy, delta: float = 0.05, *, clip: float = CLIP) -> list[Certificate]:
    """Every certificate on this anatomy: the sum, the decoder's error, the risk held out.

    ``clip`` is the ceiling of the losses whose mean is bounded, in their unit. It must be fixed
    before they are seen, so it is not taken from them: 10 as in the seeds unless you say otherwise.
    """
    return [
        risk_decomposition.certify(anatomy),
        factor_two.certify(anatomy),
        *held_out(anatomy, delta, clip),
    ]


def held_out(anatomy: Anatomy, delta: float, clip: float) -> list[Certificate]:
    """Upper bounds on the clipped risk and on what the clip hides, for tasks drawn alike."""
    share, clip = heldout.share(delta, 3), heldout.ceiling(clip)
    losses, unanswered = judged(anatomy, clip)
    premise = (
        f"the {len(losses)} tasks are independent draws that the model was not fitted to; losses "
        f"clipped at {clip:g}, fixed beforehand; {unanswered} unanswered tasks count as losses "
        f"above it; delta = {delta:g} of the whole list, a third of it here"
    )
    proofs = [
        bernstein.certify(losses, clip=clip, delta=share),
        betting.certify(losses, clip=clip, delta=share, ids=anatomy.ids),
        tail.certify(losses, clip=clip, delta=share),
    ]
    return [replace(proof, premise=premise) for proof in proofs]


def judged(anatomy: Anatomy, clip: float) -> tuple[Float[np.ndarray, " N"], int]:
    """(the total loss of each task, not below the true one; how many tasks were not answered).

    A task without an answer may not leave the sample unseen: it counts as a loss above the clip.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        losses = anatomy.parts["total"] + part_errors(anatomy)["total"]
        losses = np.maximum(np.nextafter(losses, np.inf), 0.0)
    missing = ~np.isfinite(losses)
    return np.where(missing, np.nextafter(clip, np.inf), losses), int(missing.sum())
