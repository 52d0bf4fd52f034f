import numpy as np
import pytest

from twofold.tasks import gp
from twofold.tasks.fourier import Fourier
from twofold.tasks.matern import Matern
from twofold.tasks.mercer import RBF

SHAPES = [(64, 16), (64, 64), (20, 40), (10, 7), (7, 10), (9, 8), (1, 1), (1, 9), (9, 1), (33, 17)]


def drawn(M, R, N=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N, M, R)), rng.standard_normal((N, M)), rng.uniform(0.1, 2, R)


def plain(Phi, y, prior, noise):
    """The formula as it reads: A, its inverse, its product."""
    Psi = np.swapaxes(Phi, 1, 2)
    inverse = np.linalg.inv(prior) if prior.ndim == 2 else np.diag(1 / prior)
    C = np.linalg.inv(inverse + Psi @ Phi / noise**2)
    return (C @ (Psi @ y[..., None]))[..., 0] / noise**2, C


@pytest.mark.parametrize("route", ["primal", "dual", None])
@pytest.mark.parametrize(("M", "R"), SHAPES)
def test_both_routes_are_the_formula(M, R, route):
    Phi, y, prior = drawn(M, R)
    z, C = plain(Phi, y, prior, 0.3)
    found = gp.posterior(Phi, y, prior=prior, noise=0.3, route=route)
    assert found.route == (route or ("dual" if M < R else "primal"))
    np.testing.assert_allclose(found.z, z, rtol=0, atol=1e-11 * np.abs(z).max())
    np.testing.assert_allclose(found.variance, np.einsum("nii->ni", C), rtol=0, atol=1e-11)
    assert found.mean is found.z


@pytest.mark.parametrize("route", ["primal", "dual"])
@pytest.mark.parametrize(("M", "R"), [(12, 5), (5, 12)])
def test_queries_and_a_full_prior(M, R, route):
    Phi, y, _ = drawn(M, R)
    rng = np.random.default_rng(1)
    root, asked = rng.standard_normal((R, R)), rng.standard_normal((6, 11, R))
    prior = root @ root.T + 0.1 * np.eye(R)
    z, C = plain(Phi, y, prior, 0.5)
    found = gp.posterior(Phi, y, prior=prior, noise=0.5, queries=asked, route=route)
    np.testing.assert_allclose(found.z, z, atol=1e-10)
    np.testing.assert_allclose(found.mean, (asked @ z[..., None])[..., 0], atol=1e-10)
    variance = np.einsum("nqi,nij,nqj->nq", asked, C, asked)
    np.testing.assert_allclose(found.variance, variance, atol=1e-10)
    shared = gp.posterior(Phi, y, prior=prior, noise=0.5, queries=asked[0], route=route)
    np.testing.assert_array_equal(shared.mean[0], found.mean[0])
    latent = gp.posterior(Phi, y, prior=prior, noise=0.5, route=route)
    np.testing.assert_allclose(latent.variance, np.einsum("nii->ni", C), atol=1e-10)


def test_a_singular_prior_and_an_empty_prompt():
    Phi, y, prior = drawn(8, 5)
    prior[2] = 0.0
    found = gp.posterior(Phi, y, prior=prior, noise=0.3)
    kept = np.array([0, 1, 3, 4])
    np.testing.assert_allclose(found.z[:, kept], plain(Phi[:, :, kept], y, prior[kept], 0.3)[0])
    assert np.all(found.z[:, 2] == 0) and np.all(found.variance[:, 2] == 0)
    nothing = gp.posterior(Phi[:, :0], y[:, :0], prior=prior, noise=0.3)
    assert np.all(nothing.z == 0)
    np.testing.assert_array_equal(nothing.variance, np.broadcast_to(prior, (6, 5)))


@pytest.mark.parametrize(("M", "R"), [(16, 5), (5, 16)])
def test_a_bad_row_is_nan_and_touches_no_other(M, R):
    Phi, y, prior = drawn(M, R, N=70)
    asked = np.ones((70, 3, R))
    good = gp.posterior(Phi, y, prior=prior, noise=0.3, queries=asked)
    for bad, where in ((np.nan, 3), (np.inf, 40)):
        Phi[where, 1, 1] = bad
        y[where + 1, 2] = bad
    Phi[50] *= 1e200
    found = gp.posterior(Phi, y, prior=prior, noise=0.3, queries=asked)
    lost = np.isin(np.arange(70), [3, 4, 40, 41, 50])
    for field in ("z", "mean", "variance"):
        assert np.isnan(getattr(found, field)[lost]).all(), field
        np.testing.assert_array_equal(getattr(found, field)[~lost], getattr(good, field)[~lost])


