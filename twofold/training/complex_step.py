r"""Gradients by the complex step: the second opinion on every adjoint here.

For f analytic and real on the reals, Im f(x + i h e_k) / h = df/dx_k + O(h^2), with no difference
taken and so nothing cancelled: h = 2^-300 leaves rounding alone. It costs one f for each entry of x
and is written out as the formulas stand, apart from every kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs

STEP = 2.0**-300


def gradient(function: Callable[[Any], complex], point: np.ndarray) -> Float[np.ndarray, "*n"]:
    """The gradient of an analytic ``function`` of one array at a real ``point``."""
    point = inputs.real("point", point)
    out = np.empty_like(point)
    for entry in np.ndindex(point.shape):
        moved = point.astype(complex)
        moved[entry] += 1j * STEP
        out[entry] = np.imag(function(moved)) / STEP
    return out


def loss(P: np.ndarray, H: np.ndarray, d: np.ndarray, target: np.ndarray, depth: int) -> complex:
    """|x_L - target|^2 / (2 N K) of a complex P, by the formula; the square is not |.|^2."""
    x = np.zeros(np.shape(d), dtype=complex)
    for _ in range(inputs.whole("depth", depth)):
        x = x + (d - np.matmul(H, x[..., None])[..., 0]) @ P.T
    return complex(np.sum((x - target) ** 2) / (2 * x.size))


def distance(found: np.ndarray, expected: np.ndarray) -> float:
    """|found - expected| / |expected| in the 2-norm of all entries."""
    expected = inputs.real("expected", expected)
    found = inputs.real("found", found, shape=expected.shape)
    if not expected.any():
        raise ValueError("expected: zero has no relative distance")
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
