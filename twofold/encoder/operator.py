r"""Systems A(z) u = f of an elliptic affine family, tridiagonal or sparse, never formed densely."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from twofold.measures import coercivity
from twofold.rigor import inputs
from twofold.rigor.roundoff import up


@dataclass(frozen=True, eq=False)
class OperatorSystem:
    """N systems A(z) u = d; the answer is u. A row whose operator is not elliptic has no solution.

    ``exact`` is a direct solve; its distance to the true solution is proved from its residual and
    from a lower bound of the smallest eigenvalue.
    """

    operators: coercivity.Elliptic
    z: Float[np.ndarray, "N K"]
    d: Float[np.ndarray, "N n"]

    def __post_init__(self) -> None:
        d = inputs.real("d", self.d, shape=(None, self.operators.size[0]), finite=False)
        z = inputs.real("z", self.z, shape=(len(d), self.operators.size[1]), finite=False)
        if not len(d):
            raise ValueError(f"d: nothing to solve in shape {d.shape}; pass at least one task")
        object.__setattr__(self, "d", d)
        object.__setattr__(self, "z", z)

    def __len__(self) -> int:
        return len(self.d)

    def rows(self, which: np.ndarray) -> OperatorSystem:
        """The same for some of the rows."""
        return OperatorSystem(self.operators, self.z[which], self.d[which])

    def matvec(self, v: Float[np.ndarray, "N n"]) -> Float[np.ndarray, "N n"]:
        """A(z) v, row by row."""
        return self.operators.matvec(self.z, v)

    def dense(self) -> None:
        """Never formed; ``operators.dense(z)`` does it where n is small."""
        return None

    @cached_property
    def coercive(self) -> Float[np.ndarray, " N"]:
        """A proved lower bound of lambda_min(A(z)); not positive where nothing is proved."""
        return coercivity.lowest(self.operators, self.z)

    def distance(self, u: Float[np.ndarray, "N n"]) -> Float[np.ndarray, " N"]:
        """At least ||u - A(z)^-1 d||_2 = ||A(z)^-1 (d - A(z) u)||_2; inf where not proved."""
        residual = coercivity.residual_upper(self.operators, self.z, u, self.d)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            radius = up(residual / np.where(self.coercive > 0, self.coercive, 1.0), 1)
        return np.where((self.coercive > 0) & np.isfinite(radius), radius, np.inf)

    @cached_property
    def _solved(self) -> tuple[np.ndarray, np.ndarray]:
        u = self.operators.solve(self.z, self.d[:, None])[:, 0]
        radius = self.distance(u)
        return np.where(np.isfinite(radius)[:, None], u, np.nan), radius

    def enclosure(self) -> tuple[Float[np.ndarray, "N n"], Float[np.ndarray, " N"]]:
        """``(u, radius)``: the true solution lies within ``radius`` of u in the 2-norm."""
        return self._solved

    def exact(self) -> Float[np.ndarray, "N n"]:
        """u_dagger, what a perfect decoder would return."""
        return self._solved[0]

    def lift(self, x: Float[np.ndarray, "N n"]) -> Float[np.ndarray, "N n"]:
        """The answer is the solution itself."""
        return x
