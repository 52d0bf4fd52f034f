r"""What ridge costs an encoder without noise: z_enc - z = -lambda H^-1 z, exactly.

Statement: let H = A + lambda I be invertible and c = A z, a prompt without noise; then
z_enc = H^-1 c = z - lambda H^-1 z. (For prompts G z = b, A is G'G or G'G/m.) Hypothesis: H is
invertible, proved by ||I - PH|| < 1 for an approximate inverse P. Proof: c = (H - lambda I) z.

Rounding: A z is formed to |v| <= gamma_{r+2} (|H||z| + lambda |z|) + (r + 1) 2^-1074, which H^-1
carries over with ||H^-1|| <= ||P|| / (1 - ||I - PH||), and both solves come with their proved
radius. Lengths are scaled before they are squared, so H and z may live at any scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, fingerprint, identity
from twofold.encoder.ridge import penalty
from twofold.rigor import inputs
from twofold.rigor.compensated import length_upper
from twofold.rigor.contraction import contraction_upper
from twofold.rigor.inverse import approximate_inverse
from twofold.rigor.linear import solve
from twofold.rigor.norms import norm2_upper
from twofold.rigor.roundoff import ETA, U, gamma, up

STATEMENT = (
    r"z_{\mathrm{enc}} - z = -\lambda\,(G^\top G + \lambda I)^{-1} z"
    r" \quad\text{when } b = G z"
)
REFERENCE = "horn2012matrix"
NOT_INVERTIBLE = "the system could not be proved invertible, or its solution not be enclosed"


def bias(H: Float[np.ndarray, "N r r"], z: Float[np.ndarray, "N r"], ridge: float) -> np.ndarray:
    """The closed form -lambda H^-1 z."""
    return -ridge * solve(H, z)[0]


def noise_free(
    H: Float[np.ndarray, "N r r"], z: Float[np.ndarray, "N r"], ridge: float
) -> Float[np.ndarray, "N r"]:
    """The right-hand side c = (H - lambda I) z that a prompt without noise has."""
    return (H @ z[..., None])[..., 0] - ridge * z


def inverse_norm(H: Float[np.ndarray, "N r r"]) -> Float[np.ndarray, " N"]:
    """Proved upper bound of ||H^-1||_2; inf where H may be singular."""
    P = approximate_inverse(H)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        rest = np.nextafter(1.0 - contraction_upper(P, H), -np.inf)
        return np.where(rest > 0, up(norm2_upper(P) / rest, 2), np.inf)


def formation(H: np.ndarray, z: np.ndarray, ridge: float) -> Float[np.ndarray, " N"]:
    """What forming c = (H - lambda I) z may cost: (r + 2)^2 eta pays for every underflow here."""
    r = z.shape[1]
    size = (np.abs(H) @ np.abs(z)[..., None])[..., 0] + ridge * np.abs(z)
    return (1 + 8 * U) * gamma(r + 2) * up(length_upper(size), r + 4) + (r + 2) ** 2 * ETA


def certify(H: Any, z: Any, ridge: Any) -> Certificate:
    """The identity for N systems H (N, r, r), latents z (N, r) and one ridge."""
    H = inputs.symmetric("H", inputs.real("H", H, ndim=3, finite=False), finite=False)
    z = inputs.real("z", z, shape=H.shape[:2], finite=False)
    ridge = penalty(ridge)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        c = noise_free(H, z, ridge)
        (z_enc, r_enc), (w, r_w) = solve(H, c), solve(H, z)
        gap = length_upper(z_enc - z + ridge * w)
        added = np.abs(z_enc) + np.abs(z) + 2 * ridge * np.abs(w)
        r = z.shape[1]
        own = 3 * U * up(length_upper(added), 4) + gamma(2 * r + 16) * gap
        carried = inverse_norm(H) * formation(H, z, ridge)
        rounding = up(r_enc + ridge * r_w + carried + own, 8)
    proved = np.isfinite(rounding)
    return identity(
        "ridge bias", gap=gap, rounding=rounding, statement=STATEMENT, reference=REFERENCE,
        applies=proved, reason=NOT_INVERTIBLE, source=fingerprint(H, z, np.float64(ridge)),
    )  # fmt: skip
