r"""Numba kernel: one periodic axis, one atom, a given amplitude, as fast as it goes.

The same mathematics as ``newton.encode`` without its generality: no tables, no rows of pointers.
A row is finished here if its predictor's point is certified, Newton converges within three steps,
the certificate holds there, and, when global verdicts are asked for, one pass over fixed cells
proves it: each is higher or inside the radius of uniqueness. Every other row is left to
``newton.encode``.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from twofold.atlas.kantorovich import CERTIFIED, HALF, U, alone
from twofold.atlas.waves import TURN, circle, compiled
from twofold.rigor.ieee import is_ieee

BLOCK = 512
CELLS = 8  # per harmonic of f


@compiled
def at(t, a, b, out):
    """F and its first three derivatives at t into ``out``."""
    c, s = circle(t)
    x, y = 1.0, 0.0
    f, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
    for n in range(len(a)):
        even, odd = a[n] * x - b[n] * y, a[n] * y + b[n] * x
        turn = TURN * n
        f += even
        f1 -= turn * odd
        even *= turn * turn
        f2 -= even
        f3 += turn * turn * turn * odd
        x, y = x * c - y * s, y * c + x * s
    out[0], out[1], out[2], out[3] = f, f1, f2, f3


@compiled
def judged(j, M, e, out):
    """``kantorovich.judge`` on one axis without an edge, jets in j; True if certified."""
    least = j[2] - e[2]
    if not (least > 0.0 and j[2] < 1e140 and M[3] < 1e150 and j[2] + M[3] > 1e-140):
        return False
    beta = (1.0 + 8 * U) / least
    step = -j[1] / j[2]
    length = abs(step)
    lost = abs(j[1] + j[2] * step) + 5 * U * (abs(j[1]) + j[2] * length) + e[1] + e[2] * length
    eta = (length + beta * lost) * (1.0 + 40 * U)
    cube = e[3] + abs(j[3])
    L = min(M[3], (cube + 2.0 * eta * M[4]) * (1.0 + 80 * U))
    h = beta * eta * L * (1.0 + 16 * U)
    out[0], out[1], out[2], out[3] = beta, eta, L, h
    if not h < HALF:
        return False
    out[4] = 2.0 * eta / (1.0 + math.sqrt(1.0 - 2.0 * h)) * (1.0 + 16 * U)
    out[5] = alone(beta, eta, L, M[3], M[4], cube) * (1.0 - 32 * U)
    return True


@compiled
def wrapped(t):
    """T in [0, 1)."""
    t -= math.floor(t)
    return 0.0 if t >= 1.0 else t


@compiled
def prepare(b, z, norm, quadratic, prior, weights, slack_linear, slack_quadratic, kappa,
            ca, cb, M, e):  # fmt: skip
    """Coefficients a cos - b sin into ca and cb, and the margins M and e."""
    T = len(ca)
    for n in range(T):
        ca[n] = prior[n].real + z * z * quadratic[n].real
        cb[n] = prior[n].imag + z * z * quadratic[n].imag
    ca[0] -= z * b[0]
    for n in range(1, (len(b) + 1) // 2):
        ca[n] -= z * b[2 * n]
        cb[n] += z * b[2 * n - 1]
    M[:] = 0.0
    for n in range(T):
        p, q = abs(ca[n]), abs(cb[n])
        top, low = max(p, q), min(p, q)
        size = top * math.sqrt(1.0 + (low / top) ** 2) if top > 0.0 else 0.0
        for g in range(5):
            M[g] += size * weights[g, n]
    grow = 1.0 + (4 * T + 64) * U
    for g in range(5):
        moved = abs(z) * norm * slack_linear[g] + z * z * slack_quadratic[g]
        e[g] = (kappa * M[g] + moved) * grow + 1e-290
        M[g] = (M[g] + moved) * grow


@compiled
def nearest(b, z, across, squares, prior, inner):
    """The node with the least objective; ``across`` is (M, nodes)."""
    inner[:] = 0.0
    for m in range(len(b)):
        weight = b[m]
        row = across[m]
        for c in range(len(inner)):
            inner[c] += weight * row[c]
    best, least = 0, np.inf
    for c in range(len(inner)):
        f = -z * inner[c] + 0.5 * z * z * squares[c] + prior[c]
        if f < least:
            best, least = c, f
    return best


@compiled
def predicted(t, a, b, reach, j):
    """Newton's step with Halley's correction from t, at most ``reach``."""
    at(t, a, b, j)
    if not j[2] > 0.0:
        return wrapped(t - math.copysign(reach, j[1]))
    step = max(-reach, min(reach, -j[1] / j[2]))
    if abs(step) < reach:
        step /= max(1.0 - 0.5 * j[1] * j[3] / (j[2] * j[2]), 0.5)
    return wrapped(t + step)


@compiled
def cells_higher(t, value, unique, ca, cb, cosines, sines, M3, slack, f, g, H):
    """The least proved bound of f outside the ball of uniqueness; -inf where a cell is open."""
    f[:] = 0.0
    g[:] = 0.0
    H[:] = 0.0
    n_cells = len(f)
    for n in range(len(ca)):
        turn = TURN * n
        a, b = ca[n], cb[n]
        a1, b1 = turn * a, turn * b
        a2, b2 = turn * a1, turn * b1
        c, s = cosines[n], sines[n]
        for i in range(n_cells):
            f[i] += a * c[i] - b * s[i]
        for i in range(n_cells):
            g[i] += a1 * s[i] + b1 * c[i]
        for i in range(n_cells):
            H[i] += a2 * c[i] - b2 * s[i]
    rho = 0.5 / n_cells
    cubic = M3 * rho * rho * rho / 6.0 * (1.0 + 32 * U) + slack
    floor = np.inf
    for i in range(n_cells):
        curve, slope = -H[i], abs(g[i])
        low = f[i] - slope * rho + 0.5 * min(0.0, curve) * rho * rho
        if curve > 0.0:
            low = max(low, f[i] - slope * slope / (2.0 * curve) * (1.0 + 16 * U))
        low -= cubic
        if low > value:
            floor = min(floor, low)
        else:
            gap = (2 * i + 1) * rho - t
            gap -= np.rint(gap)
            if not abs(gap) * (1.0 + 16 * U) + 4 * U + rho * (1.0 + 16 * U) < unique:
                return -np.inf
    return floor


@njit(cache=True, fastmath=False, parallel=True, error_model="numpy")
def encode(b, norm, z, across, squares, node_prior, nodes, quadratic, prior, weights, slack_linear,
           slack_quadratic, kappa, cosines, sines, reach, prove, probe,
           start, coords, first, last, words, values, done, flags):  # fmt: skip
    """The arrays of ``newton.encode`` for the rows that are easy; ``done`` says which."""
    N, T = len(b), len(prior)
    for block in prange((N + BLOCK - 1) // BLOCK):
        ca, cb, M, e, j = np.empty(T), np.empty(T), np.empty(5), np.empty(5), np.empty(4)
        inner, n_cells = np.empty(across.shape[1]), cosines.shape[1]
        f, g, H = np.empty(n_cells), np.empty(n_cells), np.empty(n_cells)
        flags[block % 64] = flags[block % 64] and is_ieee(probe)
        for n in range(block * BLOCK, min(N, (block + 1) * BLOCK)):
            done[n] = False
            prepare(b[n], z[n], norm[n], quadratic, prior, weights, slack_linear, slack_quadratic,
                    kappa, ca, cb, M, e)  # fmt: skip
            t = nodes[nearest(b[n], z[n], across, squares, node_prior, inner), 0]
            start[n, 0] = t
            if not (M[3] < 1e150 and M[2] > 1e-130):
                continue
            t = predicted(t, ca, cb, reach, j)
            at(t, ca, cb, j)
            if not judged(j, M, e, first[n]):
                continue
            begin = t
            for _ in range(3):
                step = j[1] / j[2]
                t = wrapped(t - step)
                at(t, ca, cb, j)
                if abs(step) < 1e-7:
                    break
            if not (judged(j, M, e, last[n]) and last[n, 1] < 1e-10):
                continue
            words[n, 2] = -1
            if prove:
                rho = 0.5 / n_cells
                slack = e[0] + 2.0 * rho * e[1] + rho * rho * e[2]
                values[n, 1] = cells_higher(t, j[0] + e[0], last[n, 5], ca, cb, cosines, sines,
                                            M[3], slack, f, g, H)  # fmt: skip
                if values[n, 1] == -np.inf:
                    continue
                words[n, 2], words[n, 3] = 0, n_cells
            else:
                values[n, 1] = -np.inf
            start[n, 0], coords[n, 0] = begin, t
            values[n, 0], values[n, 2] = j[0], e[0]
            words[n, 0], words[n, 1], words[n, 4], words[n, 5] = CERTIFIED, 0, 0, CERTIFIED
            done[n] = True


def tables(degree: int) -> tuple[np.ndarray, np.ndarray]:
    """(cos, sin)(2 pi n c_i) at the cells' centres; their number is a power of two: n c_i is exact.

    At least 8 cells for each of the ``degree`` harmonics of f.
    """
    cells = CELLS * 2 ** math.ceil(math.log2(max(degree, 2)))
    centres = (2 * np.arange(cells) + 1) / (2 * cells)
    both = np.array([[circle(n * c) for c in centres] for n in range(degree + 1)])
    return np.ascontiguousarray(both[..., 0]), np.ascontiguousarray(both[..., 1])
