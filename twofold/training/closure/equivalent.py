r"""The deterministic equivalent: any depth, any P, no sampling; an estimate with an O(1/K) law.

As formal power series in x and y, truncated at the degree of the polynomial (prime = in y),

    q = (I - x D + x g P Sigma)^{-1},        g = 1 / (1 + (x/M) tr(Sigma q P)),
    F = q S q'^T + c q Q q'^T,               Q = P Sigma P^T,
    c = xy g g' N / (1 - xy g g' V),   N = tr(Sigma q S q'^T) / M,   V = tr(Sigma q Q q'^T) / M,

and R = (1/K) sum_ij c_i c_j [x^i y^j] tr F. The gradient is the adjoint of these lines, by hand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Shaped

from twofold.training.closure import series
from twofold.training.closure.case import Case


@dataclass(frozen=True, eq=False)
class Resolvent:
    """Q (n, ...), g (n,) and what their adjoint needs."""

    P: np.ndarray
    case: Case
    q: np.ndarray
    g: Shaped[np.ndarray, " n"]
    t: Shaped[np.ndarray, " n"]
    moves: np.ndarray

    def adjoint(self, q_bar: np.ndarray, g_bar: np.ndarray) -> np.ndarray:
        """P_bar of given q_bar and g_bar (both are used up), the sweep run backwards."""
        case, P, n = self.case, self.P, len(self.g)
        slope = case.sigma_times(case.turned(P)) / case.prompt
        t_bar, w_bar = np.zeros(n, P.dtype), np.zeros_like(q_bar)
        for k in range(n - 1, 0, -1):
            t_bar[:k] -= g_bar[k] * self.g[k - 1 :: -1]
            g_bar[k - 1 :: -1] -= g_bar[k] * self.t[:k]
            if k < n - 1:
                q_bar[k] += t_bar[k] * slope + _mixed(self.g[: n - 1 - k], w_bar[k + 1 :])
            y_bar = -case.times(case.turned(P), q_bar[k])
            q_bar[k - 1] += q_bar[k] + case.ridge * y_bar
            w_bar[k] = case.sigma_times(y_bar)
            g_bar[k - 1 :: -1] += _flat(self.q[:k]) @ w_bar[k].ravel()
        traced = case.turned(case.sigma_times(_mixed(t_bar, self.q))) / case.prompt
        return traced - case.summed(q_bar[1:], case.turned(self.moves))


def resolvent(P: np.ndarray, case: Case) -> Resolvent:
    """q_n = q_{n-1} - P (lambda q_{n-1} + Sigma sum_j g_j q_{n-1-j}), and g beside it."""
    n = case.depth + 1
    q = np.zeros((n, *P.shape), P.dtype)
    g, t = np.zeros(n, P.dtype), np.zeros(n, P.dtype)
    q[0], g[0], moves = case.identity, 1.0, np.zeros((n - 1, *P.shape), P.dtype)
    PM = case.turned(case.times_sigma(P)) / case.prompt
    for k in range(1, n):
        t[k - 1] = np.sum(PM * q[k - 1])
        g[k] = -t[:k] @ g[k - 1 :: -1]
        w = _mixed(g[k - 1 :: -1], q[:k])
        moves[k - 1] = case.ridge * q[k - 1] + case.sigma_times(w)
        q[k] = q[k - 1] - case.times(P, moves[k - 1])
    t[-1] = np.sum(PM * q[-1])
    return Resolvent(P, case, q, g, t, moves)


@dataclass(frozen=True, eq=False)
class Traces:
    """A = tr q S q', N, E = tr q Q q', V as (n, n), with the stacks they are made of."""

    left: np.ndarray
    stacks: tuple[np.ndarray, np.ndarray]
    A: Shaped[np.ndarray, "n n"]
    N: Shaped[np.ndarray, "n n"]
    E: Shaped[np.ndarray, "n n"]
    V: Shaped[np.ndarray, "n n"]


def _traces(r: Resolvent) -> Traces:
    case, M = r.case, r.case.prompt
    Q = case.times(case.times_sigma(r.P), case.turned(r.P))
    left = case.sigma_times(r.q)
    stacks = case.times_prior(r.q), case.times(r.q, Q)
    A, E = (_flat(s) @ _flat(r.q).T for s in stacks)
    N, V = (_flat(s) @ _flat(left).T / M for s in stacks)
    return Traces(left, stacks, A, N, E, V)


def risk(P: np.ndarray, case: Case) -> complex:
    """R by the equivalent; complex where P is."""
    r = resolvent(P, case)
    T = _traces(r)
    G = series.toeplitz(r.g)
    a, b = (series.shifted(G @ X @ G.T) for X in (T.N, T.V))
    F = T.A + series.product(series.product(a, series.inverse(b)), T.E)
    return np.sum(case.pairs * F)


def gradient(P: np.ndarray, case: Case) -> tuple[float, np.ndarray]:
    """(R, its gradient in P)."""
    r = resolvent(P, case)
    T = _traces(r)
    value, bars, g_bar = _top(r.g, T, case.pairs)
    q_bar = _stacks_bar(case, T, bars)
    P_bar = _square_bar(r, T, bars)
    return value, P_bar + r.adjoint(q_bar, g_bar)


def _top(
    g: np.ndarray, T: Traces, pairs: np.ndarray
) -> tuple[float, tuple[np.ndarray, ...], np.ndarray]:
    """R, its adjoints in A, N, E, V, and in g: series algebra alone, nothing of size K."""
    G = series.toeplitz(g)
    a, b = (series.shifted(G @ X @ G.T) for X in (T.N, T.V))
    inverse = series.inverse(b)
    c, m = series.product(a, inverse), series.product(inverse, T.E)
    value = np.sum(pairs * (T.A + series.product(c, T.E)))
    a_bar = series.correlation(pairs, m)
    b_bar = series.correlation(pairs, series.product(c, m))
    E_bar = series.correlation(pairs, c)
    G_bar, down = np.zeros_like(G), []
    for bar, X in ((a_bar, T.N), (b_bar, T.V)):
        back = np.zeros_like(bar)
        back[:-1, :-1] = bar[1:, 1:]
        down.append(G.T @ back @ G)
        G_bar += back @ G @ X.T + back.T @ G @ X
    return float(value), (pairs, down[0], E_bar, down[1]), series.diagonals(G_bar)


def _stacks_bar(case: Case, T: Traces, bars: tuple[np.ndarray, ...]) -> np.ndarray:
    """q_bar through the four traces: each is a symmetric form in q."""
    A, N, E, V = (bar + bar.T for bar in bars)
    (S, Q), M = T.stacks, case.prompt
    seen = _combined(N / M, S) + _combined(V / M, Q)
    return _combined(A, S) + _combined(E, Q) + case.sigma_times(seen)


def _square_bar(r: Resolvent, T: Traces, bars: tuple[np.ndarray, ...]) -> np.ndarray:
    """P_bar through Q = P Sigma P^T: Q_bar = sum_ij q_i^T (E_ij q_j + V_ij Sigma q_j / M)."""
    case = r.case
    inner = _combined(bars[2], r.q) + _combined(bars[3] / case.prompt, T.left)
    Q_bar = case.summed(case.turned(r.q), inner)
    return case.times(Q_bar + case.turned(Q_bar), case.times_sigma(r.P))


def _flat(stack: np.ndarray) -> np.ndarray:
    return stack.reshape(len(stack), -1)


def _combined(weights: np.ndarray, stack: np.ndarray) -> np.ndarray:
    return (weights @ _flat(stack)).reshape(len(weights), *stack.shape[1:])


def _mixed(weights: np.ndarray, stack: np.ndarray) -> np.ndarray:
    return (weights @ _flat(stack)).reshape(stack.shape[1:])


def _outer(weights: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return weights.reshape(-1, *([1] * matrix.ndim)) * matrix
