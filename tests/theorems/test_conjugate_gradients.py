"""The envelope of PCG: it holds at moderate condition, and rounding can refute it."""

import numpy as np

from twofold.theorems import conjugate_gradients


def batch(N, K, condition, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(N, K, K)))[0]
    H = (Q * np.geomspace(1, 1 / condition, K)) @ Q.swapaxes(1, 2)
    return np.eye(K), 0.5 * (H + H.swapaxes(1, 2)), rng.normal(size=(N, K))


def test_holds_on_random_systems():
    for depth in (0, 1, 4, 8):
        c = conjugate_gradients.certify(*batch(2000, 8, 50.0), depth)
        assert c.counts["holds"] == 2000 and c.kind == "assumption" and c.premise


def test_never_above_the_chebyshev_envelope_and_attained_after_one_step():
    H = np.diag([1.0, 9.0])[None]
    d = np.array([[1.0, 1.0]])
    c = conjugate_gradients.certify(np.eye(2), H, d, 1)
    assert c.counts["holds"] == 1 and 1 - 1e-9 < c.value[0] / c.bound[0] <= 1.0


def test_a_false_rate_is_violated(monkeypatch):
    true = conjugate_gradients.factor
    monkeypatch.setattr(conjugate_gradients, "factor", lambda *a: 0.05 * true(*a))
    assert conjugate_gradients.certify(*batch(100, 8, 50.0), 3).counts["violated"] > 50


def test_bad_rows_are_silent():
    P, H, d = batch(4, 5, 10.0)
    H[1] = np.nan
    H[2] = -H[2]
    assert conjugate_gradients.certify(P, H, d, 3).counts == {
        "holds": 2, "violated": 0, "silent": 2}  # fmt: skip
