r"""Identities of mutual information for a finite model, in balls."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from flint import arb

from twofold.rigor.opinion.balls import Refuted
from twofold.rigor.opinion.sides import Sides

Measure = dict[tuple[int, int], arb]


def measure(p_x: np.ndarray, p: np.ndarray) -> Measure:
    """The products p(x) p(y|x), where positive."""
    if np.min(p_x) < 0 or np.min(p) < 0:
        raise Refuted("a probability is negative")
    return {(x, y): arb(float(p_x[x])) * arb(float(p[x, y]))
            for x, y in zip(*(np.nonzero(p_x[:, None] * p)), strict=True)}  # fmt: skip


def pushed(m: Measure, to: Callable[[int, int], tuple[int, int]]) -> Measure:
    """The measure of the images of all points."""
    out: Measure = {}
    for (x, y), mass in m.items():
        key = to(x, y)
        out[key] = out.get(key, arb(0)) + mass
    return out


def conditional(m: Measure) -> Measure:
    """m(y|x)."""
    size = pushed(m, lambda x, y: (x, 0))
    return {(x, y): mass / size[x, 0] for (x, y), mass in m.items()}


def expected(m: Measure, ratios: Iterable[arb]) -> tuple[arb, float]:
    """(sum m ln r, the size of its terms)."""
    terms = [mass * r.log() for mass, r in zip(m.values(), ratios, strict=True)]
    size = sum(abs(float(t.mid())) for t in terms) + sum(float(x.mid()) for x in m.values())
    return sum(terms, arb(0)), size


def lost(m: Measure, cells: np.ndarray) -> tuple[arb, float]:
    """I(X;Y|U)."""
    inner = conditional(m)
    outer = conditional(pushed(m, lambda x, y: (int(cells[x]), y)))
    return expected(m, (inner[x, y] / outer[int(cells[x]), y] for x, y in m))


def risked(p_x: np.ndarray, p: np.ndarray, encoder: np.ndarray, q: np.ndarray) -> Sides:
    """E -ln q = H(Y|X) + I(X;Y|U) + KL."""
    m = measure(p_x, p)
    inner, cells = conditional(m), pushed(m, lambda x, y: (int(encoder[x]), y))
    left, size = expected(m, (1 / entry(q, encoder[x], y) for x, y in m))
    noise, more = expected(m, (1 / inner[x, y] for x, y in m))
    kl, most = surplus(cells, q)
    gone, least = lost(m, encoder)
    return Sides(left, noise + gone + kl, size + more + most + least)


def chained(p_x: np.ndarray, p: np.ndarray, encoder: np.ndarray, q: np.ndarray) -> Sides:
    """I(X;Y) = I(U;Y) + I(X;Y|U)."""
    m = measure(p_x, p)
    (whole, a), (part, b) = (shared(x) for x in (m, pushed(m, lambda x, y: (int(encoder[x]), y))))
    gone, c = lost(m, encoder)
    return Sides(whole, part + gone, a + b + c)


def projected(p_x: np.ndarray, p: np.ndarray, encoder: np.ndarray, q: np.ndarray) -> Sides:
    """D(mu || mu_X q) = I(X;Y|U) + KL."""
    m = measure(p_x, p)
    inner = conditional(m)
    left, a = expected(m, (inner[x, y] / entry(q, encoder[x], y) for x, y in m))
    gone, b = lost(m, encoder)
    kl, c = surplus(pushed(m, lambda x, y: (int(encoder[x]), y)), q)
    return Sides(left, gone + kl, a + b + c)


def layered(p_x: np.ndarray, p: np.ndarray, finer: np.ndarray, coarser: np.ndarray) -> Sides:
    """I(X;Y|V) = I(X;Y|U) + I(U;Y|V), V a function of U."""
    parent = dict(zip(finer.tolist(), coarser.tolist(), strict=True))
    if any(parent[u] != v for u, v in zip(finer.tolist(), coarser.tolist(), strict=True)):
        raise Refuted("the coarser cells are no unions of the finer ones")
    m = measure(p_x, p)
    whole, a = lost(m, coarser)
    first, b = lost(m, finer)
    merged = np.array([parent.get(u, 0) for u in range(int(finer.max()) + 1)])
    second, c = lost(pushed(m, lambda x, y: (int(finer[x]), y)), merged)
    return Sides(whole, first + second, a + b + c)


def entry(q: np.ndarray, u: int, y: int) -> arb:
    """q(y|u) > 0."""
    if not q[u, y] > 0:
        raise Refuted("the decoder forbids what occurs")
    return arb(float(q[u, y]))


def surplus(cells: Measure, q: np.ndarray) -> tuple[arb, float]:
    """E KL(mu_{Y|U} || q)."""
    true = conditional(cells)
    return expected(cells, (true[u, y] / entry(q, u, y) for u, y in cells))


def shared(m: Measure) -> tuple[arb, float]:
    """I of a measure on pairs."""
    inner, column = conditional(m), pushed(m, lambda x, y: (0, y))
    total = sum(m.values(), arb(0))
    return expected(m, (inner[x, y] * total / column[0, y] for x, y in m))
