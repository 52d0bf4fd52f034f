"""The tiled products against exact rational arithmetic, their padding, and their plain twins."""

from fractions import Fraction

import numba
import numpy as np
import pytest

from twofold.rigor import kernel, tiles

SIZES = (1, 2, 7, 8, 9, 16, 23, 64, 65, 72, 130)


@numba.njit(fastmath=False)
def subtracted(A, B, C, n):
    for j in range(0, C.shape[0], 8):
        for i in range(0, C.shape[0], 8):
            tiles.subtract_tile(A, i, 1, A.shape[1], B, j, n, C, i)


@numba.njit(fastmath=False)
def row_sums(A, w, out):
    for i in range(0, A.shape[0], 8):
        tiles.abs_rows(A, i, w, out)


@numba.njit(fastmath=False)
def signed_sums(A, w, out):
    for i in range(0, A.shape[0], 8):
        tiles.row_sums(A, i, w, out)


@numba.njit(fastmath=False)
def dotted(x, y):
    return tiles.dot(x, y)


def spread(rng, *shape):
    return rng.normal(size=shape) * 10.0 ** rng.integers(-8, 8, size=shape)


def row(values):
    out = tiles.vector(len(values))
    out[0, : len(values)] = values
    return out


@pytest.mark.parametrize("K", [1, 7, 9, 20])
def test_a_product_errs_by_at_most_gamma_n(K):
    rng = np.random.default_rng(K)
    A, B, out = spread(rng, K, K), spread(rng, K, K), tiles.room(K)
    kernel.product(tiles.copied(A), tiles.copied(B), K, out)
    u = Fraction(1, 2**53)
    for i in range(K):
        for j in range(K):
            terms = [Fraction(A[i, k]) * Fraction(B[k, j]) for k in range(K)]
            gap = abs(Fraction(out[i, j]) - sum(terms))
            assert gap <= K * u / (1 - K * u) * sum(map(abs, terms))


def test_the_order_is_ascending_and_the_products_are_fused():
    """63 squares, each just below half an ulp of 1, vanish beside it; x^2 - 1 is rounded once."""
    K = 64
    A, out = np.zeros((K, K)), tiles.room(K)
    A[:, 0], A[:, 1:] = 1.0, 2.0**-27 * 0.99
    kernel.product(tiles.copied(A), tiles.copied(A.T.copy()), K, out)
    assert np.all(out[:K, :K] == 1.0)
    x = 1.0 + 2.0**-30
    kernel.product(
        tiles.copied(np.array([[-1.0, x]] * 2)),
        tiles.copied(np.array([[1.0] * 2, [x] * 2])),
        2,
        out,
    )
    assert out[0, 0] == 2.0**-29 + 2.0**-60


@pytest.mark.parametrize("K", SIZES)
def test_every_kernel_matches_its_plain_twin_and_pads_with_zeros(K):
    rng = np.random.default_rng(K)
    A, B, w = rng.normal(size=(K, K)), rng.normal(size=(K, K)), rng.uniform(size=K)
    a, b, out = tiles.copied(A), tiles.copied(B), tiles.room(K)
    assert a.shape[0] % 8 == 0 and a.shape[1] % 8 == 0 and a.shape[1] // 8 % 2 == 1
    assert a.ctypes.data % 64 == 0 and np.all(a[K:] == 0) and np.all(a[:, K : len(a)] == 0)
    kernel.product(a, b, K, out)
    np.testing.assert_allclose(out[:K, :K], A @ B, rtol=1e-12, atol=1e-13)
    assert not np.any(out[K:, : len(out)]) and not np.any(out[:, K : len(out)])
    out[:K, :K] = B
    subtracted(a, b, out, K)
    np.testing.assert_allclose(out[:K, :K], B - A.T @ B, rtol=1e-12, atol=1e-13)
    kernel.gram(a, K, out)
    np.testing.assert_array_equal(out[:K, :K], out[:K, :K].T)
    np.testing.assert_allclose(out[:K, :K], A.T @ A, rtol=1e-12, atol=1e-13)
    line = tiles.vector(K)
    row_sums(a, row(w), line)
    np.testing.assert_allclose(line[0, :K], np.abs(A) @ w, rtol=1e-13)
    tiles.combined(row(w), a, K, line)
    np.testing.assert_allclose(line[0, :K], w @ A, rtol=1e-12, atol=1e-13)
    tiles.abs_combined(row(w), a, K, line)
    np.testing.assert_allclose(line[0, :K], w @ np.abs(A), rtol=1e-13)
    assert not np.any(line[0, K:])
    assert dotted(row(w), row(A[0])) == pytest.approx(w @ A[0], rel=1e-12, abs=1e-13)
    sums = kernel.product_sums(a, b, K)
    both = np.abs(A) @ np.abs(B)
    np.testing.assert_allclose(sums, (both.sum(1).max(), both.sum(0).max()), rtol=1e-13)


def test_NaN_is_never_lost_among_the_largest():
    assert np.isnan(tiles.largest(np.array([[1.0, np.nan, 2.0]])))
    assert tiles.largest(np.array([[0.5, 2.0, 1.0]])) == 2.0


@pytest.mark.parametrize("K", SIZES)
def test_signed_row_sums_are_a_product_with_a_vector(K):
    rng = np.random.default_rng(K)
    A, w, out = rng.normal(size=(K, K)), rng.normal(size=K), tiles.vector(K)
    signed_sums(tiles.copied(A), row(w), out)
    np.testing.assert_allclose(out[0, :K], A @ w, rtol=0, atol=1e-14 * K)
