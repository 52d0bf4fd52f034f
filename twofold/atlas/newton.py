r"""Numba kernel: one row after the other from B x to a proved minimum.

Coefficients, the chart whose centre has the least objective, a predictor (Newton's step from the
centre with its next term), the certificate at that start, Newton with a safeguard, the certificate
where it ends, branch and bound. What is not certified is searched on a grid, best point first.
Rows never see each other: the bits do not depend on the batch or on the threads.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from twofold.atlas import global_minimum, kantorovich
from twofold.atlas.kantorovich import CERTIFIED, NONFINITE, U, back, factor, frobenius, judge
from twofold.atlas.waves import compiled, jet, modulus, move_on_sphere, on_sphere
from twofold.rigor.ieee import is_ieee

PREDICTOR, WARM, SEARCH, NOTHING = 0, 1, 2, 3
ROUNDS = 12


@compiled
def coefficients(b, z, linear, quadratic, prior, owner, pairs, C):
    """C = - sum z_j (B_j x) R_j + sum z_i z_j Q_ij + prior."""
    for n in range(len(C)):
        C[n] = prior[n]
    for s in range(len(pairs)):
        weight = z[pairs[s, 0]] * z[pairs[s, 1]]
        for n in range(len(C)):
            C[n] += weight * quadratic[s, n]
    for m in range(len(b)):
        weight = -z[owner[m]] * b[m]
        for n in range(len(C)):
            C[n] += weight * linear[m, n]


@compiled
def margins(C, b, z, norm, weights, slack_linear, slack_quadratic, pairs, kappa, bernstein, M, e):
    """M[g] >= sup |D^g f|, and e[g] >= what rounding can have moved D^g f; upwards."""
    grow = 1.0 + (4 * len(C) + 64) * U
    M[:] = 0.0
    for n in range(len(C)):
        size = modulus(C[n])
        for g in range(5):
            M[g] += size * weights[g, n]
    for g in range(5):
        total, moved = M[g], 0.0
        for j in range(len(z)):
            moved += abs(z[j]) * norm * slack_linear[j, g]
        for s in range(len(pairs)):
            moved += abs(z[pairs[s, 0]] * z[pairs[s, 1]]) * slack_quadratic[s, g]
        M[g] = (total + moved) * grow
        e[g] = (kappa * total + moved) * grow + 1e-290
    if len(bernstein) > 0:  # on a sphere: points, frames and radial terms are rounded as well
        for g in range(2, -1, -1):
            e[g] = e[g] + (e[g - 1] if g > 0 else 0.0) + 64 * U * (M[0] + M[1] + M[2] + M[3])
        M[3], M[4] = of_degrees(b, z[0], bernstein), np.inf


@compiled
def of_degrees(b, z, bernstein):
    """sum_l (l^3 + 2l/3) sup_l |z b_l| + z^2 L_quadratic: bernstein[m] per column, then the last.

    Columns of one degree share one value, which differs from degree to degree.
    """
    total, square = 0.0, 0.0
    for m in range(len(b)):
        square += b[m] * b[m]
        if m + 1 == len(b) or bernstein[m + 1] != bernstein[m]:
            total += bernstein[m] * math.sqrt(square)
            square = 0.0
    return (abs(z) * total + z * z * bernstein[len(b)]) * (1.0 + 1e-12) + 1e-290


@compiled
def look(t, C, form, room):
    """The jets at t."""
    k, flat, degree, sphere = form[0], form[1], form[2], form[6]
    table, g, H, third, E = room[0], room[1], room[2], room[3], room[4]
    if sphere:
        return on_sphere(t, C, k, flat, degree, table, g, H, third, E)
    return jet(t, C, k, flat, degree, table, g, H, third)


@compiled
def move(t, step, factor_, form, high, room, out):
    """T + factor step: on a sphere by the exponential map, else wrapped or kept in the chart."""
    flat, low, sphere, E = form[1], form[3], form[6], room[4]
    if sphere:
        move_on_sphere(t, E, step * factor_, out)
        return
    for i in range(len(t)):
        out[i] = t[i] + factor_ * step[i]
        if flat[i]:
            out[i] = min(max(out[i], low[i]), high[i])
        else:
            out[i] -= math.floor(out[i])
            if out[i] >= 1.0:
                out[i] = 0.0


@compiled
def to_edge(t, form, high):
    """How far the nearest edge of the chart is."""
    if form[6]:
        return 1.5
    room = np.inf
    for i in range(len(t)):
        if form[1][i]:
            room = min(room, t[i] - form[3][i], high[i] - t[i])
    return room


@compiled
def downhill(room, d, s, cap):
    """Newton's step where the Hessian is positive definite, a damped one elsewhere; at most cap."""
    g, H, R = room[1], room[2], room[5]
    definite = factor(H, 0.0, d, R)
    shift = 1e-3 * frobenius(H, d)
    while not definite and shift > 0.0 and shift < 1e200:
        definite = factor(H, -shift, d, R)
        shift *= 3.0
    if definite:
        back(R, g, d, s)
    else:
        s[:] = 0.0
    length = 0.0
    for i in range(d):
        length += s[i] * s[i]
    length = math.sqrt(length)
    if length > cap:
        for i in range(d):
            s[i] *= cap / length
    return min(length, cap)


