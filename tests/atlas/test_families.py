import math

import numpy as np
import pytest

from twofold.atlas import families
from twofold.atlas.families.sphere import _cosine_series

EVERY = [
    families.Periodic(1), families.Periodic(4), families.Torus(2, 2), families.Torus(3, 1),
    families.Cylinder(2, 2, 1.5), families.Patch(2, 3), families.Affine(3), families.Sphere(1),
    families.Sphere(3),
]  # fmt: skip
each = pytest.mark.parametrize("family", EVERY, ids=lambda f: f"{f.name}-{f.size}")


def points(family, count=2000, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, (count, family.dim))
    if family.period is None:
        return t / np.linalg.norm(t, axis=1, keepdims=True)
    radius = [line.radius or 1.0 for line in family.lines]
    t *= radius
    t[:8] = np.array(radius) * np.sign(t[:8])
    return t


@each
def test_bounds_and_jets_survive_sampling(family):
    trial = families.check(family, points(family))
    assert all(f <= b for f, b in zip(trial.found, trial.bound, strict=True))
    assert trial.jet_error < 1e-7


@each
def test_the_spectrum_is_the_family(family):
    t = points(family, 50)
    k, R = family.spectrum()
    flat = np.array([line.flat for line in family.lines])
    waves = np.exp(2j * np.pi * t[:, None] * k[None] * ~flat)
    powers = np.where(flat, t[:, None] ** np.where(flat, np.abs(k), 0)[None], 1)
    e = np.prod(waves * powers, axis=2)
    gap = e @ R.T - family.values(t)
    assert np.max(np.abs(gap)) < 1e-12


def test_periodic_bounds_are_attained():
    for H in (1, 3):
        jets = families.Periodic(H).jets(np.array([[0.3]]), 3)
        for g in range(4):
            turns = 2 * math.pi * np.arange(0 if g == 0 else 1, H + 1)
            exact = pytest.approx(math.sqrt(np.sum(turns ** (2 * g))))
            assert np.linalg.norm(jets[g]) == exact and families.Periodic(H).sup(g) == exact


def test_columns_of_periodic_are_in_the_order_of_the_paper():
    t = 0.2
    want = [1, *(f(2 * np.pi * h * t) for h in (1, 2) for f in (np.sin, np.cos))]
    assert np.allclose(families.Periodic(2).values([[t]])[0], want)


def test_harmonics_are_orthonormal():
    z, w = np.polynomial.legendre.leggauss(12)
    lon = 2 * np.pi * np.arange(24) / 24
    r = np.sqrt(1 - z**2)[:, None]
    y = np.stack([r * np.cos(lon), r * np.sin(lon), z[:, None] + 0 * lon], axis=-1).reshape(-1, 3)
    Y = families.Sphere(4).values(y)
    gram = (Y * np.repeat(w, 24)[:, None] * 2 * np.pi / 24).T @ Y
    assert np.max(np.abs(gram - np.eye(25))) < 1e-13


def test_sphere_bounds_are_attained_everywhere():
    family = families.Sphere(3)
    trial = families.check(family, points(family))
    assert min(trial.sharpness) > 1 - 1e-9
    for n in range(6):
        s = np.linspace(0, 3, 7)
        series = np.cos(np.outer(s, np.arange(n + 1))) @ _cosine_series(n)
        assert np.allclose(series, np.polynomial.legendre.legval(np.cos(s), [0] * n + [1]))


class Spiral:
    """A family of one's own: (t cos t, t sin t, 1) on |t| <= 1."""

    dim, size, period = 1, 3, (None,)

    def __init__(self, scale=1.0):
        self.scale = scale

    def values(self, t):
        return self.jets(t, 0)[0]

    def jets(self, t, order):
        t, z = np.asarray(t)[:, 0], (1j * np.asarray(t)[:, 0])
        w = np.exp(z)
        curves = [t * w, (1 + z) * w, (2j - t) * w, (-3 - z) * w]
        stacks = [
            np.stack([c.real, c.imag, np.full(len(t), float(g == 0))], axis=1)
            for g, c in enumerate(curves)
        ]
        return [s.reshape(s.shape + (1,) * g) for g, s in enumerate(stacks[: order + 1])]

    def sup(self, order):
        return self.scale * math.sqrt((order + 0.0) ** 2 + 1 + (order == 0)) * (1 + 1e-12)


def test_a_family_of_ones_own_passes_the_kit_and_a_false_bound_does_not():
    t = np.linspace(-1, 1, 101)[:, None]
    assert min(families.check(Spiral(), t).sharpness) > 0.99
    with pytest.raises(ValueError, match=r"Spiral: sup\(0\)"):
        families.check(Spiral(0.9), t)


@pytest.mark.parametrize("bound", [math.inf, math.nan, -1.0])
def test_a_family_without_a_valid_bound_is_refused_by_name(bound):
    with pytest.raises(ValueError, match=r"family Spiral: sup\(0\)"):
        families.admit(Spiral(bound))


def test_what_is_no_family_is_refused():
    with pytest.raises(ValueError, match="family object"):
        families.admit(object())
    for make in (
        lambda: families.Periodic(0),
        lambda: families.Patch(1, 2, math.inf),
        lambda: families.Sphere(0),
        lambda: families.Torus(0, 1),
    ):
        with pytest.raises(ValueError):
            make()


def test_a_bound_over_entries_is_not_a_bound():
    """A column's Hessian has an operator norm above its largest entry anywhere."""
    family = families.Cylinder(1, 1, 0.1)
    t = np.stack([np.linspace(0, 1, 400), np.full(400, 0.1)], axis=1)
    hessian = family.jets(t, 2)[2][:, family.columns.index((1, 1))]
    norms = np.max(np.abs(np.linalg.eigvalsh(hessian)), axis=1)
    assert norms.max() > 1.04 * np.abs(hessian).max()
