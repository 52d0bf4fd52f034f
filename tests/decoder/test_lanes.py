"""The eight-lane products against exact rational arithmetic, and against each other."""

from fractions import Fraction

import numba
import numpy as np
import pytest

from twofold.decoder import kernel, lanes

one, three = lanes.rows_times(1), lanes.rows_times(3)
WIDTHS = (1, 2, 7, 8, 9, 16, 23, 64, 65)


@numba.njit(fastmath=False)
def singly(A, X, Y):
    for b in range(len(X)):
        for i in range(0, len(A), 8):
            one(A, i, X, b, 1, Y)


@numba.njit(fastmath=False)
def together(A, X, first, stride, Y):
    for i in range(0, len(A), 8):
        three(A, i, X, first, stride, Y)


@numba.njit(fastmath=False)
def square(X, row):
    return lanes.squared_norm(X, row)


def matrix(K: int, values: np.ndarray) -> np.ndarray:
    A = lanes.scratch(1, lanes.padded(K), K)
    kernel.load(np.broadcast_to(values, (1, K, K)).copy(), 0, 1, K, A)
    return A[0]


def filled(rows: int, K: int, rng: np.random.Generator) -> np.ndarray:
    X = lanes.scratch(rows, K)
    X[:, :K] = rng.normal(size=(rows, K)) * 10.0 ** rng.integers(-8, 8, size=(rows, K))
    return X


@pytest.mark.parametrize("K", WIDTHS)
def test_error_is_within_the_stated_number_of_roundings(K):
    rng = np.random.default_rng(K)
    dense, X, Y = rng.normal(size=(K, K)), filled(2, K, rng), lanes.scratch(2, K)
    singly(matrix(K, dense), X, Y)
    u = Fraction(1, 2**53)
    k = lanes.roundings(K)
    for i in range(K):
        terms = [Fraction(a) * Fraction(x) for a, x in zip(dense[i], X[0, :K], strict=True)]
        gap = abs(Fraction(Y[0, i]) - sum(terms))
        assert gap <= k * u / (1 - k * u) * sum(map(abs, terms))


def test_the_lanes_do_round_that_often():
    """K / 8 - 1 additions within a lane lose half an ulp each, all of one sign."""
    K = 64
    A, X, Y = matrix(K, 1.0), lanes.scratch(1, K), lanes.scratch(1, K)
    X[0, 0], X[0, 8:K:8] = 1.0, 2.0**-53
    singly(A, X, Y)
    exact = sum(Fraction(x) for x in X[0, :K])
    lost = (exact - Fraction(Y[0, 0])) * 2**53
    assert lost == K // 8 - 1


@pytest.mark.parametrize("K", WIDTHS)
def test_three_at_once_give_the_bits_of_one_at_a_time(K):
    rng = np.random.default_rng(K)
    A, X = matrix(K, rng.normal(size=(K, K))), filled(7, K, rng)
    Y, Z = lanes.scratch(7, K), lanes.scratch(7, K)
    singly(A, X, Y)
    together(A, X, 1, 2, Z)
    assert np.array_equal(Y[1:6:2, :K], Z[1:6:2, :K])
    assert not Z[[0, 2, 4, 6]].any()


def test_squared_norm_sums_every_column():
    for K in WIDTHS:
        X = lanes.scratch(2, K)
        X[1, :K] = np.arange(1, K + 1)
        assert square(X, 1) == np.sum(np.arange(1, K + 1) ** 2)


def test_scratch_rows_are_aligned_and_zero():
    for K in WIDTHS:
        X = lanes.scratch(3, K)
        assert X.ctypes.data % 64 == 0 and X.strides[0] % 64 == 0 and not X.any()
