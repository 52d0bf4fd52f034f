r"""The floor of a subspace encoder: what span U misses of beta = U* z costs, at most.

Statement: with M = (I - UU')U*, ||sin Theta||_F = ||M||_F,
R_floor(U) = tr(M' Sigma_x M Sigma_z) <= ||Sigma_x|| ||Sigma_z|| ||sin Theta||_F^2.
Hypotheses: U and U* orthonormal, Sigma_x and Sigma_z symmetric. Proof: Cauchy-Schwarz,
<M, Sigma_x M Sigma_z>_F <= ||M||_F ||Sigma_x M Sigma_z||_F. Since ||Sigma_z|| <= tr Sigma_z for a
covariance, the form with the trace holds with constant 1 and no ``<~``, up to r times larger.
Equality where Sigma_x and Sigma_z are multiples of the identity.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.rigor import inputs
from twofold.rigor.norms import norm2_upper
from twofold.rigor.roundoff import THETA, U, gamma, up

STATEMENT = (
    r"\mathcal R_{\mathrm{floor}}(U) = \mathrm{tr}(M^\top\Sigma_x M\Sigma_z)"
    r" \le \|\Sigma_x\|_2\,\|\Sigma_z\|_2\,\|\sin\Theta(U,U_\star)\|_F^2"
    r" \le \|\Sigma_x\|_2\,\mathrm{tr}(\Sigma_z)\,\|\sin\Theta\|_F^2"
)
REFERENCE = "horn2012matrix"
ORTHONORMAL = 1e-8
NOT_ORTHONORMAL = f"the columns of U or U_star are not orthonormal to {ORTHONORMAL}"


def missed(
    U_s: Float[np.ndarray, "N K r"], U_star: Float[np.ndarray, "K r"]
) -> Float[np.ndarray, "N K r"]:
    """M = (I - UU')U*, whose Frobenius norm is that of sin Theta."""
    return U_star - U_s @ (np.swapaxes(U_s, 1, 2) @ U_star)


def risk(
    M: Float[np.ndarray, "N K r"],
    sigma_x: Float[np.ndarray, "K K"],
    sigma_z: Float[np.ndarray, "r r"],
) -> Float[np.ndarray, " N"]:
    """R_floor = tr(M' Sigma_x M Sigma_z)."""
    return np.sum((sigma_x @ M) * (M @ sigma_z), axis=(1, 2))


def bound(M: Float[np.ndarray, "N K r"], norm_x: float, norm_z: float) -> Float[np.ndarray, " N"]:
    """||Sigma_x|| ||Sigma_z|| ||M||_F^2; with tr Sigma_z as ``norm_z`` the weaker form."""
    return norm_x * norm_z * np.sum(M**2, axis=(1, 2))


def rounding(
    U_s: np.ndarray, U_star: np.ndarray, sigma_x: np.ndarray, sigma_z: np.ndarray, norms: float
) -> Float[np.ndarray, " N"]:
    """Proved error of risk and bound together: forming M, then the two sums."""
    K, r = U_star.shape
    k, M, size = K + r + K * r + 8, missed(U_s, U_star), np.abs(U_s)
    formed = gamma(K + r + 2) * (size @ (np.swapaxes(size, 1, 2) @ np.abs(U_star)))
    e = up(np.sqrt(np.sum((formed + 2 * U * np.abs(M) + K * THETA) ** 2, axis=(1, 2))), k)
    m = up(np.sqrt(np.sum(M**2, axis=(1, 2))), k)
    summed = gamma(k) * up(risk(np.abs(M), np.abs(sigma_x), np.abs(sigma_z)), k)
    return up(summed + norms * (2 * (2 * m * e + e**2) + gamma(k) * m**2), 12)


def certify(U_s: Any, U_star: Any, sigma_x: Any, sigma_z: Any) -> Certificate:
    """The floor of each of N subspaces U_s (N, K, r), or of one (K, r), under population laws."""
    U_star = inputs.real("U_star", U_star, ndim=2)
    U_s = inputs.real("U", U_s, ndim=(2, 3), finite=False)
    U_s = inputs.real("U", U_s if U_s.ndim == 3 else U_s[None], (3,), (None, *U_star.shape), False)
    K, r = U_star.shape
    sigma_x = inputs.real("sigma_x", inputs.symmetric("sigma_x", sigma_x), shape=(K, K))
    sigma_z = inputs.real("sigma_z", inputs.symmetric("sigma_z", sigma_z), shape=(r, r))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        norm_x, norm_z = float(norm2_upper(sigma_x)), float(norm2_upper(sigma_z))
        M = missed(U_s, U_star)
        return certificate(
            "subspace floor",
            statement=STATEMENT,
            kind="bound",
            value=risk(M, sigma_x, sigma_z),
            bound=bound(M, norm_x, norm_z),
            rounding=rounding(U_s, U_star, sigma_x, sigma_z, up(norm_x * norm_z, 1)),
            applies=_orthonormal(U_s) & _orthonormal(U_star[None]),
            reason=NOT_ORTHONORMAL,
            reference=REFERENCE,
            source=fingerprint(U_s, U_star, sigma_x, sigma_z),
        )


def _orthonormal(V: Float[np.ndarray, "N K r"]) -> np.ndarray:
    return np.max(np.abs(np.swapaxes(V, 1, 2) @ V - np.eye(V.shape[2])), axis=(1, 2)) < ORTHONORMAL
