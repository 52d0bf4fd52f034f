import numpy as np
import pytest

from twofold.encoder.subspace import Covariance, Subspace, empty, expected_covariance, top
from twofold.measures.overlaps import sin2_frobenius

K, R, M = 8, 2, 40


def prompts(seed=0, count=50, noise=0.5, ridge=0.1):
    rng = np.random.default_rng(seed)
    scales = np.sqrt(np.geomspace(1.0, 0.1, K))
    U_star = np.linalg.qr(rng.standard_normal((K, R)))[0]
    X = rng.standard_normal((count, M, K)) * scales
    beta = rng.standard_normal((count, R)) @ U_star.T
    y = np.einsum("nmk,nk->nm", X, beta) + noise * rng.standard_normal((count, M))
    H = np.einsum("nmi,nmj->nij", X, X) / M + ridge * np.eye(K)
    return {"H": H, "d": np.einsum("nmk,nm->nk", X, y) / M}, {"X": X, "y": y}, U_star, beta


def test_the_encoder_projects_the_normal_equations():
    given, raw, U_star, _ = prompts()
    system = Subspace(U_star)(given)
    for n in range(3):
        np.testing.assert_allclose(system.H[n], U_star.T @ given["H"][n] @ U_star, rtol=1e-12)
        np.testing.assert_allclose(system.d[n], U_star.T @ given["d"][n], rtol=1e-12)
    np.testing.assert_array_equal(system.H, np.swapaxes(system.H, 1, 2))
    z = np.random.default_rng(1).standard_normal((50, R))
    np.testing.assert_allclose(system.lift(z), z @ U_star.T, rtol=1e-14)
    same = Subspace(U_star, ridge=0.1)(raw)
    np.testing.assert_allclose(same.H, system.H, rtol=1e-12)
    np.testing.assert_allclose(same.d, system.d, rtol=1e-12, atol=1e-15)


def test_the_true_subspace_without_noise_finds_the_truth():
    given, _, U_star, beta = prompts(noise=0.0, ridge=0.0)
    system = Subspace(U_star)(given)
    z = np.linalg.solve(system.H, system.d[..., None])[..., 0]
    np.testing.assert_allclose(system.lift(z), beta, atol=1e-12)


def test_top_is_orthonormal_largest_first_and_only_sees_the_span():
    S = np.diag([1.0, 4.0, 2.0, 3.0])
    U = top(S, 2)
    np.testing.assert_allclose(np.abs(U), np.eye(4)[:, [1, 3]], atol=1e-15)
    np.testing.assert_allclose(top(S, 4).T @ top(S, 4), np.eye(4), atol=1e-14)


def test_streaming_is_the_covariance_of_everything_seen():
    beta = np.random.default_rng(2).standard_normal((100, K))
    state = empty(K)
    for chunk in np.split(beta, [1, 7, 50]):
        state = state.add(chunk)
    assert state.n == 100
    np.testing.assert_allclose(state.S, beta.T @ beta / 100, atol=1e-14)
    assert empty(K).add(beta[:0]).n == 0
    assert Covariance(state.S, state.n).add(beta[:0]).S is not None


def expected_by_draws(given, U_star, ridge, noise, draws=4000):
    """E[beta_hat beta_hat' | H] from the definition: z and the noise of X'xi/M are drawn."""
    rng = np.random.default_rng(3)
    S = np.zeros((K, K))
    for H in given["H"]:
        gram = H - ridge * np.eye(K)
        root = np.linalg.cholesky(gram + 1e-15 * np.eye(K))
        beta = rng.standard_normal((draws, R)) @ U_star.T
        c = beta @ gram + noise / np.sqrt(M) * rng.standard_normal((draws, K)) @ root.T
        beta_hat = np.linalg.solve(H, c.T)
        S += beta_hat @ beta_hat.T / draws
    return S / len(given["H"])


@pytest.mark.parametrize(("ridge", "noise"), [(0.1, 0.5), (0.0, 0.5), (0.5, 0.0)])
def test_estimates_converge_to_the_expected_covariance_not_to_the_true_one(ridge, noise):
    given, _, U_star, _ = prompts(ridge=ridge, noise=noise)
    prior = U_star @ U_star.T
    expected = expected_covariance(given["H"], prior=prior, ridge=ridge, noise=noise, prompt=M)
    observed = expected_by_draws(given, U_star, ridge, noise)
    np.testing.assert_allclose(observed, expected, atol=0.02 * np.linalg.norm(expected, 2))
    floor = sin2_frobenius(top(expected, R), U_star)
    assert floor > 1e-5 and sin2_frobenius(top(prior, R), U_star) < 1e-25


def test_no_noise_and_no_ridge_have_no_floor():
    given, _, U_star, _ = prompts(ridge=0.0, noise=0.0)
    prior = U_star @ np.diag([2.0, 1.0]) @ U_star.T
    expected = expected_covariance(given["H"], prior=prior, ridge=0.0, noise=0.0, prompt=M)
    np.testing.assert_allclose(expected, prior, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: top(np.eye(3), 4), "r: expected at most K = 3, got 4"),
        (lambda: top(np.eye(3), 0), "r: expected a whole number >= 1"),
        (lambda: top(np.array([[1.0, 2.0], [0.0, 1.0]]), 1), "S: .*not symmetric"),
        (lambda: top(np.full((2, 2), np.nan), 1), "S.*not finite"),
        (lambda: empty(0), "K: expected a whole number >= 1"),
        (lambda: empty(3).add(np.ones((2, 4))), "beta: expected shape"),
        (lambda: empty(2).add(np.array([[np.nan, 1.0]])), "beta.*not finite"),
        (lambda: Subspace(np.ones(3)), "U: expected 2 axes"),
        (lambda: Subspace(np.ones((3, 1)))({"H": np.ones((1, 2, 2)), "d": np.ones((1, 2))}), "U"),
        (lambda: Subspace(np.eye(2), ridge=-1.0), "ridge: expected a number >= 0"),
        (
            lambda: expected_covariance(
                -np.eye(2)[None], prior=np.eye(2), ridge=0.0, noise=0.0, prompt=3
            ),
            "H: expected positive definite",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
