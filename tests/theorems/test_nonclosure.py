import fractions

import numpy as np
import pytest

from twofold.theorems import nonclosure


def test_the_printed_counterexample():
    np.testing.assert_allclose(nonclosure.next_risk(np.array([0.18, 0.56])), [0.6724, 0.1936])
    assert nonclosure.certify(0.18, 0.56).verdict[0] == "holds"


def test_holds_on_random_pairs_and_is_an_equality():
    x, y = np.random.default_rng(0).uniform(0, 2, (2, 2000))
    proof = nonclosure.certify(x, y)
    assert proof.counts == {"holds": 2000, "violated": 0, "silent": 0}
    assert np.all(np.abs(proof.value - proof.bound) <= proof.rounding)
    assert np.any(proof.value < proof.bound)  # a bare comparison would fail
    assert np.max(proof.rounding) < 1e-13


def test_rounding_covers_the_exact_rational_value():
    rng = np.random.default_rng(1)
    for x, y in 10.0 ** rng.uniform(-8, 3, (200, 2)):
        a, b = fractions.Fraction(x), fractions.Fraction(y)
        exact = abs((1 - a) ** 2 - (1 - b) ** 2)
        proof = nonclosure.certify(x, y)
        for number in (proof.value[0], proof.bound[0]):
            assert abs(fractions.Fraction(number) - exact) <= fractions.Fraction(proof.rounding[0])


def test_it_is_the_risk_of_a_matrix_iteration():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((5, 5))
    values, Q = np.linalg.eigh(A @ A.T)
    eta = 0.9 / values[-1]
    for i in range(5):
        e0 = Q[:, i] / np.sqrt(values[i])
        e1 = e0 - eta * (A @ (A.T @ e0))
        assert np.isclose(e1 @ A @ A.T @ e1, nonclosure.next_risk(eta * values[i]))


def test_both_exceptions_are_silent():
    proof = nonclosure.certify([0.4, 0.5, 0.3, np.nan, np.inf, 0.0], [0.4, 1.5, 1.7, 1, 1, 1])
    assert set(proof.verdict) == {"silent"}
    assert proof.reason[0] == nonclosure.SAME
    assert proof.reason[1] == proof.reason[2] == nonclosure.EXCEPTION
    assert proof.reason[3] == proof.reason[4] == proof.reason[5] == nonclosure.RANGE
    x = 0.3
    assert abs(nonclosure.next_risk(x) - nonclosure.next_risk(2 - x)) < 1e-15


def test_eigenvalues_that_agree_within_rounding_are_silent():
    assert "within rounding" in nonclosure.certify(0.4, np.nextafter(0.4, 1)).reason[0]


def test_the_usual_statement_without_the_exception_is_false(monkeypatch):
    """|R_1^i - R_1^j| >= eta |lambda_i - lambda_j| is violated."""
    monkeypatch.setattr(nonclosure, "separation", lambda x, y: np.abs(y - x) * 2.0)
    assert nonclosure.certify(0.4, 1.5).verdict[0] == "violated"


@pytest.mark.parametrize(("x", "y"), [([], []), ([1.0], [1.0, 2.0]), ([1j], [1.0])])
def test_bad_input(x, y):
    with pytest.raises(ValueError, match="^x"):
        nonclosure.certify(x, y)
