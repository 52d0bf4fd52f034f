"""The gradient of the finite-set loss in P, by one adjoint sweep, against NumPy and autograd."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numba
import numpy as np
from harness import Case, Gate, Race

from twofold.training import adjoint

N, K, DEPTH = 1000, 64, 8
Result = tuple[float, np.ndarray]


def cases() -> Iterator[Case]:
    """Two threads are the gate; one thread is shown beside it."""
    gates = (Gate("numpy", 4, 6), Gate("torch", 6))
    for threads in (2, 1):
        yield Case(
            f"adjoint gradient, {N} tasks, K={K}, L={DEPTH}",
            partial(race, threads),
            gates=gates if threads == 2 else (),
            threads=threads,
            flops=2 * K * K * (5 * DEPTH - 3) * N,
            moved=8 * K * K * N,
        )


def race(threads: int) -> Race:
    """Ours, the same recursion in NumPy spelt two ways, torch's autograd and torch's recursion."""
    data = systems()
    rivals: dict[str, Callable[[], Result] | None] = {
        "numpy matmul": partial(by_matmul, *data),
        "numpy einsum": partial(by_einsum, *data),
        "numpy powers of T": partial(by_powers, *data),
        "torch autograd": in_torch(threads, *data),
    }
    numba.set_num_threads(threads)
    return Race(partial(adjoint.gradient, *data, DEPTH), rivals, same)


def systems() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(P, H, d, x*), H of condition about 10."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3 * K, K))
    H = np.matmul(X.transpose(0, 2, 1), X) / (3 * K)
    P = 0.6 * np.eye(K) + 0.005 * rng.normal(size=(K, K))
    x_star = rng.normal(size=(N, K))
    return P, H, np.matmul(H, x_star[..., None])[..., 0], x_star


def by_matmul(P: np.ndarray, H: np.ndarray, d: np.ndarray, target: np.ndarray) -> Result:
    """Both directions with batched matmuls; the sum of lambda r' as one GEMM a step."""
    x, residuals = d @ P.T, [d]
    for _ in range(DEPTH - 1):
        residuals.append(d - np.matmul(H, x[..., None])[..., 0])
        x = x + residuals[-1] @ P.T
    lam, Ht = (x - target) / x.size, H.transpose(0, 2, 1)
    dP = lam.T @ residuals[-1]
    for r in residuals[-2::-1]:
        lam = lam - np.matmul(Ht, (lam @ P)[..., None])[..., 0]
        dP += lam.T @ r
    return float(np.sum((x - target) ** 2) / (2 * x.size)), dP


def by_einsum(P: np.ndarray, H: np.ndarray, d: np.ndarray, target: np.ndarray) -> Result:
    """The same with einsum for the tasks."""
    x, residuals = d @ P.T, [d]
    for _ in range(DEPTH - 1):
        residuals.append(d - np.einsum("nij,nj->ni", H, x))
        x = x + residuals[-1] @ P.T
    lam = (x - target) / x.size
    dP = lam.T @ residuals[-1]
    for r in residuals[-2::-1]:
        lam = lam - np.einsum("nji,nj->ni", H, lam @ P)
        dP += lam.T @ r
    return float(np.sum((x - target) ** 2) / (2 * x.size)), dP


def by_powers(P: np.ndarray, H: np.ndarray, d: np.ndarray, target: np.ndarray) -> Result:
    """T = I - P H by batched GEMM, then vectors through T and T'."""
    T = np.eye(K) - np.matmul(P, H)
    Pd = d @ P.T
    path = [np.zeros_like(d), Pd]
    for _ in range(DEPTH - 1):
        path.append(np.matmul(T, path[-1][..., None])[..., 0] + Pd)
    lam, Tt = (path[-1] - target) / d.size, T.transpose(0, 2, 1)
    weights = [lam]
    for _ in range(DEPTH - 1):
        weights.append(np.matmul(Tt, weights[-1][..., None])[..., 0])
    residuals = [d - np.matmul(H, x[..., None])[..., 0] for x in path[:DEPTH]]
    dP = sum(lam.T @ r for lam, r in zip(weights[::-1], residuals, strict=True))
    return float(np.sum((path[-1] - target) ** 2) / (2 * d.size)), np.asarray(dP)


def in_torch(threads: int, *data: np.ndarray) -> Callable[[], Result] | None:
    """Autograd through the unrolled loop, or None where torch is not importable."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch  # pyright: ignore[reportMissingImports]

    torch.set_num_threads(threads)
    P, H, d, target = (torch.from_numpy(array) for array in data)
    P = P.clone().requires_grad_(True)

    def call() -> Result:
        with torch.enable_grad():
            P.grad, x = None, d @ P.T
            for _ in range(DEPTH - 1):
                x = x + (d - torch.bmm(H, x[..., None])[..., 0]) @ P.T
            loss = torch.sum((x - target) ** 2) / (2 * x.numel())
            loss.backward()
        return float(loss.detach()), P.grad.numpy().copy()

    return call


def same(results: Mapping[str, Result]) -> None:
    """Loss and gradient within 1e-12 of ours."""
    loss, dP = results["ours"]
    for label, (other, gradient) in results.items():
        gap = np.linalg.norm(gradient - dP) / np.linalg.norm(dP) + abs(other / loss - 1)
        assert gap < 1e-12, f"{label} is off by {gap:.1e}"
