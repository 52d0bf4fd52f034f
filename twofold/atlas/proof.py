r"""The encode's certificates as records: where the root lies, and that h stays below one half.

STATEMENT of Newton and Kantorovich: with beta >= |H(t_0)^-1|, eta >= |H(t_0)^-1 g(t_0)|, L a
Lipschitz constant of the Hessian on the ball of radius 2 eta and h = beta eta L < 1/2, the only
root of the gradient in that ball lies within 2 eta/(1 + sqrt(1 - 2h)) of t_0. No route of
`twofold recheck` redoes it yet; the tests do, in sixty digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.rigor.roundoff import U

if TYPE_CHECKING:
    from twofold.atlas.atlas import Atlas
    from twofold.atlas.encoding import Codes

REFERENCE = "ortega1970iterative"
REPLACED = "branch and bound replaced the minimum that this start leads to"
ROOT = (
    r"h=\beta\eta L<\tfrac12,\ \nabla^2 f(t_0)\succ0\ \Rightarrow\ "
    r"\|t^\star-t_0\|\le\frac{2\eta}{1+\sqrt{1-2h}}"
)


def apart(made: Atlas, a: Any, b: Any, atom: int = 0) -> Float[np.ndarray, " N"]:
    """The distance of coordinates: wrapped on periodic axes, geodesic on a sphere."""
    gap, period = np.asarray(a) - np.asarray(b), made.atoms[atom].family.period
    if period is None:
        chord = np.minimum(np.linalg.norm(gap, axis=1), 2.0)
        return 2 * np.arcsin(chord / 2)
    wraps = np.array([p is not None for p in period])
    return np.linalg.norm(np.where(wraps, gap - np.rint(gap), gap), axis=1)


def certify(made: Atlas, rows: Any, codes: Codes, atom: int = 0) -> Certificate:
    """The distance from the predictor's start to the code against the proved radius.

    ``value`` is the measured distance; the code itself is known within ``codes.radius``, which
    with the rounding of the distance is the record's ``rounding``. Amplitudes are given.
    """
    value = apart(made, codes.start, codes.coords, atom)
    kept = codes.refuted == 0
    applies = (codes.method == "predictor") & np.isfinite(codes.start_radius) & kept
    reason = np.where(kept, "h is not below 1/2 at the predictor's start", REPLACED)
    rounding = np.where(applies, codes.radius, 0.0) * (1 + 8 * U) + 64 * U
    return certificate(
        "Newton-Kantorovich root", statement=ROOT, kind="bound", side="upper", about="exact",
        value=value, bound=codes.start_radius, rounding=rounding, applies=applies,
        reason=reason.tolist(), reference=REFERENCE,
        source=fingerprint(np.asarray(rows), made.atoms[atom].B, codes.start, codes.amplitude),
    )  # fmt: skip


def threshold(beta: float = 1.0, eta: float = 0.01) -> float:
    """The largest h that is certified, by bisection over L with exact jets."""
    from twofold.atlas import kantorovich

    low, high, out, s = 0.0, 1.0, np.zeros(6), np.zeros(1)
    g, H, third, R = np.array([eta / beta]), np.array([[1 / beta]]), np.zeros((1, 1, 1)), np.eye(1)
    for _ in range(60):
        h = 0.5 * (low + high)
        code = kantorovich.judge(g, H, third, 1, 0.0, 0.0, h / (beta * eta), np.inf, 0.0, np.inf,
                                 R, s, out)  # fmt: skip
        low, high = (h, high) if code == kantorovich.CERTIFIED else (low, h)
    return low
