r"""Attention as an update map Delta(r), r = d - H z: one token t_j = (e_j, r_j) a coordinate.

    s_ij = scale (W_Q t_i)'(W_K t_j),     a = softmax_j(s), or s itself (linear attention)
    Delta_i = D_i r_i + mean over heads of o_i sum_j a_ij v_j r_j,      z <- z + Delta(d - H z)

Only M = W_Q' W_K of each head enters: with its blocks, s_ij = G_ij + r_i p_j + q_i r_j + g r_i r_j.
Delta(r) = N(r) r, hence Delta(0) = 0 and the Jacobian at rest is N(0). Where p, q and g are zero
the scores do not see the residual, N is one matrix P, and the map is a linear preconditioner.

The formulas are written for any array library: NumPy runs them, JAX differentiates them, and
`rigor.entrywise` proves them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from twofold.protocol import System
from twofold.rigor import inputs

Kind = Literal["linear", "softmax"]


@dataclass(frozen=True, eq=False)
class Attention:
    """Frozen weights of ``h`` heads on K coordinates; ``query`` and ``key`` are (h, m, K + 1)."""

    query: Float[np.ndarray, "h m K+1"]
    key: Float[np.ndarray, "h m K+1"]
    value: Float[np.ndarray, "h K"]
    output: Float[np.ndarray, "h K"]
    diagonal: Float[np.ndarray, " K"]
    kind: Kind = "softmax"
    scale: float = 1.0
    depth: int = 1

    def __post_init__(self) -> None:
        h, m, width = np.shape(inputs.real("query", self.query, ndim=3))
        shapes = {"query": (h, m, width), "key": (h, m, width), "value": (h, width - 1),
                  "output": (h, width - 1), "diagonal": (width - 1,), "scale": ()}  # fmt: skip
        for name, shape in shapes.items():
            object.__setattr__(self, name, inputs.real(name, getattr(self, name), shape=shape))
        object.__setattr__(self, "scale", float(self.scale))
        if not h or self.kind not in get_args(Kind):
            raise ValueError(f"kind: {h} heads of {self.kind!r}; expected >= 1 of {get_args(Kind)}")
        inputs.whole("depth", self.depth)

    @property
    def kernel(self) -> Float[np.ndarray, "h K+1 K+1"]:
        """M = W_Q' W_K of each head: what is left of queries and keys once the gauge is gone."""
        return np.swapaxes(self.query, 1, 2) @ self.key

    @property
    def scores(self) -> Scores:
        """The coefficients of the scores as polynomials in the residual."""
        weights = {"value": self.value, "output": self.output, "diagonal": self.diagonal}
        return Scores.of(self.scale * self.kernel, soft=self.kind == "softmax", **weights)

    def update(self, z: Any, H: Any, d: Any) -> Float[np.ndarray, "N K"]:
        """Delta(z, H, d), row by row."""
        z, d = inputs.real("z", z, ndim=2, finite=False), inputs.real("d", d, ndim=2, finite=False)
        H = inputs.real("H", H, shape=(len(d), d.shape[1], d.shape[1]), finite=False)
        return self.move(
            d - (H @ inputs.real("z", z, shape=d.shape, finite=False)[..., None])[..., 0]
        )

    def move(self, r: Any) -> Float[np.ndarray, "N K"]:
        """Delta as a function of the residual r (N,K)."""
        r = inputs.real("r", r, shape=(None, len(self.diagonal)), finite=False)
        with np.errstate(over="ignore", invalid="ignore"):
            return update(np, self.scores, r)

    def jacobian(self, r: Any) -> Float[np.ndarray, "N K K"]:
        """J = dDelta / dr at each residual r (N,K)."""
        r = inputs.real("r", r, shape=(None, len(self.diagonal)), finite=False)
        with np.errstate(over="ignore", invalid="ignore"):
            return jacobian(np, self.scores, r)

    def at_rest(self) -> Float[np.ndarray, "K K"]:
        """J(0) = N(0): the preconditioner of small residuals."""
        return self.jacobian(np.zeros((1, len(self.diagonal))))[0]

    def global_matrix(self) -> Float[np.ndarray, "K K"] | None:
        """P with Delta = P r for every r, where the scores cannot see the residual; else None."""
        s = self.scores
        seen = [np.any(x != 0) for x in (s.by_query, s.by_key, s.by_both)]
        return None if any(seen) else self.at_rest()

    def at_amplitude(self, factor: float) -> Attention:
        """Delta(factor r) / factor: the map for residuals counted in other units."""
        stretch = np.ones(self.query.shape[-1])
        stretch[-1] = float(inputs.real("factor", factor, ndim=0))
        return replace(self, query=self.query * stretch, key=self.key * stretch)

    def step(self, system: System, x: np.ndarray) -> Float[np.ndarray, "N K"]:
        """The move that ``x`` gets."""
        return self.move(inputs.real("system.d", system.d, ndim=2, finite=False) - system.matvec(x))

    def __call__(self, system: System) -> Float[np.ndarray, "N K"]:
        """z_L after ``depth`` moves from 0."""
        z = np.zeros(np.shape(system.d))
        for _ in range(self.depth):
            z = z + self.step(system, z)
        return z


