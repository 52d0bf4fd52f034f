r"""Mutual information from nearest neighbours: a fast diagnostic, without an interval.

    KSG (Kraskov, first form)  I = psi(k) + psi(n) - <psi(n_x + 1) + psi(n_y + 1)>,
    Ross, for labels y         I = psi(n) + <psi(k_y)> - <psi(n_{y_i})> - <psi(m_i + 1)>,

distances by the maximum norm; n_x, n_y count points strictly nearer than the k-th neighbour in the
joint space; for labels, k_y = min(k, n_y - 1) and the k-th neighbour is sought within the label. In
many dimensions both are biased low (at d = 5, n = 10^4 by some 18 per cent), so every number here
is an ``estimate``. Deterministic: nothing is jittered, so tied points are counted as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import digamma

from twofold.information import kdtree
from twofold.measures.cells import whole
from twofold.rigor import inputs


def ksg(x: Any, y: Any, k: int = 4) -> float:
    """I(X;Y) in nats for real x and y, (n,) or (n,d)."""
    x, y = _points("x", x), _points("y", y)
    k = inputs.whole("k", k, low=1)
    if len(x) != len(y) or len(x) <= k + 1:
        raise ValueError(
            f"x, y: expected equally many rows and more than k + 1 = {k + 1}, got {len(x)} and "
            f"{len(y)}"
        )
    radius = kdtree.distances(np.concatenate([x, y], axis=1), k)
    near = [digamma(kdtree.counts(z, radius) + 1.0) for z in (x, y)]
    return float(digamma(k) + digamma(len(x)) - np.mean(near[0] + near[1]))


def ross(x: Any, labels: Any, k: int = 3) -> float:
    """I(X;Y) in nats for real x (n,) or (n,d) and labels y; labels seen once are left out."""
    x, y, k = _points("x", x), whole("labels", labels), inputs.whole("k", k, low=1)
    if y.shape != (len(x),):
        raise ValueError(f"labels: expected {len(x)} of them, got shape {y.shape}")
    sizes = np.bincount(y)
    kept = sizes[y] > 1
    x, y = x[kept], y[kept]
    if len(x) < 2 or len(np.unique(y)) < 2:
        raise ValueError("labels: two labels with two rows each are needed; one carries nothing")
    radius, used = np.empty(len(x)), np.empty(len(x))
    for label in np.unique(y):
        own = y == label
        used[own] = min(k, int(own.sum()) - 1)
        radius[own] = kdtree.distances(x[own], int(used[own][0]))
    near = kdtree.counts(x, radius)
    terms = digamma(used) - digamma(sizes[y].astype(float)) - digamma(np.maximum(near, 0) + 1.0)
    return float(digamma(len(x)) + np.mean(terms))


def _points(name: str, z: Any) -> Float[np.ndarray, "n d"]:
    z = inputs.real(name, z, (1, 2))
    return np.ascontiguousarray(z[:, None] if z.ndim == 1 else z)
