"""A predicted path of outer training against the training run that it predicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from harness import Case, Gate, Race

from twofold.learned.free import Free
from twofold.tasks import regression
from twofold.training import closure
from twofold.training.closure import observed

K, DEPTH, BATCH, STEPS = 64, 8, 256, 5
PROMPTS = (1024, 256)  # the first is that of seed 001, section 12.9
GIVEN = {"depth": DEPTH, "eta": 0.02, "steps": STEPS}


def cases() -> Iterator[Case]:
    """300 steps within 10 s on one thread, 50 x the plain run; a short prompt beside it."""
    for M in PROMPTS:
        yield Case(
            f"predicted path, {STEPS} steps, K={K}, M={M}, L={DEPTH}",
            partial(race, M),
            gates=(Gate("numpy plain", 50),) if M == PROMPTS[0] else (),
            within=10.0 * STEPS / 300,
        )


def race(M: int) -> Race:
    """The prediction, the run with every prompt formed, and the run on the fastest exact law."""
    law, free = regression.regression_law(dim=K, prompt=M, ridge=1e-3), Free(K)
    start = free.start(0)

    def predicted() -> np.ndarray:
        path = closure.path(start, free, law, engine="equivalent", times=[STEPS], **GIVEN)
        return path.P[-1]

    def trained(needs: str) -> np.ndarray:
        theta = observed.train(start, free, law, batch=BATCH, seed=0, times=[STEPS], needs=needs,
                               **GIVEN)  # fmt: skip
        return free.matrix(theta[-1])

    rivals = {"numpy plain run": partial(trained, "X"), "exact-law run": partial(trained, "H")}
    return Race(predicted, rivals, same)


def same(results: Mapping[str, np.ndarray]) -> None:
    """A run's P along the predicted one is the predicted one; across it lies the batches' noise."""
    ours = results["ours"]
    for label, P in results.items():
        share = np.sum(P * ours) / np.sum(ours * ours)
        assert abs(share - 1) < 0.05, f"{label} has {share:.3f} of the prediction"
