r"""What the prediction is compared with: SGD on fresh batches, and risks of any features.

Online training is theta <- theta - eta DP_theta* [(K/2) grad of the batch's risk], the gradient by
the adjoint sweep: its expectation is the drift of `path`.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from twofold.learned.family import Parametrised
from twofold.protocol import Law
from twofold.rigor import inputs
from twofold.tasks import features, laws, samplers
from twofold.training import adjoint
from twofold.training.closure import draws, engines

KURTOSIS = {"Gaussian": 0.0, "uniform": -1.2, "Rademacher": -2.0, "Student-5": 6.0}


def train(
    theta0: Any, model: Parametrised, law: Law, *, depth: int, eta: float, steps: int,
    batch: int, seed: int, times: Any = None, needs: Literal["H", "X"] = "H",
) -> Float[np.ndarray, "S n"]:  # fmt: skip
    """Theta at ``times`` (all by default); ``needs="X"`` forms every prompt, as plain code does."""
    theta = inputs.real("theta0", theta0, ndim=1)
    stream = samplers.stream(law, batch, seed)
    wanted = np.arange(steps + 1) if times is None else inputs.real("times", times, ndim=1)
    kept, out = set(wanted.astype(int)), []
    for s in range(inputs.whole("steps", steps) + 1):
        if s in kept:
            out.append(theta)
        if s == steps:
            break
        tasks = stream.tasks(s, needs=needs)
        bar = adjoint.gradient(model.matrix(theta), tasks.H, tasks.d, tasks.truth, depth)[1]
        theta = theta - eta * model.pull_back(theta, law.dim * bar)
    return np.array(out)


def sampled(
    P: Any, law: Law, depths: Any, *, feature: str = "Gaussian", count: int, seed: int
) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, " D"]]:
    """(mean, standard error) of the risk at each depth over ``count`` prompts of a feature.

    Each prompt is averaged over its targets exactly, so the error is that of W alone.
    """
    law = laws.checked(law)
    rng, sums = np.random.default_rng(seed), np.zeros((2, len(depths)))
    case = engines.of(P, law, int(max(depths)))[1].full()
    chunk = max(1, min(count, (1 << 22) // (law.prompt * law.dim)))
    A, done = laws.root(law.sigma), 0
    while done < count:
        n = min(chunk, count - done)
        X = laws.apply(A, whitened(rng, (n, law.prompt, law.dim), feature))
        W = X.swapaxes(1, 2) @ X / law.prompt
        loss = draws.by_depth(laws.matrix(np.asarray(P)), W, case)[:, list(depths)]
        sums += [loss.sum(axis=0), (loss**2).sum(axis=0)]
        done += n
    mean = sums[0] / count
    return mean, np.sqrt(np.maximum(sums[1] / count - mean**2, 0.0) / count)


def whitened(rng: np.random.Generator, shape: tuple[int, ...], feature: str) -> np.ndarray:
    """Independent entries of variance 1; Student-5 has fourth moments and no sixth."""
    if feature not in KURTOSIS:
        raise ValueError(f"feature: expected one of {tuple(KURTOSIS)}, got {feature!r}")
    if feature == "Student-5":
        return rng.standard_t(5, shape) * np.sqrt(3.0 / 5.0)
    return features.whitened(rng, shape, KURTOSIS[feature])
