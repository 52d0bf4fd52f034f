r"""Numba kernel: the Newton-Kantorovich certificate of one start, every number rounded upwards.

Let g and H be the gradient and Hessian at t_0, known within e_1 and e_2, and L a Lipschitz constant
of the Hessian on the ball of radius 2 eta around t_0, inside the chart. With

    beta >= |H^-1|,   eta >= |H^-1 g|,   h = beta eta L < 1/2   and H positive definite,

Newton from t_0 converges to the only critical point within (1 + sqrt(1-2h))/(beta L); it lies
within 2 eta/(1 + sqrt(1-2h)) <= 2 eta, where the Hessian is at least (1 - h')/beta > 0, h' < 1: a
strict local minimum. On a sphere the same holds with geodesics. Two Lipschitz
constants compete: the global sum M_3, and |D^3 f(t_0)| + 2 eta M_4, valid on that ball.

beta comes from a proved lower eigenvalue; eta from the computed step s and its residual:
H^-1 g = -s + H^-1 (g + H s), so |H^-1 g| <= |s| + beta |g + H s|.
"""

from __future__ import annotations

import math

import numpy as np

from twofold.atlas.waves import compiled

U = 2.0**-53
HALF = 0.5 - 1e-13  # what lies within rounding of 1/2 is not certified
CERTIFIED, SADDLE, FAR, OUTSIDE, NONFINITE = 0, 1, 2, 3, 4
REASONS = (
    "",
    "the Hessian is not proved positive definite at the start",
    "h is not below 1/2",
    "the ball of convergence leaves the chart",
    "a number is not finite or out of range",
)
BETA, ETA, LIPSCHITZ, H_, ROOT, UNIQUE = 0, 1, 2, 3, 4, 5
COLUMNS = 6


@compiled
def frobenius(H, d):
    """|H|_F of the leading d x d block."""
    total = 0.0
    for i in range(d):
        for j in range(d):
            total += H[i, j] * H[i, j]
    return math.sqrt(total)


@compiled
def factor(H, shift, d, R):
    """Cholesky of H - shift I into R; False where a pivot is not positive."""
    for i in range(d):
        for j in range(i + 1):
            total = H[i, j] - (shift if i == j else 0.0)
            for m in range(j):
                total -= R[i, m] * R[j, m]
            if i == j:
                if not total > 0.0:
                    return False
                R[i, i] = math.sqrt(total)
            else:
                R[i, j] = total / R[j, j]
    return True


@compiled
def back(R, g, d, s):
    """S = -(R R')^-1 g."""
    for i in range(d):
        total = -g[i]
        for m in range(i):
            total -= R[i, m] * s[m]
        s[i] = total / R[i, i]
    for i in range(d - 1, -1, -1):
        total = s[i]
        for m in range(i + 1, d):
            total -= R[m, i] * s[m]
        s[i] = total / R[i, i]


@compiled
def smallest(H, d, R):
    """A proved lower bound of the least eigenvalue of the floats H.

    One and two dimensions by formula; from three on, a Cholesky that ran to its end shows that
    H - shift I has no eigenvalue below -(d + 2) u times its trace, up to factors near one.
    """
    if d == 1:
        return H[0, 0]
    size = frobenius(H, d)
    if d == 2:
        half, apart = 0.5 * (H[0, 0] + H[1, 1]), 0.5 * (H[0, 0] - H[1, 1])
        return half - math.sqrt(apart * apart + H[0, 1] * H[0, 1]) - 16 * U * size
    low, high = -size, size
    if factor(H, 0.0, d, R):
        low = 0.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        if factor(H, middle, d, R):
            low = middle
        else:
            high = middle
    return low - 64 * d * (d + 2) * U * size


@compiled
def judge(g, H, third, d, e1, e2, M3, M4, e3, room, R, s, out):
    """The certificate into ``out``; the Newton step into ``s``. ``room`` is the way to the edge.

    Where M4 is infinite M3 alone counts.
    """
    out[:] = np.inf
    out[UNIQUE] = 0.0
    size = frobenius(H, d)
    if not (size < 1e140 and M3 < 1e150 and size + M3 > 1e-140):
        return NONFINITE
    least = smallest(H, d, R) - e2
    if not least > 0.0 or not factor(H, 0.0, d, R):
        return SADDLE
    beta = (1.0 + 8 * U) / least
    back(R, g, d, s)
    length, left, gradient = 0.0, 0.0, 0.0
    for i in range(d):
        total = g[i]
        for j in range(d):
            total += H[i, j] * s[j]
        length += s[i] * s[i]
        left += total * total
        gradient += g[i] * g[i]
    length, gradient = math.sqrt(length), math.sqrt(gradient)
    lost = math.sqrt(left) + (d + 4) * U * (gradient + size * length) + e1 + e2 * length
    eta = (length + beta * lost) * (1.0 + 8 * (d + 4) * U)
    cube = e3
    if M4 < np.inf:
        cube += cubed(third, d)
    L = min(M3, (cube + 2.0 * eta * M4) * (1.0 + 16 * (d + 4) * U) if M4 < np.inf else np.inf)
    h = beta * eta * L * (1.0 + 16 * U)
    out[BETA], out[ETA], out[LIPSCHITZ], out[H_] = beta, eta, L, h
    if not h < HALF:
        return FAR if h == h else NONFINITE
    out[ROOT] = 2.0 * eta / (1.0 + math.sqrt(1.0 - 2.0 * h)) * (1.0 + 16 * U)
    if not 2.0 * eta < room:
        return OUTSIDE
    out[UNIQUE] = min(room, alone(beta, eta, L, M3, M4, cube)) * (1.0 - 32 * U)
    return CERTIFIED


@compiled
def cubed(third, d):
    """|D^3 f|_F, a bound of its operator norm."""
    total = 0.0
    for i in range(d):
        for j in range(d):
            for m in range(d):
                total += third[i, j, m] * third[i, j, m]
    return math.sqrt(total)


@compiled
def alone(beta, eta, L, M3, M4, cube):
    """The largest proved radius of uniqueness: with M3 everywhere, with Taylor's L on a ball."""
    best = 2.0 * eta
    h = beta * eta * M3 * (1.0 + 16 * U)
    if h < HALF:
        best = max(best, (1.0 + math.sqrt(1.0 - 2.0 * h)) / (beta * M3))
    if M4 < np.inf:
        radius = 2.0 / (beta * max(L, 1e-300))
        for _ in range(6):
            slope = (cube + radius * M4) * (1.0 + 64 * U)
            h = beta * eta * slope * (1.0 + 16 * U)
            if h < HALF:
                reach = (1.0 + math.sqrt(1.0 - 2.0 * h)) / (beta * slope)
                best = max(best, min(radius, reach))
                radius = 0.5 * (radius + reach) if radius > reach else radius * 1.2
            else:
                radius = 0.5 * radius
    return best
