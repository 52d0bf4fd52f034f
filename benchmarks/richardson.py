"""Richardson over a batch with all error norms, one P and many checkpoints of P at once."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from harness import Case, Gate, Race

from twofold.decoder import checkpoints, richardson

K, DEPTH = 64, 16
TASKS, FEW = 10_000, 1_000
CHECKPOINTS = 32


def cases() -> Iterator[Case]:
    """One P: 10,000 tasks. Checkpoints: 32 of them on 1,000 tasks (NumPy needs a second for it)."""
    yield Case(
        "Richardson, 10k tasks, K=64, L=16",
        one,
        gates=(Gate("numpy", 2, 3), Gate("torch", 6, 8)),
        flops=2 * K * K * (2 * DEPTH - 1) * TASKS,
        moved=8 * K * K * TASKS,
    )
    yield Case(
        "32 checkpoints at once, 1k tasks",
        many,
        gates=(Gate("numpy", 4), Gate("torch", 4)),
        flops=2 * K * K * (2 * DEPTH - 1) * FEW * CHECKPOINTS,
        moved=8 * K * K * FEW,
    )


def one() -> Race:
    """Ours, three NumPy spellings and torch, on one shared P."""
    data = systems(TASKS)
    P = preconditioners(1)[0]
    rivals = {f"numpy {name}": partial(spell, P, *data) for name, spell in SPELLINGS.items()}
    ours = partial(richardson.error_norms, P, *data[:2], DEPTH, data[2])
    return Race(ours, rivals | {"torch": in_torch(P[None], *data)}, same)


def many() -> Race:
    """Ours against loops over the checkpoints."""
    data = systems(FEW)
    P = preconditioners(CHECKPOINTS)
    rivals = {
        f"numpy {name}": lambda spell=spell: np.stack([spell(p, *data) for p in P])
        for name, spell in SPELLINGS.items()
        if name != "powers of T"
    }
    ours = partial(checkpoints.error_norms, P, *data[:2], DEPTH, data[2])
    return Race(ours, rivals | {"torch": in_torch(P, *data)}, same)


def systems(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(H, d, x*) of condition about 10, drawn in pieces to spare memory."""
    rng = np.random.default_rng(0)
    H = np.empty((count, K, K))
    for start in range(0, count, 500):
        X = rng.normal(size=(len(H[start : start + 500]), 3 * K, K))
        np.matmul(X.transpose(0, 2, 1), X, out=H[start : start + 500])
    H /= 3 * K
    x_star = rng.normal(size=(count, K))
    return H, np.matmul(H, x_star[..., None])[..., 0], x_star


def preconditioners(count: int) -> np.ndarray:
    """Nearly scalar, not symmetric."""
    return 0.6 * np.eye(K) + 0.005 * np.random.default_rng(1).normal(size=(count, K, K))


def by_einsum(P: np.ndarray, H: np.ndarray, d: np.ndarray, x_star: np.ndarray) -> np.ndarray:
    """Both products as einsum."""
    x, norms = np.zeros_like(d), [np.linalg.norm(x_star, axis=1)]
    for _ in range(DEPTH):
        x = x + np.einsum("ij,nj->ni", P, d - np.einsum("nij,nj->ni", H, x))
        norms.append(np.linalg.norm(x - x_star, axis=1))
    return np.stack(norms, axis=1)


def by_matmul(P: np.ndarray, H: np.ndarray, d: np.ndarray, x_star: np.ndarray) -> np.ndarray:
    """H x as a batched matmul, P r as one GEMM."""
    x, norms = np.zeros_like(d), [np.linalg.norm(x_star, axis=1)]
    for _ in range(DEPTH):
        x = x + (d - np.matmul(H, x[..., None])[..., 0]) @ P.T
        norms.append(np.linalg.norm(x - x_star, axis=1))
    return np.stack(norms, axis=1)


def by_powers(P: np.ndarray, H: np.ndarray, d: np.ndarray, x_star: np.ndarray) -> np.ndarray:
    """T = I - PH by batched GEMM, then e <- T e."""
    T = np.eye(K) - np.matmul(P, H)
    e, norms = -x_star, [np.linalg.norm(x_star, axis=1)]
    for _ in range(DEPTH):
        e = np.matmul(T, e[..., None])[..., 0]
        norms.append(np.linalg.norm(e, axis=1))
    return np.stack(norms, axis=1)


SPELLINGS = {"einsum": by_einsum, "matmul": by_matmul, "powers of T": by_powers}


def in_torch(
    P: np.ndarray, H: np.ndarray, d: np.ndarray, x_star: np.ndarray
) -> Callable[[], np.ndarray] | None:
    """The matmul spelling in torch, or None where torch is not importable."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch  # pyright: ignore[reportMissingImports]

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    maps, H_, d_, x_star_ = (torch.from_numpy(array) for array in (P, H, d, x_star))

    def errors(P_: Any) -> Any:
        x, norms = torch.zeros_like(d_), [torch.linalg.norm(x_star_, dim=1)]
        for _ in range(DEPTH):
            x = x + (d_ - torch.bmm(H_, x[..., None])[..., 0]) @ P_.T
            norms.append(torch.linalg.norm(x - x_star_, dim=1))
        return torch.stack(norms, dim=1)

    def call() -> np.ndarray:
        return torch.stack([errors(P_) for P_ in maps]).squeeze(0).numpy()

    return call


def same(results: Mapping[str, np.ndarray]) -> None:
    """Every contestant within 1e-12 of ours, relative to the size of x*."""
    for label, norms in results.items():
        gap = np.max(np.abs(norms - results["ours"]) / results["ours"][..., :1])
        assert gap < 1e-12, f"{label} is off by {gap:.1e}"
