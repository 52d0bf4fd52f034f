r"""The one matrix nearest to an update map, and the share of the map that it explains.

    P_proj = argmin_P E |Delta - P r|^2 = E[Delta r'] E[r r']^+

It is a diagnostic of the map, not the map: where the share is below 1, Delta is no matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor.inputs import real


def projection(delta: Any, r: Any) -> Float[np.ndarray, "K K"]:
    """P_proj over the sample delta (N,K), r (N,K); of least norm where r does not span."""
    delta, r = _pair(delta, r)
    return np.linalg.lstsq(r, delta, rcond=None)[0].T


def explained(delta: Any, r: Any, P: Any = None) -> float:
    """1 - E |Delta - P r|^2 / E |Delta|^2 with P_proj, or with the P given; NaN for Delta = 0.

    Between 0 and 1 for P_proj of the same sample; below 0 for a P worse than none.
    """
    delta, r = _pair(delta, r)
    K = r.shape[1]
    P = projection(delta, r) if P is None else real("P", P, shape=(K, K))
    top = np.max(np.abs(delta))
    if not top:
        return float("nan")
    return float(1.0 - np.sum(((delta - r @ P.T) / top) ** 2) / np.sum((delta / top) ** 2))


def _pair(delta: Any, r: Any) -> tuple[np.ndarray, np.ndarray]:
    r = real("r", r, ndim=2)
    if 0 in r.shape:
        raise ValueError(f"r: expected at least one residual, got shape {r.shape}")
    return real("delta", delta, shape=r.shape), r
