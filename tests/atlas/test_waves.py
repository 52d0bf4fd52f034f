import math

import numpy as np
import pytest
from flint import arb, ctx

from twofold import atlas
from twofold.atlas import families, newton, waves
from twofold.atlas.charts import grid
from twofold.atlas.encoding import packed
from twofold.atlas.objective import form
from twofold.atlas.projection import project

EVERY = [families.Periodic(3), families.Torus(2, 2), families.Torus(3, 1), families.Sphere(2),
         families.Cylinder(2, 2), families.Patch(2, 3)]  # fmt: skip


def test_sine_and_cosine_are_within_their_bound():
    ctx.prec = 200
    rng = np.random.default_rng(0)
    kinds = rng.uniform(-1, 1, 3000), rng.uniform(-1e6, 1e6, 500), np.arange(-16, 17) / 8
    points = np.concatenate([*kinds, 10.0 ** rng.uniform(-300, 0, 200)])
    worst = 0.0
    for t in points:
        c, s = waves.circle(t)
        angle = 2 * arb(float(t))
        worst = max(worst, abs(float(arb(c) - angle.cos_pi())), abs(float(arb(s) - angle.sin_pi())))
    ctx.prec = 53
    assert worst <= 40 * 2.0**-53
    assert waves.circle(0.25) == (0.0, 1.0) and waves.circle(-0.5) == (-1.0, 0.0)


def coefficients(atom, x, z, priors):
    made = form((atom,), priors)
    b, _ = project(x[None], atom.B)
    C = np.zeros(len(made.prior), complex)
    newton.coefficients(b[0], np.array([z]), made.linear, made.quadratic, made.prior, made.owner,
                        made.pairs, C)  # fmt: skip
    return made, C


@pytest.mark.parametrize("family", EVERY, ids=lambda f: f"{f.name}-{f.size}")
def test_the_sum_of_waves_is_the_objective(family):
    """The plain twin: f, gradient and Hessian from Phi, B and x; the third derivative by
    differences; all within the kernel's own bound."""
    rng = np.random.default_rng(1)
    atom = atlas.Atom(family, rng.standard_normal((family.size, 9)))
    priors = atlas.Priors() if family.period is None else atlas.Priors(0.3, 0.2)
    for _ in range(20):
        x, t = rng.standard_normal(9), rng.uniform(-1, 1, family.dim)
        t = t / np.linalg.norm(t) if family.period is None else t
        made, C = coefficients(atom, x, 1.3, priors)
        f, g, H, third = jet(made, C, t)
        r, J, D = pieces(atom, x, t)
        assert f + 0.5 * x @ x == pytest.approx(0.5 * r @ r + prior(family, t, priors), abs=1e-10)
        if family.period is None:
            continue  # on the sphere: test_kantorovich, in sixty digits
        slope, curve = prior_jets(family, t, priors)
        assert np.allclose(g, J @ r + slope, atol=1e-9)
        assert np.allclose(H, J @ J.T + D @ r + np.diag(curve), atol=1e-8)
        step = 1e-5
        for i in range(family.dim):
            e = step * np.eye(family.dim)[i]
            slope = (jet(made, C, t + e)[2] - jet(made, C, t - e)[2]) / (2 * step)
            assert np.allclose(third[i], slope, atol=1e-3 * (1 + np.abs(slope).max()))


def jet(made, C, t):
    q = len(t)
    room = newton.scratch(q, q, 2 * max(line.degree for line in made.lines) + 1, len(C))
    k, flat, degree = packed(made, grid(made))[:3]
    f = waves.jet(t, C, k, flat, degree, room[0], room[1], room[2], room[3])
    return f, *(room[i].copy() for i in (1, 2, 3))


def pieces(atom, x, t):
    jets = atom.family.jets(t[None], 2)
    r = 1.3 * jets[0][0] @ atom.B - x
    J = 1.3 * np.einsum("mi,mp->ip", jets[1][0], atom.B)
    return r, J, 1.3 * np.einsum("mij,mp->ijp", jets[2][0], atom.B)


def prior(family, t, priors):
    if family.period is None:
        return 0.0
    terms = [
        0.15 * v * v
        if p is None
        else priors.periodic / (4 * math.pi**2) * (1 - math.cos(2 * math.pi * v))
        for v, p in zip(t, family.period, strict=True)
    ]
    # the constant of a von Mises prior is left out of the waves
    return sum(terms) - sum(priors.periodic / (4 * math.pi**2) for p in family.period if p)


def prior_jets(family, t, priors):
    flat = np.array([p is None for p in family.period])
    turn = 2 * math.pi
    slope = np.where(flat, priors.flat * t, priors.periodic / turn * np.sin(turn * t))
    return slope, np.where(flat, priors.flat, priors.periodic * np.cos(turn * t))


def test_projection_is_a_product_with_the_same_bits_in_any_batch():
    rng = np.random.default_rng(0)
    for M, p, N in ((3, 5, 1), (9, 256, 77), (17, 33, 8)):
        B, X = rng.standard_normal((M, p)), rng.standard_normal((N, p))
        b, norm = project(X, B)
        assert np.allclose(b, X @ B.T, rtol=1e-12, atol=1e-12)
        assert np.all(norm >= np.linalg.norm(X, axis=1))
        for n in range(min(N, 5)):
            one, size = project(X[n : n + 1], B)
            assert np.array_equal(one[0], b[n]) and size[0] == norm[n]
