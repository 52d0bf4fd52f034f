import flint
import numpy as np
import pytest

from twofold.theorems import tracking
from twofold.training import triangular

N, S, M, R = 2000, 6, 2, 3


def runs(seed, count=N, steps=S, r=R, size=0.01):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((count, steps, r, 2 * r))
    C = A @ np.swapaxes(A, 2, 3) / (2 * r)
    return rng.standard_normal((count, M, r)), C, size * rng.standard_normal((count, steps, M, r))


@pytest.mark.parametrize("eta", [1e-3, 0.3, 5.0])
def test_holds_on_random_runs(eta):
    E0, C, D = runs(0)
    proof = tracking.certify(E0, C, D, eta=eta)
    assert proof.counts == {"holds": N, "violated": 0, "silent": 0}
    size = np.linalg.norm(E0, axis=(1, 2)) * np.prod(
        np.maximum(1, np.linalg.norm(np.eye(R) - eta * C, 2, (2, 3))), axis=1
    )
    assert np.all(proof.rounding <= 1e-11 * size) and np.any(proof.value > 0)


def test_long_contracting_runs_keep_a_small_rounding():
    proof = tracking.certify(*runs(1, count=20, steps=500, r=8), eta=0.2)
    assert proof.counts["holds"] == 20 and np.all(proof.rounding < 1e-12)


def test_exact_on_integers():
    E0, C, D = (np.round(4 * x) for x in runs(2, count=50, steps=3, size=1.0))
    proof = tracking.certify(E0, C, D, eta=1.0)
    assert np.all(proof.value == 0) and np.all(proof.verdict == "holds")


def test_both_errors_are_bounded_in_ball_arithmetic():
    flint.ctx.prec = 400

    def balls(x):
        return flint.arb_mat([[flint.arb(float(v)) for v in row] for row in x])

    def away(true, computed):
        gap = true - balls(computed)
        return float(sum((gap[i, j] ** 2 for i in range(M) for j in range(R)), flint.arb(0)).sqrt())

    E0, C, D = runs(3, count=20)
    X = triangular.contractions(C, 0.7)
    E, Pi = triangular.recursion(E0, X, D), triangular.suffix_products(X)
    mu = np.linalg.norm(X, 2, (2, 3)) * (1 + 1e-14)
    first = tracking.recursion_error(E, X, mu)
    second = tracking.unrolled_error(E0, D, X, Pi, mu)
    total = triangular.unrolled(E0, D, Pi)
    for n in range(20):
        true = balls(E0[n])
        for t in range(S):
            true = true * balls(X[n, t]) + balls(D[n, t])
        assert away(true, E[n, -1]) <= first[n]
        assert away(true, total[n]) <= second[n]


def test_the_wrong_order_of_the_products_is_violated(monkeypatch):
    """M_{s-1} ... M_tau instead of M_tau ... M_{s-1}: true only if the M_t commute."""
    right = triangular.suffix_products

    def reversed_order(X):
        return np.swapaxes(right(np.swapaxes(X, 2, 3)), 2, 3)

    monkeypatch.setattr(triangular, "suffix_products", reversed_order)
    assert tracking.certify(*runs(4), eta=0.3).counts["violated"] == N
    E0, C, D = runs(5)
    diagonal = C * np.eye(R)
    assert tracking.certify(E0, diagonal, D, eta=0.3).counts["holds"] == N


def test_a_forgotten_drift_is_violated(monkeypatch):
    right = triangular.unrolled

    def without_last(E0, D, Pi):
        return right(E0, np.concatenate([D[:, :-1], 0 * D[:, -1:]], axis=1), Pi)

    monkeypatch.setattr(triangular, "unrolled", without_last)
    assert tracking.certify(*runs(6, size=1e-9), eta=0.3).counts["violated"] == N


def test_bad_rows_fall_silent_alone():
    E0, C, D = runs(7, count=4)
    C[0, 0, 0, 0], D[1, 0, 0, 0], E0[2] = np.nan, np.inf, 1e300
    proof = tracking.certify(E0, C, D, eta=0.3)
    assert list(proof.verdict) == ["silent"] * 3 + ["holds"]
    assert proof.reason[0] == tracking.SCALED
    blown = tracking.certify(E0[3:], C[3:], D[3:], eta=1e60)
    assert blown.verdict[0] == "silent"


@pytest.mark.parametrize(
    ("E0", "C", "D", "message"),
    [
        (np.zeros((0, 2, 2)), np.zeros((0, 1, 2, 2)), np.zeros((0, 1, 2, 2)), "E0, C: expected at"),
        (np.zeros((1, 2, 2)), np.zeros((1, 0, 2, 2)), np.zeros((1, 0, 2, 2)), "E0, C: expected at"),
        (np.zeros((1, 2, 2)), np.zeros((1, 3, 2, 3)), np.zeros((1, 3, 2, 2)), "C: expected shape"),
        (np.zeros((1, 2, 2)), np.zeros((1, 3, 2, 2)), np.zeros((1, 2, 2, 2)), "D: expected shape"),
    ],
)
def test_bad_input(E0, C, D, message):
    with pytest.raises(ValueError, match=message):
        tracking.certify(E0, C, D, eta=0.3)
