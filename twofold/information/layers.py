r"""What each layer loses: I(X;Y|U_L) = sum_l I(U_{l-1};Y|U_l), U_0 = X, on a known finite law.

**The trap.** A layer of floats is nearly always injective on finitely many states, so the Shannon
loss is zero until rows tie: dead units, quantisation, argmax. Ties are found by comparing the
activations bit by bit, and that row is exact. What a network seems to lose layer by layer is
*usable* information: what a named probe family reads from U_l. It is no chain rule, may grow from
layer to layer, and is an estimate of nothing but itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.certificate import Certificate
from twofold.information.exact.finite import model
from twofold.information.probes import Family, tied, usable_entropy
from twofold.measures import cells, discrete
from twofold.rigor import inputs
from twofold.theorems import information_identity


@dataclass(frozen=True, eq=False)
class Layers:
    """Per layer, from the input on."""

    cells: list[int]
    """distinct activations"""
    losses: list[float]
    """I(U_{l-1};Y|U_l)"""
    errors: list[float]
    total: float
    """I(X;Y|U_L)"""
    usable: list[float] | None
    """what the probe family reads less of U_l than of U_{l-1}; may be negative"""
    family: str
    proofs: list[Certificate]
    labels: list[np.ndarray]
    """of the cells, the states' own first"""


def chain(p_x: Any, p_y_given_x: Any, layers: Sequence[Any], *, probe: Family | None = None,
          states: Any = None) -> Layers:  # fmt: skip
    """The losses of ``layers``, activations (S,k) or labels (S,), each a function of the last.

    With a ``probe``, also the usable ones; ``states`` (S,d) are then what it reads of U_0.
    """
    p_x, p = model(p_x, p_y_given_x)
    if not len(layers):
        raise ValueError("layers: expected at least one layer's activations")
    labels = [np.arange(len(p_x))] + [_labels(i, x, len(p_x)) for i, x in enumerate(layers)]
    seen = [cells.sums(p_x, p, u, int(u.max()) + 1) for u in labels]
    found, proofs = [], []
    for k in range(1, len(labels)):
        _function_of(k - 1, labels[k - 1], labels[k])
        found.append(discrete.merging_loss(seen[k - 1], seen[k]))
        proofs += information_identity.certify_layers(p_x, p, labels[k - 1], labels[k])
    usable = None if probe is None else _usable(probe, [states, *layers], p_x, p)
    return Layers(
        [len(s.size) for s in seen[1:]], [x for x, _ in found], [e for _, e in found],
        discrete.loss(seen[-1])[0], usable, "" if probe is None else probe.name, proofs,
        labels,
    )  # fmt: skip


def _usable(probe: Family, layers: list[Any], p_x: np.ndarray, p: np.ndarray) -> list[float]:
    if layers[0] is None:
        raise ValueError("states: the probe reads the input too; pass the states (S, d)")
    read = [usable_entropy(probe, codes, p_x, p) for codes in layers]
    return [b - a for a, b in zip(read, read[1:], strict=False)]


def _labels(i: int, activations: Any, states: int) -> np.ndarray:
    if len(inputs.real(f"layers[{i}]", activations)) != states:
        raise ValueError(f"layers[{i}]: expected {states} rows, one per state")
    return tied(activations)


def _function_of(i: int, fine: np.ndarray, coarse: np.ndarray) -> None:
    pairs = len(np.unique(np.stack([fine, coarse]), axis=1).T)
    if pairs != len(np.unique(fine)):
        raise ValueError(
            f"layers[{i}]: two states that are equal before this layer differ after it; pass the "
            "layers in order, all evaluated on the same states in the same precision"
        )


def rounded(states: Any, widths: Sequence[int], *, bits: int, seed: int) -> list[np.ndarray]:
    """Layers of a random tanh network whose activations are rounded to ``bits`` bits in [-1, 1]."""
    rng, out = np.random.default_rng(seed), []
    x, step = inputs.real("states", states, 2), 2.0 ** (1 - inputs.whole("bits", bits, low=1))
    for width in widths:
        W = rng.standard_normal((x.shape[1], width)) * (2 / np.sqrt(x.shape[1]))
        x = np.round(np.tanh(x @ W) / step) * step
        out.append(x)
    return out
