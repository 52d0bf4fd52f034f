from __future__ import annotations

import numpy as np
import pytest

from twofold.rigor import balls, linear
from twofold.rigor.inverse import approximate_inverse
from twofold.rigor.linear import solve


def conditioned(rng, K, kappa):
    Q, S = (np.linalg.qr(rng.normal(size=(K, K)))[0] for _ in range(2))
    return Q @ np.diag(kappa ** -np.linspace(0, 1, K)) @ S


def proved(H, d, x, radius):
    with balls.precision(600):
        return balls.distance(H, d, x, 600) <= float(radius)


@pytest.mark.parametrize("K", [1, 2, 5, 16, 33])
@pytest.mark.parametrize("kappa", [1.0, 1e6, 1e10])
@pytest.mark.parametrize("scale", [1.0, 1e300, 1e-290])
def test_proved_in_balls_and_sharp(K, kappa, scale):
    rng = np.random.default_rng(K)
    H = np.stack([conditioned(rng, K, kappa) for _ in range(4)])
    d = rng.normal(size=(4, K))
    d[1] *= 1e-8
    d[2] = H[2] @ np.ones(K)
    x, radius = solve(scale * H, scale * d)
    for row in range(4):
        assert proved(scale * H[row], scale * d[row], x[row], radius[row])
    limit = 1e-14 if kappa <= 1e6 else 1e-9
    assert np.all(radius <= limit * np.linalg.norm(x, axis=1))


def test_the_gate_at_dimension_64():
    rng = np.random.default_rng(0)
    H = np.stack([conditioned(rng, 64, kappa) for kappa in (1e6, 1e10, 1e14, 1e17)])
    x, radius = solve(H, rng.normal(size=(4, 64)))
    relative = radius / np.linalg.norm(x, axis=1)
    assert relative[0] < 1e-14 and relative[1] < 1e-7
    assert radius[2] == radius[3] == np.inf


@pytest.mark.parametrize("K", [3, 8])
def test_adversarial_systems(K):
    rng = np.random.default_rng(K)
    A = rng.normal(size=(K, K))
    hilbert = 1.0 / (np.arange(K)[:, None] + np.arange(K) + 1)
    rows = 10.0 ** -np.linspace(0, 200, K)[:, None]
    wide = np.where(np.eye(K) > 0, 1e300, 1e-300)
    wide[-1, -1] = 1e-300
    H = np.stack([A, hilbert, rows * A, wide, np.tril(np.ones((K, K))), np.eye(K)[::-1] * 3e-310])
    d = rng.normal(size=(len(H), K))
    d[-1] *= 1e-310
    x, radius = solve(H, d)
    for row in range(len(H)):
        if np.isfinite(radius[row]):
            assert proved(H[row], d[row], x[row], radius[row]), row
    assert np.all(np.isfinite(radius[[0, 1, 4, 5]]))


def test_singular_and_bad_rows_are_silent_while_the_others_go_on():
    rng = np.random.default_rng(1)
    H, d = rng.normal(size=(7, 4, 4)), rng.normal(size=(7, 4))
    clean = solve(H, d)
    H[1] = 0.0
    H[2, 3] = H[2, 0] + H[2, 1]
    H[3, 0, 0], d[4, 2], H[5, 0, 0] = np.nan, np.inf, -np.inf
    x, radius = solve(H, d)
    assert np.all(radius[1:6] == np.inf)
    np.testing.assert_array_equal(x[[0, 6]], clean[0][[0, 6]])
    np.testing.assert_array_equal(radius[[0, 6]], clean[1][[0, 6]])


def test_ends_of_the_range():
    assert solve(np.zeros((0, 3, 3)), np.zeros((0, 3)))[0].shape == (0, 3)
    x, radius = solve(np.zeros((2, 0, 0)), np.zeros((2, 0)))
    assert x.shape == (2, 0) and np.all(radius == 0)
    x, radius = solve(np.eye(3)[None], np.zeros((1, 3)))
    assert np.all(x == 0) and radius[0] == 0
    x, radius = solve(1e-200 * np.eye(2)[None], np.full((1, 2), 1e200))
    assert radius[0] == np.inf
    x, radius = solve(1e200 * np.eye(2)[None] * 3, np.full((1, 2), 1e-120))
    assert proved(3e200 * np.eye(2), np.full(2, 1e-120), x[0], radius[0])
    for H, d in ((np.eye(2), np.ones((1, 2))), (np.eye(2)[None], np.ones((1, 3)))):
        with pytest.raises(ValueError, match="expected"):
            solve(H, d)


