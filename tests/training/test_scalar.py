import numpy as np
import pytest

from twofold.training import scalar, trajectory, triangular


def modes(seed, S=50, r=5):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(r), rng.uniform(0.1, 1.5, (S, r)), rng.standard_normal((S, r))


def test_recursion_and_sum_of_products_agree_to_rounding():
    p0, c, b = modes(0)
    p = scalar.decoder_modes(p0, c, b, eta=0.4)
    for s in (1, 2, 17, 50):
        summed = scalar.decoder_modes_unrolled(p0, c[:s], b[:s], eta=0.4)
        np.testing.assert_allclose(summed, p[s], rtol=0, atol=1e-14)


def test_a_negative_factor_and_a_zero_factor():
    c, b = np.array([[4.0], [2.0], [1.0]]), np.array([[1.0], [2.0], [3.0]])
    p = scalar.decoder_modes([1.0], c, b, eta=0.5)
    np.testing.assert_array_equal(p[:, 0], [1, -0.5, 1, 2])
    np.testing.assert_array_equal(scalar.decoder_modes_unrolled([1.0], c, b, eta=0.5), [2])


def test_diagonal_matrices_move_mode_by_mode():
    p0, c, b = modes(1, S=12)
    diagonal = np.eye(5)
    run = triangular.track(np.diag(p0), c[:, None] * diagonal, b[:, None] * diagonal, eta=0.4)
    p = scalar.decoder_modes(p0, c, b, eta=0.4)
    np.testing.assert_allclose(np.einsum("sii->si", run.P), p[:12], atol=1e-14)


def test_encoder_modes_are_the_diagonal_trajectory():
    g0, g_star, sigma = np.random.default_rng(2).uniform(0.1, 1.9, (3, 6))
    s = [0, 1, 2, 50, 401]
    g = scalar.encoder_modes(g0, g_star, sigma, eta=0.9, steps=s)
    sigma_bz = np.diag(g_star * sigma)
    path = trajectory.encoder(np.diag(g0), np.diag(sigma), sigma_bz, eta=0.9, steps=s)
    np.testing.assert_allclose(np.einsum("sii->si", path.P), g, atol=1e-13)


def test_decoder_risk_is_the_depth_l_risk():
    p, a, w = np.random.default_rng(3).uniform(0.2, 1.2, (3, 7, 4))
    risk = scalar.decoder_risk(p, a, w, depth=3)
    by_hand = [sum(w[s, i] * (1 - p[s, i] * a[s, i]) ** 6 for i in range(4)) for s in range(7)]
    np.testing.assert_allclose(risk, by_hand)
    np.testing.assert_allclose(scalar.decoder_risk(p, a, w, depth=0), w.sum(1))
    np.testing.assert_allclose(
        scalar.decoder_risk(p, a[0], w[0], depth=1)[0], risk_of_one(p[0], a[0], w[0])
    )


def risk_of_one(p, a, w):
    return np.sum(w * (1 - p * a) ** 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scalar.decoder_modes([1.0], np.zeros((0, 1)), np.zeros((0, 1)), eta=1), "c: exp"),
        (lambda: scalar.decoder_modes([1.0], [[np.nan]], [[1.0]], eta=1), "c: .* not finite"),
        (lambda: scalar.decoder_modes_unrolled([1.0], [[1.0]], [[1.0, 2.0]], eta=1), "b: exp"),
        (lambda: scalar.encoder_modes([1.0], [1.0, 2.0], [1.0], eta=1, steps=1), "g_star: exp"),
        (lambda: scalar.encoder_modes([1.0], [1.0], [1.0], eta=1, steps=[-1]), "steps: exp"),
        (lambda: scalar.decoder_risk([[1.0]], [1.0], [1.0], depth=-1), "depth: exp"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
