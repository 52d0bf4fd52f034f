"""The scale-free bound: its proof step by step, its premise, its silence."""

import numpy as np
import pytest
from flint import arb, ctx
from scipy.stats import binomtest

from twofold.theorems import moment_ratio


def test_the_inequality_under_the_proof():
    """e^-x <= 1 - x + x^2/2 on x >= 0, and hence E e^(-a l) <= exp(-a R + a^2 E l^2 / 2)."""
    x = np.concatenate([[0.0], np.logspace(-6, 3, 2000)])
    # the difference of the two sides is x^3/6 - ...: below 1e-4 both sides round to the same
    assert np.all(1 - x + x**2 / 2 - np.exp(-x) >= -1e-15)
    rng = np.random.default_rng(0)
    for _ in range(2000):
        values, weights = rng.exponential(size=5) ** 3, rng.dirichlet(np.ones(5))
        a = rng.exponential() / (weights @ values)
        left = np.log(weights @ np.exp(-a * values))
        assert left <= -a * weights @ values + a**2 * weights @ values**2 / 2 + 1e-12


def test_the_chernoff_exponent_is_the_one_inverted():
    """At a = eps / (kappa R) the exponent is -eps^2 / (2 kappa), and delta is spent exactly."""
    for kappa, n, delta in ((1.0, 50, 0.05), (3.0, 400, 0.3), (7.5, 1000, 1e-6)):
        eps, R = moment_ratio.deviation(n, kappa=kappa, delta=delta), 0.37
        a = np.linspace(0.5, 1.5, 201) * eps / (kappa * R)
        exponent = n * (a * R * (1 - eps) - a * R + a**2 * kappa * R**2 / 2)
        assert np.exp(exponent.min()) == pytest.approx(delta, rel=1e-9)
        assert exponent.argmin() == 100


@pytest.mark.parametrize("K", [1, 2, 16])
def test_misses_are_not_above_delta_on_gaussian_quadratics(K):
    rng = np.random.default_rng(K)
    A = np.diag(np.logspace(0, -1, K))
    losses = (rng.standard_normal((2000, 60, K)) ** 2) @ np.diagonal(A)
    kappa = moment_ratio.quadratic(A)
    record = moment_ratio.certify(losses, kappa=kappa, delta=0.05, risk=np.trace(A))
    misses = record.counts["violated"]
    assert record.kind == "assumption" and record.counts["silent"] == 0
    assert binomtest(misses, 2000, 0.05, alternative="greater").pvalue >= 1e-3


def test_kappa_is_the_ratio_of_moments():
    rng = np.random.default_rng(1)
    g = rng.standard_normal((400_000, 3))
    root = rng.standard_normal((3, 3))
    A = root @ root.T
    loss = np.einsum("ni,ij,nj->n", g, A, g)
    measured = np.mean(loss**2) / np.mean(loss) ** 2
    assert moment_ratio.quadratic(A) == pytest.approx(measured, rel=0.02)
    assert moment_ratio.quadratic(np.ones((1, 1))) == 3.0
    assert moment_ratio.quadratic(np.eye(5)) == pytest.approx(1 + 2 / 5)
    r = rng.exponential(size=400_000)
    mixed = r * rng.standard_normal(400_000) ** 2
    measured = np.mean(mixed**2) / np.mean(mixed) ** 2
    assert moment_ratio.over_systems(r) == pytest.approx(measured, rel=0.1)
    for bad in (np.diag([1.0, -0.5]), np.zeros((2, 2)), [[1.0, 0.5], [0.0, 1.0]]):
        with pytest.raises(ValueError, match="A: "):
            moment_ratio.quadratic(bad)
    with pytest.raises(ValueError, match="risks"):
        moment_ratio.over_systems(np.zeros(3))


def test_a_broken_premise_breaks_the_bound():
    """Rare large losses with a kappa that is far too small: missed most of the time."""
    losses = np.where(np.random.default_rng(2).random((500, 200)) < 1e-3, 1e3, 0.01)
    record = moment_ratio.certify(losses, kappa=1.5, delta=0.05, risk=1.0 + 0.01 * 0.999)
    assert binomtest(record.counts["violated"], 500, 0.05, alternative="greater").pvalue < 1e-6
    assert not record.condemned and "1.5" in record.premise


def test_it_is_silent_with_too_few_losses():
    n = int(np.floor(2 * 3.0 * np.log(20)))
    assert moment_ratio.upper(np.ones(n), kappa=3.0, delta=0.05) == np.inf
    assert np.isfinite(moment_ratio.upper(np.ones(n + 1), kappa=3.0, delta=0.05))
    record = moment_ratio.certify(np.ones(n), kappa=3.0, delta=0.05)
    assert record.verdict[0] == "silent" and "take more losses" in record.reason[0]


def test_the_value_is_the_formula_rounded_upward_at_every_scale():
    x = np.random.default_rng(3).exponential(size=300)
    expected = x.mean() / (1 - np.sqrt(2 * 3 * np.log(1 / 0.05) / 300))
    for scale in (1.0, 1e-300, 1e300):
        U = moment_ratio.upper(x * scale, kappa=3.0, delta=0.05)
        assert expected * scale * (1 - 1e-15) < U < expected * scale * (1 + 1e-13)
    assert moment_ratio.upper(np.zeros(300), kappa=3.0, delta=0.05) == 0.0
    assert moment_ratio.upper(np.full(300, 1.7e308), kappa=3.0, delta=0.05) == np.inf


def test_the_rounding_is_upward_against_balls():
    rng = np.random.default_rng(6)
    with ctx.workprec(300):
        for _ in range(300):
            n, kappa = int(rng.integers(20, 200)), float(rng.uniform(1, 3))
            x, delta = rng.exponential(size=n), float(rng.uniform(0.1, 0.9))
            left = 1 - (2 * arb(kappa) * (1 / arb(delta)).log() / n).sqrt()
            if not left > 0:
                continue
            exact = sum(arb(float(v)) for v in x) / n / left
            U = arb(moment_ratio.upper(x, kappa=kappa, delta=delta))
            assert U >= exact and U <= exact * (1 + arb(1e-13) / left)


@pytest.mark.parametrize(("kappa", "delta"), [(0.9, 0.05), (np.nan, 0.05), (3.0, 0.0), (3.0, 1.0)])
def test_bad_parameters_are_named(kappa, delta):
    for call in (moment_ratio.upper, moment_ratio.certify):
        with pytest.raises(ValueError, match="kappa|delta"):
            call([0.1, 0.2], kappa=kappa, delta=delta)
