"""Another route to every number: the objective from B, x and z in 60 digits of ball arithmetic."""

import numpy as np
from flint import arb, arb_mat, ctx

from twofold.atlas.families import Sphere

BITS = 220


def line(item, t, m, g):
    """The g-th derivative of the m-th function of an axis."""
    if item.flat:
        factor = arb(1)
        for i in range(g):
            factor *= m - i
        return factor * t ** (m - g) if m >= g else arb(0)
    if m == 0:
        return arb(int(g == 0))
    k = (m + 1) // 2
    turn = (2 * arb.pi() * k) ** g
    quarter = arb(g + (0 if m % 2 else 1)) / 2
    return turn * (2 * k * t + quarter).sin_pi()


def jets(family, t):
    """Phi, D Phi, D^2 Phi as nested lists over columns."""
    if isinstance(family, Sphere):
        return harmonics(family.degree, t)
    q, out = family.dim, []
    for column in family.columns:

        def at(*axes, column=column):
            total = arb(1)
            for i in range(q):
                total *= line(family.lines[i], t[i], column[i], axes.count(i))
            return total

        out.append((at(), [at(i) for i in range(q)], [[at(i, j) for j in range(q)]
                                                      for i in range(q)]))  # fmt: skip
    return out


def harmonics(degree, y):
    """Real harmonics up to degree 2 by their textbook formulas, with ambient derivatives."""
    x, w, z = y
    one, zero = arb(1), arb(0)
    a = (3 / (4 * arb.pi())).sqrt()
    out = [((1 / (4 * arb.pi())).sqrt(), [zero] * 3, [[zero] * 3] * 3)]
    for value, axis in ((w, 1), (z, 2), (x, 0)):
        out.append((a * value, [a * one if i == axis else zero for i in range(3)],
                    [[zero] * 3] * 3))  # fmt: skip
    if degree >= 2:
        b, c = (15 / (4 * arb.pi())).sqrt(), (5 / (16 * arb.pi())).sqrt()
        forms = [{(0, 1): b}, {(1, 2): b}, {(2, 2): 3 * c}, {(0, 2): b},
                 {(0, 0): b / 2, (1, 1): -b / 2}]  # fmt: skip
        for n, form in enumerate(forms):
            S = [[zero] * 3 for _ in range(3)]
            for (i, j), value in form.items():
                S[i][j] += value
                S[j][i] += value
            grad = [sum((S[i][j] * y[j] for j in range(3)), zero) for i in range(3)]
            value = sum((grad[i] * y[i] for i in range(3)), zero) / 2 - (c if n == 2 else 0)
            out.append((value, grad, S))
    return out


def objective(atom, x, z, t, priors=(0.0, 0.0)):
    """(f, gradient, Hessian) at t, as arb; on a sphere in the surrounding space, projected."""
    parts = jets(atom.family, t)
    B, z, q = atom.B, arb(z), len(t)
    p = B.shape[1]

    def curve(pick):
        return [sum((arb(float(B[m, c])) * pick(parts[m]) for m in range(len(B))), arb(0)) * z
                for c in range(p)]  # fmt: skip

    r = [m - arb(float(v)) for m, v in zip(curve(lambda part: part[0]), x, strict=True)]
    J = [curve(lambda part, i=i: part[1][i]) for i in range(q)]
    f = sum((v * v for v in r), arb(0)) / 2
    g = [dot(J[i], r) for i in range(q)]
    H = [[dot(J[i], J[j]) + dot(curve(lambda part, i=i, j=j: part[2][i][j]), r)
          for j in range(q)] for i in range(q)]  # fmt: skip
    for i in range(q if not isinstance(atom.family, Sphere) else 0):
        flat, turn = atom.family.lines[i].flat, 2 * arb.pi()
        a = arb(priors[0] if flat else priors[1])
        if flat:
            f, g[i], H[i][i] = f + a * t[i] ** 2 / 2, g[i] + a * t[i], H[i][i] + a
        else:
            wave = turn * t[i]
            f += a / turn**2 * (1 - wave.cos())
            g[i] += a / turn * wave.sin()
            H[i][i] += a * wave.cos()
    return f, g, H


def dot(a, b):
    return sum((u * v for u, v in zip(a, b, strict=True)), arb(0))


def size(v):
    return dot(v, v).sqrt()


def tangent(y, g, H):
    """(frame, gradient, Hessian) on the unit sphere."""
    axis = min(range(3), key=lambda i: abs(float(y[i].mid())))
    e = [arb(int(i == axis)) - y[axis] * y[i] for i in range(3)]
    e = [v / size(e) for v in e]
    w = [y[1] * e[2] - y[2] * e[1], y[2] * e[0] - y[0] * e[2], y[0] * e[1] - y[1] * e[0]]
    E, radial = [e, w], dot(g, y)
    small = [dot(v, g) for v in E]
    He = [[dot(E[i], [dot(row, E[j]) for row in H]) - (radial if i == j else 0)
           for j in range(2)] for i in range(2)]  # fmt: skip
    return E, small, He


def local(atom, x, z, t, priors=(0.0, 0.0)):
    """(frame or None, f, g, H) in the coordinates of Newton's step."""
    f, g, H = objective(atom, x, z, t, priors)
    if isinstance(atom.family, Sphere):
        E, g, H = tangent(t, g, H)
        return E, f, g, H
    return None, f, g, H


def unit(t, atom):
    point = [arb(float(v)) for v in t]
    if isinstance(atom.family, Sphere):
        length = size(point)
        point = [v / length for v in point]
    return point


def least(H):
    """A float near the least eigenvalue, to be trusted to 1e-10 of the largest."""
    return float(np.linalg.eigvalsh([[float(v.mid()) for v in row] for row in H])[0])


def newton(atom, x, z, start, priors=(0.0, 0.0), steps=14):
    """(root, length of the path's chord, first step, Hessian at the start, at the root)."""
    before, ctx.prec = ctx.prec, BITS
    try:
        t = unit(start, atom)
        first, H0, moved = None, None, None
        for _ in range(steps):
            E, _, g, H = local(atom, x, z, t, priors)
            step = arb_mat(H).solve(arb_mat([[-v] for v in g]))
            s = [step[i, 0].mid() for i in range(len(g))]
            first, H0 = (size(s), H) if first is None else (first, H0)
            if E is None:
                t = [(a + b).mid() for a, b in zip(t, s, strict=True)]
            else:
                t = along(t, E, s)
            if size(s) < arb(10) ** -45:
                break
        moved = distance(unit(start, atom), t, E)
        return t, moved, first, H0, local(atom, x, z, t, priors)[3], float(size(s))
    finally:
        ctx.prec = before


def along(y, E, s):
    length = size(s)
    if length == 0:
        return y
    u = [(s[0] * E[0][i] + s[1] * E[1][i]) / length for i in range(3)]
    out = [(length.cos() * y[i] + length.sin() * u[i]).mid() for i in range(3)]
    return [v / size(out) for v in out]


def distance(a, b, E):
    chord = size([u - v for u, v in zip(a, b, strict=True)])
    return float(chord if E is None else 2 * (chord / 2).asin())
