"""Checkpoints together give what each gives alone."""

import numpy as np
import pytest

from twofold.decoder import checkpoints, richardson


def systems(S, N, K, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4 * K + 4, K))
    H = np.matmul(X.transpose(0, 2, 1), X) / X.shape[1]
    P = 0.5 * np.eye(K) + 0.02 * rng.normal(size=(S, K, K))
    x_star = rng.normal(size=(N, K))
    return P, H, np.matmul(H, x_star[..., None])[..., 0], x_star


@pytest.mark.parametrize(("S", "N", "K"), [(1, 1, 1), (2, 70, 9), (3, 5, 16), (7, 31, 64)])
def test_together_as_alone(S, N, K):
    P, H, d, x_star = systems(S, N, K)
    alone = np.stack([richardson.iterate(p, H, d, 4) for p in P])
    norms = np.stack([richardson.error_norms(p, H, d, 4, x_star) for p in P])
    assert np.array_equal(checkpoints.iterate(P, H, d, 4), alone)
    assert np.array_equal(checkpoints.error_norms(P, H, d, 4, x_star), norms)


def test_as_many_checkpoints_as_tasks_are_still_checkpoints():
    P, H, d, _ = systems(5, 5, 3)
    assert checkpoints.iterate(P, H, d, 2).shape == (5, 5, 3)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_a_bad_task_is_bad_for_every_checkpoint(depth):
    P, H, d, _ = systems(4, 9, 5)
    H[2, 1, 1] = np.nan
    x = checkpoints.iterate(P, H, d, depth)
    assert np.isnan(x[:, 2]).all() and np.isfinite(np.delete(x, 2, axis=1)).all()


def test_bad_checkpoints_are_refused():
    P, H, d, _ = systems(2, 3, 4)
    with pytest.raises(ValueError, match="^P"):
        checkpoints.iterate(P[:0], H, d, 1)
    with pytest.raises(ValueError, match="^P"):
        checkpoints.iterate(P[0], H, d, 1)
    P[1, 0, 0] = np.inf
    with pytest.raises(ValueError, match="^P"):
        checkpoints.iterate(P, H, d, 1)
