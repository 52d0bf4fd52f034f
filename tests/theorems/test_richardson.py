"""Richardson's identity and rate: random batches, the equality case, false claims, bad rows."""

from fractions import Fraction

import numpy as np
import pytest

from twofold.decoder.enclosure import enclosed
from twofold.theorems import richardson


def random_systems(N=2000, K=8, condition=100.0, seed=0):
    """H = X'X/M with a log-uniform population spectrum, P scalar and contracting, x* normal."""
    rng = np.random.default_rng(seed)
    scale = np.sqrt(np.logspace(0, -np.log10(condition), K))
    X = rng.normal(size=(N, 8 * K, K)) * scale
    H = np.matmul(X.swapaxes(1, 2), X) / (8 * K)
    spectrum = np.linalg.eigvalsh(H)
    P = np.eye(K) * (1.9 / (spectrum[:, 0] + spectrum[:, -1]))[:, None, None]
    x = rng.normal(size=(N, K))
    return P, H, np.einsum("nij,nj->ni", H, x), x


def halving(N=2000, K=5, seed=0):
    """H = h I and P = I / (2h), h a power of two: T = I/2 and x_dagger = d / h, all exactly."""
    rng = np.random.default_rng(seed)
    h = 2.0 ** rng.integers(-4, 5, size=(N, 1, 1))
    x = rng.normal(size=(N, K))
    return np.eye(K) / (2 * h), h * np.eye(K), x * h[..., 0], x


def test_both_hold_on_random_tasks():
    P, H, d, _ = random_systems()
    for c in (richardson.certify(P, H, d, 8), richardson.certify_identity(P, H, d, 8)):
        assert c.counts == {"holds": 2000, "violated": 0, "silent": 0}
    shared = richardson.certify_identity(P[0], H, d, 8)
    assert shared.counts["holds"] == 2000


