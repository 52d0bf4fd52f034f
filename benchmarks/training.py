"""Outer time: the exact risk curve to s = 1e6 with its error bar, and online SGD of the decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from harness import Case, Gate, Race

from twofold.protocol import Law
from twofold.tasks import moments
from twofold.training import online, trajectory

DIM, CHECKPOINTS, LAST = 256, 1000, 10**6
K, PROMPT, BATCH, RIDGE, ETA = 64, 256, 256, 1e-3, 0.6
STEPS = 20  # of the 800 of a run: the cost of a step does not depend on s


def cases() -> Iterator[Case]:
    """Iterating to s = 1e6 takes minutes, so the curve has a limit in seconds and no rival."""
    yield Case("risk curve and error bar, K=256, 1000 s to 1e6", curve, within=0.030)
    yield Case(
        f"online decoder, K=64, batch 256, M=256, {STEPS} steps",
        sgd,
        gates=(Gate("numpy", 50, 80),),
    )


def curve() -> Race:
    """A dense covariance of condition 100; agreement is with 200 plain steps."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(DIM, DIM)))[0]
    C = (Q * np.geomspace(1, 1e-2, DIM)) @ Q.T
    C, B, P0 = (C + C.T) / 2, Q * np.geomspace(1, 1e-1, DIM) @ Q.T, np.zeros((DIM, DIM))
    spread = np.unique(np.geomspace(1, LAST, 4 * CHECKPOINTS).astype(np.int64))
    s = np.append(0, spread[1 - CHECKPOINTS :])

    def ours() -> tuple[np.ndarray, np.ndarray]:
        path = trajectory.decoder(P0, C, B, eta=0.9, steps=s)
        return path.excess, path.error_bar

    def agree(results: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> None:
        assert len(results["ours"][0]) == CHECKPOINTS
        path, P = trajectory.decoder(P0, C, B, eta=0.9, steps=200), P0
        for _ in range(200):
            P = P - 0.9 * (P @ C - B)
        gap = np.max(np.abs(path.at(0) - P)) / np.max(np.abs(P))
        assert gap < 1e-11, f"iterating is off by {gap:.1e}"

    return Race(ours, {}, agree)


def sgd() -> Race:
    """Ours draws d in O(K); the rivals draw the prompts. They agree on the curve, not on bits."""
    law = Law(np.logspace(0, -1, K), PROMPT, RIDGE)
    learner = online.DecoderSGD(law, eta=ETA, batch=BATCH, seed=0)

    def ours() -> np.ndarray:
        (state,) = online.states(learner, learner.start(), [STEPS])
        return state["P"]

    def agree(results: Mapping[str, np.ndarray]) -> None:
        m = moments.of(law).full()
        path = trajectory.decoder(np.zeros((K, K)), m.C, m.B, eta=ETA, steps=STEPS)
        for label, P in results.items():
            E = P - path.oracle
            ratio = np.sum(E @ m.C * E) / K / path.excess[0]
            assert abs(ratio - 1) < 0.1, f"{label}: risk is {ratio:.3f} of the predicted one"

    spellings = {"H by matmul": by_matmul, "H by einsum": by_einsum, "no H": without_H}
    rivals = {f"numpy {name}": partial(plain, spell) for name, spell in spellings.items()}
    return Race(ours, rivals, agree)


def plain(product: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """SGD with every prompt formed: X (B, M, K), d = H z."""
    rng = np.random.default_rng(0)
    root = np.sqrt(np.logspace(0, -1, K))
    P = np.zeros((K, K))
    for _ in range(STEPS):
        z = rng.standard_normal((BATCH, K))
        X = rng.standard_normal((BATCH, PROMPT, K)) * root
        d = product(X, z)
        P = P - ETA * (d @ P.T - z).T @ d / BATCH
    return P


def by_matmul(X: np.ndarray, z: np.ndarray) -> np.ndarray:
    """H as a batched matmul."""
    H = np.matmul(X.transpose(0, 2, 1), X) / PROMPT + RIDGE * np.eye(K)
    return np.matmul(H, z[..., None])[..., 0]


def by_einsum(X: np.ndarray, z: np.ndarray) -> np.ndarray:
    """H as an optimised einsum."""
    H = np.einsum("nmi,nmj->nij", X, X, optimize=True) / PROMPT + RIDGE * np.eye(K)
    return np.einsum("nij,nj->ni", H, z)


def without_H(X: np.ndarray, z: np.ndarray) -> np.ndarray:
    """H z as X'(X z)/M + lambda z: the prompt is drawn, H never formed."""
    seen = np.matmul(X, z[..., None])
    return np.matmul(X.transpose(0, 2, 1), seen)[..., 0] / PROMPT + RIDGE * z
