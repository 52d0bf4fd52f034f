import numpy as np
import pytest

from twofold.training import trajectory, triangular


def moving(seed, S=30, r=4, m=None):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((S, r, 3 * r))
    C = A @ np.swapaxes(A, 1, 2) / (3 * r)
    return rng.standard_normal((m or r, r)), C, rng.standard_normal((S, m or r, r))


def test_each_step_is_the_gradient_step_towards_its_own_oracle():
    P0, C, B = moving(0)
    run = triangular.track(P0, C, B, eta=0.3)
    for s in range(29):
        np.testing.assert_allclose(run.P[s + 1], run.P[s] - 0.3 * (run.P[s] @ C[s] - B[s]))
        np.testing.assert_allclose(run.oracle[s] @ C[s], B[s], atol=1e-11)
        step = run.E[s] @ (np.eye(4) - 0.3 * C[s]) + run.drift[s]
        np.testing.assert_allclose(run.E[s + 1], step, atol=1e-11)
    assert run.P.shape == run.oracle.shape == (30, 4, 4) and run.drift.shape == (29, 4, 4)
    np.testing.assert_allclose(
        run.error[3] * np.linalg.norm(run.oracle[3]), np.linalg.norm(run.E[3])
    )


def test_a_resting_oracle_gives_the_closed_form():
    P0, C, B = moving(1, S=1)
    run = triangular.track(P0, np.repeat(C, 40, 0), np.repeat(B, 40, 0), eta=0.2)
    path = trajectory.decoder(P0, C[0], B[0], eta=0.2, steps=np.arange(40))
    np.testing.assert_allclose(run.P, path.P, atol=1e-12)
    assert np.all(run.drift == 0)


def test_the_unrolled_sum_is_ordered():
    P0, C, B = moving(2, S=9, m=2)
    run = triangular.track(P0, C, B, eta=0.3)
    M = triangular.contractions(C[None, :-1], 0.3)
    Pi = triangular.suffix_products(M)
    np.testing.assert_allclose(Pi[0, 0], np.linalg.multi_dot(list(M[0])), atol=1e-13)
    last = triangular.unrolled(run.E[None, 0], run.drift[None], Pi)[0]
    np.testing.assert_allclose(last, run.E[-1], atol=1e-10)
    wrong = np.linalg.multi_dot(list(M[0][::-1]))
    assert np.abs(Pi[0, 0] - wrong).max() > 1e-3


def test_one_state_needs_no_step():
    P0, C, B = moving(3, S=1)
    run = triangular.track(P0, C, B, eta=0.3)
    np.testing.assert_array_equal(run.P[0], P0)
    assert run.drift.shape == (0, 4, 4)


def test_a_singular_covariance_has_the_least_norm_oracle():
    C = np.diag([1.0, 0.0])[None]
    oracle = triangular.track(np.zeros((2, 2)), C, np.array([[[3.0, 0], [0, 0]]]), eta=0.5).oracle
    np.testing.assert_allclose(oracle[0], [[3, 0], [0, 0]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": np.zeros((0, 2, 2)), "B": np.zeros((0, 2, 2))}, "C, P0: expected at least one"),
        ({"C": np.eye(2)}, "C: expected 3 axes"),
        ({"P0": np.eye(3)}, "P0: expected shape"),
        ({"B": np.zeros((2, 2, 2))}, "B: expected shape"),
        ({"C": np.full((1, 2, 2), np.nan)}, "C: .* not finite"),
        ({"eta": 0}, "eta: expected a positive"),
        ({"eta": 1j}, "eta: expected real"),
    ],
)
def test_bad_input(change, message):
    good = {"P0": np.eye(2), "C": np.eye(2)[None], "B": np.eye(2)[None], "eta": 0.5}
    with pytest.raises(ValueError, match=message):
        triangular.track(**(good | change))
