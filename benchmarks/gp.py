"""Posterior mean and variance of 10,000 Gaussian-process prompts, against plain batched NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from harness import Case, Gate, Race

from twofold.tasks import gp

COUNT, POINTS, NOISE = 10_000, 64, 0.1
GATES = {16: (10, 15), 64: (5, 10), 128: (10, 20)}
Answer = tuple[np.ndarray, np.ndarray]


def cases() -> Iterator[Case]:
    """Ours factors the smaller system; every rival solves the R x R one, as the formula reads."""
    for R, (gate, aim) in GATES.items():
        n, m = min(R, POINTS), max(R, POINTS)
        yield Case(
            f"GP posterior, {COUNT} tasks, {POINTS} points, R={R}",
            partial(race, R),
            gates=(Gate("numpy", gate, aim),),
            flops=COUNT * (n * n * m + n**3 / 3 + (n**3 / 3 if n == R else n * n * R)),
            moved=8.0 * COUNT * POINTS * R,
        )


def race(R: int) -> Race:
    """Agreement to 1e-9 of the largest entry: the systems have conditions up to 1e5."""
    rng = np.random.default_rng(0)
    Phi, y = rng.standard_normal((COUNT, POINTS, R)), rng.standard_normal((COUNT, POINTS))
    prior = 1.0 / np.arange(1, R + 1)

    def ours() -> Answer:
        found = gp.posterior(Phi, y, prior=prior, noise=NOISE)
        return found.z, found.variance

    def agree(results: Mapping[str, Answer]) -> None:
        for label, found in results.items():
            for a, b in zip(found, results["ours"], strict=True):
                gap = np.max(np.abs(a - b)) / np.max(np.abs(b))
                assert gap < 1e-9, f"{label} is off by {gap:.1e}"

    spellings = {"inverse": inverse, "solve with I": solve_all, "Cholesky": cholesky}
    rivals = {f"numpy {k}": partial(plain, spell, Phi, y, prior) for k, spell in spellings.items()}
    return Race(ours, rivals, agree)


def plain(
    spell: Callable[..., Answer], Phi: np.ndarray, y: np.ndarray, prior: np.ndarray
) -> Answer:
    """A and d as the formula has them, then one of the ways to solve."""
    Psi = Phi.transpose(0, 2, 1)
    A = np.diag(1 / prior) + np.matmul(Psi, Phi) / NOISE**2
    return spell(A, np.matmul(Psi, y[..., None]) / NOISE**2)


def inverse(A: np.ndarray, d: np.ndarray) -> Answer:
    """A^-1, its product with d, its diagonal."""
    C = np.linalg.inv(A)
    return np.matmul(C, d)[..., 0], np.einsum("nii->ni", C)


def solve_all(A: np.ndarray, d: np.ndarray) -> Answer:
    """One solve for d and the unit vectors."""
    units = np.broadcast_to(np.eye(A.shape[1]), A.shape)
    X = np.linalg.solve(A, np.concatenate([d, units], axis=2))
    return X[..., 0], np.einsum("nii->ni", X[..., 1:])


def cholesky(A: np.ndarray, d: np.ndarray) -> Answer:
    """The factor's inverse carries both."""
    V = np.linalg.solve(np.linalg.cholesky(A), np.broadcast_to(np.eye(A.shape[1]), A.shape))
    return np.matmul(V.transpose(0, 2, 1), np.matmul(V, d))[..., 0], np.sum(V * V, axis=1)
