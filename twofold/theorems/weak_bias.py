r"""What ridge costs the weak-form encoder on the prompt it was shown: an identity with residuals.

Statement: with G_{(i,r),k} = <A_k u_i, v_r>, b_{(i,r)} = <f_i - A_0 u_i, v_r>, H = G'G + lambda M,

    z_enc - z = - lambda H^-1 M z + H^-1 G' rho,   rho_{(i,r)} = <f_i - A(z) u_i, v_r>,

and rho = 0 where the pairs solve A(z) u = f. Proof: b = G z + rho and G'G = H - lambda M.
Hypotheses: H regular (proved); no noise: rho is what rounding the u_i may have cost, at most 2^-30
of its terms. G, b and H are enclosed from the floats of the prompt; z~, w~ stand for z_enc and
H^-1 M z, and miss them by at most ||H^-1|| times their residuals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, fingerprint, identity
from twofold.encoder.weak_form import WeakForm
from twofold.measures.enclosures import Ball, exact, frobenius_upper
from twofold.rigor import inputs
from twofold.rigor.compensated import length_upper
from twofold.rigor.linear import solve
from twofold.rigor.roundoff import THETA, U, up
from twofold.tasks.affine import Dense
from twofold.theorems.ridge_bias import inverse_norm

STATEMENT = (
    r"z_{\mathrm{enc}} - z = -\lambda\,(G^\top G + \lambda M)^{-1} M z"
    r" \quad\text{when } A(z)u_i = f_i"
)
REFERENCE = "horn2012matrix"
NOISE = 2.0**-30
NOT_REGULAR = "the normal equations could not be proved regular"
NOISY = "the pairs miss A(z) u = f by more than rounding: not a prompt without noise"


def closed_form(encoder: WeakForm, prompt: Mapping[str, Any], z: np.ndarray) -> np.ndarray:
    """-lambda (G'G + lambda M)^-1 M z."""
    return -encoder.ridge * solve(encoder.normal(prompt)[0], z @ encoder.metric)[0]


def weak(encoder: WeakForm, u: np.ndarray, f: np.ndarray) -> tuple[Ball, Ball]:
    """(G, b), columns and rows as the encoder has them, enclosed."""
    assert isinstance(encoder.operators, Dense)
    V = np.eye(u.shape[2]) if encoder.probes is None else encoder.probes
    terms = [exact(u) @ exact(A) for A in encoder.operators.A]
    b, *columns = (t @ exact(V.T) for t in (exact(f) - terms[0], *terms[1:]))
    flat = [c.mid.reshape(len(u), -1) for c in columns]
    radius = up(np.sum([c.radius for c in columns], axis=0), len(columns))
    return Ball(np.stack(flat, axis=-1), radius), Ball(b.mid.reshape(len(u), -1, 1), b.radius)


def inverse_upper(H: Ball) -> Float[np.ndarray, " N"]:
    """At least ||H^-1||_2 of every member; inf where one may be singular."""
    a = inverse_norm(H.mid)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        room = 1.0 - up(a * H.radius, 1) - 4 * U
        return np.where(room > 0, up(a / room, 2), np.inf)


def certify(encoder: WeakForm, prompt: Mapping[str, Any], z: Any) -> Certificate:
    """The identity for N prompts and their latents z (N, K), for a dense family."""
    if not isinstance(encoder.operators, Dense):
        name = type(encoder.operators).__name__
        raise ValueError(f"encoder: the bias is proved for Dense operators, got {name}")
    u, f = encoder.pairs(prompt)
    z = inputs.real("z", z, shape=(len(u), encoder.operators.size[1]), finite=False)
    M, lam = encoder.metric, encoder.ridge
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        (G, b), column = weak(encoder, u, f), exact(z[..., None])
        rho = (b - G @ column).size()
        noise = rho > NOISE * (b.size() + G.size() * column.size() + THETA)
        H = G.T @ G + Ball(lam * M, np.asarray(up(U * lam * frobenius_upper(M), 2)))
        z_enc, w = encoder.estimate(prompt), -closed_form(encoder, prompt, z) / (lam or 1.0)
        missed = (G.T @ b - H @ exact(z_enc[..., None])).size()
        away = (exact(M) @ column - H @ exact(w[..., None])).size()
        gap = length_upper(z_enc - z + lam * w)
        own = 4 * U * up(length_upper(np.abs(z_enc) + np.abs(z) + 2 * lam * np.abs(w)), 4)
        spent = up(G.size() * rho + missed + lam * away, 4)
        rounding = up(inverse_upper(H) * spent + own + 64 * U * gap, 4)
    proved = np.isfinite(rounding)
    probes = np.zeros((0, 0)) if encoder.probes is None else encoder.probes
    return identity(
        "weak-form bias", statement=STATEMENT, gap=gap, rounding=rounding, reference=REFERENCE,
        applies=proved & ~noise, reason=[NOISY if ok else NOT_REGULAR for ok in proved],
        source=fingerprint(encoder.operators.A, u, f, probes, z, np.float64(lam), M),
    )  # fmt: skip
