r"""The Gaussian-process encoder: a prompt (Phi, y) to the system of its posterior mean.

A z = d with A = Lambda^-1 + Phi'Phi/noise^2, d = Phi'y/noise^2; the answer is z, or phi_q'z at the
prompt's held-out points. Kernel ridge regression with penalty noise^2 is the same
answer: phi_q'A^-1 d = k_q'(K + noise^2 I)^-1 y (:mod:`twofold.theorems.primal_dual`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.encoder.dense import DenseSystem
from twofold.tasks import gp


@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """Encoder: ``prior`` holds the variances (R,) or covariance of z; ``predict`` asks for f_q."""

    prior: np.ndarray
    noise: float
    predict: bool = False

    def __call__(self, prompt: Mapping[str, Any]) -> DenseSystem:
        """The posterior system of every prompt, lifted by its ``Phi_q`` with ``predict``."""
        wanted = ("Phi", "y", "Phi_q") if self.predict else ("Phi", "y")
        missing = [name for name in wanted if prompt.get(name) is None]
        if missing:
            raise ValueError(f"prompt: no {', '.join(missing)}; it has {sorted(prompt)}")
        A, d = gp.system(prompt["Phi"], prompt["y"], prior=self.prior, noise=self.noise)
        return DenseSystem(A, d, prompt["Phi_q"] if self.predict else None)
