r"""A two-sided interval on the difference of two risks, from losses on the same held-out rows.

For independent pairs of one law with |l - l'| <= c, D = l - l': with probability 1 - delta

    L <= E D <= U,     U = upper_{delta/2}(D + c) - c,    L = c - upper_{delta/2}(c - D),

``upper`` the betting bound on losses in [0, 2c], to which both shifted differences are rounded up.
The scatter that both losses share cancels before anything is bounded. Losses bounded by
construction: a predictor mixed with the uniform one, q -> (1-g) q + g/K, has -ln q <= ln(K/g) and
is off by at most ln 1/(1-g) from the one it stands for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, Side, certificate, fingerprint
from twofold.rigor import inputs
from twofold.theorems import betting, heldout

STATEMENT = {
    "upper": r"\mathbb E(\ell-\ell')\le U_{\delta/2}(\ell-\ell'+c)-c",
    "lower": r"\mathbb E(\ell-\ell')\ge c-U_{\delta/2}(c-\ell+\ell')",
}
REFERENCE = betting.REFERENCE
SIDES: tuple[tuple[Side, int], ...] = (("upper", 1), ("lower", 0))


def interval(
    one: Any, other: Any, *, clip: float, delta: float, ids: Any = None
) -> tuple[float, float]:
    """(L, U) around E(one - other), each missed with probability delta/2; rounding included."""
    clip, each = heldout.ceiling(clip), heldout.share(delta, 2)
    a, b = heldout.sample(one), heldout.sample(other)
    if a.shape != b.shape:
        raise ValueError(f"one, other: losses of the same rows, got {len(a)} and {len(b)} of them")
    above, below = np.nextafter(a - b, np.inf), np.nextafter(b - a, np.inf)
    if max(above.max(), below.max()) > clip * (1 + 2.0**-40):
        raise ValueError(
            f"clip: a difference is {max(above.max(), below.max()):.6g}, above {clip:.6g}; mix the "
            "predictors with the uniform one, or clip the losses, before you look at them"
        )

    def upper(difference: Float[np.ndarray, " n"]) -> float:
        shifted = np.maximum(np.nextafter(difference + clip, np.inf), 0.0)
        top = betting.upper(shifted, clip=2 * clip * (1 + 2.0**-39), delta=each, ids=ids)
        return math.nextafter(top - clip, math.inf)

    return -upper(below), upper(above)


def mixed(probability: Any, classes: int, share: float = 1e-3) -> tuple[np.ndarray, float]:
    """(-ln of q mixed with the uniform one, its ceiling ln(K/g)); q of the labels that came."""
    q = inputs.real("probability", probability, 1)
    if not 0 < share < 1 or np.any((q < 0) | (q > 1 + 1e-9)):
        raise ValueError(f"probability, share: expected numbers in [0, 1], (0, 1), got {share!r}")
    loss = -np.log((1 - share) * np.minimum(q, 1.0) + share / classes)
    return np.maximum(loss, 0.0), math.log(classes / share) * (1 + 1e-12)


def certify(
    one: Any, other: Any, *, clip: float, delta: float, difference: Any = None
) -> list[Certificate]:
    """Upper and lower side per sample (n,) or (R,n); ``difference`` is the true one where known."""
    a, b = heldout.table(one), heldout.table(other)
    heldout.share(delta, 2)
    ends, reasons = np.full((len(a), 2), np.nan), [""] * len(a)
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        try:
            ends[i] = interval(x, y, clip=clip, delta=delta)
        except ValueError as error:
            reasons[i] = str(error)
    value = np.mean(a - b, axis=1) if difference is None else np.broadcast_to(difference, len(a))
    return [
        certificate(
            f"paired risk, {side}", statement=STATEMENT[side], kind="confidence", side=side,
            value=value, bound=ends[:, i], applies=[not r for r in reasons], reason=reasons,
            reference=REFERENCE, delta=delta / 2, source=fingerprint(a, b),
        )
        for side, i in SIDES
    ]  # fmt: skip
