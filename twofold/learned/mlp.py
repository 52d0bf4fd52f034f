r"""A classifier with one hidden layer, trained by SGD on cross-entropy, run by run from seeds.

q(y|x) = softmax(W_2 relu(W_1 (x * mask) + b_1) + b_2). Every run has its own mask (the coordinates
its encoder keeps), its own start and its own sequence of batches; the states are shared, so that
each net is evaluated on all of them. Float64, JAX.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from twofold.rigor import inputs


def train(
    states: Any, masks: Any, rows: Any, labels: Any, *, classes: int, width: int, rate: float,
    seed: int = 0,
) -> Float[np.ndarray, "R S K"]:  # fmt: skip
    """The trained nets' probabilities on all states (S,d).

    masks (R,d) of 0 and 1; rows, labels (R, steps, batch): which states and labels a step sees.
    """
    X, M = inputs.real("states", states, 2), inputs.real("masks", masks, 2)
    rows, labels = np.asarray(rows, np.int64), np.asarray(labels, np.int64)
    width = inputs.whole("width", width, low=1)
    if rows.ndim != 3 or rows.shape != labels.shape or len(rows) != len(M):
        raise ValueError(
            f"rows, labels: expected {len(M)} runs of (steps, batch), got shapes {rows.shape}, "
            f"{labels.shape}"
        )
    if rows.size and (rows.min() < 0 or rows.max() >= len(X) or labels.max() >= classes):
        raise ValueError(f"rows, labels: beyond {len(X)} states or {classes} classes")
    starts = [start(X.shape[1], width, classes, seed + r) for r in range(len(M))]
    theta = [np.stack(parts) for parts in zip(*starts, strict=True)]
    with np.errstate(all="ignore"):
        return np.asarray(_compiled()(np.float64(rate), X, M, rows, labels, *theta))


def start(dim: int, width: int, classes: int, seed: int) -> list[np.ndarray]:
    """He's initialisation of W_1, b_1, W_2, b_2."""
    rng = np.random.default_rng(seed)
    first = rng.standard_normal((dim, width)) * np.sqrt(2 / dim)
    second = rng.standard_normal((width, classes)) * np.sqrt(1 / width)
    return [first, np.zeros(width), second, np.zeros(classes)]


def draw(
    p_y_given_x: Float[np.ndarray, "S K"], length: int, steps: int, batch: int, seed: int
) -> tuple[Int[np.ndarray, "steps batch"], Int[np.ndarray, "steps batch"]]:
    """Batches with replacement from ``length`` pairs, x uniform over the states."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, len(p_y_given_x), length)
    edges = np.cumsum(p_y_given_x, axis=1)[x]
    y = np.minimum(np.sum(rng.random(length)[:, None] >= edges, axis=1), edges.shape[1] - 1)
    chosen = rng.integers(0, length, (steps, batch))
    return x[chosen], y[chosen]


@lru_cache(maxsize=1)
def _compiled() -> Any:
    import jax
    import jax.numpy as jnp

    def scores(theta: Any, x: Any) -> Any:
        W1, b1, W2, b2 = theta
        return jax.nn.log_softmax(jnp.maximum(x @ W1 + b1, 0) @ W2 + b2)

    def loss(theta: Any, x: Any, y: Any) -> Any:
        return -jnp.mean(jnp.take_along_axis(scores(theta, x), y[:, None], axis=1))

    def run(rate: Any, X: Any, mask: Any, rows: Any, labels: Any, *theta: Any) -> Any:
        def step(theta: Any, batch: Any) -> Any:
            slope = jax.grad(loss)(theta, X[batch[0]] * mask, batch[1])
            return tuple(t - rate * g for t, g in zip(theta, slope, strict=True)), None

        theta, _ = jax.lax.scan(step, theta, (rows, labels))
        return jnp.exp(scores(theta, X * mask))

    def all_runs(rate: Any, X: Any, M: Any, rows: Any, labels: Any, *theta: Any) -> Any:
        return jax.lax.map(lambda one: run(rate, X, *one), (M, rows, labels, *theta))

    with jax.enable_x64(True):
        compiled = jax.jit(all_runs)

    def call(*given: Any) -> Any:
        with jax.enable_x64(True):
            return np.asarray(compiled(*given))

    return call
