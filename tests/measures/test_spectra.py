import numpy as np
import pytest

from twofold.measures import spectra


def rotation(rng, K):
    return np.linalg.qr(rng.standard_normal((K, K)))[0]


def with_spectrum(values, seed=0):
    Q = rotation(np.random.default_rng(seed), len(values))
    H = (Q * np.asarray(values)) @ Q.T
    return (H + H.T) / 2


def test_a_known_spectrum_is_read_off():
    H = with_spectrum([5.0, 2.0, 1.0, 0.5])
    assert np.allclose(spectra.spectrum(H), [5, 2, 1, 0.5])
    assert np.allclose(spectra.spectrum([1.0, 5.0, 2.0]), [5, 2, 1])
    assert np.allclose(spectra.extreme_eigenvalues(H), (0.5, 5))
    assert spectra.condition(H) == pytest.approx(10)
    assert spectra.condition(np.stack([H, 3 * H])) == pytest.approx([10, 10])


def test_the_spectrum_of_a_covariance_is_not_negative():
    thin = np.random.default_rng(1).standard_normal((6, 2))
    assert np.all(spectra.spectrum(thin @ thin.T) >= 0)
    for bad in (with_spectrum([1.0, -0.1]), [1.0, -0.1]):
        with pytest.raises(ValueError, match="^S: "):
            spectra.spectrum(bad)


def test_condition_says_singular_and_indefinite():
    cases = np.stack([np.diag(x) for x in ([1.0, 0.0], [1.0, -1.0], [-1.0, -2.0], [0.0, 0.0])])
    kappa = spectra.condition(cases)
    assert kappa[0] == np.inf
    assert np.all(np.isnan(kappa[1:]))
    assert spectra.condition(with_spectrum([1.0, 1e-17])) == np.inf
    assert spectra.condition(np.array([[3.0]])) == 1


def test_radius_and_norm_are_two_numbers():
    """Only for a normal matrix are they one."""
    shear = np.array([[0.0, 4.0], [0.0, 0.0]])
    P, H = np.eye(2) - shear, np.eye(2)
    found = spectra.sample_contraction(P, H[None])
    assert found.matrix == "sample"
    assert found.norm == pytest.approx([4])
    assert found.radius == pytest.approx([0], abs=1e-7)
    assert spectra.norm2(shear) == pytest.approx(4)
    assert spectra.radius(shear) == pytest.approx(0, abs=1e-7)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    assert spectra.radius(turn) == pytest.approx(1)
    rng = np.random.default_rng(2)
    T = rng.standard_normal((200, 5, 5))
    assert np.all(spectra.radius(T) <= spectra.norm2(T) * (1 + 1e-12))
    assert np.mean(spectra.radius(T) < 0.95 * spectra.norm2(T)) > 0.9


def test_sample_population_and_latent_contractions_differ():
    rng = np.random.default_rng(3)
    K, M, r = 6, 40, 2
    X = rng.standard_normal((9, M, K))
    H = np.swapaxes(X, 1, 2) @ X / M
    P, U = np.eye(K) * 0.9, rotation(rng, K)[:, :r]
    sample = spectra.sample_contraction(P, H)
    population = spectra.population_contraction(P, np.eye(K))
    latent = spectra.latent_contraction(0.5 * np.eye(r), U, np.eye(K))
    assert (sample.matrix, population.matrix, latent.matrix) == ("sample", "population", "latent")
    assert sample.norm.shape == (9,)
    assert population.norm == pytest.approx(0.1)
    assert latent.radius == pytest.approx(0.5)
    assert np.all(sample.norm > population.norm)
    trajectory = spectra.population_contraction(np.stack([P, 0 * P]), np.eye(K))
    assert trajectory.norm == pytest.approx([0.1, 1])
    A = spectra.latent_matrix(U, with_spectrum(np.arange(1.0, K + 1)))
    assert A.shape == (r, r)
    assert np.array_equal(A, A.T)


def test_whitening_undoes_the_covariance():
    sigma = with_spectrum([9.0, 4.0, 1.0])
    assert np.allclose(spectra.whiten(sigma, sigma), np.eye(3))
    batch = np.stack([sigma, 2 * sigma])
    assert np.allclose(spectra.whiten(batch, sigma)[1], 2 * np.eye(3))
    diagonal = np.array([4.0, 1.0])
    S = np.array([[8.0, 2.0], [2.0, 3.0]])
    assert np.allclose(spectra.whiten(S, diagonal), [[2, 1], [1, 3]])
    assert np.allclose(spectra.whiten(S, np.diag(diagonal)), [[2, 1], [1, 3]])
    singular = with_spectrum([1.0, 1.0, 0.0])
    for bad in (singular, np.array([1.0, 0, 1]), np.array([1.0, -1, 1]), np.eye(2)):
        with pytest.raises(ValueError, match="^sigma: "):
            spectra.whiten(sigma, bad)


