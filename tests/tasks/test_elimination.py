"""The posterior kernel against a plain NumPy twin of its definition: [G | b | E] to [R | u | V]."""

import numpy as np
import pytest
from scipy.linalg import solve_triangular

from twofold.rigor.roundoff import gamma
from twofold.tasks import elimination

SIZES = [(1, 1), (3, 8), (8, 3), (17, 15), (16, 16), (24, 9), (40, 64), (70, 33)]


def twin(Phi, y, root, precision, queries, dual):
    """Cholesky and triangular solves, one task at a time."""
    W, v = Phi * root, y * precision
    G = np.eye(len(W)) + W @ W.T if dual else np.eye(W.shape[1]) + W.T @ W
    b, E = (v, W) if dual else (W.T @ v, np.eye(W.shape[1]))
    R = np.linalg.cholesky(G).T
    u, V = (solve_triangular(R, x, trans="T") for x in (b, E))
    asked = V @ queries.T if len(queries) else V
    return V.T @ u, np.sum(asked * asked, axis=0), R


def ours(Phi, y, root, precision, queries, dual):
    N, _, r = Phi.shape
    w, s = np.empty((N, r)), np.empty((N, queries.shape[1] or r))
    elimination.posteriors(Phi, y, root, precision, queries, dual, w, s)
    return w, s


@pytest.mark.parametrize("asked", [0, 5])
@pytest.mark.parametrize("dual", [False, True])
@pytest.mark.parametrize(("M", "r"), SIZES)
def test_the_twin_agrees_to_rounding(M, r, dual, asked):
    rng = np.random.default_rng(M * r)
    Phi, y = rng.standard_normal((9, M, r)), rng.standard_normal((9, M))
    root, queries = rng.uniform(0.2, 2, r), rng.standard_normal((9, asked, r))
    w, s = ours(Phi, y, root, 3.0, queries, dual)
    for n in range(9):
        expected, squares, R = twin(Phi[n], y[n], root, 3.0, queries[n], dual)
        slack = 100 * gamma(M + r) * np.linalg.cond(R) ** 2
        np.testing.assert_allclose(w[n], expected, rtol=0, atol=slack * np.linalg.norm(expected))
        np.testing.assert_allclose(s[n], squares, rtol=0, atol=slack * np.max(squares))


def test_exact_where_every_root_is_a_whole_number():
    """W = sqrt 3 I would round; with W'W = 3 I formed of ones, R = 2 I exactly."""
    Phi = np.array([[[1.0], [1.0], [1.0]]])
    w, s = ours(Phi, np.array([[4.0, 8.0, -4.0]]), np.ones(1), 1.0, np.empty((1, 0, 1)), False)
    assert w[0, 0] == 2.0 and s[0, 0] == 0.25


def test_what_rounding_could_decide_is_nan():
    """n tr G up to 2^50 is decided, beyond it is not."""
    y, none = np.ones((1, 1)), np.empty((1, 0, 1))
    for size, finite in ((2.0**24, True), (2.0**25, False), (2.0**600, False)):
        for dual in (False, True):
            w, s = ours(np.full((1, 1, 1), size), y, np.ones(1), 1.0, none, dual)
            assert np.isfinite([w, s]).all() == finite
