r"""Encoders of finite states as partitions: orbits of a group, subsets of the coordinates.

A maximal invariant labels two states alike exactly when the group carries one to the other. If the
law of Y given X is invariant, it is information sufficient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from twofold.rigor import inputs

Group = Literal["permutation", "cyclic", "translation"]
Labels = Int[np.ndarray, " S"]


def hypercube(dim: int) -> Float[np.ndarray, "S d"]:
    """All 2^dim states of {-1, 1}^dim, in binary order."""
    dim = inputs.whole("dim", dim, low=1)
    if dim > 22:
        raise ValueError(f"dim: 2^{dim} states do not fit; enumerate at most 2^22")
    bits = np.arange(2**dim)[:, None] >> np.arange(dim - 1, -1, -1)
    return 2.0 * (bits & 1) - 1.0


def by_rows(codes: Any) -> Labels:
    """A label per distinct row: the partition that a code makes, ties exactly."""
    codes = inputs.real("codes", codes, (1, 2))
    table = codes[:, None] if codes.ndim == 1 else codes
    return np.unique(table + 0.0, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def coordinates(states: Any, kept: Sequence[int]) -> Labels:
    """The encoder that keeps some coordinates of the states (S,d)."""
    return by_rows(inputs.real("states", states, 2)[:, list(kept)])


def orbits(states: Any, group: Group, modulus: int | None = None) -> Labels:
    """A label per orbit of the states (S,d).

    ``permutation`` of the coordinates; ``cyclic`` shifts of them; ``translation`` of whole states
    by c (1, ..., 1) modulo ``modulus``.
    """
    states = inputs.real("states", states, 2)
    if group == "permutation":
        return by_rows(np.sort(states, axis=1))
    if group == "cyclic":
        turns = np.stack([np.roll(states, k, axis=1) for k in range(states.shape[1])], axis=1)
        return by_rows(np.stack([row[np.lexsort(row.T[::-1])[0]] for row in turns]))
    if group == "translation":
        return by_rows(np.mod(states - states[:, :1], _modulus(states, modulus)))
    raise ValueError(f"group: expected permutation, cyclic or translation, got {group!r}")


def _modulus(states: np.ndarray, modulus: int | None) -> int:
    if modulus is None or np.any((states < 0) | (states >= modulus) | (states % 1 != 0)):
        raise ValueError("modulus: translation needs it, and states that are whole numbers below")
    return inputs.whole("modulus", modulus, low=1)
