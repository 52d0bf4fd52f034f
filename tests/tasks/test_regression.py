"""`sample` hands out tasks of the law its arguments describe."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.protocol import Tasks
from twofold.tasks import laws, regression


def test_what_a_sample_holds():
    tasks = regression.sample(seed=0, dim=5, prompt=8, count=12, ridge=0.1)
    assert isinstance(tasks, Tasks) and len(tasks) == 12
    assert tasks.H.shape == (12, 5, 5) and tasks.d.shape == tasks.truth.shape == (12, 5)
    assert np.array_equal(tasks.d, (tasks.H @ tasks.truth[..., None])[..., 0])
    assert tasks.metric is None and tasks.scale == 0.2
    assert np.array_equal(tasks.latent, tasks.truth)
    assert np.array_equal(tasks.facts["spectrum"], laws.spectrum("log", 5))
    assert tasks.ids.dtype == np.int64 and len(set(tasks.ids.tolist())) == 12
    assert np.linalg.eigvalsh(tasks.H).min() > 0.1 - 1e-12


@pytest.mark.parametrize("target", ["solve", "coefficients"])
def test_a_low_rank_sample(target):
    options = {"dim": 6, "rank": 2, "prompt": 9, "noise": 0.1, "target": target}
    tasks = regression.sample(seed=0, count=7, **options)
    U = tasks.facts["loading"]
    assert tasks.latent.shape == (7, 2) and np.allclose(tasks.truth, tasks.latent @ U.T)
    assert np.array_equal(tasks.metric, np.diag(laws.spectrum("log", 6))) and tasks.scale == 1.0
    other = regression.sample(seed=1, count=7, **options)
    assert np.array_equal(other.facts["loading"], U)
    assert np.array_equal(tasks.d, tasks.c) == (target == "coefficients")


def test_a_given_spectrum_and_matrix():
    s = np.array([3.0, 1.0, 0.5])
    tasks = regression.sample(seed=0, dim=3, prompt=40, count=4000, spectrum=s, kurtosis=-1.2)
    assert np.array_equal(tasks.facts["spectrum"], s) and tasks.X.shape == (4000, 40, 3)
    assert np.allclose(tasks.H.mean(axis=0), np.diag(s), atol=0.03)
    Sigma = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 1.0]])
    tasks = regression.sample(seed=0, dim=3, prompt=40, count=4000, spectrum=Sigma)
    assert np.allclose(tasks.H.mean(axis=0), Sigma, atol=0.03)
    assert np.allclose(tasks.facts["spectrum"], np.linalg.eigvalsh(Sigma))


def test_a_prior_is_the_covariance_of_the_truth():
    prior = np.array([[1.0, 0.9], [0.9, 1.0]])
    tasks = regression.sample(seed=0, dim=2, prompt=3, count=50_000, prior=prior)
    assert np.allclose(tasks.truth.T @ tasks.truth / 50_000, prior, atol=0.03)


def test_one_task_of_one_coordinate():
    tasks = regression.sample(seed=0, dim=1, prompt=1, count=1, needs="X")
    assert tasks.H.shape == (1, 1, 1) and np.allclose(tasks.H[0, 0], tasks.X[0, 0] ** 2)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("dim", {"dim": 0}),
        ("dim", {"dim": 2.0}),
        ("count", {"count": 0}),
        ("seed", {"seed": None}),
        ("prompt", {"prompt": -1}),
        ("condition", {"condition": 0.0}),
        ("sigma", {"condition": 1e300}),
        ("condition", {"condition": np.inf}),
        ("spectrum", {"spectrum": "loguniform"}),
        ("spectrum", {"spectrum": np.ones(4)}),
        ("spectrum", {"spectrum": np.array([1.0, np.nan, 1.0])}),
        ("target", {"target": "solution"}),
        ("kurtosis", {"kurtosis": -3.0}),
        ("rank", {"rank": 4}),
        ("needs", {"needs": "everything"}),
    ],
)
def test_bad_samples_are_refused_by_name(name, change):
    given = {"seed": 0, "dim": 3, "prompt": 4, "count": 2} | change
    with pytest.raises(ValueError, match=f"^{name}:"):
        regression.sample(**given)