@pytest.mark.parametrize("condition", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("depth", [1, 8, 64])
def test_rounding_of_the_identity_stays_below_1e_11(condition, depth):
    P, H, d, x = random_systems(200, 32, condition)
    c = richardson.certify_identity(P, H, d, depth)
    assert c.counts["holds"] == 200
    assert (c.bound <= 1e-11 * np.linalg.norm(x, axis=1)).all()
    assert richardson.certify(P, H, d, depth).counts["holds"] == 200


def test_rate_is_attained_and_its_rounding_is_needed():
    """T = I/2: both sides are equal. Without ``rounding`` a share of the rows would fail."""
    P, H, d, x = halving()
    c = richardson.certify(P, H, d, 20, (x, np.zeros(len(x))))
    assert c.counts["holds"] == len(x)
    assert np.abs(c.tightness - 1).max() < 1e-8
    assert (c.value > c.bound).mean() > 0.02


def test_rate_with_a_radius_allows_for_it_on_both_sides():
    P, H, d, x = halving()
    off = 1e-3 * np.linalg.norm(x, axis=1)
    for factor in (0.999, 1.001):
        c = richardson.certify(P, H, d, 20, (factor * x, off * (1 + 1e-12)))
        assert c.counts["holds"] == len(x) and (c.value > c.bound).any()


def test_identity_allows_for_radius_and_both_drifts():
    P, H, d, x = halving()
    off = 1e-3 * np.linalg.norm(x, axis=1)
    c = richardson.certify_identity(P, H, d, 20, (1.001 * x, off * (1 + 1e-12)))
    assert c.counts["holds"] == len(x) and (c.value > 0.9 * off).all()
    exact = richardson.certify_identity(P, H, d, 20, (x, np.zeros(len(x))))
    known = enclosed(P, H, d, 20, (x, np.zeros(len(x))))
    assert (exact.bound > known.drift).all()


def test_an_identity_at_another_depth_is_refused(monkeypatch):
    P, H, d, _ = random_systems(50)
    true = richardson.transport
    monkeypatch.setattr(
        richardson, "transport", lambda P, H, e, depth, growth: true(P, H, e, depth - 1, growth)
    )
    assert richardson.certify_identity(P, H, d, 8).counts["violated"] == 50


def test_identity_counts_what_the_formed_route_loses():
    """P = fl(1/h): the formed T is often 0 where T is not, and depth 1 shows it."""
    h = np.random.default_rng(1).uniform(1, 2, size=(2000, 1, 1))
    x = np.ones((2000, 1))
    c = richardson.certify_identity(1 / h, h, h[..., 0], 1, (x, np.zeros(2000)))
    assert c.counts["holds"] == 2000


def test_a_false_rate_is_violated():
    P, H, d, x = halving()
    known = enclosed(P, H, d, 6, (x, np.zeros(len(x))))
    for factor, count in ((0.5**7, len(x)), (0.5**6, 0)):
        c = richardson.bounded("", "", np.full(len(x), factor), known, "", "")
        assert c.counts["violated"] == count


def test_rate_power_is_never_below_the_exact_power():
    rho = np.random.default_rng(2).uniform(0, 1.5, size=50)
    for got, base in zip(richardson.rate_power(rho, 30), rho, strict=True):
        exact = Fraction(base) ** 30
        assert exact <= Fraction(got) <= exact * (1 + Fraction(1, 10**12)) + Fraction(1, 2**1000)


def test_expanding_iterations_are_certified_too():
    P, H, d, _ = random_systems(200)
    c = richardson.certify(4 * P, H, d, 8)
    assert c.counts["holds"] == 200 and (c.bound > 1).all()


def test_broken_hypotheses_silence_their_row_alone():
    P, H, d, _ = random_systems(20)
    H[1], H[2, 0, 0], d[3, 0], P[4] = 0.0, np.nan, np.inf, np.nan
    H[5, :, 0] = H[5, :, 1]
    for c in (richardson.certify(P, H, d, 8), richardson.certify_identity(P, H, d, 8)):
        assert np.flatnonzero(c.verdict == "silent").tolist() == [1, 2, 3, 4, 5]
        assert all(c.reason[row] for row in range(1, 6)) and c.counts["holds"] == 15


def test_depth_zero_and_a_zero_right_hand_side():
    P, H, d, _ = random_systems(3)
    c = richardson.certify(P, H, d, 0)
    assert c.counts["holds"] == 3 and np.allclose(c.tightness, 1)
    zero = richardson.certify(P, H, 0 * d, 4)
    assert zero.counts["holds"] == 3 and not zero.value.any()


def test_no_tasks_is_an_error():
    P, H, d, _ = random_systems(3)
    with pytest.raises(ValueError, match="at least one task"):
        richardson.certify(P[0], H[:0], d[:0], 4)


def test_what_the_formed_route_admits_is_allowed_for(monkeypatch):
    P, H, d, x = halving(20)
    true = richardson.transport

    def far_off(*arguments):
        e, moved = true(*arguments)
        return e + 1e-3, moved + 1e-3 * np.sqrt(e.shape[1]) * (1 + 1e-12)

    monkeypatch.setattr(richardson, "transport", far_off)
    c = richardson.certify_identity(P, H, d, 6, (x, np.zeros(20)))
    assert c.counts["holds"] == 20 and (c.value > 1e-3).all()


def test_an_overshooting_step_sees_the_radius_more_than_once():
    """T = -I/2: x_dagger off by r makes a gap of 1.5 r."""
    P, H, d, x = halving(50)
    r = 1e-3 * np.linalg.norm(x, axis=1)
    c = richardson.certify_identity(3 * P, H, d, 1, (1.001 * x, r * (1 + 1e-12)))
    assert c.counts["holds"] == 50 and (c.value > 1.4 * r).all()


def test_the_subtractions_round_too(monkeypatch):
    """P = 2^-60: x_1 vanishes in x_1 - x_dagger, by 2^-60; the other route is off by the rest."""
    x, one = np.array([[1.0 + 2.0**-52]]), np.ones((1, 1, 1))
    e, moved = -one, np.array([2.0**-52 - 2.0**-60])
    monkeypatch.setattr(richardson, "transport", lambda *_: (e, moved))
    c = richardson.certify_identity(2.0**-60 * one, one, x, 1, (x, np.zeros(1)))
    assert c.value[0] >= 2.0**-52 and c.counts["holds"] == 1