@compiled
def predict(t, C, form, high, room, d, reach, s, out):
    """Newton's step and the next term of the inverse series, -1/2 H^-1 D^3 f[s, s]; one look."""
    look(t, C, form, room)
    g, H, third, R = room[1], room[2], room[3], room[5]
    definite = factor(H, 0.0, d, R)
    length = downhill(room, d, s, reach)
    if definite and not form[6] and length < reach:
        if d == 1:
            low = 1.0 - 0.5 * g[0] * third[0, 0, 0] / (H[0, 0] * H[0, 0])
            s[0] = s[0] / max(low, 0.5)
        else:
            for i in range(d):
                g[i] = 0.0
                for j in range(d):
                    for m in range(d):
                        g[i] += 0.5 * third[i, j, m] * s[j] * s[m]
            back(R, g, d, room[10])
            for i in range(d):
                s[i] += max(-0.5 * length, min(0.5 * length, room[10][i]))
    move(t, s, 1.0, form, high, room, out)


@compiled
def polish(t, C, form, high, room, d, cap, s, trial):
    """Newton from t, halved while f rises; t is overwritten. Returns f."""
    f = look(t, C, form, room)
    for _ in range(60):
        length = downhill(room, d, s, cap)
        if not length > 0.0:
            break
        factor_ = 1.0
        move(t, s, factor_, form, high, room, trial)
        value = look(trial, C, form, room)
        while value > f + 1e-13 * abs(f) and factor_ > 1e-6:
            look(t, C, form, room)
            factor_ *= 0.5
            move(t, s, factor_, form, high, room, trial)
            value = look(trial, C, form, room)
        t[:] = trial
        f = value
        if length * factor_ < 1e-9:
            break
    return f


@compiled
def certify(t, C, form, high, room, d, M, e, s, out):
    """The certificate at t into ``out``; (code, f)."""
    f = look(t, C, form, room)
    edge = to_edge(t, form, high)
    e3 = e[3] if not form[6] else 0.0
    code = judge(room[1], room[2], room[3], d, e[1], e[2], M[3], M[4], e3, edge, room[5], s, out)
    return code, f


@compiled
def search(C, form, high, room, d, cap, s, t, trial):
    """The best centre of the grid of branch and bound, polished, into t."""
    counts, widths, sphere, u = form[4], form[5], form[6], room[6]
    total = 6 * counts[0] * counts[0] if sphere else np.prod(counts)
    best = np.inf
    for n in range(total):
        global_minimum.first_cell(n, counts, widths, form[3], sphere, u)
        global_minimum.place(u, sphere, trial)
        f = look(trial, C, form, room)
        if f < best:
            best = f
            t[:] = trial
    polish(t, C, form, high, room, d, cap, s, trial)


