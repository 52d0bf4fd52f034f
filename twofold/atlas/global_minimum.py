r"""Numba kernel: is a proved local minimum the global one? Branch and bound over cells.

On a cell with centre c, half-diagonal rho and M_3 >= the Hessian's Lipschitz constant,

    f(c + s) >= f + g's + s'Hs/2 - M_3 |s|^3/6 >= each of
        f - sum |g_i| d_i + min(0, lambda) rho^2/2 - M_3 rho^3/6     (d_i the half-widths),
        f - |g|^2/(2 lambda) - M_3 rho^3/6                           (lambda = lambda_min H > 0).

A cell is done if that exceeds f at the candidate, or if it lies within the candidate's radius of
uniqueness. If all are done, a global minimiser (a critical point, or on the chart's edge) lies in
that ball: it is the candidate's root. A centre that is lower refutes the candidate. What is left
at the smallest size is a tie within rounding. Cells of the sphere are squares of the six faces of
a cube; the map onto the sphere shortens.
"""

from __future__ import annotations

import math

import numpy as np

from twofold.atlas.kantorovich import U, smallest
from twofold.atlas.waves import compiled, jet, on_sphere

PROVED, REFUTED, TIE, BUDGET = 0, 1, 2, 3
LEVELS = 22


@compiled
def place(u, sphere, y):
    """The point of a cell's centre."""
    if not sphere:
        y[:] = u
        return
    axis, sign = int(u[0]) // 2, 1.0 - 2.0 * (int(u[0]) % 2)
    y[axis], y[(axis + 1) % 3], y[(axis + 2) % 3] = sign, u[1], u[2]
    size = math.sqrt(y[0] * y[0] + y[1] * y[1] + y[2] * y[2])
    for i in range(3):
        y[i] = y[i] / size


@compiled
def apart(y, t, flat, sphere):
    """The distance of two coordinates: wrapped on periodic axes, geodesic (rounded up) on S^2."""
    total = 0.0
    for i in range(len(y)):
        gap = y[i] - t[i]
        if not flat[i]:
            gap -= np.rint(gap)
        total += gap * gap
    chord = math.sqrt(total) * (1.0 + 16 * U)
    if sphere:
        return 2.0 * math.asin(min(1.0, 0.5 * chord)) * (1.0 + 1e-14) + 4 * U
    return chord + 4 * U


@compiled
def least_on_cell(f, g, H, d, half, rho, M3, slack, R):
    """A proved lower bound of f on a cell."""
    slope = 0.0
    steep = 0.0
    for i in range(d):
        slope += abs(g[i]) * half[i]
        steep += g[i] * g[i]
    curve = smallest(H, d, R)
    cubic = M3 * rho * rho * rho / 6.0
    low = f - slope + 0.5 * min(0.0, curve) * rho * rho
    if curve > 0.0:
        low = max(low, f - steep / (2.0 * curve) * (1.0 + 16 * U))
    return low - cubic * (1.0 + 16 * U) - slack


@compiled
def first_cell(n, counts, widths, low, sphere, u):
    """The centre of the n-th cell of the first grid."""
    if sphere:
        side = counts[0]
        u[0] = n // (side * side)
        u[1] = -1.0 + widths[0] * (2 * ((n // side) % side) + 1)
        u[2] = -1.0 + widths[0] * (2 * (n % side) + 1)
        return
    for i in range(len(u) - 1, -1, -1):
        u[i] = low[i] + widths[i] * (2 * (n % counts[i]) + 1)
        n //= counts[i]


@compiled
def split(u, widths, level, child, sphere, out):
    """The centre of a child: bit i of ``child`` says on which side of axis i."""
    first = 1 if sphere else 0
    for i in range(len(u)):
        out[i] = u[i]
        if i >= first:
            move = 0.5 * widths[i - first] * 2.0**-level
            out[i] += move if (child >> (i - first)) & 1 else -move


@compiled
def prove(t, value, unique, C, M3, slacks, form, budget, room, witness):
    """(verdict, cells looked at, proved lower bound of f outside the ball) for the candidate t.

    ``value`` is at least f at t; ``slacks`` are bounds of the rounding of f, g and H on any cell.
    A refuted candidate leaves the lower point in ``witness``.
    """
    k, flat, degree, low, counts, widths, sphere = form
    table, g, H, third, E, R, u, y, stack, depths, half = room
    d = len(widths)
    total = 6 * counts[0] * counts[0] if sphere else np.prod(counts)
    looked, floor, tie, best = 0, np.inf, False, value
    for n in range(total):
        first_cell(n, counts, widths, low, sphere, stack[0])
        depths[0], top = 0, 1
        while top > 0:
            top -= 1
            level = depths[top]
            u[:] = stack[top]
            place(u, sphere, y)
            rho = 0.0
            for i in range(d):
                half[i] = widths[i] * 2.0**-level
                rho += half[i] * half[i]
            rho = math.sqrt(rho) * (1.0 + 16 * U)
            if apart(y, t, flat, sphere) + rho < unique:
                continue
            if looked >= budget:
                return BUDGET, looked, -np.inf
            looked += 1
            if sphere:
                f = on_sphere(y, C, k, flat, degree, table, g, H, third, E)
                half[:] = rho
            else:
                f = jet(y, C, k, flat, degree, table, g, H, third)
            slack = slacks[0] + slacks[1] * rho * 2.0 + slacks[2] * rho * rho
            bound = least_on_cell(f, g, H, d, half, rho, M3, slack, R)
            if bound > value:
                floor = min(floor, bound)
                continue
            if f + slacks[0] < best - 4.0 * slacks[0]:
                best = f + slacks[0]
                witness[:] = y
                if best < value - 4.0 * slacks[0]:
                    return REFUTED, looked, -np.inf
            if level >= LEVELS:
                floor, tie = min(floor, bound), True
                continue
            for child in range(1 << d):
                split(u, widths, level, child, sphere, stack[top])
                depths[top] = level + 1
                top += 1
    return (TIE if tie else PROVED), looked, floor
