"""Equal spectra, another risk and gradient: exact rationals, a broken formula, bad input."""

from fractions import Fraction

import numpy as np
import pytest

from twofold import claims
from twofold.measures import spectra
from twofold.theorems import obstruction, trace_risk

exactly = np.vectorize(Fraction, otypes=[object])
REVERSED = np.arange(16)[::-1]
PRIOR = np.array([2.0, 1, 0.5, 1, 0.25])


def random_pairs(N=2000, K=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4 * K, K))
    return rng.normal(size=(N, K, K)), X.swapaxes(1, 2) @ X / (4 * K), rng.permutation(K)


def exact_risk(P, H, S):
    T = exactly(np.eye(len(H))) - exactly(P) @ exactly(H)
    return np.trace(T @ exactly(S) @ T.T) / len(H)


def exact_square(P, H, S):
    """|dR_1/dP|^2."""
    T = exactly(np.eye(len(H))) - exactly(P) @ exactly(H)
    return np.sum((T @ exactly(S) @ exactly(H).T) ** 2) * 4 / len(H) ** 2


def test_holds_on_random_pairs():
    P, H, order = random_pairs()
    for proof in obstruction.certify(P, H, order, PRIOR):
        assert proof.counts == {"holds": 2000, "violated": 0, "silent": 0}
        assert np.max(proof.rounding) < 1e-9
        assert np.any(proof.value < proof.bound)  # a bare comparison would fail


def test_the_seed_s_pair():
    h = np.geomspace(1.0, 0.6, 16)
    risk, gradient = obstruction.certify(np.diag(1 / h), np.diag(h)[None], REVERSED)
    assert risk.value[0] == pytest.approx(claims.value("002-S7-depth1-risk-B"), abs=5e-5)
    exact = sum((1 - Fraction(a) * Fraction(b)) ** 2 for a, b in zip(1 / h, h[::-1], strict=True))
    exact -= sum((1 - Fraction(a) * Fraction(b)) ** 2 for a, b in zip(1 / h, h, strict=True))
    for number in (risk.value[0], risk.bound[0]):
        assert abs(Fraction(number) - exact / 16) <= Fraction(risk.rounding[0])
    assert gradient.verdict[0] == "holds" and gradient.rounding[0] < 1e-11


def test_both_sides_are_within_rounding_of_exact_rationals():
    P, H, order = random_pairs(40, seed=1)
    risk, gradient = obstruction.certify(P, H, order, PRIOR)
    again = obstruction.reordered(P, order)
    for n in range(40):
        pair = P[n], again[n]
        exact = abs(np.subtract(*(exact_risk(p, H[n], np.diag(PRIOR)) for p in pair)))
        squares = [float(exact_square(p, H[n], np.diag(PRIOR))) for p in pair]
        speed = abs(np.sqrt(squares[0]) - np.sqrt(squares[1]))
        for number in (risk.value[n], risk.bound[n]):
            assert abs(Fraction(number) - exact) <= Fraction(risk.rounding[n])
        assert abs(gradient.value[n] - speed) <= gradient.rounding[n] + 4e-15


def test_the_gradient_is_that_of_the_risk():
    """A directional derivative by central differences of a quadratic: exact but for rounding."""
    P, H, _ = random_pairs(1, seed=2)
    norm = np.sqrt(float(exact_square(P[0], H[0], np.diag(PRIOR))))
    G = -2 / 5 * (np.eye(5) - P[0] @ H[0]) @ np.diag(PRIOR) @ H[0].T
    E = np.random.default_rng(3).normal(size=(5, 5))
    up, down = (trace_risk.risk(P[0] + e * E, H, 1, PRIOR)[0][0] for e in (1e-3, -1e-3))
    assert (up - down) / 2e-3 == pytest.approx(np.sum(G * E), rel=1e-9)
    assert norm == pytest.approx(np.linalg.norm(G), rel=1e-13)


def test_a_reordering_keeps_both_spectra():
    P, _, order = random_pairs(200)
    again = obstruction.reordered(P, order)
    gap = spectra.singular_values(P) - spectra.singular_values(again)
    assert np.max(np.abs(gap)) < 1e-14
    assert np.array_equal(np.sort(P.reshape(200, -1)), np.sort(again.reshape(200, -1)))
    traces = [np.trace(p @ p, axis1=1, axis2=2) for p in (P, again)]
    np.testing.assert_allclose(*traces, rtol=1e-12, atol=1e-12)


def test_spectra_and_risk_together_do_not_close_either():
    """(p1 + p2)(h1 + h2) = 2: equal spectra, equal risks, different gradients."""
    P, H = np.diag([1.0, 1 / 3]), np.diag([1.0, 0.5])[None]
    risk, gradient = obstruction.certify(P, H, [1, 0])
    assert risk.verdict[0] == "silent" and risk.reason[0] == obstruction.SAME
    assert gradient.verdict[0] == "holds" and gradient.value[0] > 0.2


def test_what_differs_in_nothing_is_silent():
    H = np.array([np.eye(3), np.full((3, 3), np.nan), np.full((3, 3), np.inf), 1e200 * np.eye(3)])
    for proof in obstruction.certify(np.eye(3), H, [2, 0, 1]):
        assert set(proof.verdict) == {"silent"}


@pytest.mark.parametrize("factor", [1 + 1e-9, 1.5])
def test_a_false_formula_is_violated(monkeypatch, factor):
    P, H, order = random_pairs(50)
    true = obstruction.overlaps
    monkeypatch.setattr(obstruction, "overlaps", lambda *a: (factor * true(*a)[0], true(*a)[1]))
    proof = obstruction.certify(P, H, order)[0]
    away = np.abs(proof.bound) > np.abs(proof.value)
    assert np.all(proof.verdict[away] == "violated") and away.sum() >= 50


@pytest.mark.parametrize("order", [[0, 0, 1], [0, 1], [0.0, 1.0, 2.0], [1, 2, 3]])
def test_what_is_no_reordering_is_refused(order):
    with pytest.raises(ValueError, match="^order"):
        obstruction.certify(np.eye(3), np.eye(3)[None], order)


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match="^H"):
        obstruction.certify(np.eye(3), np.eye(3), [0, 1, 2])
    with pytest.raises(ValueError, match="^P"):
        obstruction.certify(np.eye(4), np.eye(3)[None], [0, 1, 2])
