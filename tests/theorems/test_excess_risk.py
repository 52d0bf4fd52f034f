import flint
import numpy as np
import pytest

from twofold.theorems import excess_risk
from twofold.training import traces

N, K = 2000, 5


def tasks(seed, count=N, condition=100.0, m=K):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((count, K, K)))[0]
    C = (Q * np.geomspace(1, 1 / condition, K)) @ np.swapaxes(Q, 1, 2)
    C = (C + np.swapaxes(C, 1, 2)) / 2
    B = rng.standard_normal((count, m, K))
    P_star = np.swapaxes(np.linalg.solve(C, np.swapaxes(B, 1, 2)), 1, 2)
    return P_star + rng.standard_normal((count, m, K)), P_star, C, B


@pytest.mark.parametrize("condition", [1.0, 100.0, 1e6])
def test_holds_on_random_tasks_with_little_rounding(condition):
    P, P_star, C, B = tasks(0, condition=condition)
    proof = excess_risk.certify(P, P_star, C, B)
    assert proof.counts == {"holds": N, "violated": 0, "silent": 0}
    scale = np.sum(P @ C * P, axis=(1, 2)) / K
    assert np.all(proof.rounding <= 1e-9 * scale)


def test_rounding_is_needed():
    proof = excess_risk.certify(*tasks(1))
    assert np.mean(np.abs(proof.value) > 0) > 0.5


def test_attained_exactly_on_small_integers():
    C, P_star = np.diag([1.0, 2.0, 4.0]), np.arange(9.0).reshape(3, 3)
    proof = excess_risk.certify(np.ones((1, 3, 3)), P_star, C, P_star @ C)
    assert proof.value[0] == 0 and proof.verdict[0] == "holds"


def test_the_gap_stays_within_its_rounding_in_ball_arithmetic():
    flint.ctx.prec = 300

    def balls(x):
        return flint.arb_mat([[flint.arb(float(v)) for v in row] for row in x])

    def trace(T, S):
        U = T * S.transpose()
        return sum((U[i, i] for i in range(U.nrows())), flint.arb(0))

    for P, S, C, B in zip(*tasks(2, count=20, condition=1e6), strict=True):
        left, a = excess_risk.difference(P[None], S[None], C[None], B[None])
        right, b = excess_risk.excess(P[None], S[None], C[None])
        P_, S_, C_, B_ = (balls(x) for x in (P, S, C, B))
        D = P_ - S_
        true_right = trace(D * C_, D)
        true_left = trace(P_ * C_, P_) - trace(S_ * C_, S_) - 2 * trace(D, B_)
        assert abs(float(true_left - float(left[0]))) <= a[0]
        assert abs(float(true_right - float(right[0]))) <= b[0]


def test_a_false_statement_is_violated(monkeypatch):
    right = excess_risk.excess
    monkeypatch.setattr(excess_risk, "excess", lambda *x: (right(*x)[0] * (1 + 1e-9), right(*x)[1]))
    assert excess_risk.certify(*tasks(3, condition=1.0)).counts["violated"] == N


def test_without_the_oracle_it_is_silent():
    P, P_star, C, B = tasks(4, count=4)
    P_star = P_star.copy()
    P_star[1] += 1e-9
    proof = excess_risk.certify(P, P_star, C, B)
    assert list(proof.verdict) == ["holds", "silent", "holds", "holds"]
    assert proof.reason[1] == excess_risk.NO_ORACLE


def test_the_rounding_of_the_oracle_itself_is_paid_for():
    """P* off by 12 K u, all entries positive so that nothing cancels: more than the sums cost."""
    rng = np.random.default_rng(8)
    A = rng.uniform(0.5, 1, (50, K, K))
    C, true = A @ np.swapaxes(A, 1, 2), rng.uniform(0.5, 1, (50, K, K))
    B, P_star = true @ C, true * (1 + 12 * K * 2.0**-53)
    proof = excess_risk.certify(P_star * 1.001, P_star, C, B)
    assert proof.counts["holds"] == 50
    sums = excess_risk.difference(P_star * 1.001, P_star, C, B)[1]
    sums = sums + excess_risk.excess(P_star * 1.001, P_star, C)[1]
    assert np.all(np.abs(proof.value) > sums / K)


def test_bad_rows_fall_silent_alone():
    P, P_star, C, B = tasks(5, count=4)
    P, B = P.copy(), B.copy()
    P[0, 0, 0], B[2, 0, 0] = np.nan, 1e300
    assert list(excess_risk.certify(P, P_star, C, B).verdict) == ["silent", "holds"] * 2


def test_rectangular_and_shared():
    P, P_star, C, B = tasks(6, count=3, m=2)
    proof = excess_risk.certify(np.stack([P[0], P[1]]), P_star[0], C[0], B[0])
    assert proof.counts["holds"] == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"P": np.zeros((0, 2, 2))}, "P: expected at least one"),
        ({"P": np.zeros((2, 2))}, "P: expected 3 axes"),
        ({"C": np.eye(3)}, "C: expected shape"),
        ({"C": np.array([[1.0, 0.5], [0.0, 1.0]])}, "C: matrix 0 is not symmetric"),
        ({"B": np.eye(2) * 1j}, "B: expected real"),
    ],
)
def test_bad_input(change, message):
    good = {"P": np.zeros((1, 2, 2)), "P_star": np.eye(2), "C": np.eye(2), "B": np.eye(2)}
    with pytest.raises(ValueError, match=message):
        excess_risk.certify(**(good | change))


def test_residual_is_an_upper_bound():
    P, P_star, C, B = tasks(7, count=50)
    assert np.all(traces.residual(P_star, C, B) >= np.abs(P_star @ C - B))
