"""Each step's rounding against exact rational arithmetic, with one constructed case per term."""

from fractions import Fraction

import numpy as np
import pytest

from twofold.decoder import richardson
from twofold.decoder.drift import (
    carried,
    drift,
    norm_lower,
    norm_upper,
    power_growth,
    step_errors,
)

exactly = np.vectorize(Fraction, otypes=[object])


def missed(P, H, d, x, moved):
    """|x' - (x + P (d - H x))|, exactly, for one task."""
    P, H, d, x, moved = (exactly(a) for a in (P, H, d, x, moved))
    return np.abs(moved - (x + P @ (d - H @ x)))


def refuted(P, H, d, depth):
    """Whether any step of any task misses by more than was proved; and the paths."""
    path = richardson.iterates(P, H, d, depth)
    allowed = step_errors(P, H, d, path)
    for n in range(len(d)):
        own = P if P.ndim == 2 else P[n]
        for ell in range(depth):
            off = missed(own, H[n], d[n], path[n, ell], path[n, ell + 1])
            if (off > exactly(allowed[n, ell])).any():
                return True
    return False


@pytest.mark.parametrize("K", [1, 3, 8, 11])
def test_every_step_is_within_its_bound(K):
    """Entries of very different size: a matrix taken for its transpose is noticed."""
    rng = np.random.default_rng(K)
    P, H = rng.normal(size=(2, 10, K, K)) * 10.0 ** rng.integers(-6, 3, size=(2, 10, K, K))
    assert not refuted(P, H, rng.normal(size=(10, K)), 4)


def test_rounding_of_the_sum_shows_where_the_moves_are_small():
    """P = .01: after many steps what P touches is small beside x, and x + p still rounds."""
    d = np.random.default_rng(0).normal(size=(3, 1))
    assert not refuted(np.array([[0.01]]), np.ones((3, 1, 1)), d, 300)


def test_rounding_of_h_x_shows_at_the_fixed_point():
    """P = I and H x_1 = x_1 = d up to rounding, through a row a thousand times as large."""
    rng = np.random.default_rng(1)
    K = 8
    large, x = np.zeros((40, K, K)), rng.normal(size=(40, K))
    large[:, 0, 2:] = 1e3 * rng.normal(size=(40, K - 2))
    large[:, 0, 1] = -np.sum(large[:, 0, 2:] * x[:, 2:], axis=1) / x[:, 1]
    assert not refuted(np.eye(K), np.eye(K) + large, x, 2)


def test_rounding_of_p_r_shows_where_p_d_cancels():
    rng = np.random.default_rng(2)
    K = 8
    P, d = rng.normal(size=(40, K, K)), rng.normal(size=(40, K))
    P[:, :, 0] = -np.einsum("nij,nj->ni", P[:, :, 1:], d[:, 1:]) / d[:, :1]
    assert not refuted(P, rng.normal(size=(40, K, K)), d, 1)


def test_whole_drift_against_exact_iterates():
    rng = np.random.default_rng(3)
    K, depth = 4, 6
    H = rng.normal(size=(12, K, K))
    d, P = rng.normal(size=(12, K)), 0.3 * rng.normal(size=(K, K))
    path = richardson.iterates(P, H, d, depth)
    bound = drift(P, H, d, path, power_growth(P, H, depth))
    for n in range(12):
        x, P_, H_, d_ = (exactly(a) for a in (np.zeros(K), P, H[n], d[n]))
        for _ in range(depth):
            x = x + P_ @ (d_ - H_ @ x)
        off = float(np.sum((exactly(path[n, -1]) - x) ** 2)) ** 0.5
        assert 0 < off <= bound[n]


def test_errors_are_carried_by_the_remaining_steps():
    local, growth = np.array([[1.0, 0.0, 0.0]]), np.array([[1.0, 0.5, 0.25, 0.125]])
    assert carried(local, growth)[0] == pytest.approx(0.25, rel=1e-14)
    assert carried(local[:, ::-1], growth)[0] == pytest.approx(1.0, rel=1e-14)
    assert carried(np.array([[0.0, np.nan]]), growth)[0] == np.inf


def test_growth_bounds_every_power_and_uses_one_power_where_rho_exceeds_one():
    rng = np.random.default_rng(4)
    H = np.eye(6) - np.triu(rng.normal(size=(30, 6, 6)), 1) / 2
    H[::2], H[1] = 0.7 * np.eye(6), -np.eye(6)
    growth = power_growth(np.eye(6), H, 36)
    T = np.eye(6) - H
    for j in range(37):
        norms = np.linalg.norm(np.linalg.matrix_power(T, j), 2, axis=(1, 2))
        assert (growth[:, j] >= norms * (1 - 1e-14)).all()
    assert np.allclose(growth[::2, 20], 0.3**20, rtol=1e-12)
    assert growth[1, 36] <= 2.0**36 * (1 + 1e-12)
    expanding = (growth[:, 1] > 1.0) & (np.arange(30) != 1)
    assert expanding.sum() > 10 and growth[expanding, 36].max() < 1e-30


@pytest.mark.parametrize("scale", [1e-308, 1e-160, 1.0, 1e160, 1e307])
def test_norms_enclose_the_true_one_at_any_scale(scale):
    v = np.random.default_rng(5).normal(size=(50, 7)) * scale
    squares = np.sum(exactly(v) ** 2, axis=1)
    for low, square, high in zip(norm_lower(v), squares, norm_upper(v), strict=True):
        assert Fraction(low) ** 2 <= square <= Fraction(high) ** 2
        assert high - low <= 1e-13 * high + 1e-320


def test_norms_of_zero_and_of_what_is_not_finite():
    v = np.array([[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
    assert norm_upper(v)[0] == 0 and not np.isfinite(norm_upper(v)[1:]).any()
