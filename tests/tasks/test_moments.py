"""Every closed form against Monte Carlo over five seeds, quadrature and exact special cases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import roots_genlaguerre, roots_hermitenorm

from twofold.protocol import Law
from twofold.tasks import laws, moments, samplers

MATRIX = np.array([[1.0, 0.4, 0.0], [0.4, 0.7, -0.2], [0.0, -0.2, 0.3]])
PRIOR = np.array([[0.5, -0.3, 0.1], [-0.3, 1.0, 0.0], [0.1, 0.0, 2.0]])
S3 = np.array([1.0, 0.5, 0.1])
CASES = {
    "solve": Law(S3, 6, 0.2, 0.3, np.array([1.0, 2.0, 0.5])),
    "solve, M < K": Law(S3, 2, 0.05),
    "solve, matrices": Law(MATRIX, 5, 0.2, 0.3, PRIOR),
    "solve, vector and matrix": Law(S3, 5, 0.0, 0.0, PRIOR),
    "solve, random signs": Law(S3, 4, 0.1, 0.0, np.array([1.0, 2.0, 0.5]), kurtosis=-2.0),
    "solve, uniform": Law(S3, 4, 0.1, kurtosis=-1.2),
    "solve, heavy": Law(S3, 4, 0.1, kurtosis=2.0),
    "solve, heavy, matrix prior": Law(S3, 4, 0.1, 0.0, PRIOR, kurtosis=2.0),
    "coefficients": Law(S3, 6, 0.2, 0.6, target="coefficients"),
    "coefficients, matrices": Law(MATRIX, 5, 0.2, 0.6, PRIOR, target="coefficients"),
    "coefficients, heavy": Law(S3, 4, 0.1, 0.6, kurtosis=2.0, target="coefficients"),
    "rank 2": Law(S3, 4, 0.1, 0.6, np.array([2.0, 0.5]), 2, "coefficients"),
    "rank 1, solve": Law(S3, 4, 0.1, 0.6, None, 1, "solve"),
}
COUNT = 60_000


def _score(samples: np.ndarray, expected: np.ndarray) -> float:
    error = samples.std(axis=0) / np.sqrt(len(samples))
    return float(np.max(np.abs(samples.mean(axis=0) - expected) / error))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(5))
def test_closed_forms_match_monte_carlo(case, seed):
    law, exact = CASES[case], moments.of(CASES[case])
    tasks = samplers.draw(law, COUNT, seed=seed, needs="d" if seed else "X")
    full, d, z = exact.full(), tasks.d, tasks.truth
    assert _score(d[:, :, None] * d[:, None, :], full.C) < 5.0
    assert _score(z[:, :, None] * d[:, None, :], full.B) < 5.0
    losses = np.mean((d @ full.oracle.T - z) ** 2, axis=1)
    assert _score(losses, np.array(exact.floor)) < 5.0
    P = full.oracle + 0.3 * np.random.default_rng(seed).standard_normal((3, 3))
    assert _score(np.mean((d @ P.T - z) ** 2, axis=1), np.array(exact.risk(P))) < 5.0


@pytest.mark.parametrize("case", CASES)
def test_the_oracle_is_the_minimiser(case):
    exact = moments.of(CASES[case]).full()
    assert np.allclose(exact.oracle @ exact.C, exact.B, atol=1e-12)
    direct = np.trace(exact.S - exact.oracle @ exact.B.T) / 3
    assert np.isclose(exact.floor, direct, rtol=1e-10)
    for seed in range(20):
        step = 1e-3 * np.random.default_rng(seed).standard_normal((3, 3))
        excess = exact.risk(exact.oracle + step) - exact.floor
        assert np.isclose(excess, np.trace(step @ exact.C @ step.T) / 3, rtol=1e-6)


@pytest.mark.parametrize("target", ["solve", "coefficients"])
@pytest.mark.parametrize("kurtosis", [-2.0, 0.0, 1.5])
def test_the_matrix_form_agrees_with_the_diagonal_one(target, kurtosis):
    rng = np.random.default_rng(0)
    s, b = rng.uniform(0.01, 1, 6), rng.uniform(0.1, 2, 6)
    options = {"prompt": 9, "ridge": 0.1, "noise": 0.4, "target": target}
    thin = moments.regression(s, prior=b, kurtosis=kurtosis, **options)
    wide = moments.regression(np.diag(s), prior=np.diag(b), kurtosis=kurtosis, **options)
    for name in ("C", "B", "oracle", "H", "S", "response", "spread"):
        assert getattr(thin, name).shape == (6,)
        assert np.allclose(np.diag(getattr(thin, name)), getattr(wide, name), atol=1e-12)
    assert np.isclose(thin.floor, wide.floor) and np.isclose(thin.contraction, wide.contraction)
    assert np.allclose(np.diag(thin.gain), wide.gain)
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    if kurtosis == 0.0:
        turned = moments.regression(Q * s @ Q.T, prior=Q * b @ Q.T, **options)
        assert np.allclose(turned.oracle, Q * thin.oracle @ Q.T, atol=1e-10)
        assert np.isclose(turned.floor, thin.floor, rtol=1e-10)


def test_printed_closed_forms():
    s, M = laws.spectrum("log", 8, 100.0), 50
    exact = moments.regression(s, prompt=M, noise=0.3, target="coefficients")
    assert np.allclose(exact.oracle, 1 / (s * (1 + 1 / M) + (s.sum() + 0.09) / M), rtol=1e-13)
    assert np.isclose(exact.floor, np.mean(1 - exact.oracle * s), rtol=1e-12)
    lam = 0.02
    exact = moments.regression(s, prompt=M, ridge=lam)
    v = (s**2 + s * s.sum()) / (M * (s + lam) ** 2)
    assert np.isclose(exact.contraction, np.max(v / (1 + v)), rtol=1e-12)
    assert np.isclose(exact.spectral_radius, exact.contraction, rtol=1e-12)


def test_numbers_of_the_configurations_that_reproduce_the_experiments():
    exact = moments.regression(laws.spectrum("log", 16, 10.0), prompt=128, ridge=1e-3)
    assert abs(exact.floor - 0.1619) < 2e-4
    for prompt, printed in ((1024, 0.576), (4096, 0.251)):
        exact = moments.regression(laws.spectrum("log", 64, 100.0), prompt=prompt, ridge=1e-4)
        assert abs(exact.contraction / printed - 1) < 4e-3


def test_radius_and_norm_are_kept_apart():
    exact = moments.regression(MATRIX, prompt=3, prior=PRIOR)
    assert exact.spectral_radius < exact.contraction - 1e-3
    defect = np.eye(3) - exact.gain
    assert np.isclose(exact.contraction, np.linalg.svd(defect, compute_uv=False)[0])


def test_rank_deficient_spectra_use_the_pseudo_inverse():
    s = np.array([1.0, 0.5, 0.0])
    exact = moments.regression(s, prompt=5)
    assert exact.oracle[2] == 0.0 and exact.C[2] == 0.0
    assert exact.floor > 1 / 3
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    turned = moments.regression(Q * s @ Q.T, prompt=5)
    assert np.allclose(turned.oracle, Q * exact.oracle @ Q.T, atol=1e-12)
    assert np.isclose(turned.floor, exact.floor, rtol=1e-12)
    nothing = moments.regression(np.zeros(3), prompt=5)
    assert np.all(nothing.oracle == 0.0) and nothing.floor == 1.0


@pytest.mark.parametrize(
    ("s", "b"),
    [
        ([1, 0.5, 0.3, 0, 0, 0], [1, 2, 0.5, 1, 0, 0]),
        ([1, 0.5, 0.3, 0, 0, 0], [0, 0, 0, 1, 0.01, 0]),
        ([1, 0.5, 0, 0, 0, 0], [0, 1, 0, 1, 1e-6, 0]),
        ([1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]),
    ],
)
def test_coordinates_without_signal_stay_without_it_in_any_basis(s, b):
    s, b = np.array(s, dtype=float), np.array(b, dtype=float)
    exact = moments.regression(s, prompt=5, prior=b, ridge=0.1)
    for seed in range(40):
        Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((6, 6)))[0]
        turned = moments.regression(Q * s @ Q.T, prompt=5, prior=Q * b @ Q.T, ridge=0.1)
        assert np.allclose(turned.oracle, Q * exact.oracle @ Q.T, atol=1e-7)
        assert np.isclose(turned.floor, exact.floor, rtol=1e-12, atol=1e-14)


def test_a_direction_lost_in_rounding_is_given_up():
    u = np.array([3.0, -2.0, 2.0, 1.0, -1.0, 1.0]) / np.sqrt(20.0)
    exact = moments.regression(np.ones(6), prompt=10**17, prior=np.outer(u, u))
    assert np.allclose(exact.oracle, np.outer(u, u), atol=1e-12)
    assert 0.0 <= exact.floor < 1e-15


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_the_matrix_oracle_is_B_times_the_pseudo_inverse_of_C(ridge):
    factor = np.random.default_rng(2).standard_normal((5, 2))
    low = np.diag([1.0, 0.5, 0.0, 0.0, 0.0])
    for sigma, prior in ((low, factor @ factor.T), (factor @ factor.T, low)):
        exact = moments.regression(sigma, prompt=4, ridge=ridge, prior=prior)
        reference = exact.B @ np.linalg.pinv(exact.C, rcond=1e-11, hermitian=True)
        assert np.allclose(exact.oracle, reference, atol=1e-9)


def test_a_graded_matrix_keeps_its_small_end():
    s = np.logspace(0, -12, 7)
    thin = moments.regression(s, prompt=10**6, ridge=1e-13)
    wide = moments.regression(np.diag(s), prompt=10**6, ridge=1e-13)
    assert np.allclose(np.diagonal(wide.oracle), thin.oracle, rtol=1e-12)
    assert np.isclose(wide.floor, thin.floor, rtol=1e-12)
    s = np.logspace(0, -8, 7)
    Q = np.linalg.qr(np.random.default_rng(3).standard_normal((7, 7)))[0]
    thin = moments.regression(s, prompt=10**6, ridge=1e-9)
    turned = moments.regression(Q * s @ Q.T, prompt=10**6, ridge=1e-9)
    assert np.isclose(turned.floor, thin.floor, rtol=1e-7)


def test_random_signs_in_one_coordinate_leave_nothing_to_learn():
    exact = moments.regression([2.0], prompt=3, kurtosis=-2.0)
    assert exact.floor == 0.0 and exact.contraction == 0.0 and exact.spread[0] == 0.0


def test_the_floor_keeps_its_digits_where_it_is_tiny():
    exact = moments.regression(np.ones(4), prompt=10**14)
    assert np.isclose(exact.floor, 5e-14, rtol=1e-12)


def test_noise_does_not_enter_the_solve_target():
    loud = moments.regression(S3, prompt=5, ridge=0.1, noise=3.0)
    assert np.array_equal(loud.C, moments.regression(S3, prompt=5, ridge=0.1).C)


@pytest.mark.parametrize("target", ["solve", "coefficients"])
def test_gradient_noise_matches_monte_carlo_within_its_stated_error(target):
    law = Law(np.array([1.0, 0.4, 0.1]), 30, 0.2, 0.5, np.array([0.5, 1.0, 2.0]), None, target)
    exact, scores = moments.gradient_noise(law), []
    for seed in range(5):
        estimate, error = moments.sampled_gradient_noise(law, count=100_000, seed=seed)
        scores.append((estimate - exact) / error)
        assert np.max(error / exact) < 0.1
    assert np.max(np.abs(scores)) < 5.0
    assert 0.65 < np.sqrt(np.mean(np.square(scores))) < 1.5


def _quadrature(law: Law) -> np.ndarray:
    """G by Gauss-Hermite and Gauss-Laguerre nodes, exact for the polynomial that it integrates."""
    x, w = roots_hermitenorm(5)
    axes = np.meshgrid(*[x] * 6, indexing="ij")
    weights = np.prod(np.meshgrid(*[w / w.sum()] * 6, indexing="ij"), axis=0).ravel()
    normals = np.stack([axis.ravel() for axis in axes], axis=1)
    z, g = normals[:, :3] * np.sqrt(law.prior), normals[:, 3:]
    root = np.sqrt(law.sigma)
    solve = law.target == "solve"
    sigma, ridge = (0.0, law.ridge) if solve else (law.noise, 0.0)
    u, p, G = root * z, moments.of(law).oracle, 0.0
    rho = np.sqrt(np.sum(u**2, axis=1) + sigma**2)
    along = np.divide(np.sum(u * g, axis=1), rho + sigma, out=0 * rho, where=rho > 0)
    across = rho[:, None] * g - u * along[:, None]
    q, v = roots_genlaguerre(4, law.prompt / 2 - 1)
    for chi2, share in zip(2 * q, v / v.sum(), strict=True):
        d = ridge * z + root * (chi2 * u + np.sqrt(chi2) * across) / law.prompt
        G = G + share * (weights[:, None] * (z - p * d) ** 2).T @ d**2
    return np.asarray(G)


@pytest.mark.parametrize("target", ["solve", "coefficients"])
@pytest.mark.parametrize("prompt", [1, 2, 7, 100])
def test_gradient_noise_equals_exact_quadrature(target, prompt):
    law = Law(np.array([1.0, 0.4, 0.1]), prompt, 0.2, 0.5, np.array([0.5, 1.0, 2.0]), None, target)
    assert np.allclose(moments.gradient_noise(law), _quadrature(law), rtol=1e-11)


def test_gradient_noise_is_not_the_product_of_the_variances():
    law = Law(laws.spectrum("log", 16, 10.0), 128, 1e-3)
    exact, G = moments.of(law), moments.gradient_noise(law)
    R = (1 - exact.oracle * exact.response) ** 2 * exact.S + exact.oracle**2 * exact.spread
    assert 0.84 < np.outer(R, exact.C).sum() / G.sum() < 0.86
    assert 0.88 < np.outer(R, np.ones(16)).sum() / np.sum(G / exact.C) < 0.91


def test_gradient_noise_of_any_law_by_sampling():
    estimate, error = moments.sampled_gradient_noise(CASES["rank 2"], count=20_000, seed=0)
    full = moments.of(CASES["rank 2"]).full()
    tasks = samplers.draw(CASES["rank 2"], 20_000, seed=1, needs="d")
    scatter = np.sum((tasks.truth - tasks.d @ full.oracle.T) ** 2, axis=1)
    rotated = (tasks.d @ np.linalg.eigh(full.C)[1]) ** 2
    other = scatter @ rotated / 20_000
    assert np.all(np.abs(estimate.sum(axis=0) - other) < 6 * np.sqrt(2) * error.sum(axis=0))
    for case in ("rank 2", "solve, matrices", "solve, heavy", "solve, vector and matrix"):
        with pytest.raises(ValueError, match="^law: the closed form needs Gaussian"):
            moments.gradient_noise(CASES[case])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("sigma", {"sigma": [1.0, np.nan]}),
        ("sigma", {"sigma": []}),
        ("kurtosis", {"sigma": [[1.0, 0.5], [0.5, 1.0]], "kurtosis": 1.0}),
        ("prompt", {"prompt": 0}),
        ("prior", {"prior": [1.0]}),
        ("noise", {"noise": -1.0}),
        ("target", {"target": "both"}),
        ("kurtosis", {"kurtosis": -2.5}),
    ],
)
def test_bad_moments_are_refused_by_name(name, change):
    given = {"sigma": [1.0, 0.5], "prompt": 4} | change
    with pytest.raises(ValueError, match=f"^{name}:"):
        moments.regression(given.pop("sigma"), **given)


def test_bad_matrices_for_the_risk_are_refused():
    exact = moments.regression([1.0, 0.5], prompt=4)
    for P in (np.ones(3), np.ones((2, 3)), np.array([1.0, np.nan]), np.ones((2, 2, 2))):
        with pytest.raises(ValueError, match="^P:"):
            exact.risk(P)
    with pytest.raises(ValueError, match="^count:"):
        moments.sampled_gradient_noise(Law(np.ones(2), 3), count=1, seed=0)
