r"""Families that are tensor products along the axes: periodic, torus, cylinder, patch, affine.

One axis carries 1, sin 2 pi t, cos 2 pi t, sin 4 pi t, ... (period 1) or 1, t, t^2, ... on
[-radius, radius]. A column of Phi is a product of one function per axis. Every column is

    Phi_m(t) = sum_k R_mk e_k(t),   e_k(t) = prod_i e^{2 pi i k_i t_i}  (t_i^{k_i} on flat axes),

and products of two columns are sums of the same kind at twice the degree: so is the objective.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Complex, Float, Int

from twofold.rigor import inputs

TURN = 2 * math.pi


@dataclass(frozen=True)
class Line:
    """One axis: ``degree`` harmonics of period 1, or powers up to ``degree`` on a flat axis."""

    degree: int
    radius: float | None = None

    @property
    def flat(self) -> bool:
        """Whether the axis is flat."""
        return self.radius is not None

    @property
    def count(self) -> int:
        """How many functions it carries."""
        return self.degree + 1 if self.flat else 2 * self.degree + 1

    def order(self, m: int) -> int:
        """The frequency or power of its m-th function."""
        return m if self.flat else (m + 1) // 2

    def derivative(self, t: np.ndarray, m: int, g: int) -> np.ndarray:
        """The g-th derivative of the m-th function."""
        k = self.order(m)
        if self.flat:
            return math.perm(k, g) * t ** (k - g) if g <= k else np.zeros_like(t)
        phase = TURN * k * t + (0 if m % 2 else math.pi / 2) * (m > 0) + g * math.pi / 2
        return (TURN * k) ** g * np.sin(phase) if m else np.full_like(t, float(g == 0))

    def sup(self, k: int, g: int) -> float:
        """The supremum of |d^g| of the functions of frequency or power k."""
        if self.radius is not None:
            return math.perm(k, g) * self.radius ** (k - g) if g <= k else 0.0
        return (TURN * k) ** g

    def spectrum(self, m: int) -> list[tuple[int, complex]]:
        """The m-th function as a sum of e_k."""
        k = self.order(m)
        if self.flat or m == 0:
            return [(k, 1.0 + 0j)]
        half = -0.5j if m % 2 else 0.5 + 0j
        return [(k, half), (-k, half.conjugate())]


@dataclass(frozen=True)
class Tensor:
    """``columns`` holds, for each function Phi_m, which function of each axis it multiplies."""

    name: str
    lines: tuple[Line, ...]
    columns: tuple[tuple[int, ...], ...]

    @property
    def dim(self) -> int:
        """q, the number of axes."""
        return len(self.lines)

    @property
    def size(self) -> int:
        """M, the number of functions."""
        return len(self.columns)

    @property
    def period(self) -> tuple[float | None, ...]:
        """1 on periodic axes, None on flat ones."""
        return tuple(None if line.flat else 1.0 for line in self.lines)

    def values(self, t: Any) -> Float[np.ndarray, "N M"]:
        """Phi at coordinates (N, q)."""
        return self.jets(t, 0)[0]

    def jets(self, t: Any, order: int) -> list[np.ndarray]:
        """Phi and its derivatives up to ``order``, one more axis of length q each."""
        t = inputs.real("t", t, shape=(None, self.dim))
        return [self._jet(t, g) for g in range(order + 1)]

    def _jet(self, t: np.ndarray, g: int) -> np.ndarray:
        out = np.empty((len(t), self.size) + (self.dim,) * g)
        for axes in itertools.product(range(self.dim), repeat=g):
            times = [axes.count(i) for i in range(self.dim)]
            for m, column in enumerate(self.columns):
                parts = [self.lines[i].derivative(t[:, i], column[i], times[i])
                         for i in range(self.dim)]  # fmt: skip
                out[(slice(None), m, *axes)] = math.prod(parts[1:], start=parts[0])
        return out

    def orders(self) -> list[tuple[int, ...]]:
        """The frequencies and powers that occur, each once."""
        return sorted({tuple(line.order(m) for line, m in zip(self.lines, column, strict=True))
                       for column in self.columns})  # fmt: skip

    def sup(self, order: int) -> float:
        r"""sqrt(sum_k w_k^2): sine and cosine of one k share one w_k, as sin^2 + cos^2 = 1."""
        squares = (term_weight(self.lines, k, order) ** 2 for k in self.orders())
        return math.sqrt(math.fsum(squares)) * (1 + 1e-14)

    def spectrum(self) -> tuple[Int[np.ndarray, "T q"], Complex[np.ndarray, "M T"]]:
        """(k, R): all frequencies of both signs, and Phi = R e."""
        entries: dict[tuple[int, ...], dict[int, complex]] = {}
        for m, column in enumerate(self.columns):
            factors = [line.spectrum(n) for line, n in zip(self.lines, column, strict=True)]
            for choice in itertools.product(*factors):
                k = tuple(part[0] for part in choice)
                entries.setdefault(k, {})[m] = math.prod((p[1] for p in choice), start=1 + 0j)
        R = np.zeros((self.size, len(entries)), dtype=complex)
        for place, k in enumerate(sorted(entries)):
            for m, value in entries[k].items():
                R[m, place] = value
        return np.array(sorted(entries)).reshape(len(entries), self.dim), R


def term_weight(lines: tuple[Line, ...], k: tuple[int, ...], order: int) -> float:
    r"""An operator norm: sqrt(sum_{|a| = g} g!/a! prod_i sup|d^{a_i} e_{k_i}|^2) >= sup |D^g e_k|.

    On periodic axes alone this is |2 pi k|^g with the Euclidean norm of k.
    """
    total = []
    for a in itertools.product(range(order + 1), repeat=len(lines)):
        if sum(a) == order:
            ways = math.factorial(order) / math.prod(math.factorial(n) for n in a)
            sups = (line.sup(abs(n), g) for line, n, g in zip(lines, k, a, strict=True))
            total.append(ways * math.prod(sups) ** 2)
    return math.sqrt(math.fsum(total)) * (1 + 1e-14)


def _product(name: str, lines: tuple[Line, ...]) -> Tensor:
    return Tensor(name, lines, tuple(itertools.product(*(range(line.count) for line in lines))))


def Periodic(harmonics: int) -> Tensor:  # noqa: N802
    """1, sin 2 pi t, cos 2 pi t, sin 4 pi t, ..., period 1."""
    return _product("periodic", (Line(inputs.whole("harmonics", harmonics, low=1)),))


def Torus(q: int, harmonics: int) -> Tensor:  # noqa: N802
    """All products of the periodic functions of q axes; the last axis runs fastest."""
    line = Line(inputs.whole("harmonics", harmonics, low=1))
    return _product("torus", (line,) * inputs.whole("q", q, low=1))


def Cylinder(harmonics: int, degree: int, radius: float = 1.0) -> Tensor:  # noqa: N802
    """Periodic in the first coordinate, powers up to ``degree`` on [-radius, radius] in the other.

    The second coordinate is flat.
    """
    around = Line(inputs.whole("harmonics", harmonics, low=1))
    return _product("cylinder", (around, _flat(inputs.whole("degree", degree, low=1), radius)))


def Patch(q: int, degree: int, radius: float = 1.0) -> Tensor:  # noqa: N802
    """Monomials of total degree up to ``degree`` on [-radius, radius]^q, lower degrees first."""
    degree, q = inputs.whole("degree", degree, low=1), inputs.whole("q", q, low=1)
    every = itertools.product(range(degree + 1), repeat=q)
    columns = sorted((c for c in every if sum(c) <= degree), key=lambda c: (sum(c), c[::-1]))
    return Tensor("patch", (_flat(degree, radius),) * q, tuple(columns))


def Affine(q: int, radius: float = 1.0) -> Tensor:  # noqa: N802
    """1, t_1, ..., t_q on [-radius, radius]^q."""
    return Tensor("affine", Patch(q, 1, radius).lines, Patch(q, 1, radius).columns)


def _flat(degree: int, radius: float) -> Line:
    if not (math.isfinite(radius) and radius > 0):
        raise ValueError(f"radius: a flat axis needs a finite radius > 0, got {radius!r}")
    return Line(degree, float(radius))
