"""Coverage of the held-out bounds over 20,000 repetitions, by an exact binomial test."""

import numpy as np
import pytest
from scipy.stats import binomtest

from twofold.theorems import bernstein, betting, moment_ratio, tail

pytestmark = pytest.mark.soak
REPETITIONS, DELTA = 20_000, 0.05
LAWS = {  # name: (draw, true mean), losses in [0, 1] and clipped at 1
    "bernoulli": (lambda rng, shape: (rng.random(shape) < 0.0115).astype(float), 0.0115),
    "fair coin": (lambda rng, shape: (rng.random(shape) < 0.5).astype(float), 0.5),
    "two-point": (lambda rng, shape: np.where(rng.random(shape) < 0.05, 0.9, 0.02), 0.064),
    "uniform": (lambda rng, shape: rng.random(shape), 0.5),
    "beta": (lambda rng, shape: rng.beta(0.5, 5.0, shape), 0.5 / 5.5),
    "wide beta": (lambda rng, shape: rng.beta(0.05, 0.5, shape), 0.05 / 0.55),
}
BOUNDS = {
    "betting": lambda x: betting.upper(x, clip=1.0, delta=DELTA),
    "bernstein": lambda x: bernstein.upper(x, clip=1.0, delta=DELTA),
}


def rows(law, n, seed):
    draw, _ = LAWS[law]
    for block in range(20):
        yield from draw(np.random.default_rng((seed, block)), (REPETITIONS // 20, n))


@pytest.mark.parametrize("n", [64, 512, 1024])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("bound", BOUNDS)
def test_misses_are_not_above_delta(bound, law, n):
    mean = LAWS[law][1]
    misses = sum(BOUNDS[bound](row) < mean for row in rows(law, n, 17))
    assert binomtest(misses, REPETITIONS, DELTA, alternative="greater").pvalue >= 1e-3, misses


@pytest.mark.parametrize("law", LAWS)
def test_stopping_at_the_best_of_200_looks_is_covered(law):
    """The running bound only falls, so its last value is the best that stopping can choose."""
    mean = LAWS[law][1]
    misses = sum(
        betting.running(row, clip=1.0, delta=DELTA)[-1] < mean for row in rows(law, 200, 19)
    )
    assert binomtest(misses, REPETITIONS, DELTA, alternative="greater").pvalue >= 1e-3


def test_betting_uses_up_its_delta():
    """On Bernoulli(.0115) at n = 1024 some 4.7 % miss, so .8 delta would be refuted."""
    misses = sum(BOUNDS["betting"](row) < 0.0115 for row in rows("bernoulli", 1024, 18))
    assert binomtest(misses, REPETITIONS, 0.8 * DELTA, alternative="greater").pvalue < 1e-3


@pytest.mark.parametrize("p", [0.001, 0.02, 0.5])
def test_the_tail_limit_covers(p):
    counts = np.random.default_rng(3).binomial(512, p, REPETITIONS)
    limit = {int(k): tail.share_upper(int(k), 512, DELTA) for k in np.unique(counts)}
    misses = sum(limit[int(k)] < p for k in counts)
    assert binomtest(misses, REPETITIONS, DELTA, alternative="greater").pvalue >= 1e-3


def test_the_scale_free_bound_covers_in_its_worst_case():
    """One degree of freedom has kappa = 3, the most that a Gaussian quadratic can have."""
    loss = np.random.default_rng(4).standard_normal((REPETITIONS, 64)) ** 2
    misses = sum(moment_ratio.upper(row, kappa=3.0, delta=DELTA) < 1.0 for row in loss)
    assert binomtest(misses, REPETITIONS, DELTA, alternative="greater").pvalue >= 1e-3


@pytest.mark.parametrize("k", [1, 10, 100])
def test_the_best_of_k_is_covered_with_its_family(k):
    rng, missed, false = np.random.default_rng(k), 0, 0
    for _ in range(2000):
        candidates = (rng.random((k, 512)) < 0.0115).astype(float)
        best = candidates[np.argmin(candidates.mean(axis=1))]
        missed += betting.upper(best, clip=1.0, delta=DELTA, family=k) < 0.0115
        false += betting.upper(best, clip=1.0, delta=DELTA) < 0.0115
    assert binomtest(missed, 2000, DELTA, alternative="greater").pvalue >= 1e-3
    if k > 1:
        assert binomtest(false, 2000, DELTA, alternative="greater").pvalue < 1e-9
