from dataclasses import replace

import numpy as np
import pytest

from twofold.anatomy import take_apart
from twofold.protocol import EncoderDecoder, Tasks
from twofold.theorems import factor_two


def anatomy_of(answer, best, truth, metric=None, scale=1.0):
    """The anatomy of a model that says ``answer`` where it could have said ``best``."""
    model = EncoderDecoder(lambda prompt: prompt["code"], lambda code: answer)
    tasks = Tasks({"code": best}, truth, metric=metric, scale=scale)
    return take_apart(model, tasks, reference=lambda code: code)


def draw(seed, K=6, count=2000, rank=6):
    rng = np.random.default_rng(seed)
    a, b, truth = rng.standard_normal((3, count, K))
    root = rng.standard_normal((K, rank))
    return a + b + truth, b + truth, truth, root @ root.T


@pytest.mark.parametrize("rank", [None, 6, 2])
def test_holds_on_two_thousand_tasks(rank):
    answer, best, truth, S = draw(0, rank=rank or 6)
    proof = factor_two.certify(anatomy_of(answer, best, truth, None if rank is None else S, 1 / 6))
    assert proof.counts == {"holds": 2000, "violated": 0, "silent": 0}
    assert 0.4 < np.mean(proof.tightness) < 0.6
    assert np.max(proof.rounding / proof.bound) < 1e-11


@pytest.mark.parametrize("rank", [None, 6, 2])
def test_attained_where_both_errors_are_equal_and_rounding_is_needed_there(rank):
    _, _, truth, S = draw(1, rank=rank or 6)
    step = np.random.default_rng(2).standard_normal(truth.shape)
    found = anatomy_of(truth + 2 * step, truth + step, truth, None if rank is None else S)
    proof = factor_two.certify(found)
    np.testing.assert_allclose(proof.tightness, 1.0, rtol=1e-11)
    assert proof.counts["holds"] == 2000
    assert replace(proof, rounding=0 * proof.rounding).counts["violated"] > 0


def test_the_cross_term_alone_does_not_make_it_an_equality():
    """a = -b: total 0, bound 4 ||a||^2."""
    _, best, truth, _ = draw(3)
    proof = factor_two.certify(anatomy_of(truth, best, truth))
    assert not proof.value.any() and np.all(proof.bound > 0)


@pytest.mark.parametrize("factor", [1.0, 1.5, 1.999999])
def test_a_smaller_factor_is_false(factor):
    _, _, truth, _ = draw(4)
    best = truth + 1.0
    found = anatomy_of(best + (best - truth), best, truth)
    proof = factor_two.certify(found)
    assert replace(proof, bound=factor / 2 * proof.bound).counts["violated"] == 2000


def test_an_indefinite_metric_is_refused():
    answer, best, truth, _ = draw(5, count=10)
    with pytest.raises(ValueError, match="negative eigenvalue"):
        anatomy_of(answer, best, truth, np.diag([1.0, 1, 1, 1, 1, -0.1]))
    found = replace(
        anatomy_of(answer, best, truth, np.eye(6)), metric=np.diag([1.0, 1, 1, 1, 1, -0.1])
    )
    proof = factor_two.certify(found)
    assert proof.counts["silent"] == 10 and proof.reason[0] == factor_two.NOT_PROVED


@pytest.mark.parametrize("K", [1, 3, 40])
@pytest.mark.parametrize("low", [0.0, -1e-16, -1e-15, 1e-3])
def test_the_defect_of_definiteness_covers_the_true_one(K, low):
    rng = np.random.default_rng(K)
    Q = np.linalg.qr(rng.standard_normal((K, K)))[0]
    eigenvalues = np.linspace(low, 1.0, K) if K > 1 else np.array([max(low, 0.0)])
    S = (Q * eigenvalues) @ Q.T
    S = 0.5 * (S + S.T)
    defect = factor_two.indefiniteness(S)
    assert -np.linalg.eigvalsh(S)[0] <= defect <= 1e-11


def test_what_is_clearly_indefinite_is_not_covered():
    assert factor_two.indefiniteness(np.diag([1.0, -1e-6])) == np.inf
    assert factor_two.indefiniteness(np.array([[0.0, 1.0], [1.0, 0.0]])) == np.inf
    assert factor_two.indefiniteness(np.zeros((3, 3))) == 0.0
    assert factor_two.indefiniteness(np.diag(np.geomspace(1, 1e-8, 30))) == 0.0
    assert factor_two.indefiniteness(None) == 0.0


def test_silent_rows_keep_their_reason():
    answer, best, truth, _ = draw(6, count=3)
    answer[1, 0] = np.nan
    proof = factor_two.certify(anatomy_of(answer, best, truth))
    assert list(proof.verdict) == ["holds", "silent", "holds"] and "decoder" in proof.reason[1]
