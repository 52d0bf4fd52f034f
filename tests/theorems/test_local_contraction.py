"""Local contraction of attention: on two thousand systems, attained, broken, and where it ends."""

import numpy as np
import pytest

from twofold.decoder import attention_bounds
from twofold.decoder.attention import Attention
from twofold.theorems import local_contraction, richardson

K = 4


def model(kind="softmax", seed=0, size=0.3, **rest):
    rng = np.random.default_rng(seed)
    q, k = size * rng.normal(size=(2, 2, 2, K + 1))
    v, o = 0.4 * rng.normal(size=(2, 2, K))
    return Attention(q, k, v, o, np.full(K, 0.9), kind, **{"depth": 5, **rest})


def systems(N=2000, seed=0, amplitude=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 20 * K, K))
    H = X.swapaxes(1, 2) @ X / (20 * K)
    return H, amplitude * (H @ rng.normal(size=(N, K, 1)))[..., 0]


@pytest.mark.parametrize("kind", ["softmax", "linear"])
def test_holds_on_two_thousand_systems(kind):
    H, d = systems()
    error, jacobian = local_contraction.certify(model(kind), H, d)
    assert error.counts["violated"] == 0 and error.counts["holds"] > 1950
    assert jacobian.counts == {"holds": 2000, "violated": 0, "silent": 0}
    scale = np.linalg.norm(d, axis=1)
    assert np.all(error.rounding < 1e-9 * scale) and np.all(jacobian.rounding < 1e-9)


def test_a_map_that_is_one_matrix_is_richardson():
    H, d = systems(300)
    blind = model().at_amplitude(0.0)
    ours = local_contraction.certify(blind, H, d)[0]
    theirs = richardson.certify(blind.global_matrix(), H, d, 5)
    np.testing.assert_allclose(ours.bound, theirs.bound, rtol=1e-9)
    np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-6, atol=1e-14)


def test_equality_case():
    """H = I and Delta = r / 2: the error halves at every step, as the bound says."""
    half = Attention(*np.zeros((2, 1, 1, K + 1)), *np.zeros((2, 1, K)), np.full(K, 0.5), depth=6)
    d = np.random.default_rng(1).normal(size=(9, K))
    error, jacobian = local_contraction.certify(half, np.tile(np.eye(K), (9, 1, 1)), d)
    assert set(error.verdict) == set(jacobian.verdict) == {"holds"}
    np.testing.assert_allclose(error.tightness, 1.0, rtol=1e-12)
    np.testing.assert_allclose(jacobian.value, 0.5, rtol=1e-12)


def test_far_away_it_is_silent_and_says_why():
    H, d = systems(200, amplitude=3.0)
    error, _ = local_contraction.certify(model(size=1.0), H, d)
    assert error.counts["violated"] == 0 and error.counts["silent"] == 200
    assert set(error.reason) == {local_contraction.TOO_FAR}


@pytest.mark.parametrize("kind", ["softmax", "linear"])
def test_without_the_variation_the_bound_is_false(kind, monkeypatch):
    """The nonlinear part pulls away from the solution: N(0) alone does not bound it."""
    monkeypatch.setattr(attention_bounds, "matrix_variation", lambda s, R: 0 * R)
    monkeypatch.setattr(attention_bounds, "jacobian_variation", lambda s, R: 0 * R)
    H, d = systems(500, amplitude=2.0)
    error, jacobian = local_contraction.certify(model(kind, size=1.0), H, d)
    assert error.counts["violated"] > 0 and jacobian.counts["violated"] > 0


def test_bad_rows_are_silent_alone():
    H, d = systems(9)
    H[2, 0, 0], H[3], d[4, 1], H[5] = np.nan, np.inf, np.nan, 0.0
    for proof in local_contraction.certify(model(), H, d):
        assert np.flatnonzero(proof.verdict == "silent").tolist() == [2, 3, 4, 5]
    assert local_contraction.certify(model(), H, d)[0].reason[5] == local_contraction.UNSOLVED


def test_wrong_shapes_are_refused():
    H, d = systems(3)
    for bad, name in (((H[:, :3, :3], d), "H"), ((H[0], d), "H"), ((H, d[:2]), "d")):
        with pytest.raises(ValueError, match=f"^{name}"):
            local_contraction.certify(model(), *bad)
