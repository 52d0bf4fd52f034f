"""The empirical Bernstein bound: its formula, the seed's numbers, rounding, coverage."""

import numpy as np
import pytest
from flint import arb, ctx
from scipy.stats import binomtest

from twofold.theorems import bernstein

SEED = [  # mean, printed bound, digits printed, n
    (7.674719e-3, 1.771005e-1, 5e-8, 512),
    (5.8931e-3, 1.7511e-1, 5e-6, 512),
    (5.9760e-6, 8.4150e-2, 5e-7, 1024),
]


@pytest.fixture(autouse=True)
def many_digits():
    before, ctx.prec = ctx.prec, 400
    yield
    ctx.prec = before


def exact(losses, clip, delta):
    """The formula in balls of 400 bits, the floats taken as the numbers they are."""
    x = [arb(float(min(v, clip))) for v in losses]
    n, log = len(x), (arb(2) / arb(delta)).log()
    mean = sum(x) / n
    variance = sum((v - mean) ** 2 for v in x) / (n - 1)
    return mean + (2 * variance * log / n).sqrt() + 7 * arb(clip) * log / (3 * (n - 1))


@pytest.mark.parametrize(("mean", "printed", "half", "n"), SEED)
def test_the_seeds_numbers_are_mostly_the_clip(mean, printed, half, n):
    """With no variance at all 95-100 % of each printed bound stands; the rest fixes a variance
    that non-negative losses of that mean can have."""
    without = bernstein.bound(mean, 0.0, n, clip=10.0, delta=0.05)
    assert 0.95 * printed < without - mean and without < printed + half
    variance = n * (printed - without) ** 2 / (2 * np.log(40))
    assert variance <= n * mean**2
    assert bernstein.bound(mean, variance, n, clip=10.0, delta=0.05) == pytest.approx(
        printed, abs=half
    )


@pytest.mark.parametrize("seed", range(40))
def test_upper_is_the_formula_rounded_upward(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    clip = float(10.0 ** rng.uniform(-150, 150))
    losses = clip * rng.choice([rng.random(n), 10.0 ** rng.uniform(-30, 1, n), np.full(n, 0.1)])
    delta = float(10.0 ** rng.uniform(-12, -0.01))
    truth, U = exact(losses, clip, delta), bernstein.upper(losses, clip=clip, delta=delta)
    assert truth <= arb(U) and arb(U) <= truth * (1 + arb(1e-14))


def test_plain_float_arithmetic_would_be_below_the_formula():
    """Rounding to nearest falls below on many samples: the margin is not decoration."""
    below = 0
    for seed in range(40):
        x = np.random.default_rng(seed).random(50)
        log = np.log(2 / 0.05)
        plain = x.mean() + np.sqrt(2 * x.var(ddof=1) * log / 50) + 7 * log / (3 * 49)
        below += arb(float(plain)) < exact(x, 1.0, 0.05)
    assert below >= 5


def test_one_loss_has_no_variance():
    with pytest.raises(ValueError, match="losses: one loss"):
        bernstein.upper([0.3], clip=1.0, delta=0.05)
    assert bernstein.certify([0.3], clip=1.0, delta=0.05).verdict[0] == "silent"


def test_equal_and_clipped_losses_leave_the_range_term():
    range_term = 7 * np.log(40) / (3 * 99)
    for losses, mean in ((np.full(100, 0.25), 0.25), (np.full(100, 7.0), 1.0), (np.zeros(100), 0)):
        U = bernstein.upper(losses, clip=1.0, delta=0.05)
        assert U == pytest.approx(mean + range_term, rel=1e-13)


@pytest.mark.parametrize("p", [0.002, 0.0115, 0.3])
def test_misses_are_not_above_delta(p):
    samples = (np.random.default_rng(3).random((2000, 512)) < p).astype(float)
    record = bernstein.certify(samples, clip=1.0, delta=0.05, risk=p)
    misses = record.counts["violated"]
    assert binomtest(misses, 2000, 0.05, alternative="greater").pvalue >= 1e-3
    assert bernstein.certify(samples, clip=1.0, delta=0.05, risk=3 * p + 0.05).condemned
