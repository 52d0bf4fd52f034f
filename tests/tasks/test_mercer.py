import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import eval_hermite, gammaln

from twofold.tasks.mercer import RBF

CASES = [RBF(12), RBF(10, length=0.5, spread=2.0), RBF(8, length=3.0, spread=0.4)]


@pytest.mark.parametrize("basis", CASES)
def test_features_are_orthonormal_under_the_inputs(basis):
    def entry(j, k):
        def density(x):
            phi = basis(np.array([x]))[0]
            return phi[j] * phi[k] * np.exp(-0.5 * (x / basis.spread) ** 2)

        scale = np.sqrt(2 * np.pi) * basis.spread
        return quad(density, -12 * basis.spread, 12 * basis.spread, limit=400)[0] / scale

    for j, k in ((0, 0), (1, 1), (7, 7), (0, 2), (3, 5), (1, 2)):
        assert abs(entry(j, k) - (j == k)) < 1e-8


@pytest.mark.parametrize("basis", CASES)
def test_features_are_eigenfunctions_of_the_kernel(basis):
    """The integral operator by quadrature, at a few points."""
    nodes = np.linspace(-9, 9, 2001)
    weights = np.exp(-0.5 * nodes**2) / np.sqrt(2 * np.pi) * (nodes[1] - nodes[0])
    x = basis.spread * np.array([-1.3, 0.1, 0.8])
    at = basis.kernel(x[:, None], basis.spread * nodes[None])
    image = at * weights @ basis(basis.spread * nodes)
    np.testing.assert_allclose(image, basis.prior * basis(x), atol=1e-9)


def test_the_recurrence_is_hermite_s():
    basis, x = RBF(20), np.linspace(-2, 2, 9)
    a, b = 0.25, 0.5
    c = np.sqrt(a * a + 2 * a * b)
    for k in (0, 1, 5, 19):
        size = np.exp(0.5 * (k * np.log(2) + gammaln(k + 1)))
        values = (c / a) ** 0.25 * np.exp(-(c - a) * x**2) * eval_hermite(k, np.sqrt(2 * c) * x)
        np.testing.assert_allclose(basis(x)[:, k], values / size, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("basis", CASES)
def test_the_kernel_is_the_sum_and_the_gap_covers_what_is_missing(basis):
    x = basis.draw(np.random.default_rng(0), (300,))
    full = RBF(150, basis.length, basis.spread)
    np.testing.assert_allclose(
        (full(x) * full.prior) @ full(x).T, basis.kernel(x[:, None], x[None]), atol=1e-6
    )
    missing = np.abs(basis.kernel(x[:, None], x[None]) - (basis(x) * basis.prior) @ basis(x).T)
    e = basis.gap(x)
    assert np.all(missing <= np.sqrt(np.outer(e, e)) * (1 + 1e-6) + 1e-12)
    if e.max() > 1e-6:
        assert np.max(missing / np.sqrt(np.outer(e, e) + 1e-20)) > 0.5


def test_what_is_missing_has_mean_B_to_the_R():
    basis = RBF(5, length=1.5)
    x = basis.draw(np.random.default_rng(0), (200_000,))
    e = basis.gap(x)
    assert abs(e.mean() - basis.ratio**5) < 5 * e.std() / np.sqrt(len(e))
    assert abs(1 - basis.prior.sum() - basis.ratio**5) < 1e-14


def test_bad_input():
    for change, message in (
        ({"rank": 0}, "rank"), ({"rank": 2.5}, "rank"), ({"length": 0}, "length: expected"),
        ({"spread": -1.0}, "spread"), ({"length": np.nan}, "length"), ({"length": 1e200}, "length"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            RBF(**({"rank": 3} | change))
    assert np.isnan(RBF(3)(np.array([np.nan]))).all()
