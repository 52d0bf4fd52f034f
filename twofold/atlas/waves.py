r"""Numba kernel: a sum of waves with its derivatives, and the circle functions they are made of.

sine and cosine of 2 pi t are polynomials of our own, so that their error is known: t is reduced to
|v| <= pi/4 exactly but for the rounding of 2 pi, Taylor's remainder is below 1e-19, Horner costs
less than 32 u; powers of e^{2 pi i t} add 8 u each.
"""

from __future__ import annotations

import math

import numba
import numpy as np

compiled = numba.njit(cache=True, fastmath=False, nogil=True, error_model="numpy")
TURN = 2 * math.pi
SINE = tuple((-1) ** n / math.factorial(2 * n + 1) for n in range(9))
COSINE = tuple((-1) ** n / math.factorial(2 * n) for n in range(10))


@compiled
def circle(t):
    """(cos 2 pi t, sin 2 pi t), each within 40 u."""
    t = t - np.rint(t)
    quarter = np.rint(4.0 * t)
    v = TURN * (t - 0.25 * quarter)
    w = v * v
    s, c = SINE[8], COSINE[9]
    for n in range(7, -1, -1):
        s = s * w + SINE[n]
    for n in range(8, -1, -1):
        c = c * w + COSINE[n]
    s = s * v
    turns = int(quarter) % 4
    if turns == 0:
        return c, s
    if turns == 1:
        return -s, c
    if turns == 2:
        return -c, -s
    return s, -c


@compiled
def fill(table, t, flat, degree):
    """table[i, n, g] = the g-th derivative on axis i: of e^{2 pi i (n - D) t}, or of t^n."""
    for i in range(len(t)):
        D = degree[i]
        if flat[i]:
            for n in range(D + 1):
                factor, power = 1.0, n
                for g in range(4):
                    value = factor
                    for _ in range(power):
                        value *= t[i]
                    table[i, n, g] = value if factor > 0.0 else 0.0
                    factor *= power
                    power = max(power - 1, 0)
        else:
            c, s = circle(t[i])
            wave, step = complex(1.0, 0.0), complex(c, s)
            for n in range(D + 1):
                table[i, D + n, 0] = wave
                table[i, D - n, 0] = wave.conjugate()
                wave = wave * step
            for n in range(2 * D + 1):
                turn = TURN * (n - D)
                for g in range(1, 4):
                    w = table[i, n, g - 1]
                    table[i, n, g] = complex(-turn * w.imag, turn * w.real)


@compiled
def on_circle(t, C, g, H, third):
    """The same as ``jet`` on one periodic axis, where term n has frequency n."""
    c, s = circle(t)
    x, y = 1.0, 0.0
    f, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
    for n in range(len(C)):
        a, b = C[n].real, C[n].imag
        turn = TURN * n
        even, odd = a * x - b * y, a * y + b * x
        f += even
        f1 -= turn * odd
        f2 -= turn * turn * even
        f3 += turn * turn * turn * odd
        x, y = x * c - y * s, y * c + x * s
    g[0], H[0, 0], third[0, 0, 0] = f1, f2, f3
    return f


@compiled
def jet(t, C, k, flat, degree, table, g, H, third):
    """F at t, and its gradient, Hessian and third derivative into g, H and third."""
    q = len(t)
    if q == 1 and not flat[0]:
        return on_circle(t[0], C, g, H, third)
    fill(table, t, flat, degree)
    g[:] = 0.0
    H[:] = 0.0
    third[:] = 0.0
    f = 0.0
    times = np.zeros(q, np.int64)
    for n in range(len(C)):
        if C[n] == 0.0:
            continue
        f += product(C[n], n, k, flat, degree, table, times).real
        for i in range(q):
            times[i] += 1
            g[i] += product(C[n], n, k, flat, degree, table, times).real
            for j in range(i + 1):
                times[j] += 1
                H[i, j] += product(C[n], n, k, flat, degree, table, times).real
                for m in range(j + 1):
                    times[m] += 1
                    third[i, j, m] += product(C[n], n, k, flat, degree, table, times).real
                    times[m] -= 1
                times[j] -= 1
            times[i] -= 1
    symmetrise(H, third)
    return f


@compiled
def product(c, n, k, flat, degree, table, times):
    """C prod_i of the derivative of order times[i] on axis i."""
    for i in range(len(times)):
        place = k[n, i] if flat[i] else k[n, i] + degree[i]
        c = c * table[i, place, times[i]]
    return c


@compiled
def symmetrise(H, third):
    """Fill what ``jet`` left out."""
    q = len(H)
    for i in range(q):
        for j in range(i + 1, q):
            H[i, j] = H[j, i]
    for i in range(q):
        for j in range(q):
            for m in range(q):
                a, c = max(i, j, m), min(i, j, m)
                third[i, j, m] = third[a, i + j + m - a - c, c]


@compiled
def frame(y, E):
    """Two unit vectors orthogonal to y and to each other, as rows of E."""
    sign = 1.0 if y[2] >= 0.0 else -1.0
    a = -1.0 / (sign + y[2])
    b = y[0] * y[1] * a
    E[0, 0], E[0, 1], E[0, 2] = 1.0 + sign * y[0] * y[0] * a, sign * b, -sign * y[0]
    E[1, 0], E[1, 1], E[1, 2] = b, sign + y[1] * y[1] * a, -y[1]


@compiled
def on_sphere(y, C, k, flat, degree, table, g, H, third, E):
    """F at the point y, its Riemannian gradient and Hessian in the frame E, into g and H."""
    f = jet(y, C, k, flat, degree, table, g, H, third)
    frame(y, E)
    radial = g[0] * y[0] + g[1] * y[1] + g[2] * y[2]
    a0 = E[0, 0] * g[0] + E[0, 1] * g[1] + E[0, 2] * g[2]
    a1 = E[1, 0] * g[0] + E[1, 1] * g[1] + E[1, 2] * g[2]
    h00, h01, h11 = 0.0, 0.0, 0.0
    for i in range(3):
        for j in range(3):
            h00 += E[0, i] * H[i, j] * E[0, j]
            h01 += E[0, i] * H[i, j] * E[1, j]
            h11 += E[1, i] * H[i, j] * E[1, j]
    g[0], g[1], g[2] = a0, a1, 0.0
    H[0, 0], H[0, 1], H[1, 0], H[1, 1] = h00 - radial, h01, h01, h11 - radial
    return f


@compiled
def move_on_sphere(y, E, step, out):
    """The exponential map: out = exp_y(step), of unit length but for rounding."""
    length = math.sqrt(step[0] * step[0] + step[1] * step[1])
    c, s = math.cos(length), (math.sin(length) / length if length > 0.0 else 1.0)
    size = 0.0
    for i in range(3):
        out[i] = c * y[i] + s * (step[0] * E[0, i] + step[1] * E[1, i])
        size += out[i] * out[i]
    for i in range(3):
        out[i] = out[i] / math.sqrt(size)


@compiled
def modulus(c):
    """|c|, also where its square would underflow or overflow."""
    a, b = abs(c.real), abs(c.imag)
    top, low = max(a, b), min(a, b)
    return top if top == 0.0 or top == np.inf else top * math.sqrt(1.0 + (low / top) ** 2)
