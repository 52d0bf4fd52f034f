"""Each feature law has the moments it promises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from twofold.tasks import features

KURTOSES = [-2.0, -1.999, -1.9, -1.2, -0.5, -0.01, 0.0, 0.5, 3.0, 6.0]


@pytest.mark.parametrize("kurtosis", KURTOSES)
@pytest.mark.parametrize("seed", range(5))
def test_second_and_fourth_moment(kurtosis, seed):
    w = features.whitened(np.random.default_rng(seed), (200_000,), kurtosis)
    for power, expected in ((1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0 + kurtosis)):
        x = w**power
        assert abs(x.mean() - expected) <= 5.0 * x.std() / np.sqrt(len(x)) + 1e-12


@pytest.mark.parametrize(
    ("kurtosis", "law", "scale"),
    [
        (0.0, "norm", (0, 1)),
        (-1.2, "uniform", (-np.sqrt(3), 2 * np.sqrt(3))),
        (3.0, "laplace", (0, np.sqrt(0.5))),
    ],
)
def test_the_named_laws(kurtosis, law, scale):
    w = features.whitened(np.random.default_rng(0), (50_000,), kurtosis)
    assert kstest(w, law, args=scale).pvalue > 1e-3


def test_the_smallest_kurtosis_is_random_signs():
    w = features.whitened(np.random.default_rng(0), (1000,), -2.0)
    assert set(w) == {-1.0, 1.0}


@pytest.mark.parametrize(
    ("kurtosis", "text"), [(0, "Gaussian"), (1.0, "Gamma(3)"), (-2.0, "signs"), (-1.2, "Beta(1)")]
)
def test_names(kurtosis, text):
    assert text in features.name(kurtosis)
