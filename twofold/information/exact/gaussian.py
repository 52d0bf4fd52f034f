r"""Linear encoders U = A X of two Gaussian models, each information as a ball around its number.

    regression   X ~ N(0, Sigma), Y = w'X + s xi:  Var(Y|X) = s^2,
                 Var(Y|U) = s^2 + w'Sigma w - w'Sigma A'(A Sigma A')^-1 A Sigma w,
                 I(X;Y|U) = (1/2) ln Var(Y|U) / Var(Y|X)
    two classes  X ~ N(Y m, I), Y = +-1 alike:  U is as good as the scalar t + xi Y-wise, with
                 t^2 = (A m)'(A A')^-1 A m, and I(U;Y) = J(t), I(X;Y) = J(|m|),
                 J(t) = ln 2 - E ln(1 + exp(-2t^2 - 2tZ)).

J by the trapezoidal rule. In the strip |Im z| <= a = pi/4t, capped at 4, the integrand phi(z)
ln(1+e^w) is analytic, with |ln(1+e^w)| <= ln(1+e^{Re w}) + pi/2 because |Im w| <= pi/2, and
E ln(1+e^{Re w}) <= ln 2. So the rule with step h errs by at most

    2 e^{a^2/2} (ln 2 + pi/2) / (e^{2 pi a/h} - 1),

and leaving out |z| > 10 by 2 (ln 2 Q(10-h) + 2t phi(10-h)), h <= 1 (the terms decrease there). For
t > 40, 0 <= ln 2 - J <= e^{-t^2/2}. Nodes are summed in balls, so rounding is in the radius.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, arb_mat

from twofold.rigor import inputs
from twofold.rigor.balls import matrix, precision

BITS, DIGITS = 192, 60
EDGE = 10


@dataclass(frozen=True)
class Gaussian:
    """Informations in nats, ``error`` bounding what quadrature and rounding may cost each."""

    mutual_information: float
    encoded_information: float
    loss: float
    conditional_entropy: float
    """H(Y|X): differential for regression"""
    error: float


def linear_gaussian(w: Any, covariance: Any, noise: Any, encoder: Any) -> Gaussian:
    """Y = w'X + ``noise`` xi with X ~ N(0, covariance), U = encoder X; noise is a deviation."""
    w = inputs.real("w", w, 1)
    sigma = inputs.symmetric("covariance", inputs.real("covariance", covariance, 2))
    s = float(inputs.real("noise", noise, 0))
    A = _rows("encoder", encoder, len(w))
    if s <= 0 or sigma.shape != (len(w), len(w)):
        raise ValueError(
            f"noise, covariance: expected a deviation > 0 and shape {(len(w), len(w))}, got {s!r} "
            f"and {sigma.shape}; without noise the information is infinite"
        )
    with precision(BITS):
        S, v, a = matrix(sigma), matrix(w), matrix(A)
        power = (v.transpose() * S * v)[0, 0]
        kept = _explained(a * S * a.transpose(), a * S * v)
        base = arb(s) ** 2
        left = base + _positive(power - kept)
        parts = [(base + power) / base, (base + power) / left, left / base]
        noise_entropy = (2 * arb.pi() * arb(1).exp() * base).log() / 2
        return _gathered([p.log() / 2 for p in parts], noise_entropy)


def two_class_gaussian(mean: Any, encoder: Any) -> Gaussian:
    """X ~ N(Y mean, I) with Y = +-1 equally likely, U = encoder X, encoder (d,) or (k,d)."""
    m = inputs.real("mean", mean, 1)
    A = _rows("encoder", encoder, len(m))
    with precision(BITS):
        v, a = matrix(m), matrix(A)
        whole = (v.transpose() * v)[0, 0]
        kept = _explained(a * a.transpose(), a * v)
        both = [_information(x.nonnegative_part().sqrt()) for x in (whole, kept)]
        return _gathered([*both, both[0] - both[1]], arb(2).log() - both[0])


def _rows(name: str, encoder: Any, dim: int) -> np.ndarray:
    A = inputs.real(name, encoder, (1, 2))
    A = A[None] if A.ndim == 1 else A
    if A.shape[1] != dim or not 1 <= len(A):
        raise ValueError(f"{name}: expected rows of length {dim}, U = A X, got shape {A.shape}")
    return A


def _explained(G: arb_mat, b: arb_mat) -> arb:
    """The b'G^-1 b, G proved regular."""
    try:
        return (b.transpose() * G.solve(b))[0, 0]
    except ZeroDivisionError as error:
        raise ValueError(
            "encoder: its rows are dependent (or the covariance is singular on them); drop the "
            "dependent rows, they carry no information"
        ) from error


def _positive(x: arb) -> arb:
    """A variance, known to be non-negative."""
    if x < 0:
        raise ValueError("covariance: not positive semidefinite; pass a covariance")
    return x.nonnegative_part()


def _information(t: arb) -> arb:
    """The J(t) as a ball."""
    if t > 40:
        tail = (-t * t / 2).exp().upper()
        return arb(2).log() - arb(0).union(tail)
    top = float(t.upper())
    a = arb(min(np.pi / 4 / top, 4.0) * (1 - 2.0**-40) if top > 0 else 4.0)
    h = arb(float(2 * np.pi * a / DIGITS))
    count = int(EDGE / float(h)) + 1
    pi, root = arb.pi(), (2 * arb.pi()).sqrt()
    total = arb(0)
    for k in range(-count, count + 1):
        z = h * k
        total += (-z * z / 2).exp() * (-2 * t * (t + z)).exp().log1p()
    step = 2 * (a * a / 2).exp() * (arb(2).log() + pi / 2) / ((2 * pi * a / h).exp() - 1)
    edge = EDGE - h
    density = (-edge * edge / 2).exp() / root
    tail = 2 * (arb(2).log() * density / edge + 2 * t * density)
    radius = (step + tail).upper()
    return arb(2).log() - h * total / root + (-radius).union(radius)


def _gathered(parts: list[arb], noise: arb) -> Gaussian:
    """Numbers with the largest radius of all, one rounding to float64 included."""
    middles = [float(x.mid()) for x in (*parts, noise)]
    spread = max(
        float(abs(x - arb(m)).upper()) for x, m in zip((*parts, noise), middles, strict=True)
    )
    return Gaussian(*middles, error=float(np.nextafter(spread, np.inf)))
