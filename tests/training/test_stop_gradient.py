import numpy as np
import pytest

from twofold.training import stop_gradient, trajectory


def test_a_commuting_flow_with_a_known_solution():
    """sigma = 1, g* = 1, g0 = 0: g = 1 - e^-t; C = 1, B = g: p = p0 e^-t + 1 - e^-t - t e^-t."""
    t = np.array([0.0, 0.5, 0.5, 1.0, 4.0])
    run = stop_gradient.flow(
        [[0.0]], [[2.0]], Sigma_z=[[1.0]], Sigma_bz=[[1.0]],
        moments=lambda G: (np.eye(1), G), times=t,
    )  # fmt: skip
    exact = 2 * np.exp(-t) + 1 - np.exp(-t) - t * np.exp(-t)
    np.testing.assert_allclose(run.G[:, 0, 0], 1 - np.exp(-t), atol=1e-15)
    assert np.all(np.abs(run.P[:, 0, 0] - exact) <= run.estimate + 1e-15)
    assert np.max(np.abs(run.P[:, 0, 0] - exact)) < 1e-11 and run.estimate[0] == 0


def test_a_resting_encoder_leaves_the_plain_flow_of_the_decoder():
    rng = np.random.default_rng(0)
    A, P0, B = rng.standard_normal((3, 3, 3))
    C, G = A @ A.T / 3, np.ones((2, 2))
    run = stop_gradient.flow(
        G, P0, Sigma_z=np.eye(2), Sigma_bz=G, moments=lambda G: (C, B), times=[0.3, 2.0]
    )
    path = trajectory.flow(P0, C, B, times=[0.3, 2.0])
    np.testing.assert_allclose(run.P, path.P, atol=1e-10)
    assert np.all(np.linalg.norm(run.P - path.P, axis=(1, 2)) <= 10 * run.estimate + 1e-13)


def test_small_steps_of_both_halves_approach_the_flow():
    rng = np.random.default_rng(1)
    G0, G_star, P0 = rng.standard_normal((3, 2, 2))

    def moments(G):
        return G @ G.T + np.eye(2), G.T

    run = stop_gradient.flow(G0, P0, Sigma_z=np.eye(2), Sigma_bz=G_star, moments=moments, times=1.0)
    n = 20_000
    G, P = G0, P0
    for _ in range(n):
        C, B = moments(G)
        G, P = G - (G - G_star) / n, P - (P @ C - B) / n
    np.testing.assert_allclose(run.P[0], P, atol=1e-3)


@pytest.mark.parametrize("times", [[], [-1.0], [2.0, 1.0], [np.nan]])
def test_bad_times(times):
    with pytest.raises(ValueError, match="times: "):
        stop_gradient.flow(
            [[0.0]], [[2.0]], Sigma_z=[[1.0]], Sigma_bz=[[1.0]],
            moments=lambda G: (np.eye(1), G), times=times,
        )  # fmt: skip