def test_noise_that_float64_cannot_tell_from_zero_gives_nan_not_a_number():
    Phi, y, prior = drawn(16, 5)
    assert np.isfinite(gp.posterior(Phi, y, prior=prior, noise=1e-5).z).all()
    for tiny in (1e-9, 1e-150, 1e-300):
        assert np.isnan(gp.posterior(Phi, y, prior=prior, noise=tiny).z).all()


def test_scales_and_types():
    Phi, y, prior = drawn(12, 5)
    base = gp.posterior(Phi, y, prior=prior, noise=0.25)
    small = gp.posterior(2.0**-300 * Phi, 2.0**-300 * y, prior=prior, noise=0.25 * 2.0**-300)
    np.testing.assert_array_equal(small.z, base.z)
    np.testing.assert_array_equal(small.variance, base.variance)
    large = gp.posterior(Phi, 2.0**400 * y, prior=2.0**800 * prior, noise=0.25 * 2.0**400)
    np.testing.assert_allclose(large.z, 2.0**400 * base.z, rtol=1e-12)
    narrow = Phi.astype(np.float32)
    np.testing.assert_array_equal(
        gp.posterior(narrow, y, prior=prior, noise=0.25).z,
        gp.posterior(narrow.astype(float), y, prior=prior, noise=0.25).z,
    )
    turned = np.asfortranarray(Phi)
    np.testing.assert_array_equal(gp.posterior(turned, y, prior=prior, noise=0.25).z, base.z)


def test_bad_input_is_named():
    Phi, y, prior = drawn(12, 5)
    for change, message in (
        ({"Phi": Phi[0]}, r"Phi: expected \(N, M, R\)"),
        ({"Phi": Phi[:0], "y": y[:0]}, "Phi: at least one task"),
        ({"y": y[:, :3]}, "y: expected shape"),
        ({"noise": 0.0}, "noise: a standard deviation > 0"),
        ({"noise": -1.0}, "noise: a standard deviation > 0"),
        ({"noise": np.nan}, "noise"),
        ({"prior": prior[:2]}, "prior: expected shape"),
        ({"prior": -prior}, "prior: variances >= 0"),
        ({"prior": np.diag([1.0, 1, 1, 1, -1])}, "prior: variances >= 0"),
        ({"prior": np.full(5, np.nan)}, "prior"),
        ({"route": "both"}, "route"),
        ({"queries": np.ones((2, 4))}, "queries: expected shape"),
        ({"queries": np.ones((0, 5))}, "queries: expected shape"),
    ):
        given = {"Phi": Phi, "y": y, "prior": prior, "noise": 0.3} | change
        with pytest.raises(ValueError, match=message):
            gp.posterior(**given)
    with pytest.raises(ValueError, match="prior: A needs Lambda"):
        gp.system(Phi, y, prior=np.zeros(5), noise=0.3)
    with pytest.raises(ValueError, match="prior: A needs Lambda"):
        gp.system(Phi, y, prior=np.ones((5, 5)), noise=0.3)
    basis = RBF(4)
    for change, message in (
        ({"prompt": 0}, "prompt"), ({"count": 0}, "count"), ({"held_out": 0}, "held_out"),
        ({"target": "latent"}, "target"), ({"noise": 0.0}, "noise"),
    ):  # fmt: skip
        given = {"seed": 0, "count": 2, "prompt": 3, "basis": basis, "noise": 0.1} | change
        with pytest.raises(ValueError, match=message):
            gp.sample(**given)


def test_a_task_is_a_prompt_and_the_truth_solves_it():
    basis = RBF(6)
    tasks = gp.sample(seed=3, count=40, prompt=16, basis=basis, noise=0.2)
    assert set(tasks.prompt) == {"Phi", "y", "H", "d", "Phi_q"}
    residual = tasks.d - (tasks.H @ tasks.truth[..., None])[..., 0]
    assert np.max(np.abs(residual)) < 1e-9 * np.max(np.abs(tasks.d))
    np.testing.assert_array_equal(tasks.H, np.swapaxes(tasks.H, 1, 2))
    np.testing.assert_array_equal(tasks.Phi, basis(tasks.facts["x"]))
    again = gp.sample(seed=3, count=40, prompt=16, basis=basis, noise=0.2, target="held-out")
    np.testing.assert_array_equal(again.truth, again.facts["f_q"])
    np.testing.assert_array_equal(again.prompt["y"], tasks.prompt["y"])
    assert again.scale == 1 / 16 and tasks.scale == 1 / 6
    found = gp.posterior(tasks.Phi, tasks.y, prior=basis.prior, noise=0.2, queries=tasks.Phi_q)
    np.testing.assert_allclose(found.z, tasks.truth, atol=1e-12)


