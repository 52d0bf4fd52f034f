"""The power bound: random batches, its equality case, and how it compares with the rate."""

import numpy as np

from twofold.decoder.enclosure import enclosed
from twofold.theorems import power, richardson


def random_systems(N=2000, K=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 6 * K, K)) * np.sqrt(np.logspace(0, -1, K))
    H = np.matmul(X.swapaxes(1, 2), X) / (6 * K)
    P = np.diag(1 / np.logspace(0, -1, K)) * 0.6 + 0.05 * rng.normal(size=(K, K))
    return P, H, np.einsum("nij,nj->ni", H, rng.normal(size=(N, K)))


def test_holds_on_random_tasks_and_never_above_the_rate():
    P, H, d = random_systems()
    known = enclosed(P, H, d, 8)
    c, rate = power.certify(P, H, d, 8, known=known), richardson.certify(P, H, d, 8, known=known)
    assert c.counts["holds"] == rate.counts["holds"] == 2000
    assert (c.bound <= rate.bound * (1 + 1e-12)).all()
    assert np.median(c.tightness) > 2 * np.median(rate.tightness)


def test_attained_on_the_top_singular_vector():
    """H = I, P = I - T: x_dagger = d on the top right singular vector of a non-normal T^4."""
    rng = np.random.default_rng(1)
    T = np.round(rng.normal(size=(500, 4, 4)) * 2**20) / 2**21
    H = np.broadcast_to(np.eye(4), T.shape)
    top = np.linalg.svd(np.linalg.matrix_power(T, 4))[2][:, 0]
    c = power.certify(np.eye(4) - T, H, top, 4, (top, np.zeros(500)))
    assert c.counts["holds"] == 500
    assert np.abs(c.tightness - 1).max() < 1e-9
    other = power.certify(np.eye(4) - T, H, top, 4, (top, np.zeros(500)), enclosed(
        np.eye(4) - T, H, top, 3, (top, np.zeros(500))))  # fmt: skip
    assert other.counts["violated"] > 100


def test_rounding_is_needed_where_the_bound_is_attained():
    """T = I/2 exactly."""
    x = np.random.default_rng(2).normal(size=(2000, 5))
    P, H = np.eye(5) / 2, np.broadcast_to(np.eye(5), (2000, 5, 5))
    c = power.certify(P, H, x, 20, (x, np.zeros(2000)))
    assert c.counts["holds"] == 2000 and (c.value > c.bound).mean() > 0.02
    assert np.abs(c.tightness - 1).max() < 1e-8


def test_broken_hypotheses_silence_their_row_alone():
    P, H, d = random_systems(10)
    H[1], H[2, 0, 0] = 0.0, np.nan
    c = power.certify(P, H, d, 5)
    assert np.flatnonzero(c.verdict == "silent").tolist() == [1, 2] and c.counts["holds"] == 8
