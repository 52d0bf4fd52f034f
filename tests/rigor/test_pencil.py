"""Bounds of the spectrum of P H against ball arithmetic and against what breaks them."""

import numpy as np
import pytest
from flint import arb_mat

from twofold.rigor import balls
from twofold.rigor.pencil import least, pencil_bounds


def spd(rng, N, K, condition=1e3):
    Q = np.linalg.qr(rng.normal(size=(N, K, K)))[0]
    A = (Q * np.geomspace(1, 1 / condition, K)) @ Q.swapaxes(1, 2)
    return 0.5 * (A + A.swapaxes(1, 2))


def within(P, H, low, high):
    """Whether H P H - low H and high H - H P H are positive definite, in balls."""
    with balls.precision():
        p, h = arb_mat(P.tolist()), arb_mat(H.tolist())
        form = h * p * h
        return balls.positive(form - h * low), balls.positive(h * high - form)


@pytest.mark.parametrize("K", [1, 2, 7, 20])
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6])
def test_balls_confirm_both_ends(K, condition):
    rng = np.random.default_rng(K)
    P, H = spd(rng, 5, K, 30.0), spd(rng, 5, K, condition)
    low, high = pencil_bounds(P, H)
    for n in range(5):
        assert within(P[n], H[n], float(low[n]), float(high[n])) == (True, True)


def test_the_bounds_are_tight():
    rng = np.random.default_rng(0)
    P, H = spd(rng, 1, 12, 10.0)[0], spd(rng, 300, 12)
    low, high = pencil_bounds(P, H)
    true = np.sort(np.linalg.eigvals(P @ H).real, axis=1)
    assert np.all(np.abs(low / true[:, 0] - 1) < 1e-8)
    assert np.all(np.abs(high / true[:, -1] - 1) < 1e-11)


def test_a_spectrum_known_exactly_is_inside():
    low, high = pencil_bounds(2 * np.eye(3), np.diag([1.0, 2.0, 4.0])[None])
    assert low[0] <= 2.0 and high[0] >= 8.0 and high[0] - 8 < 1e-11 and 2 - low[0] < 1e-11


def test_what_is_not_positive_definite_gets_nothing():
    eye = np.eye(2)
    H = np.stack([eye, np.diag([1.0, -1.0]), np.diag([1.0, 0.0]), [[1.0, 2.0], [2.0, 1.0]],
                  [[1.0, 0.5], [0.4, 1.0]], *np.full((2, 2, 2), [[[np.nan]], [[np.inf]]]),
                  eye * 1e200])  # fmt: skip
    low, high = pencil_bounds(eye, H)
    assert np.isfinite(low).tolist() == [True] + 7 * [False] == np.isfinite(high).tolist()
    assert np.isnan(pencil_bounds(np.diag([1.0, -1.0]), eye[None])[0][0])
    assert np.isnan(pencil_bounds(np.array([[1.0, 0.3], [0.2, 1.0]]), eye[None])[0][0])
    assert np.isnan(pencil_bounds(np.zeros((2, 2)), eye[None])[0][0])


def test_least_eigenvalue_allows_for_the_error():
    A = np.diag([3.0, 1.0])[None]
    assert 0.75 - 1e-12 < least(A, np.array([0.25]))[0] <= 0.75
