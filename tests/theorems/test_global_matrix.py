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
    assert P is None and proof.kind == "assumption" and proof.premise
    assert proof.counts == {"holds": 0, "violated": 2000, "silent": 0} and not proof.condemned


@pytest.mark.parametrize("kind", ["softmax", "linear"])
def test_scores_that_do_not_are_one_matrix(kind):
    P, proof = global_matrix.decide(model(kind, sees=0.0), residuals())
    r = residuals()
    assert proof.counts["holds"] == 2000 and np.all(proof.value <= 1e-12)
    np.testing.assert_allclose(r @ P.T, model(kind, sees=0.0).move(r), atol=1e-12)


def test_a_difference_below_rounding_refutes_nothing():
    P, proof = global_matrix.decide(model(sees=1e-17), residuals(50))
    assert P is None and proof.counts["holds"] == 50


def test_two_given_residuals():
    r = residuals(40)
    same = global_matrix.decide(model(), r, r)[1]
    assert same.counts["holds"] == 40 and not same.value.any()
    other = global_matrix.decide(model(), r, -r)[1]
    assert other.counts["violated"] == 40


def test_a_refuted_map_is_explained_by_one_matrix_in_part_only():
    r = residuals()
    assert explained(model().move(r), r) < 0.999
    assert explained(model(sees=0.0).move(r), r) == pytest.approx(1.0, abs=1e-12)


def test_bad_input():
    r = residuals(5)
    r[2, 1] = np.nan
    proof = global_matrix.decide(model(), r)[1]
    assert proof.verdict[2] == "silent" and proof.counts["violated"] == 4
    for bad in (r[:, :2], r[0]):
        with pytest.raises(ValueError, match="^r"):
            global_matrix.decide(model(), bad)
    with pytest.raises(ValueError, match="^other"):
        global_matrix.decide(model(), r, r[:2])
