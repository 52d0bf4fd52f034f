"""Factor balancing: exact, conserved in the limit, and refuted when the second order is dropped."""

from fractions import Fraction

import numpy as np
import pytest

from twofold.theorems import balance

exactly = np.vectorize(Fraction, otypes=[object])


def drawn(N=2000, m=3, K=5, seed=0):
    rng = np.random.default_rng(seed)
    return *rng.normal(size=(2, N, m, K)), rng.normal(size=(N, K, K))


@pytest.mark.parametrize("eta", [1e-3, 0.1, 3.0, -0.5])
def test_holds_on_two_thousand_factors(eta):
    proof = balance.certify(*drawn(), eta)
    assert proof.counts == {"holds": 2000, "violated": 0, "silent": 0}
    size = np.sum(drawn()[0] ** 2, axis=(1, 2)) * (1 + abs(eta)) ** 2
    assert np.all(proof.rounding < 1e-10 * size) and proof.value.max() > 0


def test_it_is_an_identity_in_rationals():
    q, k, G = (exactly(x[0]) for x in drawn(1))
    eta = Fraction(1, 3)
    one, two = q - eta * k @ G.T, k - eta * q @ G
    moved = one @ one.T - two @ two.T - q @ q.T + k @ k.T
    assert np.all(moved == eta**2 * (k @ G.T @ G @ k.T - q @ G @ G.T @ q.T))


def test_equality_case():
    """W_Q = W_K and symmetric G: balanced for ever."""
    q, _, G = drawn(50)
    G = (G + G.swapaxes(1, 2)) / 2
    one = q - 0.1 * q @ G
    proof = balance.certify(q, q, G, 0.1)
    assert np.all(proof.verdict == "holds")
    np.testing.assert_array_equal(one @ one.swapaxes(1, 2) - one @ one.swapaxes(1, 2), 0)


@pytest.mark.parametrize("factor", [0.0, 1 + 1e-6])
def test_another_second_order_is_violated(monkeypatch, factor):
    true = balance.second_order
    monkeypatch.setattr(
        balance, "second_order", lambda q, k, G, eta: balance.exact(factor * true(q, k, G, eta).mid)
    )
    assert balance.certify(*drawn(100), 0.1).counts["violated"] == 100


def test_a_step_with_the_wrong_transpose_is_violated():
    """The identity needs W_Q to move along W_K G', not W_K G."""
    q, k, G = drawn(100)
    wrong = q - 0.1 * k @ G
    right = k - 0.1 * q @ G
    moved = wrong @ wrong.swapaxes(1, 2) - right @ right.swapaxes(1, 2)
    moved -= q @ q.swapaxes(1, 2) - k @ k.swapaxes(1, 2)
    assert np.all(np.linalg.norm(moved, axis=(1, 2)) > 1e-2)


def test_bad_rows_are_silent_alone():
    q, k, G = drawn(9)
    q[2, 0, 0], k[3, 0, 0], G[4, 0, 0], q[5] = np.nan, np.inf, np.nan, 1e200
    proof = balance.certify(q, k, G, 0.1)
    assert np.flatnonzero(proof.verdict == "silent").tolist() == [2, 3, 4, 5]


def test_wrong_shapes_are_refused():
    q, k, G = drawn(4)
    for bad, name in (((q[0], k, G), "query"), ((q, k[:, :2], G), "key"), ((q, k, G[:3]), "G")):
        with pytest.raises(ValueError, match=f"^{name}"):
            balance.certify(*bad, 0.1)
    with pytest.raises(ValueError, match="^eta"):
        balance.certify(q, k, G, np.nan)
    with pytest.raises(ValueError, match="^query"):
        balance.certify(q[:0], k[:0], G[:0], 0.1)
