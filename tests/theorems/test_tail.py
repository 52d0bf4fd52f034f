"""The Clopper-Pearson companion of a bound on a clipped risk."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.stats import beta, binomtest

from twofold.theorems import tail


def cdf(k, n, p):
    p = Fraction(p)
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_the_limit_is_proved_and_is_the_least(n):
    for delta in (0.5, 0.05, 1e-9):
        for k in range(n):
            p = tail.share_upper(k, n, delta)
            assert cdf(k, n, p) <= Fraction(delta)
            assert cdf(k, n, p * (1 - 1e-9)) > Fraction(delta)
            assert p == pytest.approx(beta.ppf(1 - delta, k + 1, n - k), rel=1e-6)
        assert tail.share_upper(n, n, delta) == 1.0


def test_only_losses_above_the_clip_count():
    losses = np.array([0.0, 1.0, 1.0 + 2**-52, 5.0])
    assert tail.upper(losses, clip=1.0, delta=0.05) == tail.share_upper(2, 4, 0.05)
    assert tail.certify(losses, clip=1.0, delta=0.05).value[0] == 0.5


@pytest.mark.parametrize("p", [0.003, 0.05, 0.5])
def test_misses_are_not_above_delta(p):
    counts = np.random.default_rng(1).binomial(300, p, 5000)
    limits = {int(k): tail.share_upper(int(k), 300, 0.05) for k in np.unique(counts)}
    misses = sum(limits[int(k)] < p for k in counts)
    assert binomtest(misses, 5000, 0.05, alternative="greater").pvalue >= 1e-3
    if p == 0.5:
        assert binomtest(misses, 5000, 0.03, alternative="greater").pvalue < 1e-3


def test_tiny_delta_and_large_counts_still_give_a_bound():
    assert tail.share_upper(0, 10**6, 1e-300) == pytest.approx(690.776 / 10**6, rel=1e-3)
    assert 0.5 < tail.share_upper(50_000, 100_000, 0.05) < 0.504
