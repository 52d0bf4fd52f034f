"""Enclosures against python-flint's balls and exact rationals."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from twofold.rigor import entrywise
from twofold.rigor.entrywise import Enclosure, exact, exponential

ENDS = (-700.0, 700.0, -0.0, 5e-324, 1e-300, 0.34657359, -0.34657359, 1.0, -745.0)


@pytest.fixture
def balls():
    before, ctx.prec = ctx.prec, 200
    yield arb
    ctx.prec = before


def test_exponential_keeps_its_relative_error(balls):
    rng = np.random.default_rng(0)
    x = np.r_[rng.uniform(-700, 700, 4000), rng.normal(size=4000), ENDS[:-1]]
    worst = max(
        abs(balls(float(e)) / balls(float(v)).exp() - 1)
        for v, e in zip(x, exponential(x), strict=True)
    )
    assert worst < 2.0**-50 < entrywise.EXPONENTIAL


def test_ln2_is_split_where_it_should_be(balls):
    rest = balls(2).log() - balls(entrywise.UPPER) - balls(entrywise.LOWER)
    assert abs(rest) < balls(2) ** -86
    assert Fraction(entrywise.UPPER) * 2**33 == int(Fraction(entrywise.UPPER) * 2**33)


def drawn(rng, shape=(2000,)):
    mid = rng.normal(size=shape) * 10.0 ** rng.uniform(-3, 3, shape)
    return Enclosure(mid, np.abs(mid) * 10.0 ** rng.uniform(-17, -1, shape))


def inside(rng, x):
    """Members of x as rationals: its ends, and points between."""
    where = rng.choice([-1.0, 1.0, 0.5, 0.0], x.mid.shape)
    return [
        Fraction(m) + Fraction(r) * Fraction(w)
        for m, r, w in zip(x.mid.ravel(), x.radius.ravel(), where.ravel(), strict=True)
    ]


@pytest.mark.parametrize("name", ["__add__", "__sub__", "__mul__", "__truediv__"])
def test_each_operation_encloses_what_its_members_give(name):
    rng = np.random.default_rng(1)
    a, b = drawn(rng), drawn(rng)
    found = getattr(a, name)(b)
    for x, y, mid, radius in zip(inside(rng, a), inside(rng, b), found.mid, found.radius,
                                 strict=True):  # fmt: skip
        assert abs(getattr(x, name)(y) - Fraction(mid)) <= Fraction(radius)


def test_sums_and_floats_on_the_left():
    rng = np.random.default_rng(2)
    a = drawn(rng, (50, 40))
    found, rows = entrywise.sum(a, 1), np.array(inside(rng, a)).reshape(50, 40)
    for row, mid, radius in zip(rows, found.mid, found.radius, strict=True):
        assert abs(sum(row) - Fraction(mid)) <= Fraction(radius)
    assert np.array_equal((np.ones(3) - exact(np.ones(3) / 3)).mid, 1 - np.ones(3) / 3)
    assert (2.0 * exact([1.5])).mid[0] == 3.0 and (1.0 + exact([1.5])).mid[0] == 2.5


def test_exp_of_a_ball(balls):
    rng = np.random.default_rng(3)
    x = Enclosure(rng.uniform(-30, 5, 500), 10.0 ** rng.uniform(-18, -0.1, 500))
    found = entrywise.exp(x)
    for m, r, mid, radius in zip(x.mid, x.radius, found.mid, found.radius, strict=True):
        for end in (-1, 1):
            true = (balls(float(m)) + end * balls(float(r))).exp()
            assert abs(true - balls(float(mid))) <= balls(float(radius))


def test_what_cannot_be_bounded_has_an_infinite_radius():
    assert np.isinf(entrywise.exp([701.0, np.nan, np.inf]).radius).all()
    assert entrywise.exp([-1e300]).radius[0] == 1e-303
    assert np.isinf(entrywise.exp(Enclosure(np.zeros(1), np.full(1, 1.5))).radius).all()
    assert np.isinf((exact([1.0]) / Enclosure(np.array([1e-3]), np.array([1e-3]))).radius).all()
    assert not np.isfinite((exact([np.inf]) * exact([1.0])).radius).any()
    assert not np.isfinite((exact([1e300]) * exact([1e300])).radius).any()


def test_lengths():
    rng = np.random.default_rng(4)
    x = drawn(rng, (200, 6))
    norm, spread = entrywise.length(x)
    for n, row in enumerate(np.array(inside(rng, x)).reshape(200, 6)):
        low, high = Fraction(norm[n]) - Fraction(spread[n]), Fraction(norm[n]) + Fraction(spread[n])
        square = sum(v * v for v in row)
        assert (low < 0 or low**2 <= square) and square <= high**2