def test_the_posterior_variance_is_the_error_of_the_posterior_mean():
    basis = RBF(5)
    tasks = gp.sample(seed=0, count=4000, prompt=8, basis=basis, noise=0.3, held_out=4)
    found = gp.posterior(tasks.Phi, tasks.y, prior=basis.prior, noise=0.3, queries=tasks.Phi_q)
    ratio = (found.mean - tasks.facts["f_q"]) ** 2 / found.variance
    assert abs(ratio.mean() - 1) < 5 * np.sqrt(2 / 4000)
    assert abs(np.mean((tasks.truth - tasks.latent) ** 2 / gp.posterior(
        tasks.Phi, tasks.y, prior=basis.prior, noise=0.3).variance) - 1) < 0.05  # fmt: skip


def test_kernel_ridge_regression_is_the_same_mean():
    """(K + lambda I)^-1 y with lambda = noise^2, written out for one task at a time."""
    basis, noise = Matern(15), 0.2
    tasks = gp.sample(seed=1, count=10, prompt=20, basis=basis, noise=noise)
    found = gp.posterior(tasks.Phi, tasks.y, prior=basis.prior, noise=noise, queries=tasks.Phi_q)
    for n in range(10):
        k = (tasks.Phi[n] * basis.prior) @ tasks.Phi[n].T
        weights = np.linalg.solve(k + noise**2 * np.eye(20), tasks.y[n])
        np.testing.assert_allclose(
            found.mean[n], (tasks.Phi_q[n] * basis.prior) @ tasks.Phi[n].T @ weights, atol=1e-11
        )


@pytest.mark.parametrize(
    "basis", [RBF(8, 0.7), RBF(24, 0.7), Matern(41, 2.5), Matern(21, 0.5), Fourier(64)]
)
def test_the_exact_process_is_within_the_truncation_s_bound(basis):
    tasks = gp.sample(seed=0, count=50, prompt=16, basis=basis, noise=0.2)
    x, x_q = tasks.facts["x"], tasks.facts["x_q"]
    found = gp.posterior(tasks.Phi, tasks.y, prior=basis.prior, noise=0.2, queries=tasks.Phi_q)
    mean, variance = gp.exact(x, tasks.y, x_q, kernel=basis.kernel, noise=0.2)
    bound = gp.truncation(x, tasks.y, x_q, basis=basis, noise=0.2)
    assert np.all(np.abs(found.mean - mean) <= bound + 1e-9)
    assert np.all((variance > 0) & (variance < 1 + 1e-12))


def test_the_truncation_s_bound_falls_with_the_rank_as_the_error_does():
    gaps = []
    for rank in (6, 12, 24):
        basis = RBF(rank)
        tasks = gp.sample(seed=0, count=50, prompt=16, basis=basis, noise=0.2, source=RBF(60))
        x, x_q = tasks.facts["x"], tasks.facts["x_q"]
        found = gp.posterior(tasks.Phi, tasks.y, prior=basis.prior, noise=0.2, queries=tasks.Phi_q)
        mean = gp.exact(x, tasks.y, x_q, kernel=basis.kernel, noise=0.2)[0]
        gaps.append(np.median(np.abs(found.mean - mean)))
    assert gaps[0] > 100 * gaps[1] > 1000 * gaps[2]


def test_the_kernel_is_one_result_on_any_split_of_the_tasks():
    Phi, y, prior = drawn(16, 12, N=100)
    whole = gp.posterior(Phi, y, prior=prior, noise=0.3)
    for rows in (slice(0, 1), slice(31, 34), slice(50, 100)):
        part = gp.posterior(Phi[rows], y[rows], prior=prior, noise=0.3)
        np.testing.assert_array_equal(part.z, whole.z[rows])
        np.testing.assert_array_equal(part.variance, whole.variance[rows])


def test_given_features_and_rows_of_nan():
    Phi, y, prior = drawn(8, 4)
    y[2, 0] = np.nan
    tasks = gp.given(Phi, y, prior=prior, noise=0.2)
    assert np.isnan(tasks.truth[2]).all() and np.isfinite(np.delete(tasks.truth, 2, 0)).all()
    assert "Phi_q" not in tasks.prompt
    np.testing.assert_allclose(tasks.truth[0], plain(Phi, y, prior, 0.2)[0][0], atol=1e-12)
