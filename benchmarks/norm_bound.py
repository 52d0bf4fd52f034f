"""Proved upper bounds of 10,000 norms against NumPy's unproved ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from harness import Case, Gate, Race

from twofold import rigor

K, COUNT, FEW = 64, 10_000, 2_000
FLOPS = K**3 + K**3 / 3 + 2 * 30 * K**2


def cases() -> Iterator[Case]:
    """Norms of given matrices and of I - PH, on two threads (the gate) and on one."""
    gate = (Gate("numpy svd", 5, 10),)
    for threads, count in ((2, COUNT), (1, FEW)):
        words = f"{count // 1000}k matrices, K=64"
        yield Case(
            f"proved ||T||, {words}",
            partial(norms, count),
            gates=gate if threads == 2 else (),
            threads=threads,
            flops=count * FLOPS,
            moved=8 * K * K * count,
        )
        yield Case(
            f"proved ||I - PH||, {words}",
            partial(contractions, count),
            gates=gate if threads == 2 else (),
            threads=threads,
            flops=count * (FLOPS + 2 * K**3),
            moved=8 * K * K * count,
        )


def norms(count: int) -> Race:
    """Ours on T, NumPy on the same T."""
    P, H = systems(count)
    T = np.eye(K) - np.matmul(P, H)
    rivals = {name: partial(spell, T) for name, spell in SPELLINGS.items()}
    return Race(partial(rigor.norm2_upper, T), rivals, bounded)


def contractions(count: int) -> Race:
    """Ours from P and H; NumPy forms I - PH and takes its norm."""
    P, H = systems(count)
    rivals = {
        name: lambda spell=spell: spell(np.eye(K) - np.matmul(P, H))
        for name, spell in SPELLINGS.items()
    }
    return Race(partial(rigor.contraction_upper, P, H), rivals, bounded)


def systems(count: int) -> tuple[np.ndarray, np.ndarray]:
    """A nearly scalar P and sample second moments H of condition about 10."""
    rng = np.random.default_rng(0)
    H = np.empty((count, K, K))
    for start in range(0, count, 500):
        X = rng.normal(size=(len(H[start : start + 500]), 3 * K, K))
        np.matmul(X.transpose(0, 2, 1), X, out=H[start : start + 500])
    return 0.6 * np.eye(K) + 0.005 * rng.normal(size=(K, K)), H / (3 * K)


SPELLINGS = {
    "numpy svd norm": lambda T: np.linalg.norm(T, 2, axis=(1, 2)),
    "numpy svd values": lambda T: np.linalg.svd(T, compute_uv=False)[:, 0],
    "numpy eigvalsh": lambda T: np.sqrt(np.linalg.eigvalsh(T.transpose(0, 2, 1) @ T)[:, -1]),
}


def bounded(results: Mapping[str, np.ndarray]) -> None:
    """Ours is above every rival but for the rival's own rounding, and within 1e-12 of it."""
    for label, norm in results.items():
        excess = results["ours"] / norm - 1
        assert np.all((excess > -1e-14) & (excess < 1e-12)), (
            f"{label}: {excess.min()}, {excess.max()}"
        )
