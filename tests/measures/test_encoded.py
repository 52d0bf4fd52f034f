import numpy as np
import pytest

from twofold.measures import encoded


def test_the_ratio_of_root_mean_squares_is_not_the_mean_of_ratios():
    A = np.stack([np.eye(2), 100 * np.eye(2)])
    off = A + np.array([0.1, 1.0])[:, None, None] * np.eye(2)
    assert encoded.operator_error(off, A) == pytest.approx(np.sqrt(2.02 / 20002))
    assert encoded.operator_error(A, A) == 0.0


def test_latents_by_task():
    z = np.array([[0.0, 2.0], [1.0, np.nan]])
    error = encoded.latent_error(z + np.array([1.0, 3.0]), z)
    assert error[0] == 5.0 and np.isnan(error[1])


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_any_scale(scale):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((5, 3, 3))
    B = A + 1e-3 * rng.standard_normal(A.shape)
    assert encoded.operator_error(scale * B, scale * A) == pytest.approx(
        encoded.operator_error(B, A), rel=1e-12
    )


def test_tasks_without_an_operator_do_not_count_and_no_task_is_refused():
    A = np.ones((3, 2, 2))
    B = 1.1 * A
    B[1, 0, 0] = np.nan
    assert encoded.operator_error(B, A) == pytest.approx(0.1)
    with pytest.raises(ValueError, match="A: no task"):
        encoded.operator_error(B[1:2], A[1:2])
    with pytest.raises(ValueError, match="A_enc: expected shape"):
        encoded.operator_error(B[:2], A)
    with pytest.raises(ValueError, match="z: no task"):
        encoded.latent_error(np.zeros((0, 2)), np.zeros((0, 2)))
