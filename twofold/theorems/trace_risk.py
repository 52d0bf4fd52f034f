r"""The exact risk of Richardson's iteration under a prior, for each H.

Statement. If x_dagger has mean zero and covariance S, independent of H, then given H
E|x_L - x_dagger|^2 / K = tr(T^L S (T^L)') / K, T = I - P H. Only second moments are used: nothing
is Gaussian. Checked as an identity between two routes to T^L: L products, and the binary powers.

With a computed M, |M - T^L|_F <= e, the trace of M S M' is off by at most
2 e |M S|_F + e^2 |S|_F, and evaluating it by gamma_{3K+2} of the same sum over |M|, |S|.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from twofold.certificate import Certificate, fingerprint, identity
from twofold.decoder.drift import norm_upper, power_growth
from twofold.decoder.transport import transport
from twofold.rigor import inputs
from twofold.rigor.powers import first, times
from twofold.rigor.roundoff import THETA, gamma, scaled_up, up

STATEMENT = r"\tfrac1K\,\mathbb E\|x_L-x^\dagger\|^2=\tfrac1K\operatorname{tr}(T^L S (T^L)^\top)"
REFERENCE = "mathai1992quadratic"
Slack = Float[np.ndarray, " N"]


def risk(
    P: np.ndarray, H: np.ndarray, depth: int, prior: np.ndarray | None = None
) -> tuple[Float[np.ndarray, " N"], Slack]:
    """(tr(T^L S T^L') / K per H, a bound of its rounding); no prior means S = I."""
    P, H, _ = inputs.systems(P, H, finite=False)
    if not H.size:
        raise ValueError(f"H: expected at least one system, got shape {H.shape}")
    growth = power_growth(P, H, inputs.whole("depth", depth))
    start = np.broadcast_to(np.eye(H.shape[1]), H.shape).copy()
    return trace(*transport(P, H, start, depth, growth), covariance("prior", prior, H.shape[1]))


def risk_by_powers(
    P: np.ndarray, H: np.ndarray, depth: int, prior: np.ndarray | None = None
) -> tuple[Float[np.ndarray, " N"], Slack]:
    """The same through T^2, T^4, ..."""
    P, H, _ = inputs.systems(P, H, finite=False)
    N, K, _ = H.shape
    S = covariance("prior", prior, K)
    if inputs.whole("depth", depth) == 0:
        return trace(np.broadcast_to(np.eye(K), H.shape), np.zeros(N), S)
    T = power = first(P, H)
    for digit in bin(depth)[3:]:
        power = times(power, power)
        power = times(power, T) if digit == "1" else power
    with np.errstate(over="ignore", under="ignore"):
        M = np.ldexp(power.M, power.exponent[:, None, None])
        error = up(np.sqrt(float(K)) * scaled_up(power.error, power.exponent) + K * THETA, 3)
    return trace(M, error, S)


def trace(
    M: Float[np.ndarray, "N K K"], error: Slack, S: Float[np.ndarray, "K K"]
) -> tuple[Float[np.ndarray, " N"], Slack]:
    """(tr(M S M') / K, its distance at most from that of any matrix within ``error`` of M)."""
    N, K, _ = M.shape
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.sum(np.sum((np.abs(M) @ np.abs(S)) * np.abs(M), axis=2), axis=1)
        product = norm_upper(up(np.abs(M) @ np.abs(S), K).reshape(N, -1))
        moved = 2 * error * product + error * error * norm_upper(S.reshape(-1))
        slack = up(gamma(3 * K + 2) * up(size, 3 * K) + moved + K**3 * THETA, 6)
        value = np.sum(np.sum((M @ S) * M, axis=2), axis=1) / K
        return value, up(slack / K + 2.0**-52 * np.abs(value), 3)


def covariance(name: str, S: np.ndarray | None, K: int) -> Float[np.ndarray, "K K"]:
    """S from nothing (I), a spectrum or a matrix; ValueError unless positive semidefinite."""
    S = np.eye(K) if S is None else inputs.real(name, S, ndim=(1, 2))
    S = inputs.symmetric(name, np.diag(S) if S.ndim == 1 else S)
    if S.shape != (K, K):
        raise ValueError(f"{name}: expected ({K},) or ({K}, {K}), got one for K = {len(S)}")
    eigenvalues = np.linalg.eigvalsh(S)
    if eigenvalues[0] < -1e-12 * max(eigenvalues[-1], 0.0):
        raise ValueError(f"{name}: not a covariance, it has the eigenvalue {eigenvalues[0]:.3g}")
    return S


def certify(
    P: np.ndarray, H: np.ndarray, depth: int, prior: np.ndarray | None = None
) -> Certificate:
    """The gap between both routes, per H."""
    (one, a), (two, b) = risk(P, H, depth, prior), risk_by_powers(P, H, depth, prior)
    source = fingerprint(P, H, np.int64(depth), np.eye(1) if prior is None else prior)
    with np.errstate(invalid="ignore", over="ignore"):
        gap, rounding = np.abs(one - two), up(a + b + 2.0**-52 * np.abs(one - two), 3)
    return identity(
        "Trace risk", statement=STATEMENT, about="exact", gap=gap, rounding=rounding,
        applies=np.isfinite(gap) & np.isfinite(rounding), reference=REFERENCE,
        reason="T^L or its rounding is not finite",
        source=source,
    )  # fmt: skip
