"""The linearised training curve: Lanczos quadrature against the dense Jacobian."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from harness import Case, Gate, Race

from twofold.learned import ntk
from twofold.learned.flexformer import Flexformer
from twofold.tasks import regression

N, K, DEPTH, ETA = 256, 16, 8, 2.0
FAMILY = Flexformer(K, "stationary", width=22, frequencies=56)
STEPS = np.unique(np.geomspace(1, 1000, 40).astype(int))


def cases() -> Iterator[Case]:
    """4096 outputs, 1984 parameters, all s to 1000; the rivals have JAX form J."""
    name = f"NTK curve, J {N * K} x {FAMILY.size}, s to {STEPS[-1]}"
    yield Case(name, race, gates=(Gate("jax", 10),))


def race() -> Race:
    """Ours without J; JAX's J by columns or by rows."""
    tasks = regression.sample(seed=0, dim=K, prompt=128, ridge=1e-3, count=N)
    data, theta = (tasks.H, tasks.d, tasks.truth), FAMILY.start(0)

    def ours() -> np.ndarray:
        return ntk.curve(FAMILY, theta, *data, depth=DEPTH, eta=ETA, steps=STEPS).loss

    rivals = {f"jax {name}": dense(name, theta, *data) for name in ("jacfwd", "jacrev")}
    return Race(ours, rivals, same)


def dense(
    name: str, theta: np.ndarray, H: np.ndarray, d: np.ndarray, target: np.ndarray
) -> Callable[[], np.ndarray]:
    """J by JAX, compiled, then the curve by an eigenproblem of J'J (1000 products take longer)."""
    import jax

    jnp = jax.numpy

    def outputs(theta: jax.Array) -> jax.Array:
        P, x = FAMILY.form(jnp, theta), jnp.zeros_like(d)
        for _ in range(DEPTH):
            x = x + (d - jnp.einsum("nij,nj->ni", H, x)) @ P.T
        return (x - target).ravel()

    compiled = jax.jit(lambda theta: (outputs(theta), getattr(jax, name)(outputs)(theta)))

    def call() -> np.ndarray:
        with jax.enable_x64(True):
            return diagonalised(*(np.asarray(array) for array in compiled(theta)))

    return call


def diagonalised(r: np.ndarray, J: np.ndarray) -> np.ndarray:
    """By the eigenvalues of J'J / m and the weights of r in them."""
    values, V = np.linalg.eigh(J.T @ J / len(r))
    kept = values > 1e-14 * values[-1]
    weights = (V.T @ (J.T @ r))[kept] ** 2 / values[kept] / len(r)
    powers = (1 - ETA * values[kept]) ** (2 * STEPS[:, None])
    return (r @ r - weights.sum() + powers @ weights) / (2 * len(r))


def same(results: Mapping[str, np.ndarray]) -> None:
    """Every curve within 1e-7 of ours."""
    for label, curve in results.items():
        gap = np.max(np.abs(curve / results["ours"] - 1))
        assert gap < 1e-7, f"{label} is off by {gap:.1e}"