def test_the_inverse_matches_lapack():
    H = np.random.default_rng(4).normal(size=(6, 9, 9))
    np.testing.assert_allclose(approximate_inverse(H), np.linalg.inv(H), rtol=1e-9, atol=1e-10)
    assert np.isnan(approximate_inverse(np.ones((1, 2, 2)))).all()


def test_chunks_do_not_change_a_bit(monkeypatch):
    rng = np.random.default_rng(6)
    H, d = rng.normal(size=(9, 5, 5)), rng.normal(size=(9, 5))
    whole = solve(H, d)
    monkeypatch.setattr(linear, "AT_ONCE", 50)
    for one, other in zip(whole, solve(H, d), strict=True):
        np.testing.assert_array_equal(one, other)


def test_alpha_dropped_is_refuted():
    """With R = 2/3 H^-1, ||I - R H|| = 1/3: without 1/(1 - alpha) the radius is 2/3 of it."""
    H, d, x = np.eye(2)[None], np.ones((1, 2)), np.zeros((1, 2))
    radius = linear.enclosure(2 / 3 * H, H, x, d)
    assert np.sqrt(2) <= radius[0] < np.sqrt(2) * (1 + 1e-13)


def test_a_product_that_cancels_and_an_uncertain_r_are_paid_for():
    """Where R r cancels, its floats may be far below the truth; and r itself is known to 1e-3."""
    rng = np.random.default_rng(9)
    R, r = rng.normal(size=(30, 16, 16)), rng.normal(size=(30, 16))
    r[:, 0] -= linear._times(R, r)[:, 0] / R[:, 0, 0]
    plain, bound = np.abs(linear._times(R, r))[:, 0], linear.product_upper(R, r, 0 * r)[:, 0]
    with balls.precision():
        true = [abs((balls.matrix(R[i]) * balls.matrix(r[i]))[0, 0]) for i in range(30)]
    assert any(t > 1.01 * float(p) for t, p in zip(true, plain, strict=True))
    assert all(t <= float(b) for t, b in zip(true, bound, strict=True))
    assert np.all(linear.product_upper(np.eye(4)[None], r[:1, :4], 0 * r[:1, :4] + 1e-3) >= 1e-3)


def test_an_inverse_near_overflow_is_silent():
    """Entries of 2^-1022 may have been rounded in scaling: that alone moves I - R H by K."""
    H = np.array([[[0.5, 0.0], [0.0, 2.0**-1022]]])
    R, d = np.array([[[2.0, 0.0], [0.0, 2.0**1022]]]), np.array([[0.5, 0.0]])
    assert linear.enclosure(R, H, np.array([[1.0, 0.0]]), d)[0] == np.inf
    H[0, 1, 1], R[0, 1, 1] = 2.0**-1000, 2.0**1000
    assert linear.enclosure(R, H, np.array([[1.0, 0.0]]), d)[0] < np.inf


def test_a_solution_that_underflows_keeps_a_radius():
    """64 entries of 1.5 subnormal units each: rounding them moves x by 4 units."""
    H, d = 2.0**1000 * np.eye(64), np.full(64, 1.5 * 2.0**-74)
    x, radius = solve(H[None], d[None])
    assert proved(H, d, x[0], radius[0]) and radius[0] < 100 * 2.0**-1074


def test_residual_error_dropped_is_refuted(monkeypatch):
    """H x = 1 + 2^-80 and d = 1: the residual is 2^-80, and a plain one would be 0."""
    H = np.array([[[1.0, 2.0**-80], [0.0, 1.0]]])
    d, x = np.array([[1.0, 1.0]]), np.array([[1.0, 1.0]])
    honest = linear.enclosure(H, H, x, d)[0]
    assert proved(H[0], d[0], x[0], honest)
    monkeypatch.setattr(linear, "residual", lambda H, x, d: (d - linear._times(H, x), 0 * d))
    assert not proved(H[0], d[0], x[0], linear.enclosure(H, H, x, d)[0])
