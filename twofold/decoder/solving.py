r"""One call for every solver on a frozen P, with the same cost: one product with H per step.

    richardson   x += P r
    heavy_ball   the best fixed pair (alpha, beta) of an interval that holds the spectrum of P H
    chebyshev    the best fixed polynomial of that interval
    pcg          the best polynomial for each d
    certified    heavy ball; rows whose residual refutes the interval are solved again by pcg

The fast four need P and H symmetric positive definite. Without an ``interval`` the first two of
them take proved bounds of each task's own spectrum, which cost an eigenvalue problem per task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from twofold.decoder import krylov, polynomial, richardson
from twofold.decoder.polynomial import Map, Schedule
from twofold.encoder.dense import DenseSystem
from twofold.protocol import System
from twofold.rigor import inputs
from twofold.rigor.pencil import pencil_bounds

Method = Literal["richardson", "heavy_ball", "chebyshev", "pcg", "certified"]
Iterates = Float[np.ndarray, "l N K"]


@dataclass(frozen=True, eq=False)
class Solved:
    """Iterates, and which rows of ``certified`` fell back to PCG."""

    path: Iterates
    fallen: np.ndarray
    """(N,) bool"""


def solve(
    H: Any,
    d: Any = None,
    *,
    P: Any,
    method: Method = "richardson",
    depth: int,
    interval: Any = None,
) -> Iterates:
    """x_0 = 0, x_1, ..., x_depth for every task.

    ``H`` (N,K,K) with ``d`` (N,K), or a `System` alone. ``P`` is (K,K), (N,K,K), or a callable
    ``(system, residual) -> step``. ``interval`` is (m, M), shared or (N, 2), around the spectrum of
    P H. A row of NaN comes out as NaN.
    """
    return solved(H, d, P=P, method=method, depth=depth, interval=interval).path


def solved(
    H: Any, d: Any = None, *, P: Any, method: Method, depth: int, interval: Any = None
) -> Solved:
    """The same with the fallbacks that were taken."""
    depth = inputs.whole("depth", depth)
    if method not in get_args(Method):
        raise ValueError(f"method: there are {', '.join(get_args(Method))}; got {method!r}")
    if interval is not None and method in ("richardson", "pcg"):
        raise ValueError(f"interval: {method} takes none; leave it out")
    problem = _problem(H, d, P)
    none = np.zeros(len(problem.d), dtype=bool)
    if method == "richardson":
        return Solved(_richardson(problem, depth), none)
    if method == "pcg":
        return Solved(_pcg(problem, depth), none)
    ends = oracle(problem.P, problem.H) if interval is None else interval
    ends = _fitting(ends, len(problem.d))
    if method == "chebyshev":
        return Solved(_walk(problem, polynomial.chebyshev(ends, depth)), none)
    path = _walk(problem, polynomial.heavy_ball(ends, depth))
    return Solved(path, none) if method == "heavy_ball" else _repaired(problem, path, ends)


def oracle(P: Any, H: Any) -> Float[np.ndarray, "N 2"]:
    """Proved (low, high) around the spectrum of each P H; NaN rows where H is not finite.

    ValueError where P or H is not proved symmetric positive definite.
    """
    if H is None or P is None:
        raise ValueError("interval: needed where H or P is not at hand as a matrix; pass (m, M)")
    ends = np.stack(pencil_bounds(P, H), axis=1)
    lost = np.isnan(ends[:, 0]) & np.isfinite(H).all(axis=(1, 2))
    if lost.any():
        raise ValueError(
            f"P: task {int(np.argmax(lost))}: P and H are not proved symmetric positive definite, "
            "as this method needs; pass interval=(m, M) to run it all the same, or take richardson"
        )
    return ends


@dataclass(frozen=True, eq=False)
class _Problem:
    d: np.ndarray
    product: Map
    precondition: Map
    H: np.ndarray | None
    P: np.ndarray | None


def _problem(H: Any, d: Any, P: Any) -> _Problem:
    if callable(P) or d is None:
        return _posed(_system(H, d), P)
    P, H, d, _ = richardson.checked(P, H, d, 0)
    return _Problem(d, lambda v: times(H, v), lambda r: times(P, r), H, P)


def _system(H: Any, d: Any) -> Any:
    """The System that was passed in place of H and d, or one made of both."""
    if d is not None:
        return DenseSystem(H, d)
    if not isinstance(H, System):
        raise ValueError("d: missing; pass H and d, or a System in place of both")
    return H


def _posed(system: Any, P: Any) -> _Problem:
    """A system with P as a matrix, as an object that has one, or as a map (system, r) -> step."""
    H = system.dense()
    d = inputs.real("system.d", system.d, ndim=2, finite=False)
    if hasattr(P, "matrix") and H is not None:
        P = P.matrix(system)
    if callable(P):
        step: Any = P
        return _Problem(d, system.matvec, lambda r: step(system, r), H, None)
    if H is not None:
        return _problem(H, d, P)
    P, K = inputs.square("P", P), d.shape[1]
    if P.shape not in ((K, K), (len(d), K, K)):
        raise ValueError(f"P: expected ({K}, {K}) or one for each task, got {P.shape}")
    return _Problem(d, system.matvec, lambda r: times(P, r), None, P)


def times(A: np.ndarray, v: np.ndarray) -> Float[np.ndarray, "N K"]:
    """A v row by row, for one A or one for each row."""
    return v @ A.T if A.ndim == 2 else np.matmul(A, v[..., None])[..., 0]


def _fitting(interval: Any, count: int) -> np.ndarray:
    ends = inputs.real("interval", interval, ndim=(1, 2), finite=False)
    if ends.ndim == 2 and len(ends) != count:
        raise ValueError(f"interval: expected (2,) or ({count}, 2), got {ends.shape}")
    return ends


def _richardson(problem: _Problem, depth: int) -> Iterates:
    if problem.H is not None and problem.P is not None:
        path = richardson.iterates(problem.P, problem.H, problem.d, depth)
        return np.ascontiguousarray(path.swapaxes(0, 1))
    return _walk(problem, polynomial.richardson(depth))


def _walk(problem: _Problem, schedule: Schedule) -> Iterates:
    return polynomial.walk(schedule, problem.d, problem.product, problem.precondition)


def _pcg(problem: _Problem, depth: int, rows: Any = slice(None)) -> Iterates:
    _definite(problem.P)
    if isinstance(rows, slice):
        return krylov.pcg(problem.d, problem.product, problem.precondition, depth)
    if problem.H is None or problem.P is None:
        return krylov.pcg(problem.d, problem.product, problem.precondition, depth)[:, rows]
    H, P = problem.H[rows], problem.P if problem.P.ndim == 2 else problem.P[rows]
    return krylov.pcg(problem.d[rows], lambda v: times(H, v), lambda r: times(P, r), depth)


def _definite(P: np.ndarray | None) -> None:
    """Refuse a P that conjugate gradients cannot take."""
    if P is None:
        return
    for n, p in enumerate(P[None] if P.ndim == 2 else P):
        if not np.isfinite(p).all():
            continue
        gap = float(inputs.asymmetry(p))
        if gap > 1e-12 or np.linalg.eigvalsh(0.5 * (p + p.T))[0] <= 0:
            raise ValueError(
                f"P: matrix {n} is not symmetric positive definite (asymmetry {gap:.3g}), as pcg "
                "needs it; pass (P + P.T) / 2 if that is definite, or take richardson"
            )


def _repaired(problem: _Problem, path: Iterates, interval: np.ndarray) -> Solved:
    """PCG on the rows whose residual no interval around the spectrum allows."""
    fallen = refuted(problem.d, path[-1], problem.product, problem.precondition, interval,
                     len(path) - 1)  # fmt: skip
    if fallen.any():
        path = path.copy()
        path[:, fallen] = _pcg(problem, len(path) - 1, np.flatnonzero(fallen))
    return Solved(path, fallen)


def refuted(
    d: np.ndarray, x: np.ndarray, product: Map, precondition: Map, interval: Any, depth: int
) -> np.ndarray:
    r"""Rows with r'P r > (1 + L (1 + q))^2 q^{2L} d'P d, r = d - H x_L: not NaN ones.

    P H is self-adjoint in the inner product of H P H, in which |e| is sqrt(r'P r); so where the
    interval holds the spectrum the envelope holds for it too. The 1e-12 is for rounding: it only
    decides who falls back, and no proof rests on it.
    """
    q = polynomial.rate(interval)
    envelope = ((1.0 + depth * (1.0 + q)) * q**depth) ** 2 + 1e-24
    with np.errstate(over="ignore", invalid="ignore"):
        r = d - product(x)
        left = np.einsum("nk,nk->n", r, precondition(r))
        right = envelope * np.einsum("nk,nk->n", d, precondition(d))
        bad = ~(left <= right * (1 + 1e-12))
    return bad & np.isfinite(d).all(axis=1) & ~np.isnan(np.broadcast_to(q, bad.shape))
