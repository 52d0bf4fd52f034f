"""PDE solves: 1-D by the tridiagonal kernel, 2-D by a reduced basis with a certified residual."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from harness import Case, Gate, Race
from scipy.sparse.linalg import splu

from twofold.decoder import reduced_basis
from twofold.decoder.fast_poisson import FastPoisson
from twofold.encoder.operator import OperatorSystem
from twofold.tasks import families, forcing, tridiagonal

TASKS, LINE, SIDE = 1000, 256, 64
MODES, SNAPSHOTS, RANK = 6, 400, 200
SPREAD, TOLERANCE = 0.2, 1e-8


def cases() -> Iterator[Case]:
    """The 2-D basis is made once for a family of operators, from old answers: not on the clock."""
    yield Case(
        f"1-D elliptic, n={LINE}, {TASKS} tasks",
        line,
        gates=(Gate("numpy", 300),),
        moved=8.0 * TASKS * (4 * LINE - 1),
    )
    yield Case(
        f"2-D diffusion, n={SIDE**2}, {TASKS} tasks, proved to {TOLERANCE:g}",
        plane,
        gates=(Gate("superlu", 5, 10),),
    )


def latents(count: int, seed: int) -> np.ndarray:
    """Z ~ N(0, SPREAD^2 I), kept where every coefficient stays positive."""
    return np.clip(SPREAD * np.random.default_rng(seed).standard_normal((count, 4)), -0.9, 5.0)


def line() -> Race:
    """Piecewise coefficients on one line; the rival is handed its matrices ready made."""
    rng = np.random.default_rng(0)
    a = rng.uniform(0.5, 1.5, (TASKS, LINE + 1)) * (LINE + 1) ** 2
    main, off = a[:, :-1] + a[:, 1:], -a[:, 1:-1]
    right, i = rng.standard_normal((TASKS, LINE)), np.arange(LINE)
    dense = np.zeros((TASKS, LINE, LINE))
    dense[:, i, i], dense[:, i[1:], i[:-1]], dense[:, i[:-1], i[1:]] = main, off, off

    def numpy() -> np.ndarray:
        return np.linalg.solve(dense, right[..., None])[..., 0]

    ours = partial(tridiagonal.solve, main, off, right)
    return Race(ours, {"numpy dense": numpy, "torch dense": torch_solve(dense, right)}, close(1e-9))


def plane() -> Race:
    """Ours proves every answer; SuperLU is handed its matrices ready made, and proves nothing."""
    family, field = families.diffusion(side=SIDE), forcing.field(SIDE, axes=2, modes=MODES)
    rng = np.random.default_rng(1)

    def systems(count: int, seed: int) -> OperatorSystem:
        return OperatorSystem(
            family, latents(count, seed), rng.standard_normal((count, MODES**2)) @ field
        )

    old, system, poisson = systems(SNAPSHOTS, 2), systems(TASKS, 3), FastPoisson(SIDE)
    known = reduced_basis.solve_proved(old, poisson, tolerance=1e-10)
    basis = reduced_basis.fitted(family, known.u, rank=RANK)
    plain = [family.matrix(z) for z in system.z]
    ordered = [A[family.order][:, family.order].tocsc() for A in plain]

    def ours() -> np.ndarray:
        fresh = OperatorSystem(family, system.z, system.d)
        found = reduced_basis.solve_proved(fresh, poisson, tolerance=TOLERANCE, start=basis)
        assert found.reached(TOLERANCE).all()
        return found.u

    def colamd() -> np.ndarray:
        return np.stack([splu(A).solve(f) for A, f in zip(plain, system.d, strict=True)])

    def reused() -> np.ndarray:
        out, options = np.empty(system.d.shape), {"SymmetricMode": True}
        for u, A, f in zip(out, ordered, system.d[:, family.order], strict=True):
            factor = splu(A, permc_spec="NATURAL", diag_pivot_thresh=0.0, options=options)
            u[family.order] = factor.solve(f)
        return out

    rivals = {"superlu colamd": colamd, "superlu reused order": reused}
    return Race(ours, rivals, close(TOLERANCE))


def torch_solve(dense: np.ndarray, right: np.ndarray) -> Callable[[], np.ndarray] | None:
    """PyTorch's batched solve, or None where it is not installed."""
    try:
        import torch
    except ImportError:
        return None
    A, b = torch.from_numpy(dense), torch.from_numpy(right)
    return lambda: torch.linalg.solve(A, b).numpy()


def close(tolerance: float) -> Callable[[Mapping[str, np.ndarray]], None]:
    """Agreement of every contestant with ours, row by row."""

    def agree(results: Mapping[str, np.ndarray]) -> None:
        size = np.linalg.norm(results["ours"], axis=1)
        for label, u in results.items():
            gap = np.max(np.linalg.norm(u - results["ours"], axis=1) / size)
            assert gap < tolerance, f"{label} is off by {gap:.1e}"

    return agree
