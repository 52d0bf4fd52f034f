"""The energy bound on answers of every kind, where it is sharp, and where it is false."""

from fractions import Fraction

import numpy as np
import pytest

from twofold import decoder
from twofold.rigor.pencil import pencil_bounds
from twofold.theorems import energy_bound

exactly = np.vectorize(Fraction, otypes=[object])


def batch(N=2000, K=6, seed=0, condition=200.0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(N, K, K)))[0]
    H = (Q * np.geomspace(1, 1 / condition, K)) @ Q.swapaxes(1, 2)
    P = np.diag(rng.uniform(0.5, 2, K))
    return P, 0.5 * (H + H.swapaxes(1, 2)), rng.normal(size=(N, K))


@pytest.mark.parametrize("depth", [0, 3, 6, 12])
def test_holds_for_conjugate_gradients_at_any_depth(depth):
    P, H, d = batch()
    x = decoder.solve(H, d, P=P, method="pcg", depth=depth)[-1]
    assert energy_bound.certify(P, H, d, x).counts["holds"] == 2000


def test_holds_for_answers_from_nowhere_and_from_float32():
    P, H, d = batch()
    rng = np.random.default_rng(1)
    for x in (rng.normal(size=d.shape), np.zeros_like(d), 1e9 * d):
        assert energy_bound.certify(P, H, d, x).counts["holds"] == 2000
    solved = np.linalg.solve(H.astype("f4"), d.astype("f4")[..., None])[..., 0]
    c = energy_bound.certify(P, H, d, solved)
    assert c.counts["holds"] == 2000 and c.about == "computed"


def test_sharp_along_the_least_eigenvector():
    H = np.diag([4.0, 2.0, 0.5])[None]
    c = energy_bound.certify(np.eye(3), H, np.zeros((1, 3)), np.array([[0.0, 0.0, 3.0]]))
    assert c.counts["holds"] == 1 and c.value[0] / c.bound[0] > 1 - 1e-10


def test_false_with_a_larger_m_or_without_p(monkeypatch):
    P, H, d = batch(200)
    low, high = pencil_bounds(P, H)
    x = decoder.solve(H, d, P=P, method="pcg", depth=4)[-1]
    assert energy_bound.certify(P, H, d, x, least=high).counts["violated"] > 100
    true = energy_bound.residual_energy
    monkeypatch.setattr(energy_bound, "residual_energy", lambda P, *rest: true(P @ P, *rest))
    assert energy_bound.certify(P / 9, H, d, x, least=low / 9).counts["violated"] > 20


def test_the_residuals_energy_is_an_upper_bound():
    P, H, d = batch(40, 3)
    x = np.linalg.solve(H, d[..., None])[..., 0]
    found = energy_bound.residual_energy(P, H, d, x)
    for n in range(40):
        r = exactly(d[n]) - exactly(H[n]) @ exactly(x[n])
        true = r @ exactly(P) @ r
        assert true <= Fraction(found[n]) and found[n] < 1e-26


def test_bad_rows_are_silent_alone():
    P, H, d = batch(8)
    x = np.ones_like(d)
    H[1], x[2, 0], d[3, 0], H[4, 0, 0] = -H[1], np.nan, np.inf, np.nan
    c = energy_bound.certify(P, H, d, x)
    assert np.flatnonzero(c.verdict == "silent").tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="^x"):
        energy_bound.certify(P, H, d, x[:, :3])
    assert energy_bound.certify(-P, H, d, x).counts["silent"] == 8
