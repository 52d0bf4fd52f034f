r"""Preconditioners without training: what P a system suggests by itself.

Each is ``(system, residual) -> step`` and has ``matrix(system) -> P``, one (K,K) for all tasks or
one (N,K,K) for each. `frozen` builds it once, on a matrix that stands for all systems (H_inf, say).
`scaled` brings the spectrum of P H to be centred at 1, which is best for Richardson.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float

from twofold.encoder.dense import DenseSystem
from twofold.protocol import System
from twofold.rigor import inputs

Matrices = Float[np.ndarray, "*N K K"]


class Linear(ABC):
    """A preconditioner that is a matrix: the step is P r."""

    @abstractmethod
    def matrix(self, system: System) -> Matrices:
        """P."""

    @final
    def __call__(self, system: System, residual: np.ndarray) -> Float[np.ndarray, "N K"]:
        """P r, row by row."""
        return np.matmul(self.matrix(system), residual[..., None])[..., 0]


def formed(system: System) -> Float[np.ndarray, "N K K"]:
    """H of a system that has one; ValueError else."""
    H = system.dense()
    if H is None:
        raise ValueError("system: H is never formed here; use Free, or a step map of your own")
    return inputs.square("system.dense()", H, finite=False)


def frozen(preconditioner: Linear, H: Any) -> Free:
    """``preconditioner`` built once on the matrix ``H`` (K,K)."""
    H = inputs.real("H", H, ndim=2)
    system: Any = DenseSystem(H[None], np.zeros((1, len(H))))
    P = preconditioner.matrix(system)
    return Free(P if P.ndim == 2 else P[0])


def scaled(P: Matrices, H: Matrices) -> Matrices:
    """P times 2 / (least + largest eigenvalue of P H), real parts taken."""
    ends = np.linalg.eigvals(np.matmul(P, H)).real
    return P * (2.0 / (ends.min(axis=-1) + ends.max(axis=-1)))[..., None, None]


@dataclass(frozen=True, eq=False)
class Free(Linear):
    """Any dense P, learned or given; it does not look at the system."""

    P: Matrices

    def matrix(self, system: System) -> Matrices:
        """P."""
        return inputs.square("P", self.P)


@dataclass(frozen=True)
class Scalar(Linear):
    """P = 2 / (lambda_min + lambda_max) I."""

    def matrix(self, system: System) -> Matrices:
        """The best multiple of the identity for each H."""
        ends = np.linalg.eigvalsh(formed(system))[:, [0, -1]]
        return (2.0 / ends.sum(axis=1))[:, None, None] * np.eye(formed(system).shape[-1])


@dataclass(frozen=True)
class Jacobi(Linear):
    """P = diag(H)^-1."""

    def matrix(self, system: System) -> Matrices:
        """The inverse of the diagonal."""
        return BlockJacobi(1).matrix(system)


@dataclass(frozen=True)
class BlockJacobi(Linear):
    """P = the inverse of the diagonal blocks of H, ``size`` wide; the last may be narrower."""

    size: int

    def matrix(self, system: System) -> Matrices:
        """Block by block."""
        H = formed(system)
        P = np.zeros_like(H)
        width = inputs.whole("size", self.size, low=1)
        for i in range(0, H.shape[-1], width):
            block = slice(i, i + width)
            P[:, block, block] = _inverse(H[:, block, block], f"block {i // width} of H")
        return P


@dataclass(frozen=True)
class Inverse(Linear):
    """P = H^-1: one step is enough. The upper end of every comparison."""

    def matrix(self, system: System) -> Matrices:
        """H^-1."""
        return _inverse(formed(system), "H")


@dataclass(frozen=True)
class LowRank(Linear):
    r"""P = V (Lambda^-1 - 1/tau) V' + 1/tau I: the top ``rank`` eigenpairs inverted exactly.

    tau = (lambda_{rank+1} + lambda_min) / 2 centres what is left at 1.
    """

    rank: int

    def matrix(self, system: System) -> Matrices:
        """By the eigendecomposition of each H."""
        H = formed(system)
        K, r = H.shape[-1], inputs.whole("rank", self.rank)
        if r >= K:
            raise ValueError(f"rank: expected at most K - 1 = {K - 1}, got {r}; use Inverse")
        values, vectors = np.linalg.eigh(H)
        tail = 0.5 * (values[:, 0] + values[:, K - r - 1])
        return _deflated(vectors[:, :, K - r :], 1.0 / values[:, K - r :], 1.0 / tail)


@dataclass(frozen=True)
class Nystrom(Linear):
    r"""P = U Lambda^-1 U' + (I - U U') / lambda_r for the Nystroem sketch of H, U Lambda U'.

    The sketch is Y (Omega'Y)^-1 Y' with Y = H Omega, Omega (K, rank) drawn from ``seed``: H is
    only touched by ``rank`` products.
    """

    rank: int
    seed: int = 0

    def matrix(self, system: System) -> Matrices:
        """By Cholesky of Omega'Y and an SVD of Y C'^-1."""
        H = formed(system)
        K, r = H.shape[-1], inputs.whole("rank", self.rank, low=1)
        if r > K:
            raise ValueError(f"rank: expected at most K = {K}, got {r}")
        omega = np.linalg.qr(np.random.default_rng(self.seed).standard_normal((K, r)))[0]
        Y = H @ omega
        C = np.linalg.cholesky(omega.T @ Y)
        B = np.linalg.solve(C, Y.swapaxes(1, 2)).swapaxes(1, 2)
        U, root, _ = np.linalg.svd(B, full_matrices=False)
        return _deflated(U, root**-2, root[:, -1] ** -2)


def _deflated(V: np.ndarray, inside: np.ndarray, outside: np.ndarray) -> Matrices:
    """V diag(inside) V' + outside (I - V V'), symmetric to the last bit."""
    P = (V * (inside - outside[:, None])[:, None, :]) @ V.swapaxes(1, 2)
    P = 0.5 * (P + P.swapaxes(1, 2))
    return P + outside[:, None, None] * np.eye(V.shape[1])


def _inverse(A: np.ndarray, name: str) -> Matrices:
    try:
        R = np.linalg.inv(A)
    except np.linalg.LinAlgError as error:
        raise ValueError(f"system: {name} is singular for some task; add a ridge") from error
    symmetric = np.all(A == A.swapaxes(1, 2))
    return 0.5 * (R + R.swapaxes(1, 2)) if symmetric else R
