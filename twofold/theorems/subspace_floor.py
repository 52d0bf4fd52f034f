r"""The floor of a subspace encoder: what span U misses of beta = U* z costs, at most.

Statement: with M = (I - UU')U*, ||sin Theta||_F = ||M||_F,
R_floor(U) = tr(M' Sigma_x M Sigma_z) <= ||Sigma_x|| ||Sigma_z|| ||sin Theta||_F^2.
Hypotheses: U and U* orthonormal, Sigma_x and Sigma_z symmetric. Proof: Cauchy-Schwarz,
<M, Sigma_x M Sigma_z>_F <= ||M||_F ||Sigma_x M Sigma_z||_F. Since ||Sigma_z|| <= tr Sigma_z for a
covariance, the form with the trace holds with constant 1 and no ``<~``, up to r times larger.
Equality where Sigma_x and Sigma_z are multiples of the identity.

Rounding: both laws are scaled by powers of two, so that theta pays for what underflows. Let
d = ||U'U - I||_F = ||UU' - Pi_U||_F, U* = Q* P with Q* orthonormal and ||P - I||_F <= d*. Then the
computed M is within g = f + d (1 + d*) of (I - Pi_U)U*, f being what forming it may cost, and
within g + 2 d* (||M||_F + g) of (I - Pi_U)Q*.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, certificate, fingerprint
from twofold.measures.enclosures import frobenius_upper, orthonormal_defect
from twofold.rigor import inputs
from twofold.rigor.compensated import exponents
from twofold.rigor.norms import norm2_upper
from twofold.rigor.roundoff import THETA, U, above, gamma, scaled_up, up

STATEMENT = (
    r"\mathcal R_{\mathrm{floor}}(U) = \mathrm{tr}(M^\top\Sigma_x M\Sigma_z)"
    r" \le \|\Sigma_x\|_2\,\|\Sigma_z\|_2\,\|\sin\Theta(U,U_\star)\|_F^2"
    r" \le \|\Sigma_x\|_2\,\mathrm{tr}(\Sigma_z)\,\|\sin\Theta\|_F^2"
)
REFERENCE = "horn2012matrix"
ORTHONORMAL = 1e-8
NOT_ORTHONORMAL = f"U or U_star was not proved orthonormal to {ORTHONORMAL}"
NOT_FINITE = "the floor, its bound or their rounding overflows"


def missed(
    U_s: Float[np.ndarray, "N K r"], U_star: Float[np.ndarray, "K r"]
) -> Float[np.ndarray, "N K r"]:
    """M = (I - UU')U*, whose Frobenius norm is that of sin Theta."""
    return U_star - U_s @ (np.swapaxes(U_s, 1, 2) @ U_star)


def risk(
    M: Float[np.ndarray, "N K r"], X: Float[np.ndarray, "K K"], Z: Float[np.ndarray, "r r"]
) -> Float[np.ndarray, " N"]:
    """R_floor = tr(M' Sigma_x M Sigma_z)."""
    return np.sum((X @ M) * (M @ Z), axis=(1, 2))


def bound(M: Float[np.ndarray, "N K r"], norm_x: float, norm_z: float) -> Float[np.ndarray, " N"]:
    """||Sigma_x|| ||Sigma_z|| ||M||_F^2; with tr Sigma_z as ``norm_z`` the weaker form."""
    return norm_x * norm_z * np.sum(M**2, axis=(1, 2))


def rounding(
    U_s: np.ndarray, U_star: np.ndarray, X: np.ndarray, Z: np.ndarray, norms: float
) -> Float[np.ndarray, " N"]:
    """Proved error of risk and bound together, for scaled laws: forming M, then the two sums."""
    K, r = U_star.shape
    k, M, size = K + r + K * r + 8, missed(U_s, U_star), np.abs(U_s)
    m, own = frobenius_upper(M), orthonormal_defect(U_star)
    formed = gamma(K + r + 2) * (size @ (np.swapaxes(size, 1, 2) @ np.abs(U_star)))
    g = up(frobenius_upper(formed + 2 * U * np.abs(M) + K * THETA), k)
    g = g + orthonormal_defect(U_s) * (1 + own)
    e = up(g + 2 * own * (m + g), 8)
    summed = gamma(k) * up(risk(*(np.abs(A) for A in (M, X, Z))), k) + K * r * (K + r) * THETA
    return up(summed + norms * (2 * (2 * m * e + e**2) + gamma(k) * m**2), 12)


def certify(U_s: Any, U_star: Any, sigma_x: Any, sigma_z: Any) -> Certificate:
    """The floor of each of N subspaces U_s (N, K, r), or of one (K, r), under population laws."""
    U_star = inputs.real("U_star", U_star, ndim=2)
    U_s = inputs.real("U", U_s, ndim=(2, 3), finite=False)
    U_s = inputs.real("U", U_s if U_s.ndim == 3 else U_s[None], (3,), (None, *U_star.shape), False)
    sizes = zip(("sigma_x", "sigma_z"), (sigma_x, sigma_z), U_star.shape, strict=True)
    sigma_x, sigma_z = (inputs.real(n, inputs.symmetric(n, S), shape=(k, k)) for n, S, k in sizes)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        (X, a), (Z, b) = scaled(sigma_x), scaled(sigma_z)
        norms, M = (float(norm2_upper(X)), float(norm2_upper(Z))), missed(U_s, U_star)
        value, limit = (np.ldexp(x, a + b) for x in (risk(M, X, Z), bound(M, *norms)))
        spent = rounding(U_s, U_star, X, Z, up(norms[0] * norms[1], 1))
        spent = above(scaled_up(spent, np.array(a + b)))  # one bit more, for value and bound
        frames = orthonormal_defect(U_s) + orthonormal_defect(U_star) < ORTHONORMAL
    return certificate(
        "subspace floor", statement=STATEMENT, kind="bound", value=value, bound=limit,
        rounding=spent, applies=np.isfinite(value + limit + spent) & frames, reference=REFERENCE,
        reason=np.where(frames, NOT_FINITE, NOT_ORTHONORMAL).tolist(),
        source=fingerprint(U_s, U_star, sigma_x, sigma_z),
    )  # fmt: skip


def scaled(S: Float[np.ndarray, "k k"]) -> tuple[Float[np.ndarray, "k k"], int]:
    """(2^-e S, e) with a largest entry in [1/2, 1); e = 0 for S = 0."""
    e = int(exponents(S[None])[0])
    return np.ldexp(S, -e), e
