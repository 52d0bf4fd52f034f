"""What a family of latent coordinates must tell, and how it is refused when it cannot."""

from __future__ import annotations

import math
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs

ORDERS = (0, 1, 2, 3)


@runtime_checkable
class Family(Protocol):
    r"""Functions Phi(t) = (Phi_1, ..., Phi_M) of a latent coordinate t.

    ``period`` has one entry per axis: the period, or None where the axis is flat; None instead of
    the tuple where coordinates are points of a sphere. ``sup(g)`` bounds the *operator* norm
    sup_t sup_{|u| = 1} |D^g Phi(t)[u, ..., u]| in the Euclidean norm of R^M, for g = 0, 1, 2, 3.
    """

    dim: int
    size: int
    period: tuple[float | None, ...] | None

    def values(self, t: Any) -> Float[np.ndarray, "N M"]:
        """Phi at each coordinate."""
        ...

    def jets(self, t: Any, order: int) -> list[np.ndarray]:
        """Phi (N,M), D Phi (N,M,q), ..., up to ``order``."""
        ...

    def sup(self, order: int) -> float:
        """The sup bound of the derivative of that order."""
        ...


def named(family: Any) -> str:
    """How a refusal calls the family."""
    return type(family).__name__


def admit(family: Any) -> Family:
    """``family`` if it says all that a certificate needs; a ValueError with its name otherwise."""
    if not isinstance(family, Family):
        raise ValueError(
            f"family {named(family)}: expected dim, size, period, values, jets and sup; see "
            "twofold.atlas.families.Family"
        )
    for order in ORDERS:
        try:
            bound = float(family.sup(order))
        except (NotImplementedError, TypeError, ValueError) as error:
            raise _refusal(family, order, f"raised {error!r}") from error
        if not (math.isfinite(bound) and bound >= 0):
            raise _refusal(family, order, f"is {bound}")
    inputs.whole(f"family {named(family)}: size", family.size, low=1)
    inputs.whole(f"family {named(family)}: dim", family.dim, low=1)
    return family


def _refusal(family: Any, order: int, why: str) -> ValueError:
    return ValueError(
        f"family {named(family)}: sup({order}) {why}; without a finite operator-norm bound of the "
        "derivatives of order 0 to 3 nothing can be certified"
    )
