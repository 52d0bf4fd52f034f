import numpy as np
import pytest

from twofold.training import complex_step


def test_it_is_exact_to_rounding_where_differences_are_not():
    x = np.array([0.3, -1.2, 2.5])
    found = complex_step.gradient(lambda z: complex(np.sum(np.exp(np.sin(z)) * z[0])), x)
    e = np.exp(np.sin(x))
    expected = e * np.cos(x) * x[0]
    expected[0] += e.sum()
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_the_modulus_is_not_analytic_and_would_be_wrong():
    x = np.array([0.7])
    assert complex_step.gradient(lambda z: complex(z[0] ** 2), x)[0] == pytest.approx(1.4)
    assert complex_step.gradient(lambda z: complex(abs(z[0]) ** 2), x)[0] == 0.0


def test_a_bad_point_is_named():
    with pytest.raises(ValueError, match="^point: "):
        complex_step.gradient(lambda z: 0j, np.array([np.nan]))


def test_the_distance_is_relative_and_of_all_entries():
    assert complex_step.distance(np.array([3.0, 4.5]), np.array([3.0, 4.0])) == 0.1
    with pytest.raises(ValueError, match="^found: "):
        complex_step.distance(np.ones(3), np.ones(2))
    with pytest.raises(ValueError, match="^expected: "):
        complex_step.distance(np.ones(2), np.zeros(2))
