r"""The Marchenko–Pastur law: limiting spectrum of a whitened sample covariance, gamma = K/M.

With q = sqrt(gamma) and x = 1 + gamma - 2 q cos(theta) the continuous part on [a, b] is

    f(x) dx = (2/pi) sin^2(theta) / (1 + gamma - 2 q cos(theta)) d(theta),    0 <= theta <= pi,

of mass min(1, 1/gamma); for gamma > 1 the rest, 1 - 1/gamma, is an atom at 0. All functions work
in theta, which loses nothing at the edges. For gamma > 1 the continuous part is that of gamma' =
1/gamma, stretched by gamma.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor.inputs import real, whole

SMALLEST, LARGEST = 1e-12, 1e12
SERIES_BELOW, SERIES_TERMS = 0.1, 18


def edges(gamma: float) -> tuple[float, float]:
    """``((1 - sqrt(gamma))^2, (1 + sqrt(gamma))^2)``, the ends of the continuous part."""
    gamma = aspect_ratio(gamma)
    q = math.sqrt(gamma)
    return ((1 - gamma) / (1 + q)) ** 2, (1 + q) ** 2


def atom(gamma: float) -> float:
    """The mass at 0: ``max(0, 1 - 1/gamma)``."""
    gamma = aspect_ratio(gamma)
    return (gamma - 1) / gamma if gamma > 1 else 0.0


def density(x: Any, gamma: float) -> Float[np.ndarray, "*N"]:
    """``sqrt((b - x)(x - a)) / (2 pi gamma x)`` on (a, b), 0 outside; the atom has no density."""
    x, (a, b) = real("x", x), edges(gamma)
    inside = (x > a) & (x < b)
    safe = np.where(inside, x, (a + b) / 2)
    height = np.sqrt((b - safe) * (safe - a)) / (2 * np.pi * float(gamma) * safe)
    return np.where(inside, height, 0.0)


def cumulative(x: Any, gamma: float) -> Float[np.ndarray, "*N"]:
    """``mu((-inf, x])``, the atom included from x = 0 on."""
    x, (a, b) = real("x", x), edges(gamma)
    gamma = float(gamma)
    held = np.clip(x, a, b)
    theta = 2 * np.arctan2(np.sqrt(held - a), np.sqrt(b - held))
    continuous = min(1.0, 1 / gamma) * _fraction(theta, min(gamma, 1 / gamma))
    return np.clip(np.where(x >= 0, atom(gamma) + continuous, 0.0), 0.0, 1.0)


def quantile(level: Any, gamma: float) -> Float[np.ndarray, "*N"]:
    """The smallest x with ``cumulative(x, gamma) >= level``, by bisection in theta."""
    level, (a, _) = real("level", level), edges(gamma)
    if np.any((level < 0) | (level > 1)):
        raise ValueError(f"level: probabilities in [0, 1] are needed, got {level!r}")
    gamma = float(gamma)
    share = np.clip((level - atom(gamma)) / min(1.0, 1 / gamma), 0.0, 1.0)
    low, high = np.zeros_like(share), np.full_like(share, np.pi)
    for _ in range(60):
        middle = (low + high) / 2
        below = _fraction(middle, min(gamma, 1 / gamma)) < share
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    x = a + 4 * math.sqrt(gamma) * np.sin(high / 2) ** 2
    return np.where(level <= atom(gamma), 0.0 if gamma > 1 else a, x)


def moment(order: int, gamma: float) -> float:
    """``E lambda^k = sum_r gamma^r / (r + 1) C(k, r) C(k - 1, r)`` (Narayana numbers)."""
    order, gamma = whole("order", order), aspect_ratio(gamma)
    if order == 0:
        return 1.0
    counts = (math.comb(order, r) * math.comb(order - 1, r) // (r + 1) for r in range(order))
    try:
        return math.fsum(gamma**r * count for r, count in enumerate(counts))
    except OverflowError as error:
        raise ValueError(f"order: moment {order} at gamma {gamma} exceeds float64") from error


def stieltjes(z: Any, gamma: float) -> np.ndarray:
    r"""``m(z) = int (lambda - z)^-1 d mu``, the root of gamma z m^2 + (z + gamma - 1) m + 1 = 0.

    The branch is the one with m ~ -1/z at infinity, so Im m and Im z have one sign. Real z off the
    support gives a real array; on the support m is two-valued: pass z + 1j * eps.
    """
    (a, b), gamma = edges(gamma), float(gamma)
    x, y = real("z", np.real(z)), real("z", np.imag(z))
    if np.any((y == 0) & (((x >= a) & (x <= b)) | ((x == 0) & (gamma > 1)))):
        raise ValueError("z: the law has mass there, m(z) is two-valued; pass z + 1j * eps")
    is_real = not np.iscomplexobj(z)
    z = x + 1j * y
    root = np.sqrt(z - a) * np.sqrt(z - b)
    linear = 1 - gamma - z
    plus, minus = linear + root, linear - root
    direct = np.abs(plus) > np.abs(minus)
    m = np.where(direct, plus / np.where(direct, 2 * gamma * z, 1), 2 / np.where(direct, 1, minus))
    return np.real(m) if is_real else m


def aspect_ratio(gamma: float) -> float:
    """``gamma`` as a float in [1e-12, 1e12]; outside the edges merge or overflow."""
    number = float(real("gamma", gamma, ndim=0))
    if not SMALLEST <= number <= LARGEST:
        raise ValueError(f"gamma: K/M in [{SMALLEST}, {LARGEST}] is needed, got {number}")
    return number


def _fraction(theta: np.ndarray, gamma: float) -> np.ndarray:
    """Share of the continuous part below theta, gamma <= 1.

    (1/pi) [theta + (q sin(theta) - (1 - q^2) phi) / q^2] with phi = sum_n q^n sin(n theta) / n =
    atan(q sin / (1 - q cos)); for small q the series itself, where the closed form cancels.
    """
    q = math.sqrt(gamma)
    half, whole_sine = np.sin(theta / 2), np.sin(theta)
    phi = np.arctan2(q * whole_sine, (1 - gamma) / (1 + q) + 2 * q * half**2)
    if q < SERIES_BELOW:
        series = sum(q ** (n - 2) * np.sin(n * theta) / n for n in range(2, 2 + SERIES_TERMS))
        bracket = phi - series
    else:
        bracket = (q * whole_sine - (1 - gamma) * phi) / gamma
    return np.clip((theta + bracket) / np.pi, 0.0, 1.0)
