"""The trace risk against exact rational arithmetic, against sampling, and between its routes."""

from fractions import Fraction

import numpy as np
import pytest

from twofold.decoder import richardson
from twofold.theorems import trace_risk

exactly = np.vectorize(Fraction, otypes=[object])


def random_systems(N=2000, K=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 5 * K, K))
    H = np.matmul(X.swapaxes(1, 2), X) / (5 * K)
    return 0.7 * np.eye(K) + 0.1 * rng.normal(size=(K, K)), H


def prior(K, seed=1):
    A = np.random.default_rng(seed).normal(size=(K, K))
    return (A @ A.T + (A @ A.T).T) / 2


@pytest.mark.parametrize("depth", [0, 1, 2, 7, 8])
def test_both_routes_agree_on_random_systems(depth):
    P, H = random_systems()
    c = trace_risk.certify(P, H, depth, prior(6))
    assert c.counts["holds"] == 2000
    assert (c.bound <= 1e-11 * np.trace(prior(6)) / 6).all()


@pytest.mark.parametrize("route", [trace_risk.risk, trace_risk.risk_by_powers])
@pytest.mark.parametrize("depth", [1, 3, 4])
def test_each_route_is_within_its_slack_of_the_exact_trace(route, depth):
    """P is not symmetric and S not a multiple of I: transposes and orders show."""
    rng = np.random.default_rng(depth)
    P, H = rng.normal(size=(12, 3, 3)), rng.normal(size=(12, 3, 3))
    S = prior(3)
    value, slack = route(P, H, depth, S)
    off = []
    for n in range(12):
        M = T = exactly(np.eye(3)) - exactly(P[n]) @ exactly(H[n])
        for _ in range(depth - 1):
            M = T @ M
        off.append(abs(Fraction(value[n]) - np.trace(M @ exactly(S) @ M.T) / 3))
    assert (np.array(off) <= exactly(slack)).all() and max(off) > 0
    assert (slack <= 1e-11 * value).all()


@pytest.mark.parametrize("route", [trace_risk.risk, trace_risk.risk_by_powers])
def test_what_forming_t_loses_is_in_the_slack(route):
    """P = fl(1/h): T is a rounding error, and the formed T often zero."""
    h = np.random.default_rng(3).uniform(1, 2, size=(500, 1, 1))
    value, slack = route(1 / h, h, 1, np.array([1.0]))
    true = (1 - exactly((1 / h)[:, 0, 0]) * exactly(h[:, 0, 0])) ** 2
    assert (np.abs(exactly(value) - true) <= exactly(slack)).all()


def test_equality_case():
    """T = I/2: the risk is 4^-L tr S / K."""
    S = np.array([3.0, 1.0, 0.5])
    value, _ = trace_risk.risk(np.eye(3) / 2, np.eye(3)[None], 5, S)
    assert value[0] == pytest.approx(4.0**-5 * 1.5, rel=1e-14)
    assert trace_risk.risk(np.eye(3) / 2, np.eye(3)[None], 5)[0][0] == 4.0**-5


def test_decoder_has_this_risk_under_the_prior():
    P, H = random_systems(1)
    S, rng = prior(6), np.random.default_rng(5)
    x = rng.normal(size=(20_000, 6)) @ np.linalg.cholesky(S).T
    many = np.broadcast_to(H, (20_000, 6, 6))
    losses = richardson.error_norms(P, many, x @ H[0].T, 3, x)[:, -1] ** 2 / 6
    value = trace_risk.risk(P, H, 3, S)[0][0]
    assert abs(losses.mean() - value) < 4 * losses.std() / np.sqrt(20_000)


def test_a_false_identity_is_violated(monkeypatch):
    P, H = random_systems(50)
    true = trace_risk.risk_by_powers
    monkeypatch.setattr(
        trace_risk, "risk_by_powers", lambda P, H, depth, S: true(P, H, depth - 1, S)
    )
    assert trace_risk.certify(P, H, 4).counts["violated"] == 50


def test_bad_rows_are_silent_alone():
    P, H = random_systems(9)
    H[2, 0, 0], H[3], H[4] = np.nan, np.inf, 1e200
    c = trace_risk.certify(P, H, 4)
    assert np.flatnonzero(c.verdict == "silent").tolist() == [2, 3, 4]
    assert c.counts["holds"] == 6 and c.reason[2]


@pytest.mark.parametrize(
    "bad", [np.array([1.0, -1, 1, 1, 1, 1]), np.eye(5), np.full(6, np.nan), -np.eye(6), np.ones(3)]
)
def test_what_is_no_covariance_is_refused(bad):
    P, H = random_systems(2)
    with pytest.raises(ValueError, match="^prior"):
        trace_risk.certify(P, H, 4, bad)


@pytest.mark.parametrize("off", [0.0, 1e-6, 1e3])
def test_trace_of_any_matrix_within_the_error(off):
    """Rounding alone, a small error and one larger than M: a term for each."""
    rng = np.random.default_rng(6)
    M, S = rng.normal(size=(100, 4, 4)), prior(4)
    S[0, 1:] = S[1:, 0] = 0.0
    far = M * (1 + off)
    error = np.array([float(np.sum((exactly(far[n] - M[n])) ** 2)) ** 0.5 for n in range(100)])
    value, slack = trace_risk.trace(far, (error + 1e-15 * (off > 0)) * (1 + 1e-12), S)
    for n in range(100):
        true = np.trace(exactly(M[n]) @ exactly(S) @ exactly(M[n]).T) / 4
        assert abs(Fraction(value[n]) - true) <= Fraction(slack[n])
