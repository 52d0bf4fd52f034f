r"""Exact risk for any P to depth 2: Wick's theorem on words of matrices, nothing sampled.

tr[T^i S (T^j)'] with T = D - P W is a sum of cyclic words A_1 W A_2 W ... A_n W. A pairing of the
2n Gaussians joins the letters by Sigma into closed loops, some letters transposed, and weighs

    M^{loops - n} prod over loops of tr(A_k Sigma A_l^(T) Sigma ...).

The number of pairings is (2n - 1)!!, n = i + j: 105 at depth 2, which is as far as this goes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from twofold.training.closure.case import Case

DEEPEST = 2
Loop = tuple[tuple[int, bool], ...]


@lru_cache(maxsize=16)
def pairings(n: int) -> tuple[tuple[int, tuple[Loop, ...]], ...]:
    """(loops of rows, loops of letters) of every pairing; a letter is (its number, transposed)."""
    return tuple((_rows(pairs, n), _letters(pairs, n)) for pairs in _matchings(tuple(range(2 * n))))


def _matchings(ends: tuple[int, ...]) -> Iterator[dict[int, int]]:
    if not ends:
        yield {}
        return
    first, rest = ends[0], ends[1:]
    for i, other in enumerate(rest):
        for pairs in _matchings(rest[:i] + rest[i + 1 :]):
            yield {first: other, other: first, **pairs}


def _rows(pairs: dict[int, int], n: int) -> int:
    """W_k has the ends 2k and 2k + 1, both of one row."""
    left, loops = set(range(n)), 0
    while left:
        stack, loops = [left.pop()], loops + 1
        while stack:
            k = stack.pop()
            for other in (pairs[2 * k] // 2, pairs[2 * k + 1] // 2):
                if other in left:
                    left.remove(other)
                    stack.append(other)
    return loops


def _letters(pairs: dict[int, int], n: int) -> tuple[Loop, ...]:
    """A_k stands between the ends 2k - 1 and 2k."""
    left, loops = set(range(n)), []
    while left:
        k, turned, loop = left.pop(), False, []
        start = k
        while True:
            loop.append((k, turned))
            end = pairs[(2 * k - 1) % (2 * n) if turned else 2 * k]
            turned = end % 2 == 0
            k = end // 2 if turned else (end + 1) // 2 % n
            if k == start:
                break
            left.remove(k)
        loops.append(tuple(loop))
    return tuple(loops)


def risk(P: np.ndarray, case: Case) -> complex:
    """R exactly."""
    return _evaluated(P, case)[0]


def gradient(P: np.ndarray, case: Case) -> tuple[float, np.ndarray]:
    """(R, its gradient in P)."""
    value, bar = _evaluated(P, case)
    return float(value), bar


def _evaluated(P: np.ndarray, case: Case) -> tuple[complex, np.ndarray]:
    """R and its gradient: the letters' adjoints, then P_bar = bar of P - lambda bar of D."""
    case = case.full()
    D = np.eye(case.dim) - case.ridge * P
    atoms = {"D": D, "d": D.T, "P": P, "p": P.T, "S": case.prior}
    value, bars = 0.0, {name: np.zeros_like(P) for name in "DP"}
    for weight, n, letters in _words(case.pairs):
        products = [_product([atoms[a] for a in letter], case.dim) for letter in letters]
        part, letter_bars = _expected(products, case, n)
        value += weight * part
        for letter, bar in zip(letters, letter_bars, strict=True):
            _pull(letter, atoms, weight * bar, bars)
    return value, bars["P"] - case.ridge * bars["D"]


def _words(pairs: np.ndarray) -> Iterator[tuple[float, int, list[str]]]:
    """(weight, number of W, letters between the W): small letters are transposed."""
    for i, j in zip(*np.nonzero(pairs), strict=True):
        for steps in itertools.product("DP", repeat=int(i + j)):
            left = "".join("PW" if step == "P" else "D" for step in steps[:i])
            right = "".join("Wp" if step == "P" else "d" for step in steps[i:])
            first, *rest = (left + "S" + right).split("W")
            letters = [rest[-1] + first, *rest[:-1]] if rest else [first]
            yield pairs[i, j] * (-1.0) ** steps.count("P"), len(rest), letters


def _product(factors: list[np.ndarray], K: int) -> np.ndarray:
    out = np.eye(K)
    for factor in factors:
        out = out @ factor
    return out


def _expected(letters: list[np.ndarray], case: Case, n: int) -> tuple[complex, list[np.ndarray]]:
    """E tr(A_1 W ... A_n W) and its derivative in each letter; no W: the trace itself."""
    if n == 0:
        return np.trace(letters[0]), [np.eye(case.dim)]
    value, bars = 0.0, [np.zeros_like(case.sigma, np.result_type(*letters)) for _ in letters]
    dressed = {(k, False): a @ case.sigma for k, a in enumerate(letters)}
    dressed |= {(k, True): a.T @ case.sigma for k, a in enumerate(letters)}
    for loops, found in pairings(n):
        weight = float(case.prompt) ** (loops - n)
        rests = [[_rest(loop, i, dressed, case.sigma) for i in range(len(loop))] for loop in found]
        traces = [np.sum(letters[loop[0][0]] * rest[0].T)
                  for loop, rest in zip(found, rests, strict=True)]  # fmt: skip
        value += weight * np.prod(traces)
        for m, (loop, rest) in enumerate(zip(found, rests, strict=True)):
            others = weight * np.prod([t for i, t in enumerate(traces) if i != m])
            for (k, turned), r in zip(loop, rest, strict=True):
                bars[k] += others * (r if turned else r.T)
    return value, bars


def _rest(loop: Loop, i: int, dressed: dict, sigma: np.ndarray) -> np.ndarray:
    """The loop cut open at its i-th letter A: tr(loop) = tr(A rest)."""
    out = sigma
    for name in loop[i + 1 :] + loop[:i]:
        out = out @ dressed[name]
    return out


def _pull(letter: str, atoms: dict[str, np.ndarray], bar: np.ndarray, bars: dict) -> None:
    """Add the derivative in each D and P of a letter's product."""
    K = len(bar)
    for i, name in enumerate(letter):
        if name != "S":
            ahead = _product([atoms[a] for a in letter[:i]], K)
            behind = _product([atoms[a] for a in letter[i + 1 :]], K)
            inner = ahead.T @ bar @ behind.T
            bars[name.upper()] += inner if name.isupper() else inner.T
