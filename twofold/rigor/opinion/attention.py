r"""Attention as an update map in balls: iterates, matrix and Jacobian, entry by entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat

from twofold.rigor.opinion.balls import eye, frobenius, matrix, norm, require, solve
from twofold.rigor.opinion.sides import Sides

Row = list[arb]


@dataclass(frozen=True)
class Heads:
    """s_ij = G_ij + r_i p_j + q_i r_j + g r_i r_j for each head, and what mixes them."""

    G: np.ndarray
    p: np.ndarray
    q: np.ndarray
    g: np.ndarray
    v: np.ndarray
    o: np.ndarray
    D: np.ndarray
    soft: bool

    def attended(self, h: int, r: Row) -> list[Row]:
        """The weights a_ij of one head."""
        G, p, q, g = self.G[h].tolist(), self.p[h].tolist(), self.q[h].tolist(), float(self.g[h, 0])
        K = len(r)
        s = [[G[i][j] + r[i] * p[j] + r[j] * q[i] + r[i] * r[j] * g for j in range(K)]
             for i in range(K)]  # fmt: skip
        if not self.soft:
            return s
        e = [[x.exp() for x in row] for row in s]
        return [[x / total for x in row] for row, total in zip(e, map(added, e), strict=True)]

    def at(self, r: Row) -> tuple[arb_mat, arb_mat]:
        """(N(r), J(r))."""
        K, H = len(r), len(self.G)
        N, J = ([[arb(0)] * K for _ in range(K)] for _ in range(2))
        for h in range(H):
            a, o = self.attended(h, r), self.o[h].tolist()
            v, p, q = self.v[h].tolist(), self.p[h].tolist(), self.q[h].tolist()
            g, w = float(self.g[h, 0]), [x * y for x, y in zip(r, v, strict=True)]
            for i in range(K):
                mean = added([x * y for x, y in zip(a[i], w, strict=True)]) if self.soft else arb(0)
                weight = a[i] if self.soft else [arb(1)] * K
                away = [x - mean for x in w]
                own = added([weight[j] * (r[j] * g + p[j]) * away[j] for j in range(K)])
                for k in range(K):
                    N[i][k] += a[i][k] * o[i] * v[k] / H
                    J[i][k] += (r[i] * g + q[i]) * weight[k] * away[k] * o[i] / H
                J[i][i] += own * o[i] / H
        for i in range(K):
            N[i][i] += float(self.D[i])
        first = arb_mat(N)
        return first, first + arb_mat(J)

    def variation(self, R: arb, jacobian: bool) -> arb:
        """Sup |N(r) - N(0)|, or |J(r) - J(0)|, over |r| <= R."""
        total, two = arb(0), arb(2).sqrt()
        for h in range(len(self.G)):
            v, o = (arb(float(np.max(np.abs(x[h])))) for x in (self.v, self.o))
            g, row = arb(abs(float(self.g[h, 0]))), self.p[h]
            oq = frobenius(matrix(self.o[h : h + 1]) * arb_mat(np.diag(self.q[h]).tolist()))
            p = arb(float(np.max(row))) - arb(float(np.min(row))) if self.soft else frobenius(
                matrix(row))  # fmt: skip
            if self.soft:
                total += v * R * two / 4 * (o * (p + two * g * R) + two * oq)
                more = v * R / 2 * (oq + g * o * R) + v * R * o * (p + two * g * R) * two / 4
            else:
                total += v * R * (o * p + oq + g * o * R)
                more = v * R * (oq + g * o * R) + v * R * o * (p + g * R)
            total += more if jacobian else arb(0)
        return total / len(self.G)


def added(x: Row) -> arb:
    """The sum."""
    return sum(x, arb(0))


def heads_of(weights: list[np.ndarray]) -> Heads:
    """The heads with these arrays, the last of them saying whether there is a softmax."""
    G, p, q, g, v, o, D, soft = weights
    return Heads(G, p, q, g, v, o, D, bool(soft[0]))


def nearby(form: str) -> Callable[..., Sides]:
    """|z_L - z*| <= prod q |z*|, or |I - J(d) H| <= |I - J(0) H| + |H| sup |J(r) - J(0)|."""

    def route(*given: np.ndarray) -> Sides:
        *weights, H, d, depth = given
        heads, h, c = heads_of(weights), matrix(H), matrix(d)
        size, one, dagger = norm(h), eye(len(d)), solve(h, c)
        rest, start = norm(one - heads.at([arb(0)] * len(d))[0] * h), frobenius(dagger)
        if form == "jacobian":
            left = norm(one - heads.at(c.entries())[1] * h)
            right = rest + size * heads.variation(size * start, jacobian=True)
            return Sides(left, right, 1 + float(size))
        z, bound = matrix(np.zeros(len(d))), start
        first = rest + size * heads.variation(size * start, jacobian=False)
        require(first < 1, first >= 1, "no contraction on the ball of the first residual")
        for _ in range(int(depth)):
            r = c - h * z
            z = z + heads.at(r.entries())[0] * r
            bound = (rest + size * heads.variation(size * bound, jacobian=False)) * bound
        return Sides(frobenius(z - dagger), bound, float(start) * (1 + int(depth)))

    return route


def no_matrix(*given: np.ndarray) -> Sides:
    """Max |J - P|, |J' - P| >= |J - J'| / 2 > 0."""
    *weights, r, other, P = given
    heads = heads_of(weights)
    one, two = (heads.at(matrix(x).entries())[1] for x in (r, other))
    left, right = (frobenius(J - matrix(P)) for J in (one, two))
    gap = frobenius(one - two) / 2
    require(gap > 0, gap == 0, "the two Jacobians agree")
    return Sides(max(left, right), gap, float(frobenius(one)) + float(frobenius(two)))
