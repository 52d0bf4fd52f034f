"""The batch bound of the decoder's risk: random batches, its equality cases, false factors."""

from fractions import Fraction

import numpy as np
import pytest

from twofold.decoder.enclosure import enclosed
from twofold.theorems import decoder_bound
from twofold.theorems.decoder_bound import certify, certify_power, losses, of_batch

exactly = np.vectorize(Fraction, otypes=[object])


def random_systems(N=2000, K=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 8 * K, K))
    H = np.matmul(X.swapaxes(1, 2), X) / (8 * K)
    P = 0.7 * np.eye(K) + 0.03 * rng.normal(size=(K, K))
    return P, H, np.einsum("nij,nj->ni", H, rng.normal(size=(N, K)))


def halving(N=7, K=5, seed=0):
    x = np.random.default_rng(seed).normal(size=(N, K))
    return np.eye(K) / 2, np.broadcast_to(np.eye(K), (N, K, K)), x, (x, np.zeros(N))


def test_holds_on_random_tasks_and_the_power_is_sharper():
    P, H, d = random_systems()
    sigma = np.logspace(0, -1, 6)
    known = enclosed(P, H, d, 8)
    rate, power = (f(P, H, d, 8, sigma, known=known) for f in (certify, certify_power))
    assert rate.counts["holds"] == power.counts["holds"] == 1
    assert power.bound[0] < rate.bound[0] and 0 < rate.tightness[0] < power.tightness[0] < 1
    e = known.last - known.center
    assert rate.value[0] == pytest.approx(np.mean(np.sum(e * e * sigma, axis=1)), rel=1e-13)


@pytest.mark.parametrize("claim", [certify, certify_power])
def test_attained_by_a_scalar_contraction_and_its_rounding_is_needed(claim):
    """T = I/2 and Sigma = I: both sides are 4^-L E|z|^2."""
    rows = []
    for seed in range(60):
        P, H, d, dagger = halving(seed=seed)
        rows.append(claim(P, H, d, 20, dagger=dagger))
    assert all(c.counts["holds"] == 1 for c in rows)
    assert max(abs(c.tightness[0] - 1) for c in rows) < 1e-7
    assert sum(c.value[0] > c.bound[0] for c in rows) > 5


def test_attained_on_the_top_of_a_diagonal_metric_alone():
    sigma = np.array([4.0, 1.0, 1.0, 1.0, 1.0])
    P, H, d, _ = halving()
    top, low = d * (np.arange(5) == 0), d * (np.arange(5) == 1)
    at_top = certify(P, H, top, 6, sigma, (top, np.zeros(7)))
    below = certify(P, H, low, 6, sigma, (low, np.zeros(7)))
    assert at_top.tightness[0] == pytest.approx(1, abs=1e-9)
    assert below.tightness[0] == pytest.approx(0.25, abs=1e-9)


def test_a_false_factor_is_violated():
    P, H, d, dagger = halving()
    known = enclosed(P, H, d, 6, dagger)
    for power, verdict in ((7, "violated"), (6, "holds")):
        c = of_batch("", "", np.full(7, 0.5**power), known, None, "")
        assert c.verdict.tolist() == [verdict]


def test_a_radius_is_allowed_for():
    P, H, d, (x, _) = halving()
    off = 1e-2 * np.linalg.norm(x, axis=1)
    c = certify(P, H, d, 20, dagger=(1.01 * x, off * (1 + 1e-12)))
    assert c.counts["holds"] == 1 and c.value[0] > c.bound[0]


def test_losses_are_within_their_slack_of_the_exact_ones():
    """No step is taken and x_dagger is exact: only e' S e is rounded, where its terms cancel."""
    rng = np.random.default_rng(4)
    x, K = rng.normal(size=(200, 6)), 6
    A = rng.normal(size=(K, 1))
    S = A @ A.T
    x[:, 0] = -(x[:, 1:] @ A[1:, 0]) / A[0, 0]
    known = enclosed(np.eye(K), np.broadcast_to(np.eye(K), (200, K, K)), x, 0, (x, np.zeros(200)))
    value, slack = losses(known, S, 0.0)
    for n in range(200):
        true = exactly(x[n]) @ exactly(S) @ exactly(x[n])
        assert abs(Fraction(value[n]) - true) <= Fraction(slack[n])


def test_one_silent_task_silences_the_batch_and_says_so():
    P, H, d = random_systems(30)
    H[3, 0, 0], H[4] = np.nan, 0.0
    for c in (certify(P, H, d, 4), certify_power(P, H, d, 4)):
        assert c.verdict.tolist() == ["silent"] and c.reason == ("2 of 30 tasks are silent",)


@pytest.mark.parametrize("claim", [certify, certify_power])
@pytest.mark.parametrize("size, verdict", [(1e154, "holds"), (1.3e154, "silent")])
def test_a_sum_that_overflows_is_silent_and_says_so(claim, size, verdict):
    """Three finite losses of 8.5e307: their sum is no float."""
    proof = claim(np.zeros((1, 1)), np.ones((3, 1, 1)), np.full((3, 1), size), 0, np.array([0.5]))
    assert proof.verdict.tolist() == [verdict]
    assert proof.reason == ("" if verdict == "holds" else decoder_bound.OVERFLOWS,)


def test_bad_metrics_are_refused():
    P, H, d = random_systems(3)
    for bad in (np.eye(5), -np.eye(6), np.full(6, np.inf)):
        with pytest.raises(ValueError, match="^sigma"):
            certify(P, H, d, 4, bad)
    assert decoder_bound.mean(np.array([1.0, np.nan])) != decoder_bound.mean(np.array([1.0]))
