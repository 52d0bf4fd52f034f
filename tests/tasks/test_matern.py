import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma, kv

from twofold.tasks.matern import Matern

NUS = (0.5, 1.5, 2.5)


@pytest.mark.parametrize("nu", NUS)
def test_the_kernel_is_matern_s(nu):
    basis, t = Matern(3, nu, length=0.7), np.linspace(0.05, 3, 20)
    r = np.sqrt(2 * nu) * t / 0.7
    np.testing.assert_allclose(
        basis.kernel(t, 0 * t), 2 ** (1 - nu) / gamma(nu) * r**nu * kv(nu, r), rtol=1e-12
    )
    assert basis.kernel(np.zeros(1), np.zeros(1)) == 1


@pytest.mark.parametrize("nu", NUS)
def test_the_variances_are_the_fourier_coefficients_of_the_periodic_sum(nu):
    basis = Matern(7, nu, length=0.5, half=0.6, padding=3.0)

    def periodic(t):
        images = t + basis.period * np.arange(-40, 41)
        return np.sum(basis.kernel(images, 0 * images))

    for j in (0, 1, 3):
        w = 2 * np.pi * j / basis.period
        half = basis.period / 2
        integral = 2 * quad(lambda t, w=w: periodic(t) * np.cos(w * t), 0, half)[0] / basis.period
        found = basis.prior[0] if j == 0 else basis.prior[2 * j]
        assert abs(found - (1 if j == 0 else 2) * integral) < 1e-9


@pytest.mark.parametrize("nu", NUS)
@pytest.mark.parametrize(("rank", "padding"), [(9, 12.0), (41, 12.0), (41, 1.5), (10, 3.0)])
def test_the_bound_is_uniform_and_all_but_attained(nu, rank, padding):
    basis = Matern(rank, nu, half=1.0, padding=padding)
    x = np.linspace(-1, 1, 161)
    missing = np.abs(basis.kernel(x[:, None], x[None]) - (basis(x) * basis.prior) @ basis(x).T)
    bound = basis.alias + basis.tail
    assert np.max(missing) <= bound * (1 + 1e-9) + 1e-14
    assert np.max(missing) > 0.2 * bound
    np.testing.assert_array_equal(basis.gap(x), np.full(161, bound))
    assert basis.gap(np.array([1.5]))[0] == 2.0


def test_more_features_miss_less_at_the_kernel_s_rate():
    for nu in NUS:
        tails = [Matern(rank, nu).tail for rank in (41, 81)]
        assert 1.7 * 2.0 ** (2 * nu - 1) < tails[0] / tails[1] < 2.5 * 2.0 ** (2 * nu - 1)


def test_bad_input():
    for change, message in (
        ({"rank": 0}, "rank"), ({"nu": 1.0}, "nu"), ({"length": 0.0}, "length"),
        ({"half": -1.0}, "half"), ({"padding": 0.5}, "padding: at least one length"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            Matern(**({"rank": 3} | change))
    assert np.isnan(Matern(3)(np.array([np.nan]))[0, 1:]).all()
