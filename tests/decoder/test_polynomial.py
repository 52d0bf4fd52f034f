"""The schedules against their closed forms: Chebyshev polynomials, roots, and Richardson itself."""

import numpy as np
import pytest
from numpy.polynomial import chebyshev as closed

from twofold.decoder import polynomial, richardson

INTERVAL = (0.2, 3.0)
T = np.linspace(*INTERVAL, 1001)


def systems(N=50, K=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3 * K, K))
    H = X.swapaxes(1, 2) @ X / (3 * K)
    d = rng.normal(size=(N, K))
    return 0.7 * np.eye(K) + 0.05 * rng.normal(size=(K, K)), H, d


def stepped(schedule, P, H, d):
    return polynomial.walk(
        schedule, d, lambda v: (H @ v[..., None])[..., 0], lambda r: r @ np.asarray(P).T
    )


@pytest.mark.parametrize("depth", [0, 1, 2, 5, 16])
def test_chebyshev_is_the_scaled_chebyshev_polynomial(depth):
    m, M = INTERVAL
    x = (M + m - 2 * T) / (M - m)
    T_L = closed.Chebyshev.basis(depth)
    p = polynomial.values(polynomial.chebyshev(INTERVAL, depth), T)[-1]
    assert np.allclose(p, T_L(x) / T_L((M + m) / (M - m)), rtol=0, atol=1e-13)
    q = polynomial.rate(INTERVAL)
    assert np.abs(p).max() == pytest.approx(2 * q**depth / (1 + q ** (2 * depth)), rel=1e-11)


@pytest.mark.parametrize("depth", [1, 3, 12])
def test_no_polynomial_of_this_degree_is_smaller(depth):
    least = np.abs(polynomial.values(polynomial.chebyshev(INTERVAL, depth), T)[-1]).max()
    for other in (polynomial.heavy_ball(INTERVAL, depth), polynomial.scaled(INTERVAL, depth)):
        assert np.abs(polynomial.values(other, T)[-1]).max() >= least * (1 - 1e-12)


def test_heavy_ball_by_the_roots_of_its_recurrence():
    """p_l = (A r^l + B s^l) with r, s the roots of r^2 - (1 + b - a t) r + b."""
    schedule = polynomial.heavy_ball(INTERVAL, 9)
    a, b = schedule.alpha[0], schedule.beta[0]
    t = T[1:-1] + 0j
    half = 0.5 * (1 + b - a * t)
    r, s = half + np.sqrt(half**2 - b), half - np.sqrt(half**2 - b)
    A = (1 - a * t - s) / (r - s)
    p = polynomial.values(schedule, T[1:-1])
    for ell in range(10):
        assert np.allclose(p[ell], (A * r**ell + (1 - A) * s**ell).real, atol=1e-10)


def test_the_jordan_factor_is_attained_and_the_bare_rate_exceeded():
    q, L = polynomial.rate(INTERVAL), 12
    p = np.abs(polynomial.values(polynomial.heavy_ball(INTERVAL, L), np.array(INTERVAL))[-1])
    assert p.max() == pytest.approx((1 + L * (1 + q)) * q**L, rel=1e-10)
    assert p.max() > 3 * q**L


@pytest.mark.parametrize("name", ["richardson", "scaled", "heavy_ball", "chebyshev"])
def test_the_walk_is_its_polynomial(name):
    P, H, d = systems()
    given = 5 if name == "richardson" else INTERVAL
    schedule = (
        polynomial.richardson(5) if name == "richardson" else getattr(polynomial, name)(given, 5)
    )
    path = stepped(schedule, P, H, d)
    x = np.linalg.solve(H, d[..., None])[..., 0]
    p = polynomial.matrices(schedule, P, H)
    assert np.allclose(path[-1] - x, -(p @ x[..., None])[..., 0], atol=1e-9)
    values, vectors = np.linalg.eig(P @ H[0])
    by_values = (vectors * polynomial.values(schedule, values)[-1]) @ np.linalg.inv(vectors)
    assert np.allclose(p[0], by_values, atol=1e-10)


def test_richardson_is_the_kernels_iteration():
    P, H, d = systems()
    path = stepped(polynomial.richardson(4), P, H, d)
    assert np.allclose(path[-1], richardson.iterate(P, H, d, 4), rtol=1e-13, atol=1e-13)


def test_an_interval_of_one_point_is_solved_in_one_step():
    for name in ("heavy_ball", "chebyshev", "scaled"):
        schedule = getattr(polynomial, name)((2.0, 2.0), 3)
        assert np.allclose(schedule.alpha, 0.5) and np.allclose(schedule.beta, 0)


def test_rows_have_their_own_schedule():
    both = polynomial.chebyshev([[0.2, 3.0], [0.5, 1.0]], 4)
    one = polynomial.chebyshev((0.5, 1.0), 4)
    assert np.array_equal(both.alpha[1], one.alpha) and np.array_equal(both.beta[1], one.beta)
    with pytest.raises(ValueError, match="^schedule"):
        polynomial.values(both, T)


@pytest.mark.parametrize(
    "bad", [(0, 1), (2, 1), (-1, 1), (1, np.inf), (np.nan, 1), (1, 2, 3), 3.0, [[1, 2], [3, 1]]]
)
def test_an_interval_that_cannot_hold_a_spectrum_is_refused(bad):
    with pytest.raises(ValueError, match="^interval"):
        polynomial.chebyshev(bad, 3)


def test_complex_points_are_allowed():
    """A complex step differentiates the polynomial."""
    schedule, h = polynomial.chebyshev(INTERVAL, 6), 1e-30
    slope = polynomial.values(schedule, np.array([1.0 + 1j * h]))[-1].imag / h
    wide = polynomial.values(schedule, np.array([1 - 1e-6, 1 + 1e-6]))[-1]
    assert slope[0] == pytest.approx(np.diff(wide)[0] / 2e-6, rel=1e-6)
