"""Numba kernel: a guess at the largest eigenvalue of a Gram matrix. No proof rests on it."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from twofold.rigor.tiles import combined, dot, vector


@njit(cache=True, fastmath=False)
def above_all(alpha, beta, m, x):
    """Whether every eigenvalue of the tridiagonal matrix is below x, by its pivots."""
    q = x - alpha[0]
    for i in range(1, m):
        if not q > 0.0:
            return False
        q = x - alpha[i] - beta[i - 1] * beta[i - 1] / q
    return q > 0.0


@njit(cache=True, fastmath=False)
def top_root(alpha, beta, m, near):
    """Largest eigenvalue of the tridiagonal matrix by Laguerre's iteration from above.

    It starts a little above ``near`` where that is above all eigenvalues, else from Gershgorin.
    """
    x = near * (1.0 + 1e-3)
    if not (x > 0.0 and above_all(alpha, beta, m, x)):
        for i in range(m):
            x = max(x, alpha[i] + (beta[i] if i < m - 1 else 0.0) + (beta[i - 1] if i else 0.0))
        x *= 1.0 + 1e-15
    for _ in range(60):
        q, dq, ddq = x - alpha[0], 1.0, 0.0
        first, second = 0.0, 0.0
        for i in range(m):
            if i:
                square = beta[i - 1] * beta[i - 1] / q
                ratio = dq / q
                ddq = square * (ddq / q - 2.0 * ratio * ratio)
                dq = 1.0 + square * ratio
                q = x - alpha[i] - square
            if not q > 0.0:
                return x
            first += dq / q
            second += (dq / q) ** 2 - ddq / q
        spread = max((m - 1) * (m * second - first * first), 0.0)
        step = m / (first + math.sqrt(spread))
        x -= step
        if not step > 4e-16 * x:
            break
    return x


@njit(cache=True, fastmath=False)
def top_eigenvalue(G, n, start):
    """A guess at the largest eigenvalue of G: Lanczos, no proof, no reorthogonalisation."""
    most = 3 * n + 8
    alpha, beta = np.empty(most), np.empty(most)
    v, before, w = vector(n), vector(n), vector(n)
    v[0, :n] = start
    v /= math.sqrt(dot(v, v))
    theta, m, columns = 0.0, 0, np.uint64(v.shape[1])
    while m < most:
        combined(v, G, n, w)
        a = dot(v, w)
        b = beta[m - 1] if m else 0.0
        for j in range(columns):
            w[0, j] -= a * v[0, j] + b * before[0, j]
        alpha[m], beta[m] = a, math.sqrt(dot(w, w))
        m += 1
        if not beta[m - 1] > 1e-15 * theta + 1e-300:
            return top_root(alpha, beta, m, theta)
        if m % 4 == 0 and m >= 16:
            if theta > 0.0 and above_all(alpha, beta, m, theta * (1.0 + 4e-15)):
                return theta
            theta = top_root(alpha, beta, m, theta)
        inverse = 1.0 / beta[m - 1]
        for j in range(columns):
            before[0, j] = v[0, j]
            v[0, j] = w[0, j] * inverse
    return top_root(alpha, beta, m, theta)
