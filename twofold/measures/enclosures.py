r"""Matrices, eigenvalues and subspaces with a proved radius: what theorems may compare.

``Ball(mid, radius)`` stands for every matrix A with ||A - mid||_F <= radius; sums and products
enclose what exact arithmetic would give, by the model of ``rigor.roundoff``. An infinite or NaN
radius encloses nothing and stays so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor.compensated import length_upper
from twofold.rigor.inputs import real, symmetric
from twofold.rigor.norms import norm2_upper
from twofold.rigor.roundoff import THETA, U, gamma, up

Batch = Float[np.ndarray, "*N"]


@dataclass(frozen=True, eq=False)
class Ball:
    """All matrices within ``radius`` (N,) of ``mid`` (N, m, n) in Frobenius norm."""

    mid: Float[np.ndarray, "*N m n"]
    radius: Batch

    @property
    def T(self) -> Ball:
        """The transposes."""
        return Ball(np.swapaxes(self.mid, -1, -2), self.radius)

    def size(self) -> Batch:
        """An upper bound of the Frobenius norm of every member."""
        return up(frobenius_upper(self.mid) + self.radius, 1)

    def __matmul__(self, other: Ball) -> Ball:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            mid = self.mid @ other.mid
            k, entries = self.mid.shape[-1], mid.shape[-1] * mid.shape[-2]
            a, b = frobenius_upper(self.mid), frobenius_upper(other.mid)
            spread = self.radius * (b + other.radius) + a * (other.radius + gamma(k) * b)
            return Ball(mid, up(spread, 6) + k * entries * THETA)

    def __add__(self, other: Ball) -> Ball:
        with np.errstate(over="ignore", invalid="ignore"):
            mid = self.mid + other.mid
            return Ball(mid, up(self.radius + other.radius + U * frobenius_upper(mid), 3))

    def __sub__(self, other: Ball) -> Ball:
        return self + Ball(-other.mid, other.radius)


def exact(A: Float[np.ndarray, "*N m n"]) -> Ball:
    """The floats of A themselves."""
    return Ball(A, np.zeros(A.shape[:-2]))


def frobenius_upper(A: Float[np.ndarray, "*N m n"]) -> Batch:
    """At least ``||A||_F``, at any scale; at most 2 m n roundings above it, inf if not finite."""
    rows = np.ascontiguousarray(A).reshape(-1, A.shape[-1] * A.shape[-2])
    return length_upper(rows).reshape(A.shape[:-2])


def norm_upper(A: Ball) -> Batch:
    """At least ``||A||_2`` of every member: the verified norm of the middle, and the radius."""
    m, n = A.mid.shape[-2:]
    K = max(m, n)
    padded = np.zeros((*A.mid.shape[:-2], K, K))
    padded[..., :m, :n] = A.mid
    flat = np.asarray(norm2_upper(padded.reshape(-1, K, K))).reshape(A.mid.shape[:-2])
    return up(flat + A.radius, 1)


def symmetric_pair(
    name: str, shared: Any, batch_name: str, batch: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Exactly symmetric ``shared`` (K,K) or (N,K,K) and ``batch`` (N,K,K), N >= 1, that fit."""
    batch = symmetric(batch_name, real(batch_name, batch, ndim=3))
    shared = symmetric(name, shared)
    if 0 in batch.shape:
        raise ValueError(f"{batch_name}: shape {batch.shape} is empty; pass at least one matrix")
    if shared.shape not in (batch.shape, batch.shape[1:]):
        raise ValueError(
            f"{name}: expected shape {batch.shape[1:]} or {batch.shape} to fit {batch_name}, "
            f"got {shared.shape}"
        )
    return shared, batch


def norm_attained(A: Ball) -> tuple[Batch, Batch]:
    """``(value, rounding)`` with value - rounding <= ||A||_2 of every member.

    value = ||A w|| / ||w|| for a singular vector w of the middle: no norm can be below that.
    """
    finite = np.asarray(np.isfinite(A.mid).all(axis=(-1, -2)))
    w = np.linalg.svd(np.where(finite[..., None, None], A.mid, 0.0))[2][..., :1, :]
    image, length = A @ exact(np.swapaxes(w, -1, -2)), np.linalg.norm(w, axis=(-1, -2))
    value = frobenius_upper(image.mid) / length
    relative = 4 * (A.mid.shape[-2] + A.mid.shape[-1] + 4) * U
    return value, np.where(finite, up(image.radius / length + relative * value, 4), np.inf)


