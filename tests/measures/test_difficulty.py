import numpy as np
import pytest

from twofold.measures import difficulty
from twofold.tasks import mercer


def test_effective_dimension_between_zero_and_rank():
    C = np.diag([4.0, 1.0, 0.0])
    assert difficulty.effective_dimension(C, 1.0) == pytest.approx(0.8 + 0.5)
    assert difficulty.effective_dimension(C, 0.0) == 2
    assert difficulty.effective_dimension([4.0, 1.0, 0.0], 1.0) == pytest.approx(1.3)
    assert difficulty.effective_dimension(np.eye(3), 1e-300) == pytest.approx(3)
    assert difficulty.effective_dimension(np.eye(3), 1e300) < 1e-299
    thin = np.random.default_rng(0).standard_normal((6, 2))
    assert difficulty.effective_dimension(thin @ thin.T, 0.0) == 2
    assert difficulty.effective_dimension(np.zeros((2, 2)), 0.0) == 0
    with pytest.raises(ValueError, match="^ridge: "):
        difficulty.effective_dimension(C, -1.0)


def test_effective_dimension_is_the_trace():
    root = np.random.default_rng(1).standard_normal((5, 5))
    C = root @ root.T
    trace = np.trace(C @ np.linalg.inv(C + 0.3 * np.eye(5)))
    assert difficulty.effective_dimension(C, 0.3) == pytest.approx(trace)


def test_effective_rank_and_entropy():
    assert difficulty.effective_rank(np.eye(4)) == pytest.approx(4)
    assert difficulty.effective_rank([3.0, 1.0, 1.0]) == pytest.approx(5 / 3)
    assert difficulty.diversity_entropy(np.eye(4)) == pytest.approx(np.log(4))
    assert difficulty.diversity_entropy([5.0, 0.0]) == 0
    assert difficulty.diversity_entropy([3.0, 1.0]) == pytest.approx(
        -0.75 * np.log(0.75) - 0.25 * np.log(0.25)
    )
    assert np.isnan(difficulty.effective_rank(np.zeros((2, 2))))
    assert np.isnan(difficulty.diversity_entropy([0.0, 0.0]))
    assert difficulty.diversity_entropy([3e300, 1e300]) == pytest.approx(
        difficulty.diversity_entropy([3.0, 1.0])
    )


def test_aspects():
    assert difficulty.prompt_aspect(64, 1024) == 1 / 16
    assert difficulty.task_aspect(8.0, 32) == 0.25
    for call, name in (
        (lambda: difficulty.prompt_aspect(0, 5), "dim"),
        (lambda: difficulty.prompt_aspect(5, 0), "prompt"),
        (lambda: difficulty.prompt_aspect(5, 2.5), "prompt"),
        (lambda: difficulty.task_aspect(-1.0, 5), "d_eff"),
        (lambda: difficulty.task_aspect(np.nan, 5), "d_eff"),
    ):
        with pytest.raises(ValueError, match=f"^{name}: "):
            call()


def test_the_records_read_the_right_matrices():
    H = np.stack([np.diag([4.0, 1.0]), np.diag([2.0, 1.0])])
    operator = difficulty.operator_difficulty(H, prompt=8, ridge=0.1, noise=0.02)
    assert (operator.kappa_mean, operator.kappa_worst) == pytest.approx((3, 4))
    assert operator.gamma == 0.25 and operator.operator_kappa_mean is None
    A = np.stack([np.diag([6.0, 2.0]), np.diag([-5.0, 1.0])])
    seen = difficulty.operator_difficulty(H, prompt=8, ridge=0.1, noise=0.0, operators=A)
    assert (seen.operator_kappa_mean, seen.operator_kappa_worst) == pytest.approx((4, 5))
    P = np.array([[0.25, 0.5], [0.0, 1.0]])
    decoder = difficulty.decoder_difficulty(P, H, 8)
    assert decoder.radius_worst == pytest.approx(0.5)
    assert decoder.norm_worst > 0.7
    assert decoder.depth == 8
    tasks = difficulty.task_diversity([1.0, 3.0], 100)
    assert tasks.spectrum == (3.0, 1.0)
    assert tasks.effective_rank == pytest.approx(4 / 3)
    record = difficulty.Difficulty(operator=operator, decoder=decoder, tasks=tasks)
    assert record.encoder is None


def test_encoder_difficulty_and_a_closed_gap():
    U_star = np.eye(3)[:, :1]
    U = np.array([[0.8], [0.6], [0.0]])
    sigma = np.diag([2.0, 0.5, 0.0])
    found = difficulty.encoder_difficulty(sigma, sigma + 0.1 * np.eye(3), U, U_star)
    assert found.inverse_gap == pytest.approx(1 / 1.5)
    assert found.covariance_error == pytest.approx(0.1)
    assert found.subspace_sine == pytest.approx(0.6)
    closed = difficulty.encoder_difficulty(np.eye(3), np.eye(3), U, U_star)
    assert closed.inverse_gap == np.inf


def test_empty_batches_are_refused():
    empty = np.zeros((0, 2, 2))
    with pytest.raises(ValueError, match="^H: "):
        difficulty.operator_difficulty(empty, prompt=4, ridge=0.0, noise=0.0)
    with pytest.raises(ValueError, match="^H: "):
        difficulty.decoder_difficulty(np.eye(2), empty, 4)


def test_the_diversity_of_gaussian_process_prompts_is_the_posterior_s_degrees_of_freedom():
    """tr K (K + s^2)^-1 of a long prompt is d_eff(s^2/M) of the kernel's operator."""
    basis, M, noise = mercer.RBF(12), 20_000, 3.0
    x = basis.draw(np.random.default_rng(0), (M,))
    W = basis(x) * np.sqrt(basis.prior)
    found = difficulty.gp_diversity(basis.prior, noise**2 / M)
    fit = np.trace(np.linalg.solve(W.T @ W + noise**2 * np.eye(12), W.T @ W))
    assert abs(found.effective_dimension - fit) < 0.02
    assert found.spectrum == tuple(basis.prior) and found.tau == noise**2 / M
    turned = np.linalg.qr(np.random.default_rng(1).standard_normal((12, 12)))[0]
    matrix = difficulty.gp_diversity(turned * basis.prior @ turned.T, noise**2 / M)
    assert abs(matrix.effective_dimension - found.effective_dimension) < 1e-9
    with pytest.raises(ValueError, match="ridge"):
        difficulty.gp_diversity(basis.prior, -1.0)
