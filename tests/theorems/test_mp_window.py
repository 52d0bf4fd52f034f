import math

import numpy as np
import pytest
from scipy import stats

from twofold.measures.spectra import whiten
from twofold.theorems import mp_window


def whitened(count, K, M, seed=0):
    X = np.random.default_rng(seed).standard_normal((count, M, K))
    return np.swapaxes(X, 1, 2) @ X / M


@pytest.mark.parametrize(("K", "M"), ((4, 40), (8, 12), (6, 3), (1, 5)))
def test_both_edges_hold_at_their_delta_on_two_thousand_prompts(K, M):
    t = mp_window.deviation(M, 0.1)
    upper, lower = mp_window.certify(whitened(2000, K, M), prompt=M, t=t)
    for proof in (upper, lower):
        assert proof.delta == pytest.approx(0.05)
        assert proof.counts["silent"] == 0
        assert not proof.condemned
        assert np.max(proof.rounding) < 1e-12
    assert (upper.side, lower.side) == ("upper", "lower")


@pytest.mark.parametrize("gamma", (0.05, 0.25, 0.8))
def test_the_window_is_sharp_for_large_prompts(gamma):
    """Both edges are approached as M grows, so neither constant can be improved."""
    M, K = 1200, int(1200 * gamma)
    t = 2 / math.sqrt(M)
    upper, lower = mp_window.certify(whitened(2, K, M), prompt=M, t=t)
    assert upper.counts["holds"] == lower.counts["holds"] == 2
    assert np.all(np.sqrt(upper.tightness) > 1 - 3.5 / math.sqrt(M))
    assert np.all(np.sqrt(lower.value) - np.sqrt(lower.bound) < 4.5 / math.sqrt(M))


def test_against_the_exact_law_in_one_dimension():
    """K = 1: M lam ~ chi2_M. Both tails lie under exp(-M t^2 / 2), and for M = 1 it is its rate."""
    for M in (1, 2, 10, 100):
        for t in (0.01, 0.1, 0.5, 1.0, 3.0):
            allowed = mp_window.failure(M, t)
            assert stats.chi2.sf(M * mp_window.upper_edge(1, M, t), M) <= allowed
            assert stats.chi2.cdf(M * mp_window.lower_edge(1, M, t), M) <= allowed
    t = 200.0
    rate = stats.norm.logsf(2 + t) / (-(t**2) / 2)
    assert rate == pytest.approx(1, abs=0.03)


def test_a_window_that_is_too_narrow_is_condemned():
    sample = whitened(2000, 6, 24)
    wide = mp_window.certify(sample, prompt=24, t=mp_window.deviation(24, 0.02))
    edge = np.sqrt(6 / 24)
    for proof, false_bound in zip(
        wide, ((1 + edge) ** 2 * 0.8, (1 - edge) ** 2 * 1.5), strict=True
    ):
        false = type(proof)(**{**vars(proof), "bound": np.full(2000, false_bound)})
        assert false.condemned
        assert not proof.condemned


def test_what_was_not_whitened_is_condemned_and_whitening_repairs_it():
    sigma = np.geomspace(1, 0.01, 5)
    root = np.sqrt(sigma)
    prompts = whitened(500, 5, 100) * root[:, None] * root
    t = mp_window.deviation(100, 0.05)
    assert mp_window.certify(prompts, prompt=100, t=t)[1].condemned
    repaired = mp_window.certify(whiten(prompts, sigma), prompt=100, t=t)
    assert not any(proof.condemned for proof in repaired)


def test_the_seeds_lower_edge_is_false_once_it_squares_a_negative_number():
    K, M, t = 4, 16, 1.5
    sample = whitened(2000, K, M)
    upper, lower = mp_window.certify(sample, prompt=M, t=t)
    seed = mp_window.seed_lower_edge(K, M, t)
    assert seed == 1.0
    assert mp_window.lower_edge(K, M, t) == 0.0
    assert np.mean(lower.value < seed) > 0.99
    assert lower.delta < 1e-7
    assert lower.counts["holds"] == upper.counts["holds"] == 2000


def test_the_edges_are_the_formula_and_safely_rounded():
    from fractions import Fraction

    for K, M, t in ((4, 16, 0.125), (9, 144, 0.25), (1, 64, 2.0**-20)):
        root = Fraction(math.isqrt(K), math.isqrt(M))
        upper, lower = (1 + root + Fraction(t)) ** 2, (1 - root - Fraction(t)) ** 2
        assert Fraction(mp_window.upper_edge(K, M, t)) >= upper
        assert Fraction(mp_window.lower_edge(K, M, t)) <= lower
        assert mp_window.upper_edge(K, M, t) == pytest.approx(float(upper), rel=1e-14)
        assert mp_window.lower_edge(K, M, t) == pytest.approx(float(lower), rel=1e-13)
    assert mp_window.lower_edge(5, 4, 0.1) == 0.0


def test_deviation_and_failure_are_inverse():
    for M, delta in ((10, 0.05), (1000, 1e-9), (1, 0.999)):
        t = mp_window.deviation(M, delta)
        assert 2 * mp_window.failure(M, t) == pytest.approx(delta, rel=1e-12)
        assert 2 * math.exp(-M * t * t / 2) <= delta
    assert 0 < mp_window.failure(10**6, 100.0) < 1e-300


def test_a_zero_eigenvalue_holds_by_rounding_only():
    """K > M: lam_min = 0 = the edge; LAPACK's is often negative."""
    _, lower = mp_window.certify(whitened(200, 6, 3), prompt=3, t=0.5)
    assert np.any(lower.value < 0)
    assert lower.counts["holds"] == 200


def test_bad_input_is_named():
    good = np.eye(3)[None]
    for kwargs, name in (
        ({"whitened": np.eye(3)}, "whitened"),
        ({"whitened": np.zeros((0, 3, 3))}, "whitened"),
        ({"whitened": good * np.nan}, "whitened"),
        ({"whitened": good * 1j}, "whitened"),
        ({"whitened": good + np.triu(np.ones((3, 3)), 1)}, "whitened"),
        ({"prompt": 0}, "prompt"),
        ({"prompt": 2.5}, "prompt"),
        ({"t": 0.0}, "t"),
        ({"t": -1.0}, "t"),
        ({"t": np.nan}, "t"),
    ):
        with pytest.raises(ValueError, match=f"^{name}: "):
            mp_window.certify(**{"whitened": good, "prompt": 9, "t": 0.5, **kwargs})
    for delta in (0.0, 1.0, -0.1, np.nan):
        with pytest.raises(ValueError, match="^delta: "):
            mp_window.deviation(9, delta)
