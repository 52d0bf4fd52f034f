"""Attention in JAX: the same Jacobian by another route, training, and what it refuses."""

import numpy as np
import pytest

import twofold
from twofold.learned import attention

K = 4


@pytest.fixture(scope="module")
def tasks():
    return twofold.tasks.regression.sample(seed=0, dim=K, prompt=64, ridge=1e-3, count=64)


@pytest.mark.parametrize("kind", ["softmax", "linear"])
def test_forward_differentiation_gives_the_same_jacobian(kind):
    model = attention.start(seed=0, dim=K, kind=kind, size=1.0)
    r = np.random.default_rng(1).normal(size=(200, K))
    ours, theirs = model.jacobian(r), attention.jacobian(model, r)
    assert np.max(np.abs(ours - theirs)) <= 1e-13 * np.max(np.abs(ours))


def test_training_lowers_the_loss_and_is_deterministic(tasks):
    model = attention.start(seed=0, dim=K, depth=3)
    given = {"eta": 0.02, "steps": 60, "times": (0, 20, 60)}
    path = attention.train(model, tasks.H, tasks.d, tasks.truth, **given)
    losses = [attention.loss(m, tasks.H, tasks.d, tasks.truth) for m in path]
    assert losses[0] > losses[1] > losses[2] and losses[2] < 0.7 * losses[0]
    np.testing.assert_array_equal(path[0].query, model.query)
    again = attention.train(model, tasks.H, tasks.d, tasks.truth, **given)
    np.testing.assert_array_equal(path[2].query, again[2].query)


@pytest.mark.parametrize("kind", ["softmax", "linear"])
def test_scores_that_see_no_residual_never_will(tasks, kind):
    model = attention.start(seed=0, dim=K, depth=2, sees=0.0, kind=kind)
    (last,) = attention.train(model, tasks.H, tasks.d, tasks.truth, eta=0.05, steps=30, times=[30])
    assert last.global_matrix() is not None
    assert np.max(np.abs(last.query - model.query)) > 0.01


def test_the_first_step_is_that_of_the_finite_difference(tasks):
    """Adam's first move is eta times the sign of the gradient."""
    model = attention.start(seed=2, dim=K, depth=2)
    (moved,) = attention.train(model, tasks.H, tasks.d, tasks.truth, eta=1e-3, steps=1, times=[1])

    def at(shift):
        other = attention.replace(model, diagonal=model.diagonal + shift)
        return attention.loss(other, tasks.H, tasks.d, tasks.truth)

    for i in range(K):
        slope = at(1e-6 * np.eye(K)[i]) - at(-1e-6 * np.eye(K)[i])
        step = moved.diagonal[i] - model.diagonal[i]
        assert step == pytest.approx(-1e-3 * np.sign(slope), rel=1e-3)


def test_bad_input_is_refused(tasks):
    model = attention.start(seed=0, dim=K)
    given = {"eta": 0.1, "steps": 1, "times": [1]}
    with pytest.raises(ValueError, match="^target"):
        attention.train(model, tasks.H, tasks.d, tasks.truth[:3], **given)
    with pytest.raises(ValueError, match="^H"):
        attention.train(model, np.full_like(tasks.H, np.nan), tasks.d, tasks.truth, **given)
    with pytest.raises(ValueError, match="^eta"):
        attention.train(model, tasks.H, tasks.d, tasks.truth, **{**given, "eta": 0.0})
    with pytest.raises(ValueError, match="^seed"):
        attention.start(seed=-1, dim=K)
