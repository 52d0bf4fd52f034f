r"""The mean of tr(T^L S T^L') over Wishart matrices in balls: by Stein, and by pairings.

T = D - P W, D = I - lambda P, all diagonal. A word A_1 W A_2 W ... A_n W is the list of its A.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from flint import arb, arb_mat

from twofold.rigor.opinion.balls import diagonal, eye, inner
from twofold.rigor.opinion.sides import Sides


def wick_twice(p: np.ndarray, sigma: np.ndarray, prior: np.ndarray, law: np.ndarray) -> Sides:
    """Both routes of one row; ``law`` holds M, lambda and L."""
    M, ridge, L = arb(float(law[0])), arb(float(law[1])), int(law[2])
    if not 0 <= L <= 2 or L != law[2] or not law[0] >= 1 or not law[1] >= 0:
        raise ValueError(f"prompt, ridge, depth {law} do not fit")
    s, b, x = ([arb(float(v)) for v in a] for a in (sigma, prior, p))
    if not len(s) == len(b) == len(x):
        raise ValueError("p, sigma and prior differ in length")
    d, K = [1 - ridge * v for v in x], len(s)
    by_stein, by_pairs = arb(0), arb(0)
    for steps in product("DP", repeat=2 * L):
        sign = (-1) ** steps.count("P")
        letters = between(steps, L, d, x, b)
        mats = [diagonal(a) for a in letters]
        n = steps.count("P")
        by_stein += sign * (stein([mats], diagonal(s), M) if n else inner(mats[0], eye(K)))
        by_pairs += sign * (paired(letters, s, M) if n else sum(letters[0], arb(0)))
    size = np.abs(p) * (np.sum(sigma) * 4 + float(ridge) + 4 * np.max(sigma)) + 1
    return Sides(by_stein / K, by_pairs / K, float(np.sum(prior) * np.max(size) ** (2 * L)))


def between(steps: tuple[str, ...], L: int, d: list, p: list, b: list) -> list[list]:
    """The diagonal letters between the W of one cyclic word: T^L, then S, then (T^L)'."""
    parts = [[arb(1)] * len(d)]
    for k in range(2 * L + 1):
        if k == L:
            parts[-1] = entrywise(parts[-1], b)
        if k == 2 * L:
            break
        if steps[k] == "D":
            parts[-1] = entrywise(parts[-1], d)
        elif k < L:
            parts[-1] = entrywise(parts[-1], p)
            parts.append([arb(1)] * len(d))
        else:
            parts.append(list(p))
    if len(parts) > 1:
        last = parts.pop()
        parts[0] = entrywise(last, parts[0])
    return parts


def entrywise(a: list, b: list) -> list:
    """Entry by entry."""
    return [u * v for u, v in zip(a, b, strict=True)]


def stein(words: list[list[arb_mat]], S: arb_mat, M: arb) -> arb:
    """E of a product of traces: the last W of the first word is integrated by parts."""
    if not words:
        return arb(1)
    (*head, last), others = words[0], words[1:]
    n, total = len(words[0]), arb(0)
    first = (head or [last])[0]
    if n == 1:
        total += inner(last.transpose(), S) * stein(others, S, M)
    else:
        total += stein([[last * S * first, *head[1:]], *others], S, M)
    A = words[0]
    for k in range(1, n):
        loop, rest = [A[k - 1] * S * A[0], *A[1 : k - 1]] if k > 1 else [A[0] * S], A[k:]
        closed = inner(loop[0].transpose(), eye(S.nrows())) if k == 1 else None
        joined = stein([rest, *others], S, M) * closed if closed is not None else stein(
            [loop, rest, *others], S, M)  # fmt: skip
        back = [a.transpose() for a in A[k - 1 : 0 : -1]]
        turned = [*back, A[0].transpose() * S * A[k], *A[k + 1 :]]
        total += (joined + stein([turned, *others], S, M)) / M
    for m, B in enumerate(others):
        left = others[:m] + others[m + 1 :]
        for k in range(len(B)):
            C = B[k:] + B[:k]
            one = [*C[:-1], C[-1] * S * A[0], *A[1:]]
            two = [*(c.transpose() for c in C[:0:-1]), C[0].transpose() * S * A[0], *A[1:]]
            total += (stein([one, *left], S, M) + stein([two, *left], S, M)) / M
    return total


def paired(letters: list[list], s: list, M: arb) -> arb:
    """E of one word of diagonal letters: blocks of coordinates, loops of rows."""
    n, total = len(letters), arb(0)
    for pairs in pairings_of(tuple(range(2 * n))):
        blocks = glued(n, [((a + 1) // 2 % n, (b + 1) // 2 % n) for a, b in pairs])
        rows = glued(n, [(a // 2, b // 2) for a, b in pairs])
        term = M ** (len(rows) - n)
        for block in blocks:
            entries = [s[i] ** len(block) for i in range(len(s))]
            for k in block:
                entries = entrywise(entries, letters[k])
            term *= sum(entries, arb(0))
        total += term
    return total


def pairings_of(ends: tuple[int, ...]) -> Iterator[list[tuple[int, int]]]:
    """Every way to pair the ends."""
    if not ends:
        yield []
    for i in range(1, len(ends)):
        for rest in pairings_of(ends[1:i] + ends[i + 1 :]):
            yield [(ends[0], ends[i]), *rest]


def glued(n: int, joins: list[tuple[int, int]]) -> list[list[int]]:
    """The connected parts of 0 .. n - 1."""
    label = list(range(n))
    for a, b in joins:
        label = [label[a] if x == label[b] else x for x in label]
    return [[k for k in range(n) if label[k] == x] for x in sorted(set(label))]
