r"""How far an encoded operator is from the true one.

    z error, per task      ||z_enc - z||^2 / K
    A error, of a batch    sqrt(mean ||A(z_enc) - A(z)||_F^2 / mean ||A(z)||_F^2)

The second is a ratio of root mean squares. The mean of the ratios is another number, which a few
small operators may decide; it is not this one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs


def latent_error(z_enc: Any, z: Any) -> Float[np.ndarray, " N"]:
    """Mean square over the coordinates of each task; NaN passes."""
    z = inputs.real("z", z, ndim=2, finite=False)
    z_enc = inputs.real("z_enc", z_enc, shape=z.shape, finite=False)
    if not z.size:
        raise ValueError(f"z: no task or no coordinate in shape {z.shape}")
    return np.mean((z_enc - z) ** 2, axis=1)


def operator_error(A_enc: Any, A: Any) -> float:
    """The ratio of root mean squares over the tasks whose operators are both finite."""
    A = inputs.real("A", A, ndim=3, finite=False)
    A_enc = inputs.real("A_enc", A_enc, shape=A.shape, finite=False)
    good = np.isfinite(A).all(axis=(1, 2)) & np.isfinite(A_enc).all(axis=(1, 2))
    if not good.any() or not np.any(A[good]):
        raise ValueError("A: no task with a finite operator that is not zero; nothing to compare")
    top = np.max(np.abs(A[good]))
    off, size = (A_enc[good] - A[good]) / top, A[good] / top
    return float(np.sqrt(np.sum(off**2) / np.sum(size**2)))
