r"""Exact risk for any P to depth 2: Wick's theorem on words of matrices, nothing sampled.

tr[T^i S (T^j)'] with T = D - P W is a sum of cyclic words A_1 W A_2 W ... A_n W. A pairing of the
2n Gaussians joins the letters by Sigma into closed loops, some letters transposed, and weighs

    M^{loops - n} prod over loops of tr(A_k Sigma A_l^(T) Sigma ...).

The number of pairings is (2n - 1)!!, n = i + j: 105 at depth 2, which is as far as this goes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Int

from twofold.training.closure.case import Case

DEEPEST = 2
Loop = tuple[tuple[int, bool], ...]


@dataclass(frozen=True, eq=False)
class Table:
    """Every pairing of n letters W: its loops of rows, and its loops of letters by number.

    ``slots`` (T, n) index the distinct loops, 0 standing for none; ``groups`` hold them by length
    as (their numbers, letters (G, m)), a transposed letter k written k + n.
    """

    rows: Int[np.ndarray, " T"]
    slots: Int[np.ndarray, "T n"]
    groups: tuple[tuple[np.ndarray, np.ndarray], ...]


@lru_cache(maxsize=16)
def table(n: int) -> Table:
    """The pairings, loops that differ in their start or direction counted as one."""
    numbers: dict[tuple[int, ...], int] = {}
    rows, slots = [], []
    for pairs in _matchings(tuple(range(2 * n))):
        loops = [_canonical(loop, n) for loop in _letters(pairs, n)]
        found = [numbers.setdefault(loop, len(numbers) + 1) for loop in loops]
        slots.append(found + [0] * (n - len(found)))
        rows.append(_rows(pairs, n))
    groups = [[loop for loop in numbers if len(loop) == m] for m in range(1, n + 1)]
    named = tuple((np.array([numbers[loop] for loop in g]), np.array(g)) for g in groups)
    return Table(np.array(rows), np.array(slots), named)


def _canonical(loop: Loop, n: int) -> tuple[int, ...]:
    """The least of all ways to write tr(A Sigma B Sigma ...), also backwards and transposed."""
    forms = [tuple(k + n * turned for k, turned in loop)]
    forms.append(tuple(k + n * (not turned) for k, turned in loop[::-1]))
    return min(form[i:] + form[:i] for form in forms for i in range(len(form)))


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
    return float(np.real(value)), bar


def _evaluated(P: np.ndarray, case: Case) -> tuple[complex, np.ndarray]:
    """R and its gradient: the letters' adjoints, then P_bar = bar of P - lambda bar of D."""
    if P.ndim == 1:
        value, bar = _evaluated(np.diag(P), case)
        return value, np.diagonal(bar).copy()
    case = case.full()
    D = np.eye(case.dim) - case.ridge * P
    atoms = {"D": D, "d": D.T, "P": P, "p": P.T, "S": case.prior}
    value, bars = 0.0, {name: np.zeros_like(P) for name in "DP"}
    for weight, n, letters in _words(case.pairs):
        products = [_product([atoms[a] for a in letter], case.dim) for letter in letters]
        part, letter_bars = expected(products, case, n)
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
            yield float(pairs[i, j]) * (-1.0) ** steps.count("P"), len(rest), letters


def _product(factors: list[np.ndarray], K: int) -> np.ndarray:
    out = np.eye(K)
    for factor in factors:
        out = out @ factor
    return out


def expected(letters: list[np.ndarray], case: Case, n: int) -> tuple[complex, list[np.ndarray]]:
    """E tr(A_1 W ... A_n W) and its derivative in each letter; no W: the trace itself."""
    if n == 0:
        return np.trace(letters[0]), [np.eye(case.dim)]
    known, stack = table(n), np.array(letters + [a.T for a in letters])
    dressed = stack @ case.sigma
    traces = np.ones(np.max(known.slots) + 1, stack.dtype)
    rests = [_rests(loops, dressed, case.sigma) for _, loops in known.groups]
    for (where, loops), rest in zip(known.groups, rests, strict=True):
        traces[where] = np.einsum("gij,gji->g", stack[loops[:, 0]], rest[0])
    value, slopes = _pairing_sum(traces, known, float(case.prompt))
    bars = np.zeros(stack.shape, stack.dtype)
    for (where, loops), rest in zip(known.groups, rests, strict=True):
        for i in range(loops.shape[1]):
            part = slopes[where, None, None] * rest[i].swapaxes(1, 2)
            np.add.at(bars, loops[:, i], part)
    return value, [bars[k] + bars[k + n].T for k in range(n)]


def _pairing_sum(traces: np.ndarray, known: Table, M: float) -> tuple[complex, np.ndarray]:
    """Sum of M^{rows - n} times the traces of each pairing, and its derivative in them."""
    n = known.slots.shape[1]
    columns = [traces[known.slots[:, i]] for i in range(n)]
    ahead = [M ** (known.rows - n)]
    for column in columns:
        ahead.append(ahead[-1] * column)
    slopes, behind = np.zeros_like(traces), np.ones(len(known.rows))
    for i in range(n - 1, -1, -1):
        np.add.at(slopes, known.slots[:, i], ahead[i] * behind)
        behind = behind * columns[i]
    return np.sum(ahead[-1]), slopes


def _rests(loops: np.ndarray, dressed: np.ndarray, sigma: np.ndarray) -> list[np.ndarray]:
    """Each loop cut open at its i-th letter A: tr(loop) = tr(A rest_i)."""
    length = loops.shape[1]
    ahead: list[Any] = [None]
    behind: list[Any] = [None] * length
    for i in range(length - 1):
        d = dressed[loops[:, i]]
        ahead.append(d if ahead[-1] is None else ahead[-1] @ d)
    for i in range(length - 2, -1, -1):
        d = dressed[loops[:, i + 1]]
        behind[i] = d if behind[i + 1] is None else d @ behind[i + 1]
    out = []
    for a, b in zip(ahead, behind, strict=True):
        around = [x for x in (b, a) if x is not None]
        rest = sigma if not around else sigma @ around[0]
        rest = rest @ around[1] if len(around) > 1 else rest
        out.append(np.broadcast_to(rest, (len(loops), *sigma.shape)))
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
