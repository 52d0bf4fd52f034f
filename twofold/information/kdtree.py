r"""A k-d tree in the maximum norm, as Numba kernels: k-th neighbours, and counts within a radius.

Points are reordered so that every node is a slice: node j splits [lo, hi) at the middle along its
widest side, its children are 2j + 1 and 2j + 2. Boxes hold each node's points exactly, so nothing
is missed by rounding: a distance is |a - b| as computed, monotone in a for fixed b, and the same
wherever it is compared. (Counting by searchsorted(v +- r) is wrong by one ulp.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numba import njit, prange

LEAF = 16
Points = Float[np.ndarray, "n d"]


@dataclass(frozen=True, eq=False)
class Tree:
    """Points in tree order, which rows they were, and the boxes and ends of the nodes."""

    points: Points
    order: Int[np.ndarray, " n"]
    low: Float[np.ndarray, "m d"]
    high: Float[np.ndarray, "m d"]
    ends: Int[np.ndarray, "m 2"]


def build(points: Points) -> Tree:
    """The tree of n points, of a depth that leaves about LEAF in a leaf."""
    n, levels = len(points), 0
    while n > LEAF << levels:
        levels += 1
    nodes = 2 ** (levels + 1) - 1
    order, ends = np.arange(n), np.zeros((nodes, 2), np.int64)
    ends[0, 1] = n
    for j in range(nodes // 2):
        lo, hi = ends[j]
        own = points[order[lo:hi]]
        side = int(np.argmax(np.ptp(own, axis=0)))
        half = (hi - lo) // 2
        order[lo:hi] = order[lo:hi][np.argpartition(own[:, side], half)]
        ends[2 * j + 1], ends[2 * j + 2] = (lo, lo + half), (lo + half, hi)
    sorted_ = np.ascontiguousarray(points[order])
    low, high = np.empty((nodes, points.shape[1])), np.empty((nodes, points.shape[1]))
    for j, (lo, hi) in enumerate(ends):
        low[j], high[j] = sorted_[lo:hi].min(axis=0), sorted_[lo:hi].max(axis=0)
    return Tree(sorted_, order, low, high, ends)


def distances(points: Points, k: int) -> Float[np.ndarray, " n"]:
    """The distance of every point to its k-th other neighbour."""
    tree, out = build(points), np.empty(len(points))
    _distances(tree.points, tree.low, tree.high, tree.ends, k, out)
    return _back(tree, out)


def counts(points: Points, radius: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """How many other points are strictly nearer than the radius of each."""
    if points.shape[1] == 1:
        order = np.argsort(points[:, 0], kind="stable")
        out = np.empty(len(points), np.int64)
        out[order] = _window(points[order, 0], radius[order])
        return out
    tree, found = build(points), np.empty(len(points), np.int64)
    _counts(tree.points, tree.low, tree.high, tree.ends, radius[tree.order], found)
    return _back(tree, found)


def _back(tree: Tree, x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    out[tree.order] = x
    return out


@njit(cache=True, fastmath=False, inline="always")
def _apart(a, b):
    most = 0.0
    for d in range(a.size):
        most = max(most, abs(a[d] - b[d]))
    return most


@njit(cache=True, fastmath=False, inline="always")
def _nearest(p, low, high):
    """The least distance from p to a box."""
    most = 0.0
    for d in range(p.size):
        most = max(most, max(low[d] - p[d], p[d] - high[d]))
    return most


@njit(cache=True, fastmath=False, inline="always")
def _farthest(p, low, high):
    """The largest distance from p to a box's points, at most."""
    most = 0.0
    for d in range(p.size):
        most = max(most, max(high[d] - p[d], p[d] - low[d]))
    return most


@njit(cache=True, fastmath=False, inline="always")
def _insert(best, distance):
    """Put a distance into the sorted k least."""
    i = best.size - 1
    while i > 0 and best[i - 1] > distance:
        best[i] = best[i - 1]
        i -= 1
    best[i] = distance


@njit(cache=True, fastmath=False, parallel=True)
def _distances(points, low, high, ends, k, out):
    inner = len(ends) // 2
    for i in prange(len(points)):
        p, best, stack, size = points[i], np.full(k, np.inf), np.empty(64, np.int64), 1
        stack[0] = 0
        while size > 0:
            size -= 1
            j = stack[size]
            if _nearest(p, low[j], high[j]) >= best[k - 1]:
                continue
            if j >= inner:
                for q in range(ends[j, 0], ends[j, 1]):
                    if q != i:
                        distance = _apart(p, points[q])
                        if distance < best[k - 1]:
                            _insert(best, distance)
                continue
            a, b = 2 * j + 1, 2 * j + 2
            if _nearest(p, low[a], high[a]) < _nearest(p, low[b], high[b]):
                a, b = b, a
            elif ends[a, 0] <= i < ends[a, 1]:
                a, b = b, a
            stack[size], stack[size + 1] = a, b
            size += 2
        out[i] = best[k - 1]


@njit(cache=True, fastmath=False, parallel=True)
def _counts(points, low, high, ends, radius, out):
    inner = len(ends) // 2
    for i in prange(len(points)):
        p, r, stack, size, found = points[i], radius[i], np.empty(64, np.int64), 1, 0
        stack[0] = 0
        while size > 0:
            size -= 1
            j = stack[size]
            if _nearest(p, low[j], high[j]) >= r:
                continue
            if _farthest(p, low[j], high[j]) < r:
                found += ends[j, 1] - ends[j, 0]
            elif j >= inner:
                for q in range(ends[j, 0], ends[j, 1]):
                    found += _apart(p, points[q]) < r
            else:
                stack[size], stack[size + 1] = 2 * j + 1, 2 * j + 2
                size += 2
        out[i] = found - 1 if r > 0 else 0


@njit(cache=True, fastmath=False)
def _window(sorted_, radius):
    """Counts on a line: both ends by bisection on |a - b| < r, which is monotone on either side."""
    n = len(sorted_)
    out = np.empty(n, np.int64)
    for i in range(n):
        lo, hi = 0, i
        while lo < hi:
            middle = (lo + hi) // 2
            if abs(sorted_[middle] - sorted_[i]) < radius[i]:
                hi = middle
            else:
                lo = middle + 1
        left, lo, hi = lo, i, n - 1
        while lo < hi:
            middle = (lo + hi + 1) // 2
            if abs(sorted_[middle] - sorted_[i]) < radius[i]:
                lo = middle
            else:
                hi = middle - 1
        out[i] = lo - left if radius[i] > 0 else 0
    return out
