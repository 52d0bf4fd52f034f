"""The test kit for a family of your own: its bounds and jets, tried by sampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.atlas.families.protocol import ORDERS, Family, admit, named
from twofold.atlas.families.sphere import Sphere

STEP = 1e-5


@dataclass(frozen=True)
class Trial:
    """What sampling saw: the largest |D^g Phi[u..u]| found beside sup(g), and the jets' error."""

    found: tuple[float, ...]
    bound: tuple[float, ...]
    jet_error: float

    @property
    def sharpness(self) -> tuple[float, ...]:
        """Share of the bound that was found, per order: 1 is sharp; above 1 the bound is false."""
        return tuple(f / b if b else float(f > 0) for f, b in zip(self.found, self.bound))  # noqa: B905


def check(family: Family, points: Any, *, seed: int = 0, tolerance: float = 1e-6) -> Trial:
    """Try a family at coordinates ``points`` (N,q) in random directions; ValueError if refuted.

    Jets are compared with central differences of the order below; a bound that a sample exceeds
    is refuted. Sampling proves nothing: it is the declared bound that certificates rest on.
    """
    t = np.asarray(points, dtype=float)
    u = np.random.default_rng(seed).standard_normal(t.shape)
    u = _tangent(family, t, u)
    jets = admit(family).jets(t, 3)
    along = [_contract(jet, u) for jet in jets]
    found = tuple(float(np.max(np.linalg.norm(a, axis=1))) for a in along)
    bound = tuple(float(family.sup(g)) for g in ORDERS)
    trial = Trial(found, bound, _jet_error(family, t, u, jets))
    for order, (f, b) in enumerate(zip(found, bound, strict=True)):
        if f > b * (1 + 1e-12):
            raise ValueError(f"family {named(family)}: sup({order}) = {b:g} is false, found {f:g}")
    if not trial.jet_error <= tolerance:
        raise ValueError(
            f"family {named(family)}: its jets differ from differences of its values by "
            f"{trial.jet_error:.2g} of the bound"
        )
    return trial


def _tangent(family: Any, t: np.ndarray, u: np.ndarray) -> np.ndarray:
    if isinstance(family, Sphere):
        u = u - t * np.sum(u * t, axis=1, keepdims=True)
    return u / np.linalg.norm(u, axis=1, keepdims=True)


def _contract(jet: np.ndarray, u: Float[np.ndarray, "N q"]) -> Float[np.ndarray, "N M"]:
    """D^g Phi[u, ..., u]."""
    while jet.ndim > 2:
        jet = np.einsum("n...q,nq->n...", jet, u)
    return jet


def _jet_error(family: Family, t: np.ndarray, u: np.ndarray, jets: list[np.ndarray]) -> float:
    """Largest error of D^g Phi[u..u] against a difference of D^{g-1}, as a share of sup(g)."""
    ahead, behind = (family.jets(_moved(family, t, s * u), 2) for s in (STEP, -STEP))
    worst = 0.0
    for g in (1, 2, 3):
        if isinstance(family, Sphere) and g > 1:
            break  # directions turn with the point; the first order decides
        slope = (_contract(ahead[g - 1], u) - _contract(behind[g - 1], u)) / (2 * STEP)
        gap = np.max(np.abs(slope - _contract(jets[g], u)))
        worst = max(worst, float(gap) / max(float(family.sup(g)), 1e-300))
    return worst


def _moved(family: Any, t: np.ndarray, step: np.ndarray) -> np.ndarray:
    moved = t + step
    if isinstance(family, Sphere):
        moved = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return moved
