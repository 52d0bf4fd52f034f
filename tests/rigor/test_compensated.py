from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb

from twofold.rigor import balls, compensated, eft
from twofold.rigor.compensated import dot, length_upper, matvec, residual, residual_upper, total


def exact(H, x, d):
    return balls.matrix(d) - balls.matrix(H) * balls.matrix(x)


def inside(r, error, truth):
    return all(abs(arb(float(a)) - truth[i, 0]) <= float(e) for i, (a, e) in
               enumerate(zip(r, error, strict=True)))  # fmt: skip


def systems(rng, K):
    H, x = rng.normal(size=(K, K)), rng.normal(size=K)
    graded = 10.0 ** -np.linspace(0, 290, K)
    return {
        "random": (H, x, rng.normal(size=K)),
        "cancelling": (H, x, H @ x),
        "huge": (1e300 * H, x, 1e300 * (H @ x)),
        "huge x": (H, 1e300 * x, rng.normal(size=K)),
        "tiny": (1e-300 * H, x, 1e-300 * (H @ x)),
        "subnormal": (3e-310 * H, x, 3e-310 * (H @ x)),
        "underflow": (1e-200 * H, 1e-200 * x, np.zeros(K)),
        "opposite": (1e300 * H, 1e-300 * x, H @ x),
        "graded": (H * graded, x / graded, (H * graded) @ (x / graded)),
        "large d": (1e-300 * H, x, 1e300 * rng.normal(size=K)),
    }


@pytest.mark.parametrize("K", [1, 2, 9, 24])
def test_residuals_proved_in_balls(K):
    with np.errstate(under="ignore"):
        cases = systems(np.random.default_rng(K), K)
    H, x, d = (np.stack(part) for part in zip(*cases.values(), strict=True))
    r, error = residual(H, x, d)
    upper = residual_upper(H, x, d)
    for row, name in enumerate(cases):
        with balls.precision(2400):
            truth = exact(H[row], x[row], d[row])
            assert inside(r[row], error[row], truth), name
            assert balls.euclidean(truth) <= float(upper[row]), name
        assert np.all(np.isfinite(error[row])), name


def test_twice_the_precision():
    rng = np.random.default_rng(3)
    H, x = rng.normal(size=(20, 30, 30)), rng.normal(size=(20, 30))
    d = np.matmul(H, x[:, :, None])[:, :, 0]
    r, error = residual(H, x, d)
    size = np.matmul(np.abs(H), np.abs(x)[:, :, None])[:, :, 0]
    assert np.all(error <= 2.0**-53 * np.abs(r) * 1.01 + 2 * (30 * 2.0**-53) ** 2 * size)
    assert np.max(np.abs(r)) > 1e-16


def test_the_kernel_matches_its_numpy_twin():
    rng = np.random.default_rng(5)
    H, x, d = rng.normal(size=(7, 4)), rng.normal(size=4), rng.normal(size=7)
    s, c, t = d.copy(), np.zeros(7), np.zeros(7)
    compensated.accumulate(H, x, s, c, t)
    for i in range(7):
        S, C = d[i], 0.0
        for h, v in zip(H[i], -x, strict=True):
            p, pi = eft.two_prod.py_func(h, v)
            S, sigma = eft.two_sum.py_func(S, p)
            C += pi + sigma
        assert (S, C) == (s[i], c[i])
        assert math.isclose(s[i] + c[i], math.fsum([d[i], *(-H[i] * x)]), rel_tol=1e-14)


def test_transforms_are_error_free():
    rng = np.random.default_rng(6)
    a, b = rng.normal(size=(2, 300)) * 10.0 ** rng.integers(-120, 120, size=(2, 300))
    with balls.precision(2000):
        for x, y in zip(a, b, strict=True):
            s, e = eft.two_sum(x, y)
            assert arb(s) + arb(e) == arb(x) + arb(y) and s == x + y
            p, e = eft.two_prod(x, y)
            assert arb(p) + arb(e) == arb(x) * arb(y) and p == x * y
            high, low = eft.halves(x)
            assert high + low == x and (high * high).as_integer_ratio()


def test_products_dots_and_sums():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(8, 50)) * 10.0 ** rng.integers(-10, 10, size=(8, 50))
    s, error = total(x)
    truth = [math.fsum(row) for row in x]
    assert np.all(np.abs(s - truth) <= error) and np.all(error < 1e-15 * np.abs(s) + 1e-12)
    np.testing.assert_array_equal(dot(x, np.ones_like(x))[0], s)
    y, bound = matvec(x, rng.normal(size=(3, 50)))
    assert y.shape == bound.shape == (3, 8)
    assert total(np.array([[1e308, 1e308]]))[1][0] == np.inf
    cancelling = np.array([[1.0, 1e100, 1.0, -1e100]])
    s, error = total(cancelling)
    assert abs(s[0] - 2.0) <= error[0]


def test_lengths_are_upper_bounds_at_every_scale():
    rng = np.random.default_rng(8)
    v = rng.normal(size=(40, 13))
    for scale in (1.0, 1e300, 1e-300, 3e-320):
        scaled = scale * v
        with balls.precision():
            for row, upper in zip(scaled, length_upper(scaled), strict=True):
                length = balls.euclidean(balls.matrix(row))
                assert length <= float(upper)
                if scale > 1e-301:
                    assert float(upper) * (1 - 1e-14) <= length
    np.testing.assert_array_equal(length_upper(np.zeros((2, 3))), 0.0)
    np.testing.assert_array_equal(length_upper(np.array([[np.nan, 1], [np.inf, 1]])), np.inf)
    assert length_upper(np.full((1, 4), 1.7e308))[0] == np.inf
    assert length_upper(np.zeros((2, 0))).shape == (2,)


def test_bad_rows_only():
    H, x, d = np.ones((3, 2, 2)), np.ones((3, 2)), np.ones((3, 2))
    H[0, 0, 0], x[1, 0] = np.nan, np.inf
    _, error = residual(H, x, d)
    assert np.all(error[:2].max(1) == np.inf) and np.all(np.isfinite(error[2]))
    assert residual(np.ones((3, 2)), x, np.ones((3, 3)))[0].shape == (3, 3)
    for wrong in (np.ones((2, 2, 2)), np.ones((3, 3)), np.ones((3, 2, 2), complex)):
        with pytest.raises(ValueError, match="^H: "):
            residual(wrong, x, d)


def test_the_last_rounding_dropped_is_refuted(monkeypatch):
    """1 + 2^-60 rounds to 1 in the very last sum: u |r| alone pays for it."""
    H, x, d = np.array([[-(2.0**-60)]]), np.ones((1, 1)), np.ones((1, 1))
    r, error = residual(H, x, d)
    assert r[0, 0] == 1.0 and error[0, 0] >= 2.0**-60
    monkeypatch.setattr(compensated, "U", 0.0)
    assert residual(H, x, d)[1][0, 0] < 2.0**-60


def test_the_collected_error_dropped_is_refuted(monkeypatch):
    """Errors of 2^-53 size are summed in floats: 2^-53 swallows the 2^-110 that d - H x is."""
    tiny = 2.0**-110
    H = np.array([[-(2.0**-54), -tiny, 2.0**-54, 1.0]])
    x, d = np.ones((1, 4)), np.ones((1, 1))
    r, error = residual(H, x, d)
    truth = tiny
    assert abs(r[0, 0] - truth) <= error[0, 0]
    monkeypatch.setattr(compensated, "gamma", lambda k: 0.0)
    assert abs(r[0, 0] - truth) > residual(H, x, d)[1][0, 0]
