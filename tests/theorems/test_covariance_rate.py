import math

import numpy as np
import pytest

from twofold.theorems import covariance_rate as rate


def samples(repeats, count, spectrum, seed=0):
    """Sample covariances of ``count`` Gaussian vectors, in a random basis, and the covariance."""
    rng = np.random.default_rng(seed)
    K = len(spectrum)
    Q = np.linalg.qr(rng.standard_normal((K, K)))[0]
    root = Q * np.sqrt(spectrum)
    b = rng.standard_normal((repeats, count, K)) @ root.T
    sigma = root @ root.T
    return np.swapaxes(b, 1, 2) @ b / count, (sigma + sigma.T) / 2


SPECTRA = (np.ones(6), np.geomspace(1, 1e-4, 8), np.array([3.0, 0, 0, 0]), np.array([2.0]))


@pytest.mark.parametrize("spectrum", SPECTRA, ids=("flat", "steep", "rank one", "one dimension"))
@pytest.mark.parametrize("count", (3, 50))
def test_the_confidence_bound_holds_on_two_thousand_samples(spectrum, count):
    estimate, sigma = samples(2000, count, spectrum)
    proof, guess = rate.certify(estimate, sigma, count=count, delta=0.05)
    assert (proof.kind, guess.kind) == ("confidence", "estimate")
    assert proof.counts["silent"] == 0
    assert not proof.condemned
    assert np.max(proof.rounding) < 1e-12
    assert np.allclose(proof.value, np.linalg.norm(estimate - sigma, 2, axis=(1, 2)))
    assert 0.2 < np.median(proof.value / guess.bound) < 5


def test_the_rate_is_right_in_the_number_of_samples():
    """Four times the samples halve error and bound; the rate with constant 1 follows it."""
    errors, bounds, guesses = [], [], []
    for count in (400, 1600, 6400):
        estimate, sigma = samples(20, count, np.geomspace(1, 0.1, 6))
        proof, guess = rate.certify(estimate, sigma, count=count, delta=0.05)
        errors.append(np.mean(proof.value))
        bounds.append(proof.bound[0])
        guesses.append(guess.bound[0])
    assert np.allclose(np.divide(errors[:-1], errors[1:]), 2, rtol=0.2)
    assert np.allclose(np.divide(bounds[:-1], bounds[1:]), 2, rtol=0.12)
    assert np.allclose(np.divide(guesses[:-1], guesses[1:]), 2, rtol=1e-6)


def test_the_rate_is_the_formula():
    estimate, sigma = samples(1, 40, np.array([9.0, 4.0, 1.0]))
    _, guess = rate.certify(estimate, sigma, count=40, delta=0.05)
    assert guess.bound[0] == pytest.approx(9 * np.sqrt(14 / 9 / 40))


def test_the_rank_form_is_attained_in_the_large():
    """S = I: the largest deviation tends to 2 sqrt(gamma) + gamma, the rank form at t = 0."""
    K, count = 300, 1200
    b = np.random.default_rng(0).standard_normal((count, K))
    deviation = np.linalg.norm(b.T @ b / count - np.eye(K), 2)
    sharp = float(rate.bound(np.ones(()), rate.rank_width(K, count, 0.0)))
    assert deviation == pytest.approx(sharp, rel=0.03)
    assert sharp == pytest.approx(2 * 0.5 + 0.25)


def test_the_effective_rank_form_wins_on_a_steep_spectrum_and_the_rank_form_on_a_flat_one():
    steep = 0.5 ** np.arange(40)
    norm, trace = np.ones(()), np.asarray(steep.sum())
    assert rate.effective_width(norm, trace, 100, 0.1) < rate.rank_width(40, 100, 0.1)
    assert rate.effective_width(norm, np.asarray(40.0), 100, 0.1) > rate.rank_width(40, 100, 0.1)
    estimate, sigma = samples(1, 100, steep)
    proof, _ = rate.certify(estimate, sigma, count=100, delta=0.05)
    t = math.sqrt(2 * math.log(40) / 100)
    w = math.sqrt(steep.sum() / 100) + 0.1 + t
    assert proof.bound[0] == pytest.approx(2 * w + w * w, rel=1e-9)


def test_the_two_gaussian_constants_of_the_proof():
    """E(|g| - sqrt(N))^2 <= 1, exactly from the mean of the chi law."""
    for N in (1, 2, 3, 10, 100, 10**4):
        mean = math.sqrt(2) * math.exp(math.lgamma((N + 1) / 2) - math.lgamma(N / 2))
        assert 0 < 2 * N - 2 * math.sqrt(N) * mean <= 1


def test_false_statements_are_condemned():
    """A quarter of the width, and the seed's rate with constant 1, fail on most samples."""
    estimate, sigma = samples(2000, 60, np.ones(6))
    proof, guess = rate.certify(estimate, sigma, count=60, delta=0.05)
    false = type(proof)(**{**vars(proof), "bound": proof.bound / 4})
    assert false.condemned
    assert guess.counts["violated"] > 1000
    assert not guess.condemned  # an estimate proves nothing and is not blamed


def test_samples_that_are_not_gaussian_can_break_it():
    """The premise matters: one heavy row in 50 of unit variance exceeds the bound far too often."""
    rng = np.random.default_rng(1)
    b = rng.standard_normal((2000, 50, 3)) * 0.1
    b[rng.random((2000, 50)) < 0.002] *= 220.0
    estimate = np.swapaxes(b, 1, 2) @ b / 50
    proof, _ = rate.certify(estimate, np.eye(3), count=50, delta=0.01)
    assert proof.condemned


def test_what_is_not_a_covariance_is_silent():
    estimate, sigma = samples(3, 20, np.ones(3))
    proof, _ = rate.certify(estimate, np.diag([1.0, 1.0, -0.5]), count=20, delta=0.05)
    assert proof.counts["silent"] == 3
    assert "not a covariance" in proof.reason[0]
    batch = np.stack([sigma, -sigma, sigma])
    mixed, _ = rate.certify(estimate, batch, count=20, delta=0.05)
    assert (mixed.verdict == "silent").tolist() == [False, True, False]


def test_the_zero_covariance_is_estimated_exactly():
    proof, _ = rate.certify(np.zeros((1, 2, 2)), np.zeros((2, 2)), count=5, delta=0.05)
    assert proof.verdict[0] == "holds"
    assert proof.bound[0] < 1e-300


def test_bad_input_is_named():
    good = np.eye(2)[None]
    for args, kwargs, name in (
        ((np.eye(2), np.eye(2)), {}, "estimate"),
        ((good, np.eye(3)), {}, "sigma"),
        ((np.full((1, 2, 2), np.inf), np.eye(2)), {}, "estimate"),
        ((good, np.eye(2)), {"count": 0}, "count"),
        ((good, np.eye(2)), {"delta": 1.0}, "delta"),
    ):
        with pytest.raises(ValueError, match=f"^{name}: "):
            rate.certify(*args, **{"count": 5, "delta": 0.05, **kwargs})
