"""Finite models whose informations are known in closed form, each through an encoder."""

from __future__ import annotations

import numpy as np

from twofold.information.exact.finite import Channel, channel

Joint = np.ndarray


def symmetric(error: float, labels: int = 2) -> Joint:
    """p(y|x) of the symmetric channel: right with 1 - error, else any other label alike."""
    other = error / (labels - 1)
    return np.full((labels, labels), other) + (1 - error - other) * np.eye(labels)


def conditioned(joint: Joint) -> tuple[np.ndarray, np.ndarray]:
    """p(x), p(y|x) of a table p(x,y)."""
    return joint.sum(axis=1), joint / joint.sum(axis=1, keepdims=True)


def erased(share: float) -> tuple[np.ndarray, np.ndarray]:
    """A fair bit Y, seen as X in {0, erased, 1}."""
    keep = (1 - share) / 2
    return conditioned(np.array([[keep, 0], [share / 2, share / 2], [0, keep]]))


def looks(error: float) -> tuple[np.ndarray, np.ndarray]:
    """A fair bit Y seen twice, each time through a symmetric channel: X = (x1, x2)."""
    p = symmetric(error)
    return conditioned(0.5 * np.einsum("ya,yb->aby", p, p).reshape(4, 2))


def named() -> dict[str, Channel]:
    """The cases by what is encoded."""
    two, bit = looks(0.1), ([0.5, 0.5], symmetric(0.11))
    return {
        "symmetric .11, identity, decoder .2": channel(*bit, [0, 1], symmetric(0.2)),
        "erasure .3, 0 and erased merged": channel(*erased(0.3), [0, 0, 1]),
        "two looks .1, the first": channel(*two, [0, 0, 1, 1]),
        "two looks .1, their sum": channel(*two, [0, 1, 1, 2]),
        "two looks .1, their parity": channel(*two, [0, 1, 1, 0]),
        "4-ary symmetric .3, halves": channel(
            np.full(4, 0.25), symmetric(0.3, 4), [0, 0, 1, 1]),
    }  # fmt: skip
