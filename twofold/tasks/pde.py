r"""PDE prompts (000 section 5.4, 001 section 1.1): one task = one latent z = one operator A(z).

z ~ N(0, spread^2 I),   f_i, f_* ~ N(0, I) or a Gaussian field,   A(z) u_i = f_i,   A(z) u_* = f_*.

The prompt shows the pairs (u_i, f_i), i = 1, ..., m, and the query f_*; the truth is u_*. An
operator that is singular, or whose coefficient is not positive, is never shifted or drawn again:
its task keeps its place, holds NaN and a reason, and falls silent downstream.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from twofold.certificate import fingerprint
from twofold.protocol import Tasks
from twofold.rigor import inputs
from twofold.tasks.affine import Operators

CHUNK = 64


def sample(
    operators: Operators,
    *,
    seed: int,
    count: int,
    pairs: int = 8,
    spread: float = 0.5,
    forcing: Any = None,
) -> Tasks:
    """``count`` tasks with ``u``, ``f`` (N,m,n), ``query`` (N,n), truth (N,n) and latent z (N,K).

    ``forcing`` holds weighted modes (q, n), f = xi @ forcing (:func:`twofold.tasks.forcing.field`);
    None is white noise. Errors are mean squares: scale 1/n. ``facts["reason"]`` says of each task
    why it cannot be used, '' where it can.
    """
    N, m = inputs.whole("count", count, low=1), inputs.whole("pairs", pairs, low=1)
    spread = float(inputs.real("spread", spread, ndim=0))
    if spread < 0:
        raise ValueError(f"spread: a standard deviation is >= 0, got {spread}")
    modes = None if forcing is None else _modes(forcing, operators.size[0])
    z, f = _draw(operators, inputs.whole("seed", seed), N, m + 1, spread, modes)
    u, reason = operators.solve(z, f), operators.reasons(z)
    if all(reason):
        raise ValueError(f"spread: no z of {N} gives a usable operator ({reason[0]}); lower it")
    return Tasks(
        prompt={"u": u[:, :m], "f": f[:, :m], "query": f[:, m]}, truth=u[:, m], latent=z,
        scale=1.0 / operators.size[0], ids=_ids(z, f, seed),
        facts={"operators": operators, "seed": seed, "reason": reason, "spread": spread,
               "forcing": "white" if modes is None else "field"},
    )  # fmt: skip


def _draw(
    operators: Operators, seed: int, N: int, rows: int, spread: float, modes: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Latents and right-hand sides, chunk by chunk: task n is the same whatever the count."""
    n, K = operators.size
    z, f = np.empty((N, K)), np.empty((N, rows, n))
    for i, start in enumerate(range(0, N, CHUNK)):
        rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(i,))))
        latent = spread * rng.standard_normal((CHUNK, K))
        xi = rng.standard_normal((CHUNK, rows, n if modes is None else len(modes)))
        z[start : start + CHUNK] = latent[: N - start]
        f[start : start + CHUNK] = (xi if modes is None else xi @ modes)[: N - start]
    return z, f


def _modes(forcing: Any, n: int) -> np.ndarray:
    modes = inputs.real("forcing", forcing, shape=(None, n))
    if not len(modes):
        raise ValueError("forcing: no mode, so f would be zero; pass at least one, or None")
    return modes


def _ids(z: np.ndarray, f: np.ndarray, seed: int) -> np.ndarray:
    """int64: 31 bits of a hash of the first task and the seed, then the number in 32 bits."""
    prefix = int(fingerprint(z[:1], f[:1], np.int64(seed))[:8], 16) >> 1
    return (np.int64(prefix) << np.int64(32)) + np.arange(len(z), dtype=np.int64)
