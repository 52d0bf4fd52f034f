import math

import numpy as np
import pytest
from scipy import integrate

from twofold.measures import marchenko_pastur as mp

ASPECTS = (1e-6, 0.009, 0.011, 0.25, 0.9, 1.0, 1.7, 4.0, 300.0)


def integral(function, gamma, low=0.0, high=np.pi):
    """int function d mu over the continuous part, by quadrature of the density in an edge-free x"""
    a, b = mp.edges(gamma)

    def integrand(t):
        x = a + (b - a) * np.sin(t / 2) ** 2
        return function(x) * mp.density(x, gamma) * (b - a) / 2 * np.sin(t)

    return integrate.quad(integrand, low, high, epsabs=1e-13, epsrel=1e-12, limit=400)[0]


@pytest.mark.parametrize("gamma", ASPECTS)
def test_the_density_has_mass_one_with_the_atom_and_the_cdf_is_its_integral(gamma):
    slack = 1e-15 / math.sqrt(gamma) + 1e-12
    assert integral(lambda x: 1.0, gamma) + mp.atom(gamma) == pytest.approx(1, abs=slack)
    a, b = mp.edges(gamma)
    for t in (0.3, 1.1, 2.0, 2.9):
        x = a + (b - a) * np.sin(t / 2) ** 2
        ours = float(mp.cumulative(x, gamma))
        assert ours == pytest.approx(
            mp.atom(gamma) + integral(lambda x: 1.0, gamma, high=t), abs=slack
        )


def test_the_cdf_off_the_support_and_the_atom():
    assert mp.cumulative([-1.0, -1e-300], 4.0).tolist() == [0, 0]
    assert mp.cumulative([0.0, 0.5], 4.0).tolist() == [0.75, 0.75]
    assert mp.cumulative([0.0, 0.2, 9.0], 0.25).tolist() == [0, 0, 1]
    assert mp.density([0.0, 0.2, 2.26], 0.25).tolist() == [0, 0, 0]


def test_edges_at_aspect_one_touch_zero_and_keep_their_digits():
    assert mp.edges(1) == (0.0, 4.0)
    assert mp.edges(0.25) == (0.25, 2.25)
    assert mp.edges(1 - 2**-40)[0] == pytest.approx(2.0**-82, rel=1e-9)


@pytest.mark.parametrize("gamma", ASPECTS)
def test_quantiles_invert_the_cdf(gamma):
    levels = np.linspace(0, 1, 41)
    x = mp.quantile(levels, gamma)
    assert np.all(np.diff(x) >= 0)
    beyond = levels > mp.atom(gamma)
    slack = 1e-15 / math.sqrt(gamma) + 1e-13
    assert np.allclose(mp.cumulative(x, gamma)[beyond], levels[beyond], rtol=0, atol=slack)
    assert np.all(x[~beyond] == (0 if gamma > 1 else mp.edges(gamma)[0]))


@pytest.mark.parametrize("gamma", (0.25, 1.0, 4.0))
def test_moments_are_integrals(gamma):
    assert mp.moment(0, gamma) == 1
    assert mp.moment(1, gamma) == 1
    assert mp.moment(2, gamma) == 1 + gamma
    for order in range(1, 7):
        assert mp.moment(order, gamma) == pytest.approx(
            integral(lambda x, k=order: x**k, gamma), rel=1e-10
        )


@pytest.mark.parametrize("gamma", (0.009, 0.25, 1.0, 4.0))
def test_stieltjes_is_the_integral_on_the_right_branch(gamma):
    a, b = mp.edges(gamma)
    z = np.array([0.7 + 0.3j, 0.7 - 0.3j, -2 + 0.1j, b + 1 + 0j, -0.5 + 0j, 1e3 - 1e3j])
    m = mp.stieltjes(z, gamma)
    for point, ours in zip(z, m, strict=True):
        real = integral(lambda x, p=point: (1 / (x - p)).real, gamma)
        imag = integral(lambda x, p=point: (1 / (x - p)).imag, gamma)
        assert ours == pytest.approx(real + 1j * imag - mp.atom(gamma) / point, rel=1e-9)
    moving = z.imag != 0
    assert np.all(np.sign(m.imag[moving]) == np.sign(z.imag[moving]))
    assert np.allclose(gamma * z * m**2 + (z + gamma - 1) * m + 1, 0, atol=1e-10)


def test_stieltjes_keeps_its_digits_far_out_and_at_zero():
    assert mp.stieltjes(0.0, 0.25) == pytest.approx(1 / (1 - 0.25), rel=1e-14)
    z = np.array([1e8, -1e8, 1e150])
    assert np.allclose(mp.stieltjes(z, 0.25) * -z, 1 + 1 / z, rtol=1e-15)
    assert mp.stieltjes(-1e-12, 4.0) == pytest.approx(0.75e12, rel=1e-9)
    assert np.isrealobj(mp.stieltjes(-1.0, 1.0))
    assert mp.stieltjes(2 + 1e-9j, 1.0).imag == pytest.approx(
        np.pi * float(mp.density(2.0, 1.0)), rel=1e-6
    )


def test_a_real_point_inside_the_support_is_refused():
    for z, gamma in ((1.0, 0.25), (0.0, 4.0), (0.0, 1.0), (1 + 0j, 0.25)):
        with pytest.raises(ValueError, match="^z: "):
            mp.stieltjes(z, gamma)
    assert mp.stieltjes(0.1, 4.0) < 0  # between the atom and the lower edge


def test_sampled_eigenvalues_follow_the_law():
    K, M = 300, 600
    X = np.random.default_rng(0).standard_normal((M, K))
    eigenvalues = np.linalg.eigvalsh(X.T @ X / M)
    gap = np.abs(mp.cumulative(eigenvalues, K / M) - (np.arange(K) + 0.5) / K)
    assert gap.max() < 0.01
    assert np.max(np.abs(mp.cumulative(eigenvalues, 0.4) - (np.arange(K) + 0.5) / K)) > 0.01


@pytest.mark.parametrize("gamma", (0, -1, np.nan, np.inf, 1e-13, 1e13, [0.5], "a", 1j, None))
def test_a_bad_aspect_is_named(gamma):
    for function in (mp.edges, mp.atom, lambda g: mp.density(1.0, g), lambda g: mp.moment(2, g)):
        with pytest.raises(ValueError, match="^gamma: "):
            function(gamma)


def test_bad_arguments_are_named():
    for call, name in (
        (lambda: mp.density(np.nan, 0.5), "x"),
        (lambda: mp.cumulative([1j], 0.5), "x"),
        (lambda: mp.quantile(1.5, 0.5), "level"),
        (lambda: mp.stieltjes(np.array([np.inf + 1j]), 0.5), "z"),
        (lambda: mp.stieltjes(complex(1, np.nan), 0.5), "z"),
        (lambda: mp.moment(-1, 0.5), "order"),
        (lambda: mp.moment(2000, 1e12), "order"),
    ):
        with pytest.raises(ValueError, match=f"^{name}: "):
            call()
    assert mp.density(np.zeros(0), 0.5).shape == (0,)
