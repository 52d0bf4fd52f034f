from __future__ import annotations

import numpy as np
import pytest

from twofold.rigor import balls, powers
from twofold.rigor.contraction import contraction_upper
from twofold.rigor.powers import power_upper


def power(T, depth):
    out = balls.identity(T.nrows())
    for _ in range(depth):
        out = out * T
    return out


def systems(K, seed):
    """P and H whose powers are hard to bound."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, K, K))
    Q = np.linalg.qr(A)[0]
    shift = np.diag(np.ones(K - 1), 1)
    return {
        "contracting": (0.5 * np.eye(K), B @ B.T / (2 * K)),
        "not normal": (np.eye(K), np.eye(K) - 0.5 * np.eye(K) - 3 * shift),
        "nilpotent": (np.eye(K), np.eye(K) - np.triu(A, 1)),
        "expanding": (A, B),
        "orthogonal": (np.eye(K), np.eye(K) - Q),
        "huge": (1e250 * A, B),
        "tiny": (np.eye(K), np.eye(K) - 2.0**-40 * np.round(8 * A)),
        "vanishing": (np.eye(K), np.eye(K) - 2.0**-52 * shift),
        "graded": (np.eye(K), np.eye(K) - np.tril(10.0 ** -np.linspace(0, 12, K)[:, None] * A)),
        "zero": (np.eye(K), np.eye(K)),
    }


@pytest.mark.parametrize("K", [1, 2, 5, 12])
@pytest.mark.parametrize("depth", [1, 2, 3, 7, 16, 33])
def test_proved_in_balls(K, depth):
    cases = systems(K, K)
    P, H = (np.stack(side) for side in zip(*cases.values(), strict=True))
    bound = power_upper(P, H, depth)
    for name, p, h, value in zip(cases, P, H, bound, strict=True):
        with balls.precision(600):
            T = power(balls.residual(p, h), depth)
        assert balls.norm_at_most(T, value, 600), (name, value)


@pytest.mark.parametrize("depth", [1, 5, 64])
def test_sharp_on_contractions(depth):
    P, H = systems(24, 3)["contracting"]
    value = power_upper(P, H[None], depth)[0]
    with balls.precision(600):
        T = power(balls.residual(P, H), depth)
    assert balls.norm_at_most(T, value * (1 - 1e-10), 600) is False


def test_never_worse_than_the_power_of_the_norm_and_often_far_better():
    P, H = systems(12, 5)["not normal"]
    rho = contraction_upper(P, H[None])[0]
    value = power_upper(P, H[None], 32)[0]
    assert value < 1e-3 * rho**32
    cases = systems(6, 6)
    cases.pop("huge")
    for name, (P, H) in cases.items():
        rho = contraction_upper(P, H[None])[0]
        assert not power_upper(P, H[None], 4)[0] > rho**4 * (1 + 1e-14) + 1e-300, name


def test_depth_zero_one_and_the_deepest():
    H = np.stack([np.eye(3), 0.5 * np.eye(3), 3 * np.eye(3)])
    np.testing.assert_array_equal(power_upper(np.eye(3), H, 0), 1.0)
    once = power_upper(np.eye(3), H, 1)
    np.testing.assert_allclose(once, contraction_upper(np.eye(3), H), rtol=1e-15)
    deep = power_upper(np.eye(3), H, 2**40)
    assert deep[0] < 3e-308 and deep[1] == 5e-324 and deep[2] == np.inf
    for bad in (-1, 1.5, True, 2**40 + 1):
        with pytest.raises(ValueError, match="^depth: "):
            power_upper(np.eye(3), H, bad)


def test_bad_rows_are_silent_and_the_others_go_on():
    P, H = np.random.default_rng(4).normal(size=(2, 4, 5, 5)) / 5
    clean = power_upper(P, H, 6)
    P[1, 0, 0], H[2, 1, 1] = np.nan, np.inf
    np.testing.assert_array_equal(power_upper(P, H, 6), [clean[0], np.inf, np.inf, clean[3]])
    assert power_upper(np.eye(2), np.zeros((0, 2, 2)), 3).shape == (0,)
    np.testing.assert_array_equal(power_upper(np.eye(0), np.zeros((2, 0, 0)), 3), 0.0)


def test_formation_error_dropped_is_refuted(monkeypatch):
    """(1 + 2u)(1 - 2u) is 1 in floats and 1 - 4u^2 in truth: T is not 0."""
    P, H = np.array([[1 + 2.0**-52]]), np.array([[[1 - 2.0**-52]]])
    with balls.precision():
        T = power(balls.residual(P, H[0]), 2)
    assert balls.norm_at_most(T, power_upper(P, H, 2)[0])
    monkeypatch.setattr(powers, "formed", without_error(powers.formed))
    assert balls.norm_at_most(T, power_upper(P, H, 2)[0]) is False


def without_error(formed):
    def broken(P, H, keep):
        norm, C, error = formed(P, H, keep)
        return norm, C, 0 * error

    return broken


def test_product_error_dropped_is_refuted(monkeypatch):
    """T^2 = 0 in floats and d^2 in truth: 1 + 63 terms below half an ulp, minus 1."""
    K, d = 66, 2.0**-27 * 0.99
    T = np.zeros((K, K))
    T[0, 1], T[1, -1] = 1.0, 1.0
    T[0, 2:-2] = T[2:-2, -1] = d
    T[0, -2], T[-2, -1] = 1.0, -1.0
    H = np.eye(K) - T
    np.testing.assert_array_equal(np.eye(K) - H, T)
    bound = power_upper(np.eye(K), H[None], 2)[0]
    with balls.precision():
        square = power(balls.residual(np.eye(K), H), 2)
    assert balls.norm_at_most(square, bound)
    P = powers.first(np.eye(K), H[None])
    exact = powers.Power(P.M, P.norm, 0 * P.error, P.bound, P.exponent)
    assert balls.norm_at_most(square, np.ldexp(*of(powers.times(exact, exact))))
    monkeypatch.setattr(powers, "product_error", lambda parts, K: 0.0)
    assert balls.norm_at_most(square, np.ldexp(*of(powers.times(exact, exact)))) is False


def of(power):
    return power.bound[0], power.exponent[0]


def test_carried_error_dropped_is_refuted():
    """An error in T^1 is carried into T^2 from both sides: e_2 is close to 2 e_1 for T = 1."""
    one = np.ones(1)
    T = powers.Power(np.ones((1, 1, 1)), one, 1e-3 * one, 1.001 * one, np.zeros(1, dtype=int))
    square = powers.times(T, T)
    assert square.bound[0] * 2.0 ** square.exponent[0] >= 1.001**2 * (1 - 1e-15)
