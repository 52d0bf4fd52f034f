r"""A reduced basis for A(z) u = f: solve in the span of old solutions, then prove the answer.

From snapshots A(z_i) u_i = f_i the r leading directions V of their proper orthogonal decomposition
make the Galerkin system

    (sum_p a_p(z) V'E_p V) c = V'f,    u = V c,

r x r whatever n. The residual bound proves how far u is from the true solution; a row that misses
the tolerance goes on by conjugate gradients from there until it is proved, and is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import lapack

from twofold.encoder.operator import OperatorSystem
from twofold.rigor import inputs
from twofold.tasks.affine import Sparse

Step = Callable[[Any, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class ReducedBasis:
    """Orthonormal V (n, r) and V'E_p V (p, r, r); made by :func:`fitted`."""

    V: Float[np.ndarray, "n r"]
    pieces: Float[np.ndarray, "p r r"]

    def __call__(self, system: OperatorSystem) -> Float[np.ndarray, "N n"]:
        """The Galerkin solution of every row; NaN where its operator is not definite."""
        a, right = system.operators.coefficient(system.z), system.d @ self.V
        out = np.full(right.shape, np.nan)
        flat = self.pieces.reshape(len(self.pieces), -1)
        for start in range(0, len(right), 64):
            small = (a[start : start + 64] @ flat).reshape(-1, *self.pieces.shape[1:])
            for i, A in enumerate(small, start):
                if np.isfinite(A[0, 0]) and np.isfinite(right[i]).all():
                    _, c, failed = lapack.dposv(A.T, right[i], overwrite_a=1)
                    out[i] = np.nan if failed else c
        return out @ self.V.T


def fitted(
    operators: Sparse, snapshots: Float[np.ndarray, "M n"], *, rank: int, cut: float = 1e-14
) -> ReducedBasis:
    """The leading directions of finite solutions: ``rank`` of them at most, by size above ``cut``.

    Snapshots come as old answers do, proved or not: they decide how good the basis is, not whether
    what is said of its answers is true.
    """
    u = inputs.real("snapshots", snapshots, shape=(None, operators.size[0]), finite=False)
    u = u[np.isfinite(u).all(axis=1)]
    rank = inputs.whole("rank", rank, low=1)
    if not u.any():
        raise ValueError("snapshots: none is finite and nonzero; pass solved tasks")
    u = u[np.any(u != 0, axis=1)]
    size = np.sqrt(np.sum(u * u, axis=1, keepdims=True))
    _, weight, V = np.linalg.svd(u / size, full_matrices=False)
    V = np.ascontiguousarray(V[: min(rank, int(np.sum(weight > cut * weight[0])))].T)
    return ReducedBasis(V, np.stack([V.T @ (E @ V) for E in operators.E]))


@dataclass(frozen=True, eq=False)
class Proved:
    """Answers with proved radii: |u - A(z)^-1 f| <= radius; ``steps`` of conjugate gradients."""

    u: Float[np.ndarray, "N n"]
    radius: Float[np.ndarray, " N"]
    steps: np.ndarray
    """(N,) whole numbers: 0 where the first answer was good enough."""

    def reached(self, tolerance: float) -> np.ndarray:
        """The rows whose radius is at most ``tolerance`` |u|."""
        return self.radius <= tolerance * np.linalg.norm(self.u, axis=1)


def solve_proved(
    system: OperatorSystem,
    precondition: Step,
    *,
    tolerance: float,
    start: ReducedBasis | None = None,
    most: int = 60,
    check: int = 2,
) -> Proved:
    """U with a proved relative error of ``tolerance``, where ``most`` steps are enough for it.

    Rows that never get there keep the radius that is proved of them, inf if none is.
    """
    tolerance = float(inputs.real("tolerance", tolerance, ndim=0))
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance: expected a number between 0 and 1, got {tolerance}")
    u = np.zeros(system.d.shape) if start is None else start(system)
    u = np.where(np.isfinite(u).all(axis=1, keepdims=True), u, 0.0)
    found = Proved(u, system.distance(u), np.zeros(len(u), dtype=int))
    open_rows = np.flatnonzero(~found.reached(tolerance) & (system.coercive > 0))
    for rows in np.array_split(open_rows, max(1, len(open_rows) // 16)):
        if len(rows):
            _refine(system.rows(rows), rows, precondition, tolerance, found, (most, check))
    return found


def _refine(
    system: OperatorSystem,
    rows: np.ndarray,
    precondition: Step,
    tolerance: float,
    found: Proved,
    limits: tuple[int, int],
) -> None:
    """Conjugate gradients on ``rows`` until all of them are proved; ``found`` is filled in."""
    x = found.u[rows]
    r = system.d - system.matvec(x)
    s = precondition(system, r)
    p, energy = s, _inner(r, s)
    for step in range(1, limits[0] + 1):
        q = system.matvec(p)
        length = np.divide(energy, _inner(p, q), out=np.zeros_like(energy), where=energy > 0)
        x, r = x + length * p, r - length * q
        if step % limits[1] == 0 or step == limits[0]:
            found.u[rows], found.radius[rows] = x, system.distance(x)
            found.steps[rows] = step
            if found.reached(tolerance)[rows].all():
                return
        s = precondition(system, r)
        last, energy = energy, _inner(r, s)
        p = s + np.divide(energy, last, out=np.zeros_like(energy), where=last > 0) * p


def _inner(a: np.ndarray, b: np.ndarray) -> Float[np.ndarray, "N 1"]:
    return np.einsum("nk,nk->n", a, b)[:, None]
