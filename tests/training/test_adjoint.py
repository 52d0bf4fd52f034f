"""The adjoint gradient against the complex step, at the seed's accuracy."""

import numpy as np
import pytest

from twofold import claims
from twofold.tasks import regression
from twofold.training import adjoint, complex_step


def problem(seed=0, count=300, dim=16):
    tasks = regression.sample(seed=seed, dim=dim, prompt=64, ridge=1e-3, count=count)
    rng = np.random.default_rng(seed)
    P = np.eye(dim) + 0.1 * rng.normal(size=(dim, dim)) / np.sqrt(dim)
    return P, tasks.H, tasks.d, tasks.truth


def stepped(P, H, d, target, depth):
    return complex_step.gradient(lambda Q: complex_step.loss(Q, H, d, target, depth), P)


@pytest.mark.parametrize("depth", [1, 2, 8])
def test_the_gradient_is_the_complex_step_s(depth):
    P, H, d, target = problem(count=60, dim=8)
    loss, dP = adjoint.gradient(P, H, d, target, depth)
    other = stepped(P, H, d, target, depth)
    assert np.linalg.norm(dP - other) <= 1e-13 * np.linalg.norm(other)
    assert loss == pytest.approx(complex_step.loss(P, H, d, target, depth).real, rel=1e-14)
    assert loss == pytest.approx(adjoint.loss(P, H, d, target, depth), rel=1e-13)


def test_the_seed_s_limit_is_kept_on_2000_tasks():
    limit = [c for c in claims.load() if c.id == "002-S9-P-gradient-error"][0].tolerance
    P, H, d, target = problem(count=2000, dim=6)
    dP = adjoint.gradient(P, H, d, target, 5)[1]
    other = stepped(P, H, d, target, 5)
    assert np.linalg.norm(dP - other) < limit * np.linalg.norm(other)


def test_one_step_is_least_squares():
    """At L = 1 the loss is |P d - z|^2 / 2NK: its gradient is the mean of (P d - z) d' over K."""
    P, H, d, target = problem()
    dP = adjoint.gradient(P, H, d, target, 1)[1]
    np.testing.assert_allclose(dP, (d @ P.T - target).T @ d / d.size, rtol=1e-12, atol=1e-15)


def test_where_the_answer_is_the_target_nothing_pulls():
    H = np.stack([np.diag([1.0, 2.0, 4.0])] * 5)
    d = np.arange(15.0).reshape(5, 3)
    target = d / np.array([1.0, 2.0, 4.0])
    loss, dP = adjoint.gradient(np.diag([1.0, 0.5, 0.25]), H, d, target, 3)
    assert loss == 0.0 and not dP.any()


def test_small_steps_go_downhill():
    P, H, d, target = problem()
    loss, dP = adjoint.gradient(P, H, d, target, 8)
    step = 1e-7 / np.linalg.norm(dP)
    fall = loss - adjoint.loss(P - step * dP, H, d, target, 8)
    assert fall == pytest.approx(step * np.sum(dP**2), rel=1e-4)


def test_a_divergent_iteration_gives_no_finite_number():
    P, H, d, target = problem()
    loss, dP = adjoint.gradient(1e150 * P, H, d, target, 8)
    assert not np.isfinite(loss) and not np.isfinite(dP).any()


def test_bad_input_is_named():
    P, H, d, target = problem(count=10)
    with pytest.raises(ValueError, match="^target: "):
        adjoint.gradient(P, H, d, target[:, :3], 2)
    with pytest.raises(ValueError, match="^depth: "):
        adjoint.gradient(P, H, d, target, 1.5)
    H[3, 2, 1] = np.nan
    with pytest.raises(ValueError, match="^H: "):
        adjoint.gradient(P, H, d, target, 2)
    with pytest.raises(ValueError, match="^H: "):
        adjoint.loss(P, H, d, target, 2)
