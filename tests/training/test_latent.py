import numpy as np
import pytest

from twofold.protocol import Law
from twofold.tasks import laws, moments, samplers
from twofold.training import latent


@pytest.mark.parametrize("target", ["coefficients", "solve"])
@pytest.mark.parametrize("rank", [None, 2])
def test_closed_form_is_what_sampling_approaches(target, rank):
    law = Law(np.array([1.0, 0.6, 0.3, 0.2]), 9, 0.0, 0.4, None, rank, target)
    U = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 2)))[0]
    tasks = samplers.draw(law, 40_000, seed=1)
    parts = [latent.sampled_moments(U, tasks.H[i::40], tasks.d[i::40]) for i in range(40)]
    for exact, sampled in zip(latent.moments(law, U), zip(*parts, strict=True), strict=True):
        sampled = np.array(sampled)
        error = sampled.std(0, ddof=1) / np.sqrt(40)
        assert np.all(np.abs(sampled.mean(0) - exact) < 4.5 * error)
        assert np.all(error < 0.02)


def test_a_full_square_subspace_sees_the_whole_law():
    law = Law(np.array([1.0, 0.5, 0.2]), 9, 0.0, 0.4, None, None, "coefficients")
    C, _ = latent.moments(law, np.eye(3))
    np.testing.assert_allclose(C, moments.of(law).full().C)


def test_without_noise_the_true_subspace_recovers_the_latent():
    law = Law(np.logspace(0, -1, 5), 20, 0.0, 0.0, None, 2, "coefficients")
    U = laws.loading(law)
    _, B = latent.moments(law, U)
    np.testing.assert_allclose(B, U.T @ np.diag(law.sigma) @ U, atol=1e-14)


@pytest.mark.parametrize(
    ("law", "U", "message"),
    [
        (Law(np.ones(3), 9, 0.1), np.eye(3), "law: the closed form"),
        (Law(np.ones(3), 9, kurtosis=1.0), np.eye(3), "law: the closed form"),
        (Law(np.ones(3), 2), np.eye(3), "law: prompt 2 is shorter"),
        (Law(np.ones(3), 9), np.eye(2), "U: expected shape"),
    ],
)
def test_bad_input(law, U, message):
    with pytest.raises(ValueError, match=message):
        latent.moments(law, U)


def test_no_tasks():
    with pytest.raises(ValueError, match="d: expected at least one task"):
        latent.sampled_moments(np.eye(2), np.zeros((0, 2, 2)), np.zeros((0, 2)))
