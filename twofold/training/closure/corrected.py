r"""The equivalent with the 1/M term of the real Wishart law: O(1/K^2), and exact at depth 1.

A resolvent G_a = (A_a + L_a W R_a)^{-1} has a *type* a = (q_a, g_a, L_a, R_a): N is G itself with
(q, g, x P, I), T its transpose with (q^T, g, x I, P^T), each in x or in y. To leading order

    E tr[B G_a A G_b] = tr[B F_ab(A)],      F_ab(A) = q_a [A + n_ab(A) L_a Sigma R_b] q_b,

and `chain` is the same for three resolvents. Stein's identity for W closes on these up to *twisted*
traces, in which a transposed resolvent runs backwards; they carry all of the 1/M term. The steps of
the derivation are in docs/closure.md, with the same numbers as here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from twofold.training.closure import equivalent
from twofold.training.closure.case import Case
from twofold.training.closure.tape import Node, inner


@dataclass(frozen=True, eq=False)
class Type:
    """A resolvent's planar mean q, its dressing g, and the letters on both sides of W."""

    q: Node
    g: Node
    L: Node
    R: Node


@dataclass(frozen=True, eq=False)
class Letters:
    """What the formulas are written in."""

    Sigma: Node
    S: Node
    P: Node
    one: Node
    M: float
    twist: complex = 1.0
    """The factor of every twisted term: 0 leaves the equivalent, its derivative at 0 is rho_1."""

    def pair(self, a: Type, b: Type, A: Node) -> tuple[Node, Node]:
        """(n_ab(A), A + n_ab(A) L_a Sigma R_b)."""
        seen = (1 / self.M) * inner(self.Sigma * a.R * a.q * A, b.q * b.L)
        n = a.g * b.g * seen * self.geometric(a, b)
        return n, A + n * a.L * self.Sigma * b.R

    def geometric(self, a: Type, b: Type) -> Node:
        """1 / (1 - g_a g_b V_ab)."""
        V = inner(self.Sigma * a.R * a.q * a.L, self.Sigma * b.R * b.q * b.L)
        return (self.one - (1 / self.M) * (a.g * b.g * V)).reciprocal

    def F(self, a: Type, b: Type, A: Node) -> Node:
        """The planar mean of G_a A G_b."""
        return a.q * self.pair(a, b, A)[1] * b.q

    def chain(self, a: Type, b: Type, c: Type, A: Node, B: Node) -> Node:
        """The planar mean of G_a A G_b B G_c."""
        n_ab, dressed = self.pair(a, b, A)
        n_bc = self.pair(b, c, B)[0]
        Y = dressed * self.F(b, c, B)
        seen = (1 / self.M) * (a.g * inner(c.L * self.Sigma * a.R * a.q, Y))
        n = c.g * (seen - n_ab * n_bc * (b.g * c.g).reciprocal) * self.geometric(a, c)
        return a.q * (Y + n * a.L * self.Sigma * c.R * c.q)


def risk(P: np.ndarray, case: Case, twist: complex = 1.0) -> complex:
    """R with its 1/M term; complex where P or the ``twist`` is."""
    return np.sum(case.pairs * _trace(P, case, twist=twist)[0].c)


def gradient(P: np.ndarray, case: Case) -> tuple[float, np.ndarray]:
    """(R, its gradient in P): the tape run backwards, then the adjoint of the sweep for q, g."""
    total, leaf, q, g, r = _trace(P, case)
    total.backward(case.pairs)
    P_bar = leaf.bar[0, 0] + r.adjoint(q.bar[:, 0].copy(), g.bar[:, 0].copy())
    return float(np.sum(case.pairs * total.c)), P_bar


def table(P: np.ndarray, case: Case, source: np.ndarray, metric: np.ndarray) -> np.ndarray:
    """E tr(metric T^i source (T^j)') for i, j <= L; ``source`` need not be symmetric."""
    found = _trace(P, replace(case, prior=source), metric)[0].c
    out = np.zeros((case.depth + 1, case.depth + 1))
    out[: found.shape[0], : found.shape[1]] = found
    return out


def _trace(
    P: np.ndarray, case: Case, metric: np.ndarray | None = None, twist: complex = 1.0
) -> tuple[Node, Node, Node, Node, equivalent.Resolvent]:
    """K R(x, y) as a node, with the leaves P, q, g."""
    r = equivalent.resolvent(P, case)
    leaf, q, g = (Node(case, c) for c in (P[None, None], r.q[:, None], r.g[:, None]))
    sigma, prior, one = (Node(case, np.asarray(c)[None, None])
                         for c in (case.sigma, case.prior, 1.0))  # fmt: skip
    k = Letters(sigma, prior, leaf, one, float(case.prompt), twist)
    seen = one if metric is None else Node(case, np.asarray(metric)[None, None])
    total = _assembled(k, q, g, _single(k, q, g), *_twisted(k, q, g), seen)
    return total, leaf, q, g, r


