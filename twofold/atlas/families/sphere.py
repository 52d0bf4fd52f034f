r"""Real spherical harmonics, orthonormal on the unit sphere; coordinates are its points y.

    Y_{l,m}(y) = N_lm (d/dz)^{|m|} P_l(z) * Re or Im (x + iy)^{|m|},

polynomials of degree l in y. Along a great circle at unit speed they are trigonometric
polynomials of degree l, and by the addition theorem with P_l(cos s) = sum_k a_k cos(k s), a_k >= 0,

    sum_m |(d/ds)^g Y_lm|^2 = (2l + 1)/(4 pi) sum_k a_k k^{2g}     on every great circle.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Complex, Float, Int
from numpy.polynomial import legendre, polynomial

from twofold.atlas.families.tensor import Line
from twofold.rigor import inputs


@dataclass(frozen=True)
class Sphere:
    """Harmonics up to ``degree``, columns (l, m) in the order (0,0), (1,-1), (1,0), (1,1), ..."""

    degree: int

    def __post_init__(self) -> None:
        inputs.whole("degree", self.degree, low=1)

    name: ClassVar[str] = "sphere"
    dim = 3
    period = None

    @property
    def size(self) -> int:
        """(degree + 1)^2."""
        return (self.degree + 1) ** 2

    @property
    def lines(self) -> tuple[Line, ...]:
        """The axes of the surrounding space, [-1, 1] and a last bit."""
        return (Line(self.degree, 1.0 + 1e-15),) * 3

    def harmonics(self) -> list[tuple[int, int]]:
        """(l, m) of each column."""
        return [(n, m) for n in range(self.degree + 1) for m in range(-n, n + 1)]

    def values(self, t: Any) -> Float[np.ndarray, "N M"]:
        """Phi at points (N, 3) of the sphere."""
        return self.jets(t, 0)[0]

    def jets(self, t: Any, order: int) -> list[np.ndarray]:
        """Phi and the derivatives along great circles: D^g[u..u] of the polynomial, projected.

        In a tangent direction u of unit length: D Phi[u], and D^2 Phi[u,u] - D Phi[y], and
        D^3 Phi[u,u,u] - 3 D^2 Phi[u,y] - D Phi[u], as symmetric tensors in the surrounding space.
        """
        y = inputs.real("t", t, shape=(None, 3))
        ambient = [self._ambient(y, g) for g in range(max(order, 0) + 1)]
        out, eye = ambient[:2], np.eye(3)
        if order >= 2:
            radial = np.einsum("nmi,ni->nm", ambient[1], y)
            out.append(ambient[2] - radial[..., None, None] * eye)
        if order >= 3:
            across = 3 * np.einsum("nmij,nj->nmi", ambient[2], y) + ambient[1]
            terms = [np.einsum("nmi,jk->nm" + "".join(p), across, eye)
                     for p in (("ijk"), ("jik"), ("kij"))]  # fmt: skip
            out.append(ambient[3] - sum(terms) / 3)
        return out

    def _ambient(self, y: np.ndarray, g: int) -> np.ndarray:
        powers, R = self.spectrum()
        out = np.zeros((len(y), self.size) + (3,) * g)
        for axes in itertools.product(range(3), repeat=g):
            value = np.ones((len(y), len(powers)))
            for i in range(3):
                a, n = powers[:, i], axes.count(i)
                factor = np.array([math.perm(int(k), n) if k >= n else 0 for k in a])
                value *= factor * y[:, i : i + 1] ** np.maximum(a - n, 0)
            out[(slice(None), slice(None), *axes)] = value @ np.real(R).T
        return out

    def sup(self, order: int) -> float:
        """sqrt(sum_l (2l+1)/(4 pi) sum_k a_k k^{2g}), the square root of the addition theorem."""
        total = [degree_sup(n, order) ** 2 for n in range(self.degree + 1)]
        return math.sqrt(math.fsum(total)) * (1 + 1e-12)

    def spectrum(self) -> tuple[Int[np.ndarray, "T 3"], Complex[np.ndarray, "M T"]]:
        """(powers, R): Phi = R (monomials of y), every coefficient to a few units of rounding."""
        columns = [_monomials(n, m) for n, m in self.harmonics()]
        powers = sorted({p for column in columns for p in column})
        R = np.array([[column.get(p, 0.0) for p in powers] for column in columns], dtype=complex)
        return np.array(powers), R


def degree_sup(n: int, order: int) -> float:
    """sqrt((2n+1)/(4 pi) sum_k a_k k^{2g}): the g-th derivative of all harmonics of degree n."""
    k = np.arange(n + 1.0)
    a = _cosine_series(n)
    return math.sqrt((2 * n + 1) / (4 * math.pi) * math.fsum(a * k ** (2 * order)))


def _cosine_series(n: int) -> np.ndarray:
    """a_k >= 0 with P_n(cos s) = sum_k a_k cos(k s)."""
    c = [math.comb(2 * j, j) / 4**j for j in range(n + 1)]
    a = np.zeros(n + 1)
    for j in range(n + 1):
        a[abs(n - 2 * j)] += c[j] * c[n - j]
    return a


def _monomials(n: int, m: int) -> dict[tuple[int, int, int], float]:
    """Y_{n,m} as a polynomial in (x, y, z)."""
    along = polynomial.polyder(_legendre(n), abs(m)) if m else _legendre(n)
    ratio = Fraction(math.factorial(n - abs(m)), math.factorial(n + abs(m))) * (2 * n + 1)
    norm = math.sqrt(float(ratio * (2 if m else 1))) / math.sqrt(4 * math.pi)
    out: dict[tuple[int, int, int], float] = {}
    for j in range(abs(m) + 1):  # (x + iy)^|m|: its real part for m >= 0, imaginary for m < 0
        if (j % 2 == 0) == (m >= 0):
            sign = (-1) ** (j // 2) * math.comb(abs(m), j)
            for k, c in enumerate(np.atleast_1d(along)):
                if c:
                    out[(abs(m) - j, j, k)] = norm * sign * float(c)
    return out


def _legendre(n: int) -> np.ndarray:
    """Coefficients of P_n in powers: dyadic fractions, exact in float64 up to degree 20."""
    return legendre.leg2poly([0.0] * n + [1.0])
