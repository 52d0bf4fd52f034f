import numpy as np
import pytest
from scipy.special import digamma

from twofold.information import kdtree, ksg, ross


def brute(z):
    """All distances in the maximum norm."""
    return np.max(np.abs(z[:, None] - z[None]), axis=2)


def points(n, d, seed=0, grid=False):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, d))
    return np.round(z * 4) / 4 if grid else z


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("n", [7, 16, 17, 400])
def test_neighbours_and_counts_are_those_of_brute_force_bit_by_bit(n, d, grid):
    z, D = points(n, d, grid=grid), brute(points(n, d, grid=grid))
    for k in (1, 4):
        kth = np.sort(D + np.diag(np.full(n, np.inf)), axis=1)[:, k - 1]
        assert np.array_equal(kdtree.distances(z, k), kth)
        other = points(n, d, seed=1, grid=grid)
        inside = (brute(other) < kth[:, None]).sum(axis=1) - (kth > 0)
        assert np.array_equal(kdtree.counts(other, kth), inside)


def ksg_brute(x, y, k):
    X, Y = brute(x), brute(y)
    n = len(x)
    kth = np.sort(np.maximum(X, Y) + np.diag(np.full(n, np.inf)), axis=1)[:, k - 1]
    near = [(D < kth[:, None]).sum(1) - (kth > 0) for D in (X, Y)]
    return digamma(k) + digamma(n) - np.mean(digamma(near[0] + 1.0) + digamma(near[1] + 1.0))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_ksg_is_that_of_brute_force_to_twelve_digits(d):
    x = points(600, d)
    y = x + 0.5 * points(600, d, seed=1)
    assert ksg(x, y) == pytest.approx(ksg_brute(x, y, 4), rel=1e-12)
    assert ksg(x, y, k=7) == pytest.approx(ksg_brute(x, y, 7), rel=1e-12)


def test_ksg_finds_a_gaussian_information():
    rng = np.random.default_rng(0)
    x, e = rng.standard_normal((2, 20000))
    r = 0.8
    assert abs(ksg(x, r * x + np.sqrt(1 - r * r) * e) + 0.5 * np.log(1 - r * r)) < 0.02
    assert abs(ksg(x, e)) < 0.02


def test_ross_finds_two_classes_and_agrees_with_brute_force():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    x = (2 * y - 1) * 1.0 + rng.standard_normal(4000)
    from twofold.information import exact

    assert abs(ross(x, y) - exact.two_class_gaussian([1.0], [1.0]).mutual_information) < 0.03
    x, y = x[:300, None], y[:300]
    D, kth = brute(x), np.empty(300)
    for c in (0, 1):
        own = y == c
        kth[own] = np.sort(D[np.ix_(own, own)], axis=1)[:, 3]
    m = (D < kth[:, None]).sum(1) - 1
    wanted = digamma(300) + digamma(3) - np.mean(digamma(np.bincount(y)[y]) + digamma(m + 1.0))
    assert ross(x, y) == pytest.approx(wanted, rel=1e-12)


def test_scikit_learn_agrees_where_it_is_installed():
    feature = pytest.importorskip("sklearn.feature_selection")
    x, y = points(500, 1), points(500, 1, seed=1)
    y = x + 0.3 * y
    theirs = feature.mutual_info_regression(x / x.std(), y[:, 0] / y.std(), n_neighbors=4)
    assert abs(theirs[0] - ksg(x / x.std(), y / y.std())) < 1e-6


def test_bad_input_is_named():
    for x, y, message in (
        (np.ones(4), np.ones(4), "more than k"), (np.ones(9), np.ones(8), "equally many"),
        (np.full(9, np.nan), np.ones(9), "x: 9 of 9"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            ksg(x, y)
    with pytest.raises(ValueError, match="labels"):
        ross(np.arange(5.0), np.zeros(5))
    assert np.isfinite(ksg(np.ones(50), np.arange(50.0)))
