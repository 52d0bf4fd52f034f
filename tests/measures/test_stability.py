"""Jury's test against the roots, and the roots against the iteration itself."""

import numpy as np
import pytest

from twofold.decoder import polynomial
from twofold.measures import stability


def test_jury_and_the_roots_agree_on_real_spectra():
    rng = np.random.default_rng(0)
    for _ in range(500):
        t, alpha, beta = rng.uniform(-0.5, 5, size=6), rng.uniform(0.1, 2), rng.uniform(0, 1.3)
        margin = stability.jury_margin(t, alpha, beta)
        assert (margin > 0) == bool(np.all(stability.growth(t, alpha, beta) < 1))


def test_the_roots_are_the_rate_of_the_iteration_on_complex_spectra():
    t, alpha, beta = np.array([0.7 + 0.6j, 1.2 - 0.4j, 2.9 + 1.5j]), 0.8, 0.3
    schedule = polynomial.Schedule(np.full(400, alpha), np.full(400, beta))
    p = np.abs(polynomial.values(schedule, t))
    rate = (p[400] / p[200]) ** (1 / 200)
    assert np.allclose(rate, stability.growth(t, alpha, beta), rtol=0.02)
    assert (stability.growth(t, alpha, beta) < 1).tolist() == [True, True, False]


def test_the_best_pair_of_an_interval_sits_at_sqrt_beta():
    schedule = polynomial.heavy_ball((0.1, 4.0), 1)
    alpha, beta = schedule.alpha[0], schedule.beta[0]
    t = np.linspace(0.1, 4.0, 50)
    assert np.allclose(stability.growth(t[1:-1], alpha, beta), np.sqrt(beta))
    assert stability.jury_margin(t, alpha, beta) > 0


def test_refusals():
    with pytest.raises(ValueError, match="^spectrum: Jury"):
        stability.jury_margin(np.array([1 + 1j]), 1.0, 0.1)
    with pytest.raises(ValueError, match="^spectrum, beta"):
        stability.jury_margin(np.ones(2), 1.0, -0.1)
    with pytest.raises(ValueError, match="^alpha"):
        stability.growth(np.ones(2), np.nan, 0.1)
    assert np.isnan(stability.jury_margin(np.array([np.nan, 1.0]), 1.0, 0.1))
