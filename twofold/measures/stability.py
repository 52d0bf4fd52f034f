r"""Whether x += alpha P r + beta (x - x_prev) forgets its errors: the roots of its recurrence.

For an eigenvalue t of P H the error mode obeys e_{l+1} = (1 + beta - alpha t) e_l - beta e_{l-1},
with the roots of r^2 - (1 + beta - alpha t) r + beta. It dies out iff both lie inside the unit
circle. For real t that is Jury's test: beta < 1, alpha t > 0 and 2 (1 + beta) - alpha t > 0. For
complex t, which a P that is not symmetric brings, only the roots decide.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs


def growth(spectrum: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """The larger root in modulus for each eigenvalue, real or complex: stable where below 1."""
    _checked(alpha, beta)
    middle = 1.0 + beta - alpha * np.asarray(spectrum, dtype=complex)
    half = np.sqrt(middle * middle - 4.0 * beta)
    return np.maximum(np.abs(middle + half), np.abs(middle - half)) / 2.0


def jury_margin(spectrum: Float[np.ndarray, "*N K"], alpha: float, beta: float) -> np.ndarray:
    """min(1 - beta, alpha t_min, 2 (1 + beta) - alpha t_max) along the last axis; stable iff > 0.

    For real spectra with beta >= 0 only: ValueError for a complex one, see ``growth``.
    """
    _checked(alpha, beta)
    if np.iscomplexobj(spectrum) and np.any(np.imag(spectrum) != 0):
        raise ValueError("spectrum: Jury's test is for real eigenvalues; call growth instead")
    t = inputs.real("spectrum", np.real(spectrum), finite=False)
    if t.ndim == 0 or beta < 0:
        raise ValueError(
            f"spectrum, beta: expected an axis of eigenvalues and beta >= 0, got {t.shape}, {beta}"
        )
    ends = np.minimum(alpha * t.min(axis=-1), 2.0 * (1.0 + beta) - alpha * t.max(axis=-1))
    return np.minimum(1.0 - beta, ends)


def _checked(alpha: float, beta: float) -> None:
    for name, value in (("alpha", alpha), ("beta", beta)):
        inputs.real(name, value, ndim=0)
