"""From an anatomy to what is proved about it: one certificate per theorem that speaks of it.

Deterministic ones cost nothing; ``delta`` is for the whole list and is split evenly over the
confidence certificates, each of which says so. What cannot be said is in the list too, silent, with
the reason.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.anatomy import Anatomy
from twofold.certificate import Certificate, certificate
from twofold.decoder.enclosure import enclosed
from twofold.encoder.dense import DenseSystem
from twofold.theorems import (
    bernstein,
    betting,
    decoder_bound,
    factor_two,
    heldout,
    power,
    richardson,
    risk_decomposition,
    tail,
)
from twofold.theorems.risk_decomposition import part_errors

CLIP = 10.0
OTHER_STEPS = "the decoder has a matrix and a depth, but its output is not x += P (d - H x)"


def certify(anatomy: Anatomy, delta: float = 0.05, *, clip: float = CLIP) -> list[Certificate]:
    """Every certificate on this anatomy: the sum, the decoder's error, the risk held out.

    ``clip`` is the ceiling of the losses whose mean is bounded, in their unit. It must be fixed
    before they are seen, so it is not taken from them: 10 as in the seeds unless you say otherwise.
    """
    return [
        risk_decomposition.certify(anatomy),
        factor_two.certify(anatomy),
        *solved(anatomy),
        *held_out(anatomy, delta, clip),
    ]


def solved(anatomy: Anatomy) -> list[Certificate]:
    """What theory says of ``depth`` steps x += P (d - H x), where the decoder takes such steps."""
    found = _iteration(anatomy)
    if isinstance(found, str):
        return [_silent(anatomy, found)]
    P, H, d, depth = found
    solution, radius = anatomy.solution, anatomy.radius
    dagger = None if solution is None or radius is None else (solution, radius)
    known = enclosed(P, H, d, depth, dagger)
    if not _same_steps(anatomy.x, known.last):
        return [_silent(anatomy, OTHER_STEPS)]
    proofs = [
        richardson.certify_identity(P, H, d, depth, dagger),
        richardson.certify(P, H, d, depth, known=known),
        power.certify(P, H, d, depth, known=known),
    ]
    shared = getattr(anatomy.systems, "U", None)
    if isinstance(anatomy.systems, DenseSystem) and (shared is None or shared.ndim == 2):
        sigma = _latent_metric(anatomy.systems, anatomy)
        proofs += [decoder_bound.certify(P, H, d, depth, sigma, known=known)]
        proofs += [decoder_bound.certify_power(P, H, d, depth, sigma, known=known)]
    return proofs


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
    if why := _not_distinct(anatomy.ids, len(losses)):
        proofs = [replace(p, applies=np.zeros(len(p), bool), reason=(why,)) for p in proofs]
    return [replace(proof, premise=premise) for proof in proofs]


def _not_distinct(ids: Any, count: int) -> str:
    """Why the tasks are not ``count`` different ones, as every bound on their mean assumes."""
    try:
        heldout.order(count, ids)
    except ValueError as error:
        return str(error)
    return ""


def judged(anatomy: Anatomy, clip: float) -> tuple[Float[np.ndarray, " N"], int]:
    """(the total loss of each task, not below the true one; how many tasks were not answered).

    A task without an answer may not leave the sample unseen: it counts as a loss above the clip.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        losses = anatomy.parts["total"] + part_errors(anatomy)["total"]
        losses = np.maximum(np.nextafter(losses, np.inf), 0.0)
    missing = ~np.isfinite(losses)
    return np.where(missing, np.nextafter(clip, np.inf), losses), int(missing.sum())


def _iteration(anatomy: Anatomy) -> tuple[Any, np.ndarray, np.ndarray, int] | str:
    """(P, H, d, depth) of a linear decoder on dense systems, or what is missing for it."""
    system, decoder = anatomy.systems, anatomy.decoder
    if system is None:
        return "the encoder returned a code: there is no iteration to certify"
    H = system.dense()
    if H is None:
        return "the system is never formed: give it a dense() that returns H"
    if not (hasattr(decoder, "matrix") and hasattr(decoder, "depth")):
        return "the decoder is not known to be linear: give it .matrix(system) -> P and .depth"
    return decoder.matrix(system), H, system.d, decoder.depth


def _same_steps(x: np.ndarray | None, last: np.ndarray) -> bool:
    """Whether the decoder's output is the iteration's, as far as single precision can tell.

    No proof rests on it: it keeps other methods that also have a P and a depth out.
    """
    if x is None:
        return False
    rows = np.isfinite(x).all(axis=1) & np.isfinite(last).all(axis=1)
    with np.errstate(over="ignore"):
        gap = np.max(np.abs(x[rows] - last[rows]), axis=1)
    return bool(np.all(gap <= 1e-3 * np.max(np.abs(last[rows]), axis=1)))


def _latent_metric(system: DenseSystem, anatomy: Anatomy) -> Float[np.ndarray, "r r"]:
    """The loss's metric and scale in the coordinates of x: scale U' S U."""
    U = np.eye(system.d.shape[1]) if system.U is None else system.U
    S = U.T @ (U if anatomy.metric is None else anatomy.metric @ U)
    return anatomy.scale * (0.5 * (S + S.T))


def _silent(anatomy: Anatomy, reason: str) -> Certificate:
    """The certificate that could not be given, and why."""
    nothing = np.full(len(anatomy), np.nan)
    return certificate(
        "Richardson rate", statement=richardson.STATEMENT, kind="bound", value=nothing,
        bound=nothing, applies=False, reason=reason, reference=richardson.REFERENCE,
        source=risk_decomposition.source(anatomy),
    )  # fmt: skip
