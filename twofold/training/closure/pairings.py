r"""Wick's pairings of a cyclic word in W = X'X/M, counted once and kept.

W_k joins position k to position k+1 (mod n). Each pairing of the 2n Gaussians glues positions into
blocks (equal coordinates) and the W into loops (equal rows): it weighs M^{loops - n}. For diagonal
letters only what a block holds matters, so pairings are counted by the multiset of their blocks.

A word of a W on the left chain and b on the right is described by its blocks' codes: left interior
1, right interior 4, top 16, bottom 32, added within a block.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from jaxtyping import Int
from numba import njit, types
from numba.typed import Dict

TOP, BOTTOM = 16, 32


def codes(a: int, b: int) -> Int[np.ndarray, " n"]:
    """The codes of the positions of a cycle of a + b: top, left interiors, bottom, right ones."""
    if a == 0 or b == 0:
        return np.array([TOP + BOTTOM] + [1] * (a - 1) + [4] * (b - 1))
    return np.array([TOP] + [1] * (a - 1) + [BOTTOM] + [4] * (b - 1))


@lru_cache(maxsize=64)
def table(
    a: int, b: int
) -> tuple[Int[np.ndarray, "T n"], Int[np.ndarray, " T"], Int[np.ndarray, " T"]]:
    """(blocks, loops, count) per kind of pairing; a row of blocks is filled up with 0."""
    if a + b == 0:
        return np.array([[TOP + BOTTOM]]), np.zeros(1, int), np.ones(1, int)
    found = _count(codes(a, b).astype(np.int64))
    keys = np.array(list(found.keys()), np.int64)
    count, n = np.array(list(found.values()), np.int64), a + b
    blocks = (keys[:, None] >> (4 + 6 * np.arange(n))) & 63
    return blocks, keys & 15, count


@njit(cache=True, fastmath=False)
def _find(parent, i):
    while parent[i] != i:
        i = parent[i]
    return i


@njit(cache=True, fastmath=False)
def _key(partner, codes):
    """The blocks' codes, sorted, and the loops, in one integer."""
    n = codes.size
    index, row = np.arange(n), np.arange(n)
    for half in range(2 * n):
        other = partner[half]
        one, two = _find(index, (half + 1) // 2 % n), _find(index, (other + 1) // 2 % n)
        index[max(one, two)] = min(one, two)
        one, two = _find(row, half // 2), _find(row, other // 2)
        row[max(one, two)] = min(one, two)
    held, loops = np.zeros(n, np.int64), 0
    for k in range(n):
        held[_find(index, k)] += codes[k]
        loops += row[k] == k
    held = np.sort(held)[::-1]
    key = np.int64(loops)
    for k in range(n):
        key |= held[k] << (4 + 6 * k)
    return key


@njit(cache=True, fastmath=False)
def _count(codes):
    """Every pairing of 2n half-edges (half-edge h belongs to W_{h // 2}), depth first."""
    size = 2 * codes.size
    counts = Dict.empty(key_type=types.int64, value_type=types.int64)
    partner, first = np.full(size, -1), np.zeros(size // 2, np.int64)
    level, free, start = 0, 0, 1
    while level >= 0:
        other = start
        while other < size and partner[other] >= 0:
            other += 1
        if other < size:
            partner[free], partner[other], first[level] = other, free, free
            level, start = level + 1, 0
            while free < size and partner[free] >= 0:
                free += 1
            if free < size:
                start = free + 1
                continue
            key = _key(partner, codes)
            counts[key] = counts.get(key, 0) + 1
        level -= 1
        if level >= 0:
            free = first[level]
            other = partner[free]
            partner[free], partner[other], start = -1, -1, other + 1
    return counts
