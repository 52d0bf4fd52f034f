import numpy as np
import pytest
from scipy.linalg import solveh_banded

from twofold.tasks import tridiagonal


def draw(N, n, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.uniform(0.1, 3.0, (N, n + 1))
    return a[:, :-1] + a[:, 1:], -a[:, 1:-1], rng.standard_normal((N, n))


@pytest.mark.parametrize(("N", "n"), [(1, 1), (1, 2), (7, 3), (8, 17), (9, 64), (83, 5)])
def test_agrees_with_lapack_and_with_dense_solves(N, n):
    main, off, right = draw(N, n)
    x = tridiagonal.solve(main, off, right)
    for row in range(N if n > 1 else 0):
        banded = np.zeros((2, n))
        banded[1], banded[0, 1:] = main[row], off[row]
        np.testing.assert_allclose(x[row], solveh_banded(banded, right[row]), rtol=1e-9, atol=1e-12)
    A = np.zeros((N, n, n))
    i = np.arange(n)
    A[:, i, i], A[:, i[1:], i[:-1]], A[:, i[:-1], i[1:]] = main, off, off
    dense = np.linalg.solve(A, right[..., None])[..., 0]
    np.testing.assert_allclose(x, dense, rtol=1e-9, atol=1e-12)


def test_a_row_is_the_same_whatever_stands_beside_it():
    main, off, right = draw(21, 12)
    whole = tridiagonal.solve(main, off, right)
    for row in (0, 7, 8, 20):
        alone = tridiagonal.solve(main[row : row + 1], off[row : row + 1], right[row : row + 1])
        np.testing.assert_array_equal(whole[row], alone[0])


def test_what_is_not_definite_or_not_finite_is_nan_and_alone():
    main, off, right = draw(12, 6)
    good = tridiagonal.solve(main, off, right)
    main[1] *= -1.0
    main[2, 3] = 0.0
    main[3, 0] = 0.0
    main[4, 2] = np.nan
    off[5, 0] = np.inf
    right[6, 1] = np.nan
    x = tridiagonal.solve(main, off, right)
    assert np.isnan(x[1:6]).all() and np.isnan(x[6]).any()
    rest = [0, *range(7, 12)]
    np.testing.assert_array_equal(x[rest], good[rest])


@pytest.mark.parametrize("power", [-900, -40, 40, 900])
def test_powers_of_two_are_exact(power):
    main, off, right = draw(9, 11)
    x = tridiagonal.solve(main, off, right)
    scaled = tridiagonal.solve(np.ldexp(main, power), np.ldexp(off, power), np.ldexp(right, power))
    np.testing.assert_array_equal(scaled, x)


def test_bad_input():
    main, off, right = draw(3, 4)
    with pytest.raises(ValueError, match="main: expected shape"):
        tridiagonal.solve(main[:2], off, right)
    with pytest.raises(ValueError, match="off: expected shape"):
        tridiagonal.solve(main, main, right)
    with pytest.raises(ValueError, match="right: nothing to solve"):
        tridiagonal.solve(main[:, :0], off[:, :0], right[:, :0])
    x = tridiagonal.solve(*(a.astype(np.float32) for a in (main, off, right)))
    assert x.dtype == np.float64
