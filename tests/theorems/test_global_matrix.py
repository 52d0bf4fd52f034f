"""Which update maps are one matrix: refuted with a proof, or decided by the form."""

import numpy as np
import pytest

from twofold.decoder.attention import Attention
from twofold.measures.projection import explained
from twofold.theorems import global_matrix

K = 4


def model(kind="softmax", seed=0, sees=1.0):
    rng = np.random.default_rng(seed)
    q, k = rng.normal(size=(2, 2, 2, K + 1))
    v, o = rng.normal(size=(2, 2, K))
    return Attention(q, k, v, o, np.ones(K), kind).at_amplitude(sees)


def residuals(n=2000, seed=1):
    return np.random.default_rng(seed).normal(size=(n, K))


@pytest.mark.parametrize("kind", ["softmax", "linear"])
def test_scores_that_see_the_residual_are_refuted_everywhere(kind):
    P, proof = global_matrix.decide(model(kind), residuals())
    assert P is None and proof.kind == "bound" and proof.side == "lower"
    assert proof.counts == {"holds": 2000, "violated": 0, "silent": 0}
    assert np.all(proof.bound > proof.rounding) and np.max(proof.rounding) < 1e-9


def test_no_other_matrix_does_better_than_the_bound():
    r, rng = residuals(20), np.random.default_rng(2)
    for _ in range(100):
        proof = global_matrix.decide(model(), r, -r, rng.normal(size=(K, K)))[1]
        assert proof.counts["holds"] == 20


def test_equality_case():
    """The matrix halfway between two Jacobians misses both alike."""
    r = residuals(2)
    J = model().jacobian(r)
    proof = global_matrix.decide(model(), r[:1], r[1:], (J[0] + J[1]) / 2)[1]
    assert proof.tightness[0] == pytest.approx(1.0, abs=1e-12) and proof.verdict[0] == "holds"


@pytest.mark.parametrize("kind", ["softmax", "linear"])
def test_scores_that_do_not_are_one_matrix(kind):
    P, proof = global_matrix.decide(model(kind, sees=0.0), residuals())
    r = residuals()
    assert proof.counts["silent"] == 2000 and set(proof.reason) == {global_matrix.ALIKE}
    np.testing.assert_allclose(r @ P.T, model(kind, sees=0.0).move(r), atol=1e-12)


def test_a_difference_below_rounding_refutes_nothing():
    P, proof = global_matrix.decide(model(sees=1e-17), residuals(50))
    assert P is None and proof.counts["silent"] == 50


def test_the_same_residual_twice_refutes_nothing():
    r = residuals(40)
    assert global_matrix.decide(model(), r, r)[1].counts["silent"] == 40


def test_a_refuted_map_is_explained_by_one_matrix_in_part_only():
    r = residuals()
    assert explained(model().move(r), r) < 0.999
    assert explained(model(sees=0.0).move(r), r) == pytest.approx(1.0, abs=1e-12)


def test_a_bound_without_the_half_is_violated(monkeypatch):
    r = residuals(2)
    J, true = model().jacobian(r), global_matrix._norm
    half = (J[0] + J[1]) / 2
    gaps = iter((1.0, 1.0, 2.0))
    monkeypatch.setattr(global_matrix, "_norm", lambda x: (next(gaps) * true(x)[0], true(x)[1]))
    assert global_matrix.decide(model(), r[:1], r[1:], half)[1].verdict[0] == "violated"


def test_bad_input():
    r = residuals(5)
    r[2, 1] = np.nan
    proof = global_matrix.decide(model(), r)[1]
    assert proof.verdict[2] == "silent" and proof.counts["holds"] == 4
    for bad in (r[:, :2], r[0]):
        with pytest.raises(ValueError, match="^r"):
            global_matrix.decide(model(), bad)
    with pytest.raises(ValueError, match="^other"):
        global_matrix.decide(model(), r, r[:2])
    with pytest.raises(ValueError, match="^P"):
        global_matrix.decide(model(), r, P=np.eye(2))
