r"""The weak-form prompt encoder: pairs (u_i, f_i) of A(z) u = f to z, by exact ridge regression.

    G_{(i,r),k} = <A_k u_i, v_r>,   b_{(i,r)} = <f_i - A_0 u_i, v_r>,
    z_enc = (G'G + lambda M)^-1 G'b,

M = I, or the Gram matrix <A_k, A_l> scaled to mean diagonal 1: ridge in the operators' own metric.
The query f_* then meets A(z_enc).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.encoder.dense import DenseSystem
from twofold.encoder.operator import OperatorSystem
from twofold.encoder.ridge import penalty
from twofold.rigor import inputs
from twofold.rigor.linear import solve
from twofold.tasks.affine import Dense, Operators


@dataclass(frozen=True, eq=False)
class WeakForm:
    """Encoder: a prompt with u, f (N,m,n) and query (N,n) becomes the system A(z_enc) u = query.

    ``probes`` (R, n) are the test functions v_r; None takes the n coordinate vectors. Fewer weak
    rows than coordinates of z, m R < K, are refused: the ridge alone would decide.
    """

    operators: Operators
    probes: Any = None
    ridge: float = 1e-3
    gram: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "ridge", penalty(self.ridge))
        if self.probes is not None:
            v = inputs.real("probes", self.probes, shape=(None, self.operators.size[0]))
            if not len(v) or not np.all(np.any(v != 0, axis=1)):
                raise ValueError("probes: a zero probe tests nothing; pass nonzero rows, or None")
            object.__setattr__(self, "probes", v)

    def __call__(self, prompt: Mapping[str, Any]) -> DenseSystem | OperatorSystem:
        """A(z_enc) u = query for every prompt."""
        z = self.estimate(prompt)
        shape = (len(z), self.operators.size[0])
        query = inputs.real("query", prompt["query"], shape=shape, finite=False)
        if isinstance(self.operators, Dense):
            return DenseSystem(self.operators.dense(z), query)
        return OperatorSystem(self.operators, z, query)

    def pairs(self, prompt: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """(u, f) checked: (N,m,n) each, at least K weak rows in all."""
        n, K = self.operators.size
        u = inputs.real("u", prompt["u"], shape=(None, None, n), finite=False)
        f = inputs.real("f", prompt["f"], shape=u.shape, finite=False)
        rows = u.shape[1] * (n if self.probes is None else len(self.probes))
        if rows < K or not len(u):
            raise ValueError(
                f"u: {len(u)} prompts of {rows} weak rows (m R) for K = {K} coordinates of z; "
                "pass at least one prompt, and more pairs or probes"
            )
        return u, f

    def rows(
        self, prompt: Mapping[str, Any]
    ) -> tuple[Float[np.ndarray, "N M K"], Float[np.ndarray, "N M"]]:
        """The weak equations G z = b."""
        u, f = self.pairs(prompt)
        with np.errstate(invalid="ignore", over="ignore"):
            terms = self.operators.terms(u)
            weak = np.concatenate([(f - terms[0])[None], terms[1:]])
            weak = weak if self.probes is None else weak @ self.probes.T
        flat = weak.reshape(len(weak), len(u), -1)
        return np.ascontiguousarray(np.moveaxis(flat[1:], 0, -1)), flat[0]

    @property
    def metric(self) -> Float[np.ndarray, "K K"]:
        """M: the identity, or the Gram matrix of the A_k with mean diagonal 1."""
        if not self.gram:
            return np.eye(self.operators.size[1])
        gram = self.operators.gram()
        return gram / np.mean(np.diagonal(gram))

    def normal(
        self, prompt: Mapping[str, Any]
    ) -> tuple[Float[np.ndarray, "N K K"], Float[np.ndarray, "N K"]]:
        """(G'G + lambda M, G'b), exactly symmetric."""
        G, b = self.rows(prompt)
        with np.errstate(invalid="ignore", over="ignore"):
            H = np.swapaxes(G, 1, 2) @ G
            H = 0.5 * (H + np.swapaxes(H, 1, 2)) + self.ridge * self.metric
            return H, (np.swapaxes(G, 1, 2) @ b[..., None])[..., 0]

    def estimate(self, prompt: Mapping[str, Any]) -> Float[np.ndarray, "N K"]:
        """z_enc; NaN on rows whose normal equations are not proved regular."""
        z, radius = solve(*self.normal(prompt))
        return np.where(np.isfinite(radius)[:, None], z, np.nan)
