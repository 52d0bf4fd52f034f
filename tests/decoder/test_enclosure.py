"""What is measured of an error, and how far that can be from the truth."""

from fractions import Fraction

import numpy as np
import pytest

from twofold.decoder.enclosure import enclosed

exactly = np.vectorize(Fraction, otypes=[object])


def halving(N=200, K=5, seed=0):
    """H = h I and P = I / (2h), h a power of two: T = I/2 and x_dagger = d / h, all exactly."""
    rng = np.random.default_rng(seed)
    h = 2.0 ** rng.integers(-4, 5, size=(N, 1, 1))
    x = rng.normal(size=(N, K))
    return np.eye(K) / (2 * h), h * np.eye(K), x * h[..., 0], x


def test_error_is_within_its_slack_of_the_exact_one():
    P, H, d, x = halving()
    for depth in (0, 1, 30):
        known = enclosed(P, H, d, depth, (x, np.zeros(len(x))))
        true = np.sqrt(np.sum(exactly(x) ** 2, axis=1).astype(np.longdouble)) / 2.0**depth
        assert (np.abs(known.error - true) <= known.error_slack + 2.0**-62 * true).all()
        assert (known.error != true).any() and (known.size >= true).all()


def test_a_radius_widens_what_is_said():
    P, H, d, x = halving()
    r = 0.1 * np.linalg.norm(x, axis=1)
    for factor in (0.9, 1.1):
        known = enclosed(P, H, d, 20, (factor * x, r * (1 + 1e-12)))
        true = np.linalg.norm(x, axis=1)
        assert (known.size >= true).all()
        assert (np.abs(known.error - true / 2**20) <= known.error_slack).all()


def test_verified_solve_is_the_default():
    P, H, d, x = halving()
    known = enclosed(P, H, d, 8)
    assert (np.linalg.norm(known.center - x, axis=1) <= known.radius + 1e-300).all()
    assert known.applies.all() and set(known.reason) == {""}


def test_bad_rows_say_why_and_the_others_go_on():
    P, H, d, x = halving(N=600)
    H[3], H[4, 0, 0], d[5, 0] = 0.0, np.nan, np.inf
    known = enclosed(P, H, d, 3)
    assert np.flatnonzero(~known.applies).tolist() == [3, 4, 5]
    assert known.reason[3] == "x_dagger could not be enclosed" and "finite" in known.reason[4]


def test_a_wrong_dagger_is_refused():
    P, H, d, x = halving(N=3)
    with pytest.raises(ValueError, match="dagger"):
        enclosed(P, H, d, 3, (x[:2], np.zeros(3)))
    with pytest.raises(ValueError, match="dagger"):
        enclosed(P, H, d, 3, (x, np.zeros(2)))
