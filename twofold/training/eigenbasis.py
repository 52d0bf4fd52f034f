r"""The spectral decomposition of a covariance, with a proved distance to the matrix itself.

LAPACK's C ~ Q diag(lambda) Q' is exact for a nearby matrix: with R = C Q - Q diag(lambda), the
orthogonality defect D = Q'Q - I and the polar factor Q~ of Q (|Q - Q~| <= |D|, exactly orthogonal),

    |C - Q~ diag(lambda) Q~'|_2 <= |R| + |D| (|C| + max|lambda|),

and by Weyl no eigenvalue of C is further than that from its lambda. R and D are formed from slices
whose leading product is exact, so their own rounding is far below their size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs
from twofold.rigor.selftest import require

UNIT = 2.0**-53
SCALE = 1e60


@dataclass(frozen=True, eq=False)
class Eigenbasis:
    """``vectors @ diag(values) @ vectors.T``, within ``distance`` of C once made orthogonal.

    ``values`` ascend; the first ``K - rank`` cannot be told from zero (``|value| <= distance``) and
    are set to zero: that C is singular there is a premise, that it is regular elsewhere is proved.
    """

    values: Float[np.ndarray, " K"]
    vectors: Float[np.ndarray, "K K"]
    distance: float
    defect: float
    rank: int

    @property
    def regular(self) -> bool:
        """Whether C is proved to be positive definite."""
        return self.rank == len(self.values)


def decompose(name: str, C: Float[np.ndarray, "K K"]) -> Eigenbasis:
    """The eigenbasis of a symmetric positive semidefinite C; anything else is a ValueError."""
    require()
    C = inputs.symmetric(name, inputs.real(name, C, ndim=2))
    check_scale(name, C)
    if not len(C):
        raise ValueError(f"{name}: expected at least one dimension, got shape {C.shape}")
    values, vectors = np.linalg.eigh(C)
    defect = residual_bound(vectors.T, vectors, np.eye(len(C)))
    rest = residual_bound(C, vectors, vectors * values)
    rest += 2 * UNIT * float(np.linalg.norm(vectors * values))  # that product was rounded
    top = float(np.max(np.abs(values)))
    norm = (top + rest) / (1 - 2 * defect)
    distance = (1 + 1e-12) * (rest + defect * (norm + top) + 2 * UNIT * top)
    if values[0] < -distance:
        raise ValueError(
            f"{name}: a covariance has no negative eigenvalue, the smallest here is "
            f"{values[0]:.3g} and rounding explains {distance:.3g}; pass E[d d']"
        )
    values = np.where(values <= distance, 0.0, values)
    return Eigenbasis(values, vectors, distance, defect, int(np.sum(values > 0)))


def check_scale(name: str, x: np.ndarray) -> None:
    """Refuse arrays whose squares leave the range where the relative error of float64 is u."""
    top = float(np.max(np.abs(x), initial=0.0))
    if top and not 1 / SCALE <= top <= SCALE:
        raise ValueError(
            f"{name}: its largest entry is {top:.3g}; rescale it to within {1 / SCALE:.0e} and "
            f"{SCALE:.0e}, where the error bars are proved"
        )


def residual_bound(
    A: Float[np.ndarray, "m K"], X: Float[np.ndarray, "K n"], Y: Float[np.ndarray, "m n"]
) -> float:
    r"""A proved upper bound of |A X - Y|_F, sharp when A X is close to Y.

    A = A1 + A2 and X = X1 + X2 with so few bits b in A1 and X1 that A1 X1 is exact in float64,
    whatever the order of summation; the rest, A1 X2 + A2 X, is 2^-b of the whole.
    """
    K = len(X)
    bits = (52 - math.ceil(math.log2(K + 1))) // 2
    A1, X1 = leading(A, 1, bits), leading(X, 0, bits)
    A2, X2 = A - A1, X - X1
    near, first, second = A1 @ X1 - Y, A1 @ X2, A2 @ X
    rounding = 4 * UNIT * sum(float(np.linalg.norm(part)) for part in (near, first, second))
    tail = float(np.linalg.norm(A1) * np.linalg.norm(X2) + np.linalg.norm(A2) * np.linalg.norm(X))
    rounding += 2 * (K + 2) * UNIT * tail + K * K * 2.0**-1000
    return (1 + 1e-8) * (float(np.linalg.norm(near + first + second)) + rounding)


def leading(x: np.ndarray, axis: int, bits: int) -> np.ndarray:
    """``x`` rounded to multiples of 2^-bits of the power of two above each row's maximum."""
    _, exponent = np.frexp(np.max(np.abs(x), axis=axis, keepdims=True))
    shift = np.ldexp(1.5, np.clip(exponent - bits + 52, -1000, 1000))
    return (x + shift) - shift