def test_preconditioned_condition_norm_and_spread():
    H = with_spectrum([100.0, 10.0, 1.0])
    assert spectra.preconditioned_condition(np.linalg.inv(H), H[None]) == pytest.approx([1])
    shear = np.array([[1.0, 3.0], [0.0, 1.0]])
    assert spectra.preconditioned_spread(shear, np.eye(2)) == pytest.approx(1, rel=1e-6)
    assert spectra.preconditioned_condition(shear, np.eye(2)) == pytest.approx(
        (np.sqrt(13) + 3) ** 2 / 4
    )
    assert spectra.preconditioned_condition(np.diag([1.0, 0]), np.eye(2)) == np.inf


def test_stable_rank_and_top_energy():
    values = np.array([4.0, 2.0, 1.0])
    P = (
        rotation(np.random.default_rng(4), 3)
        @ np.diag(values)
        @ rotation(np.random.default_rng(5), 3)
    )
    assert spectra.stable_rank(P) == pytest.approx(21 / 16)
    assert spectra.top_energy(P, 2) == pytest.approx(20 / 21)
    assert spectra.top_energy(P, 3) == pytest.approx(1)
    for scale in (1e300, 1e-300):
        assert spectra.stable_rank(scale * P) == pytest.approx(21 / 16)
    assert np.isnan(spectra.stable_rank(np.zeros((2, 2))))
    assert np.isnan(spectra.top_energy(np.zeros((1, 2, 2)), 1)).all()
    with pytest.raises(ValueError, match="^k: "):
        spectra.top_energy(P, 4)


def test_an_overflowing_row_is_nan_and_the_others_go_on():
    H = np.stack([np.eye(2), 1e300 * np.eye(2), np.eye(2)])
    found = spectra.sample_contraction(1e300 * np.eye(2), H)
    assert np.isnan(found.norm).tolist() == [False, True, False]
    assert np.isnan(found.radius).tolist() == [False, True, False]
    assert spectra.norm2(np.full((2, 2), 1e308)) == np.inf
    assert spectra.norm2(np.full((2, 2), 1e307)) == pytest.approx(2e307)
    assert spectra.condition(1e300 * with_spectrum([2.0, 1.0])) == pytest.approx(2)
    assert spectra.condition(5e-324 * np.eye(2)) == 1


@pytest.mark.parametrize(
    "bad",
    (
        np.full((2, 2), np.nan),
        np.eye(2) * 1j,
        np.eye(2).astype(object),
        np.zeros((2, 3)),
        np.zeros((0, 0)),
        np.array([[1.0, 1e-3], [0.0, 1.0]]),
        np.zeros(()),
    ),
)
def test_bad_matrices_are_refused(bad):
    for function in (spectra.condition, spectra.spectrum, spectra.extreme_eigenvalues):
        with pytest.raises(ValueError, match=r"^(H|S|matrix): "):
            function(bad)


def test_kinds_of_storage_give_the_same_bits():
    H = np.round(with_spectrum(np.arange(1.0, 9.0)) * 64) / 64
    twins = (
        H.astype(">f8"),
        np.asfortranarray(H),
        np.repeat(np.repeat(H, 2, 0), 2, 1)[::2, ::2],
        H.astype(np.float32),
    )
    for twin in twins:
        assert np.array_equal(spectra.spectrum(twin), spectra.spectrum(H))


def test_shapes_of_the_product_are_checked_and_an_empty_batch_stays_empty():
    with pytest.raises(ValueError, match="^P, H: "):
        spectra.sample_contraction(np.eye(3), np.eye(2)[None])
    with pytest.raises(ValueError, match="^P, H: "):
        spectra.sample_contraction(np.zeros((2, 2, 2)), np.zeros((3, 2, 2)))
    with pytest.raises(ValueError, match="^U: "):
        spectra.latent_matrix(np.eye(3), np.eye(2))
    assert spectra.norm2(np.zeros((0, 3, 3))).shape == (0,)
