"""Where an error sits: eigenspace weights, angles between subspaces, distance to the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.measures.spectra import UNIT
from twofold.rigor.inputs import real, symmetric

ORTHONORMAL = 1e-6


def overlap_weights(E: Any, C: Any) -> Float[np.ndarray, "*S K"]:
    r"""``Omega_i = lambda_i ||E q_i||^2 / sum_j lambda_j ||E q_j||^2``, lambda descending.

    E = P_s - P* (R, K), or a trajectory (S, R, K); C = Q diag(lambda) Q' (K, K), or its diagonal
    (K,) with the coordinates in the order given. NaN where E carries no energy under C. Within an
    eigenspace of several dimensions only the sum of the weights is meaningful.
    """
    E, C = real("E", E, ndim=(2, 3)), real("C", C, ndim=(1, 2))
    if E.shape[-1] != C.shape[-1] or 0 in E.shape:
        raise ValueError(f"E: expected {C.shape[-1]} columns to match C, got shape {E.shape}")
    eigenvalues, Q = _eigenbasis(C)
    top = np.max(np.abs(E), axis=(-1, -2), keepdims=True)
    energy = eigenvalues * np.sum((E / np.where(top > 0, top, 1.0) @ Q) ** 2, axis=-2)
    total = np.sum(energy, axis=-1, keepdims=True)
    return np.where(total > 0, energy / np.where(total > 0, total, 1.0), np.nan)


def overlap_entropy(omega: Any) -> Float[np.ndarray, "*S"]:
    """``-(1 / log K) sum_i Omega_i log Omega_i`` in [0, 1], with 0 log 0 = 0.

    NaN for a row of NaN weights, and for K = 1, where log K = 0 leaves nothing to normalise by.
    """
    omega = real("omega", omega, ndim=(1, 2), finite=False)
    K = omega.shape[-1]
    if np.any(omega < 0) or np.any(np.abs(np.sum(omega, axis=-1) - 1) > 8 * max(K, 16) * UNIT):
        raise ValueError("omega: weights must be >= 0 and sum to 1; pass overlap_weights(E, C)")
    terms = omega * np.log(np.where(omega > 0, omega, 1.0))
    return (
        np.abs(np.sum(terms, axis=-1)) / np.log(K) if K > 1 else np.full(omega.shape[:-1], np.nan)
    )


def principal_angles(U: Any, V: Any) -> Float[np.ndarray, "*S r"]:
    """Angles between span U and span V, descending, from sines where small, cosines where large.

    U, V (K, r) or (S, K, r) with orthonormal columns (checked, then orthonormalised to rounding).
    An angle of 1e-12 is right to 1e-16 absolutely; arccos alone would return 0.
    """
    U, V = _orthonormal("U", U), _orthonormal("V", V)
    if U.shape[-2:] != V.shape[-2:]:
        raise ValueError(f"V: expected the shape of U, {U.shape}, got {V.shape}")
    cross = np.swapaxes(U, -1, -2) @ V
    cosines = np.linalg.svd(cross, compute_uv=False)[..., ::-1]
    sines = np.linalg.svd(V - U @ cross, compute_uv=False)
    sines, cosines = np.minimum(sines, 1.0), np.minimum(cosines, 1.0)
    return np.where(sines**2 < 0.5, np.arcsin(sines), np.arccos(cosines))


def sin2_norm(U: Any, V: Any) -> Float[np.ndarray, "*S"]:
    """``||sin Theta||_2^2``, the largest squared sine."""
    return np.sin(principal_angles(U, V)[..., 0]) ** 2


def sin2_frobenius(U: Any, V: Any) -> Float[np.ndarray, "*S"]:
    """``||sin Theta||_F^2``, the sum of the squared sines."""
    return np.sum(np.sin(principal_angles(U, V)) ** 2, axis=-1)


def sin2_mean(U: Any, V: Any) -> Float[np.ndarray, "*S"]:
    """``||sin Theta||_F^2 / r``, the mean squared sine."""
    return np.mean(np.sin(principal_angles(U, V)) ** 2, axis=-1)


def relative_distance(P: Any, oracle: Any) -> Float[np.ndarray, "*S"]:
    """``||P - P*||_F / ||P*||_F``; NaN for P* = 0."""
    P, oracle = _pair(P, oracle)
    length = _frobenius(oracle)
    distance = 2 * _frobenius(P / 2 - oracle / 2)
    with np.errstate(over="ignore"):
        return np.where(length > 0, distance / np.where(length > 0, length, 1.0), np.nan)


def cosine_defect(P: Any, oracle: Any) -> Float[np.ndarray, "*S"]:
    """``1 - <P, P*> / (||P||_F ||P*||_F) = ||P/||P|| - P*/||P*||||_F^2 / 2``; NaN if either is 0.

    The second form has no cancellation: a defect of 1e-20 keeps six digits.
    """
    P, oracle = _pair(P, oracle)
    with np.errstate(invalid="ignore"):
        gap = _unit(P) - _unit(oracle)
        return np.sum(gap**2, axis=(-1, -2)) / 2


def _unit(P: np.ndarray) -> np.ndarray:
    P = P / np.max(np.abs(P), axis=(-1, -2), keepdims=True)
    return P / np.linalg.norm(P, axis=(-1, -2), keepdims=True)


def _frobenius(T: np.ndarray) -> np.ndarray:
    """``||T||_F`` with a power of two taken out, so that no square overflows or vanishes."""
    exponent = np.frexp(np.max(np.abs(T), axis=(-1, -2)))[1]
    unit = np.ldexp(T, -exponent[..., None, None])
    with np.errstate(over="ignore"):
        return np.ldexp(np.linalg.norm(unit, axis=(-1, -2)), exponent)


def _pair(P: Any, oracle: Any) -> tuple[np.ndarray, np.ndarray]:
    P, oracle = real("P", P, ndim=(2, 3)), real("oracle", oracle, ndim=(2, 3))
    if P.shape[-2:] != oracle.shape[-2:] or 0 in P.shape:
        raise ValueError(f"oracle: expected matrices of shape {P.shape[-2:]}, got {oracle.shape}")
    return P, oracle


def _orthonormal(name: str, U: Any) -> np.ndarray:
    U = real(name, U, ndim=(2, 3))
    K, r = U.shape[-2:]
    if not 1 <= r <= K:
        raise ValueError(f"{name}: expected (K, r) with 1 <= r <= K, got shape {U.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        defect = np.max(np.abs(np.swapaxes(U, -1, -2) @ U - np.eye(r)), initial=0.0)
    if not defect <= ORTHONORMAL:
        raise ValueError(
            f"{name}: columns are not orthonormal (|{name}'{name} - I| = {defect:.2g}); "
            f"pass np.linalg.qr({name})[0]"
        )
    return np.linalg.qr(U)[0]


def _eigenbasis(C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if C.ndim == 1:
        eigenvalues, Q = C, np.eye(len(C))
    else:
        eigenvalues, Q = np.linalg.eigh(symmetric("C", C))
        eigenvalues, Q = eigenvalues[::-1], Q[:, ::-1]
    largest = np.max(np.abs(eigenvalues))
    if np.min(eigenvalues) < -4 * len(C) * UNIT * largest:
        raise ValueError(f"C: a second moment has no negative eigenvalue, got {min(eigenvalues)}")
    scale = largest if largest > 0 else 1.0
    return np.maximum(eigenvalues, 0.0) / scale, Q
