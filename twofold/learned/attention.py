r"""Attention as an update map, learned: JAX differentiates the formulas of `decoder.attention`.

The loss is that of seed 002, eq. 21, on a finite set of tasks, each unrolled to depth L,

    L_N = 1/(2 N K) sum_i |z_{i,L} - z_i*|^2,    z_{l+1} = z_l + Delta(d - H z_l),

minimised by Adam with its whole gradient. Frozen weights go in and come out, NumPy in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.decoder import attention
from twofold.decoder.attention import Attention, Kind, Scores
from twofold.learned.family import loaded
from twofold.rigor import inputs

PARTS = ("query", "key", "value", "output", "diagonal")
DECAYS, EPSILON = (0.9, 0.999), 1e-8


def start(
    *, seed: int, dim: int, heads: int = 2, width: int = 4, kind: Kind = "softmax", depth: int = 4,
    sees: float = 1.0, size: float = 0.3,
) -> Attention:  # fmt: skip
    """Gaussian weights of standard deviation ``size``; ``sees`` weighs the residual in the tokens.

    With ``sees`` = 0 queries and keys are positions only: the map is one matrix, and stays one.
    """
    rng, K = np.random.default_rng(inputs.whole("seed", seed)), inputs.whole("dim", dim, low=1)
    query, key = size * rng.standard_normal((2, heads, width, K + 1))
    query[..., -1], key[..., -1] = sees * query[..., -1], sees * key[..., -1]
    value, output = 1.0 + size * rng.standard_normal((2, heads, K))
    return Attention(query, key, value, output - 1.0, np.ones(K), kind, 1.0, depth)


def train(
    model: Attention, H: Any, d: Any, target: Any, *, eta: float, steps: int, times: Sequence[int],
) -> list[Attention]:  # fmt: skip
    """The model after each of ``times`` steps (increasing, at most ``steps``) of Adam."""
    K = len(model.diagonal)
    H = inputs.real("H", H, shape=(None, K, K))
    d = inputs.real("d", d, shape=(len(H), K))
    target = inputs.real("target", target, shape=d.shape)
    if not len(H) or not 0 < float(eta) < np.inf:
        raise ValueError(
            f"eta: expected a positive step on at least one task, got {eta!r}, {H.shape}"
        )
    steps, wanted = inputs.whole("steps", steps), {inputs.whole("times", int(t)) for t in times}
    jax, blind = loaded(), model.global_matrix() is not None
    with jax.enable_x64(True):
        step = _compiled(model.kind, model.scale, model.depth, blind)
        theta = tuple(jax.numpy.asarray(getattr(model, name)) for name in PARTS)
        still = jax.tree.map(jax.numpy.zeros_like, theta)
        state, out = (theta, still, still), []
        for s in range(steps + 1):
            if s in wanted:
                out.append(_frozen(model, state[0]))
            state = step(state, float(s + 1), float(eta), H, d, target)
    return out


def loss(model: Attention, H: Any, d: Any, target: Any) -> float:
    """L_N of frozen weights, in NumPy."""
    K, z = len(model.diagonal), np.zeros(np.shape(d))
    for _ in range(model.depth):
        z = z + model.update(z, H, d)
    return float(np.mean(np.sum((z - target) ** 2, axis=1)) / (2 * K))


def jacobian(model: Attention, r: Any) -> Float[np.ndarray, "N K K"]:
    """DDelta / dr by forward differentiation: another route to ``model.jacobian``."""
    r, jax = inputs.real("r", r, shape=(None, len(model.diagonal))), loaded()
    with jax.enable_x64(True):

        def one(x: Any) -> Any:
            return attention.update(jax.numpy, model.scores, x[None])[0]

        return np.array(jax.vmap(jax.jacfwd(one))(r))


@lru_cache(maxsize=16)
def _compiled(kind: str, scale: float, depth: int, blind: bool) -> Any:
    """One step of Adam, compiled; ``blind`` keeps the residual out of queries and keys."""
    jax = loaded()
    xp, (slow, fast) = jax.numpy, DECAYS

    def risk(theta: Any, H: Any, d: Any, target: Any) -> Any:
        query, key, value, output, diagonal = theta
        M = scale * xp.swapaxes(query, 1, 2) @ key
        s = Scores.of(M, value=value, output=output, diagonal=diagonal, soft=kind == "softmax")
        z = xp.zeros_like(d)
        for _ in range(depth):
            z = z + attention.update(xp, s, d - xp.einsum("nij,nj->ni", H, z))
        return xp.mean(xp.sum((z - target) ** 2, axis=1)) / (2 * d.shape[1])

    def step(state: Any, s: Any, eta: Any, H: Any, d: Any, target: Any) -> Any:
        theta, m, v = state
        g = jax.grad(risk)(theta, H, d, target)
        if blind:
            g = tuple(x.at[..., -1].set(0.0) for x in g[:2]) + tuple(g[2:])
        m = jax.tree.map(lambda a, b: slow * a + (1 - slow) * b, m, g)
        v = jax.tree.map(lambda a, b: fast * a + (1 - fast) * b * b, v, g)
        rate = eta * xp.sqrt(1 - fast**s) / (1 - slow**s)
        moved = jax.tree.map(lambda t, a, b: t - rate * a / (xp.sqrt(b) + EPSILON), theta, m, v)
        return moved, m, v

    return jax.jit(step)


def _frozen(model: Attention, theta: Any) -> Attention:
    return replace(model, **{name: np.array(x) for name, x in zip(PARTS, theta, strict=True)})
