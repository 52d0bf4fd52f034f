r"""The geometric bound on the encoder's risk along gradient descent.

b = G* z + xi with noise sigma^2 per coordinate, G_{s+1} = G_s - eta (G_s Sigma_z - Sigma_bz),
E_s = G_s - G*. If 0 < eta < 2 / lambda_max(Sigma_z), then for every s

    R_enc(s) - sigma^2 = tr(E_s Sigma_z E_s')/K <= |I - eta Sigma_z|_2^{2s} tr(E_0 Sigma_z E_0')/K,

with equality for isotropic Sigma_z. Proof: E_s = E_0 (I - eta Sigma_z)^s, and Sigma_z commutes with
I - eta Sigma_z. The same holds for the decoder's P_s, C. Rows are the outer times of a trajectory.

Rounding: ``error_bar`` of the trajectory at s and at 0; and the rate is known to w = eta delta, so
rho^{2s} to 2 s w (rho + w)^{2s-1} (the power is convex).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.rigor.roundoff import U
from twofold.training import trajectory
from twofold.training.rates import products, widening

STATEMENT = (
    r"R_{\mathrm{enc}}(s)-\sigma^2\le\|I-\eta\Sigma_z\|_2^{2s}\,"
    r"\tfrac1K\operatorname{Tr}[(G_0-G_\star)\Sigma_z(G_0-G_\star)^\top]"
)
REFERENCE = "polyak1987introduction"
SINGULAR = "the covariance is singular in the directions that rounding cannot tell from that"
TOO_LONG = "0 < eta < 2/lambda_max is not met: the step is too long for geometric decay"


def rate(path: trajectory.Trajectory) -> float:
    """|I - eta Sigma_z|_2 = max_i |1 - eta lambda_i|; 1 if Sigma_z is singular."""
    return float(np.exp(np.max(path.rates.logs)))


def decay(path: trajectory.Trajectory) -> Float[np.ndarray, " S"]:
    """The factor rho^{2s} at each outer time."""
    return np.exp(_logs(path))


def bound(path: trajectory.Trajectory, start: float) -> Float[np.ndarray, " S"]:
    """The right side, rho^{2s} (R_enc(0) - sigma^2)."""
    return decay(path) * start


def decay_rounding(path: trajectory.Trajectory) -> Float[np.ndarray, " S"]:
    """|rho^{2s} computed - true|: the width of rho, the exponential, its underflow."""
    w, twice = widening(path.eta, path.basis) + 4 * U, 2 * path.s
    power = np.exp(products(np.maximum(twice - 1, 0), np.log([rate(path) + w]))[:, 0])
    size = np.minimum(np.abs(_logs(path)), 1e6)
    return (1 + 1e-8) * (twice * w * power + 8 * U * (size + 1) * decay(path)) + 2.0**-1020


def _logs(path: trajectory.Trajectory) -> Float[np.ndarray, " S"]:
    return products(2 * path.s, np.max(path.rates.logs, keepdims=True))[:, 0]


def certify(path: trajectory.Trajectory) -> Certificate:
    """One row per outer time of a trajectory of discrete steps."""
    if not path.rates.step:
        raise ValueError("path: expected discrete steps (`encoder`, `decoder`), got gradient flow")
    origin = replace(path, s=np.zeros(1))
    start, bar = float(origin.excess[0]), float(origin.error_bar[0])
    stable = path.eta * float(path.basis.values[-1]) + widening(path.eta, path.basis) < 2
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        limit = bound(path, start)
        rounding = path.error_bar + decay_rounding(path) * (start + bar) + decay(path) * bar
    regular = path.basis.regular
    return certificate(
        "encoder_rate", kind="bound" if regular else "assumption", side="upper",
        premise="" if regular else SINGULAR, value=path.excess, bound=limit,
        rounding=(1 + 1e-12) * rounding, applies=stable, reason=TOO_LONG, statement=STATEMENT,
        reference=REFERENCE,
        source=fingerprint(path.s, path.modes, path.basis.values, np.float64(path.eta)),
    )  # fmt: skip
