"""The certified encode: rows per second with local and with global certificates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from harness import Case, Gate, Race

from twofold import atlas
from twofold.atlas import curves

HARMONICS, DIM, NOISE, STEPS = 4, 256, 0.2, 6
COUNT, RIVAL = 200_000, 2.0  # the rival proves nothing, and starts from the same nodes


def cases() -> Iterator[Case]:
    """The limits are 2.5 and 1 million rows a second, on two threads."""
    for budget, kind, rate in ((0, "local", 2.5e6), (4096, "global", 1e6)):
        yield Case(
            f"encode, periodic H={HARMONICS}, p={DIM}, {COUNT} rows, {kind}",
            partial(race, budget),
            gates=(Gate("numpy", RIVAL),) if budget == 0 else (),
            threads=2,
            flops=2.0 * COUNT * DIM * (2 * HARMONICS + 1),
            moved=8.0 * COUNT * DIM,
            within=COUNT / rate,
        )


def race(budget: int) -> Race:
    """Agreement: the rival, uncertified, ends within 1e-9 wherever it ends near."""
    atom = curves.rough(HARMONICS, DIM, seed=0)
    made = atlas.build([atom])
    X, _ = curves.rows(atom, COUNT, noise=NOISE, seed=1)

    def agree(results: Mapping[str, Any]) -> None:
        codes = results["ours"]
        assert codes.counts["uncertified"] <= 1e-3 * COUNT, codes.counts
        for label, t in results.items():
            if label != "ours":
                gap = np.abs(np.mod(codes.coords[:, 0] - t + 0.5, 1) - 0.5)
                assert np.mean(gap < 1e-9) > 0.99, np.mean(gap < 1e-9)

    rivals = {"numpy Newton": partial(plain, atom, X, made.charts[0])} if budget == 0 else {}
    return Race(lambda: made.encode(X, amplitudes=1.0, budget=budget), rivals, agree)


def plain(atom: Any, X: np.ndarray, charts: Any) -> np.ndarray:
    """Newton for all rows at once on the projected rows, without any certificate."""
    b, G = X @ atom.B.T, atom.B @ atom.B.T
    t = charts.nodes[np.argmin(0.5 * charts.squares - b @ charts.values.T, axis=1), 0]
    k = np.repeat(np.arange(HARMONICS + 1.0), 2)[1:] * 2 * np.pi
    odd = np.arange(len(k)) % 2 == 1
    for _ in range(STEPS):
        s, c = np.sin(t[:, None] * k), np.cos(t[:, None] * k)
        phi, slope = np.where(odd, s, c), np.where(odd, k * c, -k * s)
        left = phi @ G - b
        g = np.sum(slope * left, axis=1)
        H = np.sum((slope @ G) * slope, axis=1) - np.sum(k * k * phi * left, axis=1)
        t = t - g / H
    return np.mod(t, 1)
