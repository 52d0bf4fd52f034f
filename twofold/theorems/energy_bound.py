r"""What a residual proves about any answer, however it was computed: a PCG's, a network's.

Statement. Let P and H be symmetric positive definite with spec(P H) >= m > 0. For every x, with
r = d - H x and x_dagger = H^{-1} d,

    |x - x_dagger|_H <= sqrt(r'P r / m).

Proof. With e = x - x_dagger, r'P r = e'H P H e >= m e'H e, as H^{1/2} P H^{1/2} >= m. Sharp along
the eigenvector of m. Nothing is assumed of how x came about, and the float x itself is meant.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.decoder.enclosure import Dagger
from twofold.decoder.energy import measured
from twofold.decoder.richardson import checked
from twofold.rigor import inputs
from twofold.rigor.compensated import residual
from twofold.rigor.pencil import pencil_bounds
from twofold.rigor.roundoff import THETA, up

STATEMENT = r"\|x-x^\dagger\|_H\le\sqrt{r^\top P\,r/m},\qquad r=d-Hx,\ \operatorname{spec}(PH)\ge m"
REFERENCE = "saad2003iterative"


def residual_energy(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, x: np.ndarray
) -> Float[np.ndarray, " N"]:
    """At least r'P r for the exact r = d - H x."""
    K = d.shape[1]
    P = np.broadcast_to(P, H.shape)
    r, error = residual(H, x, d)
    with np.errstate(over="ignore", invalid="ignore"):
        plain = np.einsum("nk,nk->n", r, np.matmul(P, r[..., None])[..., 0])
        size = np.abs(r) + error
        heavy = np.einsum("nk,nk->n", size, np.matmul(np.abs(P), size[..., None])[..., 0])
        wide = np.einsum("nk,nk->n", error, np.matmul(np.abs(P), size[..., None])[..., 0])
        rounding = (2 * K + 4) * 2.0**-52 * up(heavy, 2 * K + 2)
        return up(np.maximum(plain, 0.0) + up(2 * wide, 2 * K + 3) + rounding + K * K * THETA, 6)


def certify(
    P: np.ndarray,
    H: np.ndarray,
    d: np.ndarray,
    x: np.ndarray,
    least: np.ndarray | None = None,
    dagger: Dagger | None = None,
) -> Certificate:
    """The bound per task for an answer x (N,K); m = ``least`` (N,) must be proved, or is here."""
    P, H, d, _ = checked(P, H, d, 0)
    x = inputs.real("x", x, shape=d.shape, finite=False)
    low = (
        pencil_bounds(P, H)[0]
        if least is None
        else inputs.real("least", least, shape=(len(d),), finite=False)
    )
    known = measured(H, d, x, dagger)
    with np.errstate(over="ignore", invalid="ignore"):
        bound = up(np.sqrt(up(residual_energy(P, H, d, x) / low, 1)), 1)
    applies = known.applies & np.isfinite(bound) & (low > 0)
    reason = np.where(
        ~(low > 0), "P or H is not proved symmetric positive definite", "x is not finite"
    )
    return certificate(
        "Energy bound", statement=STATEMENT, kind="bound", about="computed", value=known.error,
        bound=bound, rounding=known.slack, applies=applies, reason=[str(r) for r in reason],
        reference=REFERENCE, source=fingerprint(P, H, d, x, low),
    )  # fmt: skip
