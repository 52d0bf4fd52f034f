import numpy as np
import pytest

from twofold.encoder.dictionary import DictionaryLaw, descend, gradient, held_out_risk
from twofold.training import trajectory


def law(seed=0, K=6, r=4, noise=0.02):
    rng = np.random.default_rng(seed)
    return DictionaryLaw(rng.standard_normal((K, r)), np.linspace(1.0, 0.2, r), noise)


def test_the_risk_is_the_seeds_formula_and_its_floor_is_the_noise():
    model, rng = law(), np.random.default_rng(1)
    G = rng.standard_normal((3, 6, 4))
    for s in range(3):
        D = G[s] - model.G_star
        expected = 0.02**2 + np.trace(D @ model.sigma_z @ D.T) / 6
        assert model.risk(G)[s] == pytest.approx(expected, rel=1e-13)
        assert model.risk(G[s]) == pytest.approx(expected, rel=1e-13)
    assert model.risk(model.G_star) == 0.02**2


def test_the_gradient_is_the_slope_of_the_loss_and_vanishes_at_the_truth():
    """L = K R / 2, quadratic: a central difference is exact."""
    model, rng = law(), np.random.default_rng(2)
    G, direction = rng.standard_normal((2, 6, 4))
    slope = (6 / 2) * (model.risk(G + direction) - model.risk(G - direction)) / 2
    found = np.sum(gradient(G, model.sigma_z, model.sigma_bz) * direction)
    assert found == pytest.approx(slope, rel=1e-10)
    assert not gradient(model.G_star, model.sigma_z, model.sigma_bz).any()


def test_population_descent_follows_the_closed_form():
    model, eta = law(), 0.7
    G_0 = G = np.zeros_like(model.G_star)
    for _ in range(30):
        G = G - eta * gradient(G, model.sigma_z, model.sigma_bz)
    power = np.linalg.matrix_power(np.eye(4) - eta * model.sigma_z, 30)
    np.testing.assert_allclose(
        G - model.G_star, (G_0 - model.G_star) @ power, rtol=1e-9, atol=1e-14
    )


def test_its_trajectory_is_the_decoders_with_other_letters():
    """R_enc(s) from the closed form, against iteration, and below the geometric bound."""
    model, eta, steps = law(), 0.7, [0, 1, 7, 30, 800]
    G_0 = G = np.zeros_like(model.G_star)
    path = trajectory.decoder(G_0, model.sigma_z, model.sigma_bz, eta=eta, steps=steps)
    curve = model.risk(path.P)
    for s in range(801):
        if s in steps:
            assert curve[steps.index(s)] == pytest.approx(model.risk(G), rel=1e-10)
        G = G - eta * gradient(G, model.sigma_z, model.sigma_bz)
    excess = curve - model.noise**2
    shrink = np.max(np.abs(1 - eta * np.diagonal(model.sigma_z)))
    assert np.all(excess[1:4] <= shrink ** (2 * np.array(steps[1:4])) * excess[0])


def test_a_batch_step_is_gradient_descent_on_that_batch():
    model = law()
    G = np.zeros_like(model.G_star)
    z, b = model.sample(3, 50)
    after = descend(G, z, b, 0.1)
    for i in range(6):
        for j in range(4):
            expected = G[i, j] - 0.1 * np.mean((z @ G[i] - b[:, i]) * z[:, j])
            assert after[i, j] == pytest.approx(expected, abs=1e-14)


def test_samples_have_the_laws_moments_and_the_held_out_risk_is_unbiased():
    sigma = np.array([[1.0, 0.5], [0.5, 0.8]])
    model = DictionaryLaw(np.arange(6.0).reshape(3, 2), sigma, 0.3)
    z, b = model.sample(4, 200_000)
    np.testing.assert_allclose(z.T @ z / len(z), sigma, atol=0.015)
    np.testing.assert_allclose(b.T @ z / len(z), model.sigma_bz, atol=0.06)
    G = np.ones((3, 2))
    losses = held_out_risk(G, z, b)
    error = np.std(losses) / np.sqrt(len(losses))
    assert abs(np.mean(losses) - model.risk(G)) < 4 * error
    np.testing.assert_array_equal(model.sample(4, 7)[0], model.sample(4, 7)[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((3, 2)), np.eye(3)), "sigma_z"),
        ((np.ones((3, 2)), np.array([[1.0, 0.5], [0.0, 1.0]])), "sigma_z.*not symmetric"),
        ((np.ones((3, 2)), np.diag([1.0, -1.0])), "sigma_z.*negative eigenvalue"),
        ((np.ones((3, 2)), np.eye(2), -0.1), "noise"),
        ((np.ones((3, 0)), np.zeros((0, 0))), "G_star"),
        ((np.ones(3), np.eye(3)), "G_star"),
        ((np.full((3, 2), np.nan), np.eye(2)), "G_star.*not finite"),
    ],
)
def test_laws_that_are_none(arguments, message):
    with pytest.raises(ValueError, match=message):
        DictionaryLaw(*arguments)


@pytest.mark.parametrize(
    ("z", "b", "message"),
    [
        (np.zeros((0, 4)), np.zeros((0, 6)), "z: an empty batch"),
        (np.zeros((5, 3)), np.zeros((5, 6)), "z: expected shape"),
        (np.zeros((5, 4)), np.zeros((4, 6)), "b: expected shape"),
        (np.full((5, 4), np.nan), np.zeros((5, 6)), "z.*not finite"),
    ],
)
def test_batches_that_are_none(z, b, message):
    with pytest.raises(ValueError, match=message):
        descend(np.zeros((6, 4)), z, b, 0.1)
