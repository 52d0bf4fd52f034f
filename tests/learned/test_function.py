"""A user's JAX function as a family: its derivatives, and its predicted path."""

import jax.numpy as jnp
import numpy as np
import pytest

from twofold.learned.free import Free
from twofold.learned.function import Function
from twofold.tasks.regression import regression_law
from twofold.training import closure

K = 3
FAMILY = Function(lambda t: jnp.outer(t[:K], t[K:]) + jnp.eye(K), np.linspace(0.1, 0.6, 2 * K))


def test_both_derivatives_are_adjoint_and_are_those_of_the_matrix():
    rng = np.random.default_rng(0)
    theta, dtheta = FAMILY.start(0), rng.standard_normal(2 * K)
    dP = rng.standard_normal((K, K))
    turn = FAMILY.push_forward(theta, dtheta)
    assert np.sum(turn * dP) == pytest.approx(FAMILY.pull_back(theta, dP) @ dtheta, rel=1e-13)
    h = 1e-6
    slope = (FAMILY.matrix(theta + h * dtheta) - FAMILY.matrix(theta - h * dtheta)) / (2 * h)
    np.testing.assert_allclose(turn, slope, rtol=1e-8, atol=1e-9)


def test_its_path_is_predicted_as_that_of_any_family():
    law = regression_law(dim=K, prompt=20)
    given = {"depth": 2, "eta": 0.02, "steps": 15}
    run = closure.path(FAMILY.start(0), FAMILY, law, **given)
    assert run.choice.drift == "exact" and run.risk[-1] < run.risk[0]
    free = Function(lambda t: t.reshape(K, K), np.zeros(K * K))
    one, two = (closure.path(np.zeros(K * K), f, law, **given) for f in (free, Free(K)))
    np.testing.assert_allclose(one.P, two.P, atol=1e-14)


def test_what_is_no_square_matrix_is_refused():
    with pytest.raises(ValueError, match="square matrix"):
        Function(lambda t: t, np.zeros(2)).matrix(np.zeros(2))
    with pytest.raises(ValueError, match="theta"):
        FAMILY.matrix(np.zeros(2))