def _single(k: Letters, q: Node, g: Node) -> Node:
    """Step 1: the 1/M term of one resolvent, E[G] = q + delta q."""
    P, Sigma, M = k.P, k.Sigma, k.M
    square = P * Sigma * P.T
    w = (1 / M) * inner(Sigma * P.T * q.T, Sigma * q * P)
    g2 = g * g
    epsilon = g2 * (k.one - (g2 * w).shifted(2, 0)).reciprocal * q.T * Sigma * q
    e = ((k.twist / M) * (q * square * epsilon)).shifted(2, 0)
    a = (q * P * Sigma * q).shifted(1, 0)
    top, bottom = ((1 / M) * _scaled_trace(k, m) for m in (e, a))
    dg = top * (k.one + bottom).reciprocal
    return e - dg * a


def _scaled_trace(k: Letters, m: Node) -> Node:
    """tr[(I - x D) m], D = I - lambda P."""
    identity = Node(k.P.case, k.P.case.identity[None, None])
    D = identity - k.P.case.ridge * k.P
    return inner(identity, m) - inner(D, m).shifted(1, 0)


@dataclass(frozen=True, eq=False)
class Types:
    """Both resolvents, and both transposed."""

    Nx: Type
    Tx: Type
    Ny: Type
    Ty: Type


def _types(k: Letters, q: Node, g: Node) -> Types:
    h, p = g.swapped, q.swapped
    return Types(
        Type(q, g, k.P.shifted(1, 0), k.one), Type(q.T, g, k.one.shifted(1, 0), k.P.T),
        Type(p, h, k.P.shifted(0, 1), k.one), Type(p.T, h, k.one.shifted(0, 1), k.P.T),
    )  # fmt: skip


def _twisted(k: Letters, q: Node, g: Node) -> tuple[Node, Node]:
    """Step 2: E[W P'G'Sigma G S H'] and E[W H S G'Sigma P'H'] to leading order (' transposes)."""
    Sigma, S, M, t = k.Sigma, k.S, k.M, _types(k, q, g)
    back = Sigma * k.P.T
    h, bare = t.Ty.g, back * t.Ty.q
    one, two = k.chain(t.Tx, t.Nx, t.Ty, Sigma, S), k.chain(t.Ny, t.Tx, t.Ty, S.T, back)
    straight, turned = k.F(t.Nx, t.Ty, S), k.F(t.Tx, t.Ty, back)
    w = (1 / M) * inner(back * k.F(t.Tx, t.Nx, Sigma), k.P)
    phi = (1 / M) * inner(Sigma, straight)
    omega = g * (Sigma * straight - (phi * h).shifted(0, 1) * bare)
    closed = ((1 / M) * inner(back, one) * h).shifted(0, 1) * bare
    X1 = g * (back * one - w.shifted(1, 0) * omega - closed)
    ring = g * phi * (back * turned - ((1 / M) * inner(back, turned) * h).shifted(0, 1) * bare)
    closed = ((1 / M) * inner(Sigma, two) * h).shifted(0, 1) * bare
    return X1, h * (Sigma * two - ring.shifted(1, 0) - closed)


def _assembled(k: Letters, q: Node, g: Node, dq: Node, X1: Node, X2: Node, metric: Node) -> Node:
    """Step 3: K R(x, y) = tr Phi, the linear equation for Phi = E[G S H'] solved."""
    P, Sigma, S, M = k.P, k.Sigma, k.S, k.M
    identity = Node(P.case, P.case.identity[None, None])
    D = identity - P.case.ridge * P
    dg = -1.0 * ((1 / M) * (g * g * inner(Sigma * dq, P))).shifted(1, 0)
    bent = q - dg * (q * P * Sigma * q).shifted(1, 0)
    Q, xgP = (q + dq).swapped, (g + dg).shifted(1, 0) * P
    N0 = S * Q.T + (k.twist / M) * (xgP * (X1.shifted(1, 0) + X2.shifted(0, 1)))
    N1 = xgP * (identity - Q.T + (D.T * Q.T).shifted(0, 1))
    seen = (1 / M) * (Sigma * bent)
    phi = inner(seen, N0) * (k.one - inner(seen, N1)).reciprocal
    return inner(metric * bent, N0) + phi * inner(metric * bent, N1)