@dataclass(frozen=True, eq=False)
class Scores:
    """s_ij = at_rest_ij + r_i by_query_j + by_key_i r_j + by_both r_i r_j, for each head."""

    at_rest: Any
    by_query: Any
    by_key: Any
    by_both: Any
    value: Any
    output: Any
    diagonal: Any
    soft: bool

    def arrays(self) -> dict[str, np.ndarray]:
        """All that decides the map, by name: what a proof about it is made from."""
        names = ("at_rest", "by_query", "by_key", "by_both", "value", "output", "diagonal")
        soft = {"soft": np.array([float(self.soft)])}
        return {name: np.ascontiguousarray(getattr(self, name)) for name in names} | soft

    @classmethod
    def of(cls, M: Any, *, value: Any, output: Any, diagonal: Any, soft: bool) -> Scores:
        """From the scaled kernels M (h, K+1, K+1); any array library."""
        blocks = M[:, :-1, :-1], M[:, -1, :-1], M[:, :-1, -1], M[:, -1, -1, None]
        return cls(*blocks, value, output, diagonal, soft)


def weights(xp: Any, s: Scores, r: Any) -> Any:
    """The attention a (N,h,K,K) at residuals r (N,K)."""
    query, key = r[:, None, :, None], r[:, None, None, :]
    seen = query * (s.by_query[:, None, :] + s.by_both[:, :, None] * key)
    scores = seen + s.by_key[:, :, None] * key + s.at_rest
    if not s.soft:
        return scores
    raised = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    return raised / xp.sum(raised, axis=-1)[..., None]


def update(xp: Any, s: Scores, r: Any) -> Any:
    """Delta(r) = D r + mean_h o (a (v r))."""
    mixed = xp.sum(weights(xp, s, r) * (s.value * r[:, None, :])[:, :, None, :], axis=-1)
    return s.diagonal * r + xp.sum(s.output * mixed, axis=1) / len(s.value)


def matrix(xp: Any, s: Scores, r: Any) -> Any:
    """N(r) = diag(D) + mean_h diag(o) a diag(v), with Delta(r) = N(r) r."""
    a = weights(xp, s, r) * (s.output[:, :, None] * s.value[:, None, :])
    return xp.sum(a, axis=1) / len(s.value) + s.diagonal * np.eye(len(s.diagonal))


def jacobian(xp: Any, s: Scores, r: Any) -> Any:
    r"""J_ik = N_ik + mean_h o_i [(q_i + g r_i) a_ik (w_k - w_i) + delta_ik Cov_i(p + g r, w)].

    w = v r, w_i its mean under row i of a, Cov_i the covariance under it; without the softmax the
    means drop out.
    """
    a, eye = weights(xp, s, r), np.eye(len(s.diagonal))
    w, p = (s.value * r[:, None, :])[:, :, None, :], (s.by_query + s.by_both * r[:, None, :])
    p, q = p[:, :, None, :], (s.by_key + s.by_both * r[:, None, :])[..., None]
    if s.soft:
        centred = w - xp.sum(a * w, axis=-1)[..., None]
        by_key = q * (a * centred)
        by_query = xp.sum(a * (p * centred), axis=-1)[..., None] * eye
    else:
        by_key, by_query = q * w, xp.sum(p * w, axis=-1)[..., None] * eye
    return xp.sum((by_key + by_query) * s.output[..., None], axis=1) / len(s.value) + matrix(
        xp, s, r
    )