@compiled
def scratch(q, d, width, T):
    """What one thread works in."""
    return (
        np.zeros((q, width, 4), np.complex128), np.zeros(q), np.zeros((q, q)), np.zeros((q, q, q)),
        np.zeros((2, 3)), np.zeros((q, q)), np.zeros(q), np.zeros(q),
        np.zeros(((global_minimum.LEVELS + 2) << d, q)),
        np.zeros((global_minimum.LEVELS + 2) << d, np.int64), np.zeros(q),
    )  # fmt: skip


@compiled
def solve(start, C, M, e, form, high, room, d, sizes, budget, s, trial, y, first, last, word):
    """One row from its start; see ``encode`` for what is filled. Returns (f, floor)."""
    cap = sizes[1]
    code, f = certify(start, C, form, high, room, d, M, e, s, first)
    word[0], word[1], word[2], word[3], word[4] = code, PREDICTOR, -1, 0, 0
    y[:] = start
    if code != NONFINITE:
        polish(y, C, form, high, room, d, cap, s, trial)
        code2, f = certify(y, C, form, high, room, d, M, e, s, last)
    else:
        code2 = NONFINITE
        last[:] = first[:6]
    if code2 != CERTIFIED and code2 != NONFINITE:
        search(C, form, high, room, d, cap, s, y, trial)
        code2, f = certify(y, C, form, high, room, d, M, e, s, last)
        word[1] = SEARCH
    elif code != CERTIFIED:
        word[1] = WARM
    word[5] = code2
    floor = -np.inf
    if code2 != CERTIFIED or budget <= 0:
        return f, floor
    for _ in range(ROUNDS):
        unique = last[kantorovich.UNIQUE]
        verdict, looked, floor = global_minimum.prove(
            y, f + e[0], unique, C, M[3], e, form, budget - word[3], room, trial
        )
        word[2] = verdict
        word[3] += looked
        if verdict != global_minimum.REFUTED:
            break
        word[4] += 1
        start[:] = trial
        polish(start, C, form, high, room, d, cap, s, trial)
        code3, f3 = certify(start, C, form, high, room, d, M, e, s, first[6:])
        if code3 != CERTIFIED or not f3 < f:
            break
        y[:] = start
        f = f3
        last[:6] = first[6:]
    return f, floor


@njit(cache=True, fastmath=False, parallel=True, error_model="numpy")
def encode(b, norm, z, starts, linear, quadratic, prior, owner, pairs, slack_linear,
           slack_quadratic, weights, kappa, bernstein, form, high, sizes, budget, refine, probe,
           start, coords, first, last, words, values, flags):  # fmt: skip
    """Every row: start and certificate there (``first``), coords and certificate there (``last``).

    words: code at the start, method, verdict of branch and bound, cells, refutations, code at the
    end. values: f, proved floor of f elsewhere, slack of f.
    """
    N, q, T = len(b), starts.shape[1], len(prior)
    d = len(form[5])
    width = 2 * np.max(form[2]) + 1
    blocks = min(N, 64)
    for block in prange(blocks):
        room = scratch(q, d, width, T)
        C, M, e = np.zeros(T, np.complex128), np.zeros(5), np.zeros(5)
        s, trial, y, t = np.zeros(q), np.zeros(q), np.zeros(q), np.zeros(q)
        one = np.zeros(12)
        flags[block] = is_ieee(probe)
        for n in range(block * N // blocks, (block + 1) * N // blocks):
            coefficients(b[n], z[n], linear, quadratic, prior, owner, pairs, C)
            margins(C, b[n], z[n], norm[n], weights, slack_linear, slack_quadratic, pairs, kappa,
                    bernstein, M, e)  # fmt: skip
            t[:] = starts[n]
            if refine:
                predict(t, C, form, high, room, d, sizes[0], s, trial)
                t[:] = trial
            start[n] = t
            values[n, 0], values[n, 1] = solve(
                t, C, M, e, form, high, room, d, sizes, budget, s, trial, y, one, last[n], words[n]
            )
            first[n] = one[:6]
            values[n, 2] = e[0]
            coords[n] = y
