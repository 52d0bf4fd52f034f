"""The inputs from which a certificate can be proved again, under the names `recheck` knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from twofold.anatomy import Anatomy
from twofold.certificate import Certificate
from twofold.training.trajectory import Trajectory

Evidence = dict[str, dict[str, np.ndarray]]


def of(proofs: Sequence[Certificate], **inputs: Any) -> Evidence:
    """``inputs`` for each of ``proofs``, by what the certificate says it was made from."""
    return {c.source: {name: np.asarray(x) for name, x in inputs.items()} for c in proofs}


def of_anatomy(proofs: Sequence[Certificate], anatomy: Anatomy) -> Evidence:
    """For certificates on the parts of a loss."""
    metric = np.zeros(0) if anatomy.metric is None else anatomy.metric
    return of(proofs, answer=anatomy.answer, best=anatomy.best, truth=anatomy.truth,
              metric=metric, scale=np.float64(anatomy.scale))  # fmt: skip


def of_path(proofs: Sequence[Certificate], path: Trajectory) -> Evidence:
    """For certificates on an exact path in outer time."""
    return of(proofs, s=path.s, modes=path.modes, values=path.basis.values, eta=path.eta)
