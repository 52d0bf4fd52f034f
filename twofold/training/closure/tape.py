r"""Power series in x and y of numbers, diagonals or matrices, with their adjoint.

A `Node` holds coefficients (n, m, ...) of x^i y^j, cut at the size n of the case, and remembers
what it was made of: `backward` runs the adjoint of every product in reverse, exactly. A series in x
alone is stored as (n, 1, ...). Formulas are written with +, -, * and read as on paper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from twofold.training.closure.case import Case

Pull = Callable[[np.ndarray], np.ndarray]


class Node:
    """One series; ``scalar`` says whether its coefficients are numbers."""

    def __init__(self, case: Case, c: np.ndarray, *parents: tuple[Node, Pull]) -> None:
        self.case, self.c, self.parents = case, c, parents
        self.bar = np.zeros(0)

    @property
    def scalar(self) -> bool:
        """Whether the coefficients are numbers."""
        return self.c.ndim == 2

    def __add__(self, other: Node) -> Node:
        shape = tuple(map(max, self.c.shape, other.c.shape))
        c = np.zeros(shape, np.result_type(self.c, other.c))
        for term in (self.c, other.c):
            c[: term.shape[0], : term.shape[1]] += term
        return Node(self.case, c, *((v, _cut(v.c.shape)) for v in (self, other)))

    def __sub__(self, other: Node) -> Node:
        return self + -1.0 * other

    def __rmul__(self, factor: complex) -> Node:
        return Node(self.case, factor * self.c, (self, lambda bar: factor * bar))

    def __mul__(self, other: Node) -> Node:
        n = self.case.depth + 1
        c = _convolved(_rule(self, other), self.c, other.c, n)
        return Node(
            self.case, c,
            (self, lambda bar: _adjoint_left(self, other, bar)),
            (other, lambda bar: _adjoint_right(self, other, bar)),
        )  # fmt: skip

    @property
    def T(self) -> Node:
        """The transpose of every coefficient."""
        return Node(self.case, self.case.turned(self.c), (self, self.case.turned))

    @property
    def swapped(self) -> Node:
        """The same series in the other variable."""
        return Node(self.case, self.c.swapaxes(0, 1), (self, lambda bar: bar.swapaxes(0, 1)))

    def shifted(self, i: int, j: int) -> Node:
        """x^i y^j times the series."""
        n = self.case.depth + 1
        shape = tuple(min(s + k, n) for s, k in zip(self.c.shape[:2], (i, j), strict=True))
        c = np.zeros((*shape, *self.c.shape[2:]), self.c.dtype)
        a, b = shape[0] - i, shape[1] - j
        c[i:, j:] = self.c[:a, :b]

        def pull(bar: np.ndarray) -> np.ndarray:
            out = np.zeros_like(self.c)
            out[:a, :b] = bar[i:, j:]
            return out

        return Node(self.case, c, (self, pull))

    @property
    def reciprocal(self) -> Node:
        """1 / u of a scalar series with u_00 = 1; its adjoint is -u^-2 (correlated)."""
        n, m = self.c.shape
        out = np.zeros_like(self.c)
        for i, j in np.ndindex(n, m):
            known = np.sum(self.c[: i + 1, : j + 1] * out[i::-1, j::-1][: i + 1, : j + 1])
            out[i, j] = float(i == j == 0) - known
        node = Node(self.case, out)
        square = _convolved(np.multiply, out, out, max(n, m))[:n, :m]
        node.parents = ((self, lambda bar: -_correlated_numbers(bar, square)),)
        return node

    def backward(self, bar: np.ndarray) -> None:
        """Fill the ``bar`` of everything that this node was made of."""
        order = _sorted(self)
        for node in order:
            node.bar = np.zeros_like(node.c)
        self.bar = bar
        for node in order:
            for parent, pull in node.parents:
                parent.bar = parent.bar + pull(node.bar)


def inner(a: Node, b: Node) -> Node:
    """tr(a b), the coefficients of the product never formed."""
    case = a.case
    left, right = _rows(a.c), _rows(case.turned(b.c))
    table = np.tensordot(left, right, axes=(2, 2))
    c = _folded(table, case.depth + 1)

    def pull(first: Node, second: Node) -> Pull:
        def back(bar: np.ndarray) -> np.ndarray:
            weights = _unfolded(bar, first.c.shape, second.c.shape)
            out = np.tensordot(weights, _rows(case.turned(second.c)), axes=((2, 3), (0, 1)))
            return out.reshape(first.c.shape)

        return back

    return Node(case, c, (a, pull(a, b)), (b, pull(b, a)))


def _rows(c: np.ndarray) -> np.ndarray:
    return c.reshape(*c.shape[:2], -1)


def _folded(table: np.ndarray, n: int) -> np.ndarray:
    """The sum over i + k, j + l of table_ijkl."""
    a, b, c, d = table.shape
    out = np.zeros((min(a + c - 1, n), min(b + d - 1, n)), table.dtype)
    for i, j in np.ndindex(min(a, out.shape[0]), min(b, out.shape[1])):
        part = table[i, j][: out.shape[0] - i, : out.shape[1] - j]
        out[i : i + part.shape[0], j : j + part.shape[1]] += part
    return out


def _unfolded(bar: np.ndarray, first: tuple[int, ...], second: tuple[int, ...]) -> np.ndarray:
    """The adjoint of `_folded`."""
    out = np.zeros((*first[:2], *second[:2]), bar.dtype)
    for i, j in np.ndindex(*first[:2]):
        part = bar[i : i + second[0], j : j + second[1]]
        out[i, j, : part.shape[0], : part.shape[1]] = part
    return out


def _rule(a: Node, b: Node) -> Callable[..., np.ndarray]:
    return np.multiply if a.scalar or b.scalar or a.case.diagonal else np.matmul


def _convolved(rule: Any, u: np.ndarray, v: np.ndarray, n: int) -> np.ndarray:
    shape = tuple(min(s + t - 1, n) for s, t in zip(u.shape[:2], v.shape[:2], strict=True))
    tail = max(u.shape[2:], v.shape[2:], key=len)
    out = np.zeros((*shape, *tail), np.result_type(u, v))
    for i, j in np.ndindex(min(u.shape[0], shape[0]), min(u.shape[1], shape[1])):
        if not np.any(u[i, j]):
            continue
        part = v[: shape[0] - i, : shape[1] - j]
        if rule is np.multiply and v.ndim == 2:
            part = part.reshape(*part.shape, *([1] * len(tail)))
        out[i : i + part.shape[0], j : j + part.shape[1]] += rule(u[i, j], part)
    return out


def _windows(u: np.ndarray, v: np.ndarray, bar: np.ndarray) -> Any:
    """(i, j, what v_kl stands under, bar_{i+k, j+l}) for every coefficient of u."""
    for i, j in np.ndindex(*u.shape[:2]):
        window = bar[i : i + v.shape[0], j : j + v.shape[1]]
        yield i, j, v[: window.shape[0], : window.shape[1]], window


def _adjoint_left(a: Node, b: Node, bar: np.ndarray) -> np.ndarray:
    """a_ij <- sum_kl bar_{i+k, j+l} b_kl^T."""
    out = np.zeros_like(a.c, dtype=np.result_type(a.c, bar))
    for i, j, v, window in _windows(a.c, b.c, bar):
        out[i, j] = _summed(a, b, v, window)
    return out


def _summed(a: Node, b: Node, v: np.ndarray, window: np.ndarray) -> Any:
    if a.scalar:
        return np.sum(window * v)
    if b.scalar:
        return np.tensordot(v, window, axes=((0, 1), (0, 1)))
    if a.case.diagonal:
        return np.sum(window * v, axis=(0, 1))
    return np.sum(window @ a.case.turned(v), axis=(0, 1))


def _adjoint_right(a: Node, b: Node, bar: np.ndarray) -> np.ndarray:
    """b_kl <- sum_ij a_ij^T bar_{i+k, j+l}."""
    out = np.zeros_like(b.c, dtype=np.result_type(b.c, bar))
    for i, j, v, window in _windows(a.c, b.c, bar):
        rows, columns = v.shape[:2]
        if a.scalar:
            part = a.c[i, j] * window
        elif b.scalar:
            part = np.sum(a.c[i, j] * window, axis=tuple(range(2, window.ndim)))
        else:
            part = a.case.times(a.case.turned(a.c[i, j]), window)
        out[:rows, :columns] += part
    return out


def _correlated_numbers(w: np.ndarray, v: np.ndarray) -> np.ndarray:
    out = np.zeros_like(w)
    for i, j in np.ndindex(*v.shape):
        out[: w.shape[0] - i, : w.shape[1] - j] += w[i:, j:] * v[i, j]
    return out


def _cut(shape: tuple[int, ...]) -> Pull:
    return lambda bar: bar[: shape[0], : shape[1]]


def _sorted(last: Node) -> list[Node]:
    """Everything below a node, each before what it was made of."""
    seen: set[int] = set()
    out: list[Node] = []
    stack: list[tuple[Node, bool]] = [(last, False)]
    while stack:
        node, done = stack.pop()
        if done:
            out.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack += [(parent, False) for parent, _ in node.parents]
    return out[::-1]
