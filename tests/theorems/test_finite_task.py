"""The finite-task law: exact moments of the excess, and where it is only an estimate."""

import numpy as np
import pytest

from twofold.theorems import finite_task


def gaussian_excesses(K, p, N, count, seed, S=None, C=None):
    """Excess risks of P_N on ``count`` training sets: d ~ N(0, C), r ~ N(0, S) independent."""
    rng = np.random.default_rng(seed)
    S, C = np.eye(K) if S is None else S, np.eye(p) if C is None else C
    P_star = rng.standard_normal((K, p))
    out = np.empty(count)
    for i in range(count):
        d = rng.standard_normal((N, p)) @ np.linalg.cholesky(C).T
        z = d @ P_star.T + rng.standard_normal((N, K)) @ np.linalg.cholesky(S).T
        delta = finite_task.least_squares(d, z) - P_star
        out[i] = np.trace(delta @ C @ delta.T) / K
    return out


@pytest.mark.parametrize(("K", "p", "N"), [(3, 5, 30), (4, 1, 12), (1, 6, 14), (5, 5, 60)])
def test_mean_and_spread_are_exact(K, p, N):
    rng = np.random.default_rng(N)
    S, C = np.diag(rng.uniform(0.1, 2, K)), np.diag(rng.uniform(0.1, 2, p))
    x = gaussian_excesses(K, p, N, 4000, seed=N, S=S, C=C)
    mean = finite_task.excess(float(np.trace(S)) / K, p, N)
    sd = finite_task.spread(S, p, N)
    assert abs(x.mean() - mean) < 4 * sd / np.sqrt(4000)
    error = np.std((x - x.mean()) ** 2) / np.sqrt(4000)
    assert abs(x.var() - sd**2) < 5 * error
    naive = float(np.trace(S)) / K * p / N
    assert abs(x.mean() - naive) > 4 * sd / np.sqrt(4000)  # K/N is refuted


def test_the_spread_is_exact_on_one_regressor():
    """p = 1: W is chi^2_N, so E W^-2 = 1/((N-2)(N-4)) and E W^-1 = 1/(N-2)."""
    S, N, K = np.diag([1.0, 3.0]), 9, 2
    first, second = 1 / (N - 2), 1 / ((N - 2) * (N - 4))
    total = (2 * 10.0 * second + 16.0 * (second - first**2)) / K**2
    assert finite_task.spread(S, 1, N) == pytest.approx(np.sqrt(total), rel=1e-12)


def test_the_certificate_covers_and_refuses_a_false_law():
    delta, missed = 0.05, 0
    x = gaussian_excesses(3, 4, 20, 2000, seed=5)
    for group in x.reshape(100, 20):
        record = finite_task.certify(group, S=np.eye(3), dim=4, count=20, delta=delta)
        assert record.kind == "confidence" and record.applies[0]
        missed += record.counts["violated"]
    assert missed <= 5
    false = finite_task.certify(x, S=0.7 * np.eye(3), dim=4, count=20, delta=1e-3)
    assert false.counts["violated"] == 1
    ratio = finite_task.certify(x, S=np.eye(3), dim=4, count=20, delta=0.05).tightness[0]
    assert 0.85 < ratio < 1


@pytest.mark.parametrize(
    ("count", "mean", "spread"),
    [(6, False, False), (7, True, False), (8, True, False), (9, True, True)],
)
def test_moments_exist_only_from_their_own_sample_size_on(count, mean, spread):
    assert np.isfinite(finite_task.excess(1.0, 5, count)) == mean
    assert np.isfinite(finite_task.spread(np.eye(2), 5, count)) == spread
    record = finite_task.certify([0.1], S=np.eye(2), dim=5, count=count, delta=0.05)
    assert (record.verdict[0] == "silent") == (not spread)


def test_least_squares_is_the_pseudoinverse_formula():
    rng = np.random.default_rng(0)
    for N, p, K in ((20, 5, 3), (4, 7, 2)):
        d, z = rng.standard_normal((N, p)), rng.standard_normal((N, K))
        D, Z = d.T, z.T
        expected = Z @ D.T @ np.linalg.pinv(D @ D.T)
        assert np.allclose(finite_task.least_squares(d, z), expected, rtol=1e-9, atol=1e-12)
    for bad in ((np.zeros((0, 2)), np.zeros((0, 2))), (np.ones((3, 2)), np.ones((2, 2)))):
        with pytest.raises(ValueError, match="d, z"):
            finite_task.least_squares(*bad)
    with pytest.raises(ValueError, match="^z"):
        finite_task.least_squares(np.ones((2, 2)), [[1.0, np.nan], [0.0, 1.0]])


def test_the_factor_is_one_under_independence_and_leads_the_law_elsewhere():
    rng = np.random.default_rng(1)
    d = rng.standard_normal((200_000, 3))
    value, error = finite_task.factor(rng.standard_normal((200_000, 2)), d)
    assert abs(value - 1) < 4 * error < 0.05
    # |r| grows with |d|: E[|r|^2 |d|^2] / (E|r|^2 p) = E|d|^4 / (p E|d|^2) = (p + 2) / p
    r = rng.standard_normal((200_000, 2)) * np.linalg.norm(d, axis=1)[:, None]
    value, error = finite_task.factor(r, d)
    assert abs(value - 5 / 3) < 4 * error < 0.05
    N, count, total = 400, 400, 0.0
    for _ in range(count):
        d = rng.standard_normal((N, 3))
        r = rng.standard_normal((N, 2)) * np.linalg.norm(d, axis=1)[:, None]
        total += np.sum(finite_task.least_squares(d, r) ** 2) / 2
    risk = 3.0
    assert total / count / (risk * 3 / N) == pytest.approx(5 / 3, rel=0.08)


def test_the_estimate_proves_nothing():
    record = finite_task.estimate([0.1, 0.05], risk=1.0, d_eff=3.0, counts=[30, 60])
    assert record.kind == "estimate" and np.allclose(record.tightness, 1.0)
    with pytest.raises(ValueError):
        finite_task.estimate([-0.1], risk=1.0, d_eff=3.0, counts=[30])


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="dim"):
        finite_task.excess(1.0, 0, 5)
    with pytest.raises(ValueError, match="losses"):
        finite_task.certify([np.nan], S=np.eye(2), dim=2, count=30, delta=0.05)
    with pytest.raises(ValueError, match="delta"):
        finite_task.certify([0.1], S=np.eye(2), dim=2, count=30, delta=0.0)
