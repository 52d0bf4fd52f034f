r"""A Gaussian posterior by its features and by its kernel: two systems, one prediction.

Statement. For z ~ N(0, Lambda), y = Phi z + s xi, A = Lambda^-1 + Phi'Phi/s^2, K = Phi Lambda Phi',

    phi_q' A^-1 Phi'y/s^2  =  k_q' (K + s^2 I)^-1 y,      k_q = Phi Lambda phi_q.

Hypotheses: Lambda = diag(prior) > 0, s > 0; nothing on ranks. (Kernel ridge with lambda = s^2.)

Rounding. No inverse needs enclosing: Lambda^{1/2} A Lambda^{1/2} >= I, and the singular values
t/(t^2 + s^2) of (K + s^2)^-1 Phi Lambda^{1/2} are at most 1/2s. So any z and c are off by

    |phi_q'(A^-1 d - z)| <= |Lambda^{1/2} phi_q| |Lambda^{1/2} (d - A z)|,
    |k_q'((K + s^2)^-1 y - c)| <= |Lambda^{1/2} phi_q| |y - (K + s^2) c| / 2s,

and compensated sums enclose both residuals from Phi, y, prior and s: A and K are never trusted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.certificate import Certificate, fingerprint, identity
from twofold.rigor import inputs
from twofold.rigor.compensated import length_upper, matvec
from twofold.rigor.roundoff import U, up
from twofold.tasks import woodbury
from twofold.theorems import posterior_sides as sides

STATEMENT = r"\phi_q^\top A^{-1} \Phi^\top y/\sigma^2 = k_q^\top (K + \sigma^2 I)^{-1} y"
REFERENCE = "rasmussen2006gaussian"
WHY = "a number is not finite, or so small or large that underflow is not paid"
RANGE = 1e-100, 1e100


def certify(Phi: Any, y: Any, Phi_q: Any, *, prior: Any, noise: Any) -> Certificate:
    """The largest gap over the queries (N,Q,R) or (Q,R) of each prompt Phi (N,M,R), y (N,M)."""
    Phi, y, noise = woodbury.prompts(Phi, y, noise)
    N, _, R = Phi.shape
    Phi_q, prior = woodbury.points("Phi_q", Phi_q, N, R), inputs.real("prior", prior, shape=(R,))
    if not np.all(prior > 0):
        raise ValueError(f"prior: A needs variances > 0, the smallest is {np.min(prior):.3g}")
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        (z, off_z), (c, off_c) = (side(Phi, y, prior, noise) for side in (sides.primal, sides.dual))
        s, error = sides.weights(Phi, c, prior)
        gap, rounding = np.zeros(N), np.zeros(N)
        for q in range(Phi_q.shape[1]):
            left, e_left = matvec(Phi_q[:, q : q + 1], z)
            right, e_right = matvec(Phi_q[:, q : q + 1], s)
            carried = np.sum(np.abs(Phi_q[:, q]) * error, axis=1)
            size = length_upper(Phi_q[:, q] * np.sqrt(prior) * (1 + 4 * U))
            off = size * (off_z + off_c / noise) + carried  # twice what is needed of off_c
            own = e_left[:, 0] + e_right[:, 0] + U * np.abs(left[:, 0] - right[:, 0])
            gap = np.maximum(gap, np.abs(left[:, 0] - right[:, 0]))
            rounding = np.maximum(rounding, up(off + own, R + 8))
    sized = RANGE[0] < noise < RANGE[1] and RANGE[0] < prior.min() and prior.max() < RANGE[1]
    return identity(
        "primal-dual", gap=gap, rounding=rounding, statement=STATEMENT, reference=REFERENCE,
        applies=np.isfinite(rounding) & np.isfinite(gap) & sized, reason=WHY,
        source=fingerprint(Phi, y, Phi_q, prior, np.float64(noise)),
    )  # fmt: skip