def distance_upper(A: Float[np.ndarray, "*N m n"], B: Float[np.ndarray, "*N m n"]) -> Batch:
    """At least ``||A - B||_2``."""
    return norm_upper(exact(A) - exact(B))


def orthonormal_defect(Q: Float[np.ndarray, "*N K r"]) -> Batch:
    """At least ``||Q'Q - I||_2``."""
    return (exact(Q).T @ exact(Q) - exact(np.eye(Q.shape[-1]))).size()


def eigenvalues(
    S: Float[np.ndarray, "*N K K"],
) -> tuple[Float[np.ndarray, "*N K"], Batch, Float[np.ndarray, "*N K K"]]:
    r"""``(values, radius, Q)`` of exactly symmetric S: |lambda_i(S) - values_i| <= radius.

    Descending. With eps >= ||S - Q diag(values) Q'|| and delta >= ||Q'Q - I||, Weyl and Ostrowski
    give eps + delta max|values|, whatever made Q and values. Rows that are not finite have NaN.
    """
    finite = np.asarray(np.isfinite(S).all(axis=(-1, -2)))
    values, Q = np.linalg.eigh(np.where(finite[..., None, None], S, 0.0))
    values, Q = values[..., ::-1], np.ascontiguousarray(Q[..., ::-1])
    scaled = Q * values[..., None, :]
    rounding = up(U * frobenius_upper(scaled) + THETA, 3)
    residual = exact(S) - Ball(scaled, rounding) @ exact(Q).T
    delta = orthonormal_defect(Q)
    radius = up(residual.size() + delta * np.max(np.abs(values), axis=-1), 2)
    return values, np.where(finite & (delta < 1), radius, np.nan), Q


def top_subspace(S: Float[np.ndarray, "*N K K"], rank: int) -> tuple[np.ndarray, Batch]:
    r"""``(V, radius)``: ||sin Theta(V, Top_r(S))||_2 <= radius, inf where the gap is unresolved.

    With M = diag(values), ||S V - V M|| / ((values_r - lambda_{r+1}(S)) sqrt(1 - ||V'V - I||)).
    """
    values, spread, Q = eigenvalues(S)
    V, top = np.ascontiguousarray(Q[..., :rank]), values[..., :rank]
    if rank == S.shape[-1]:
        return V, np.where(np.isnan(spread), np.inf, 0.0)
    scaled = V * top[..., None, :]
    moved = Ball(scaled, up(U * frobenius_upper(scaled) + THETA, 3))
    residual = (exact(S) @ exact(V) - moved).size()
    gap = gap_lower(top[..., -1], values[..., rank], spread)
    length = np.maximum(lower(1.0, orthonormal_defect(V)), 0.0)
    return V, quotient_upper(residual, lower(gap * length, 0.0))


def sine(U1: Float[np.ndarray, "*N K r"], U2: Float[np.ndarray, "*N K r"]) -> tuple[Batch, Batch]:
    r"""``(value, rounding)`` with value - rounding <= ||sin Theta(span U1, span U2)||_2.

    X = (I - U1 U1') U2 is enclosed and its norm attained; delta_1 and delta_2 pay for frames that
    are orthonormal only to rounding.
    """
    first, second = exact(U1), exact(U2)
    X = second - first @ (first.T @ second)
    value, spent = norm_attained(X)
    delta_1, delta_2 = orthonormal_defect(U1), orthonormal_defect(U2)
    spent = spent + delta_1 * (1 + delta_2) + delta_2
    return value, np.where(delta_1 + delta_2 < 0.5, up(spent, 4), np.inf)


def gap_lower(above: Batch, below: Batch, spread: Batch) -> Batch:
    """At most ``above - below - spread``."""
    return lower(lower(above, below), spread)


def lower(x: Batch | float, error: Batch | float) -> Batch:
    """At most ``x - error``: one rounding, and the next few, taken off."""
    difference = np.asarray(x - error)
    return difference - 4 * U * np.abs(difference) - THETA


def quotient_upper(above: Batch, below: Batch) -> Batch:
    """At least ``above / below`` for above >= 0; inf where ``below`` is not proved positive."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(below > 0, up(above / np.where(below > 0, below, 1.0), 3), np.inf)
