import numpy as np
import pytest

from twofold.encoder.dictionary import DictionaryLaw
from twofold.protocol import Law
from twofold.tasks import moments
from twofold.training import band, online, trajectory

LAW = Law(np.logspace(0, -1, 8), 32, 1e-3)
TIMES = np.array([0, 20, 100, 300, 600])


def decoder_runs(count, batch, eta):
    m = moments.of(LAW).full()
    path = trajectory.decoder(np.zeros((8, 8)), m.C, m.B, eta=eta, steps=TIMES)
    D = []
    for seed in range(count):
        learner = online.DecoderSGD(LAW, eta=eta, batch=batch, seed=seed)
        D.append([s["P"] - path.oracle for s in online.states(learner, learner.start(), TIMES)])
    D = np.array(D)
    return path, np.sum(D**2, axis=(2, 3)), np.einsum("nsij,jk,nsik->ns", D, m.C, D) / 8


def test_decoder_band_meets_the_runs():
    path, distance2, excess = decoder_runs(count=24, batch=256, eta=0.6)
    predicted = band.decoder(path, moments.gradient_noise(LAW), batch=256)
    for observed, expected in ((distance2, predicted.distance**2), (excess, predicted.excess)):
        error = observed.std(0, ddof=1) / np.sqrt(len(observed))
        assert np.all(np.abs(observed.mean(0) - expected) <= 4.5 * error + 0.03 * expected)
    late = excess.std(0, ddof=1)[3:] / predicted.spread[3:]
    assert np.all((late > 0.5) & (late < 2))
    low, high = predicted.edges
    inside = (excess >= low) & (excess <= high)
    assert np.mean(inside[:, 2:]) > 0.85  # 0.955 of a Gaussian; 72 draws
    np.testing.assert_allclose(excess[:, 0], predicted.excess[0])
    # without the noise the path is refuted
    assert np.all(path.excess[3:] < 0.5 * excess.mean(0)[3:])


def test_decoder_band_is_the_stationary_formula_on_a_matrix_law_too():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    turned = Law((Q * np.logspace(0, -1, 8)) @ Q.T, 32, 1e-3)
    m, plain = moments.of(turned), moments.of(LAW).full()
    G, error = moments.sampled_gradient_noise(turned, count=200_000, seed=1)
    path = trajectory.decoder(np.zeros((8, 8)), m.C, m.B, eta=0.6, steps=TIMES)
    straight = trajectory.decoder(np.zeros((8, 8)), plain.C, plain.B, eta=0.6, steps=TIMES)
    a = band.decoder(path, G, batch=64)
    b = band.decoder(straight, moments.gradient_noise(LAW), batch=64)
    np.testing.assert_allclose(a.distance, b.distance, rtol=0.01)
    np.testing.assert_allclose(a.excess, b.excess, rtol=0.01)
    assert np.all(error < 0.1 * G.max())


def test_decoder_noise_by_brute_force_for_one_mode():
    """Sum of (eta^2/b) G mu^{2t} over the steps, written out."""
    path = trajectory.decoder([[0.5]], [[0.8]], [[0.4]], eta=0.3, steps=[7])
    predicted = band.decoder(path, [[2.0]], batch=5)
    mu = 1 - 0.3 * 0.8
    assert np.isclose(
        predicted.distance[0] ** 2, sum(0.09 / 5 * 2 * mu ** (2 * t) for t in range(7))
    )
    assert np.isclose(predicted.excess[0], 0.8 * predicted.distance[0] ** 2)


def test_encoder_band_is_exact():
    rng = np.random.default_rng(2)
    law = DictionaryLaw(rng.standard_normal((4, 3)), np.diag([1.0, 0.5, 0.1]), 0.3)
    times, G0 = np.array([0, 1, 5, 60, 300]), np.zeros((4, 3))
    excess, distance2 = [], []
    for seed in range(200):
        learner = online.EncoderSGD(law, eta=0.4, batch=8, seed=seed)
        G = np.array([s["G"] for s in online.states(learner, learner.start(G0), times)])
        excess.append(law.risk(G) - law.noise**2)
        distance2.append(np.sum((G - law.G_star) ** 2, axis=(1, 2)))
    predicted = band.encoder(law, G0, eta=0.4, batch=8, steps=times)
    pairs = ((excess, predicted.excess), (distance2, predicted.distance**2))
    for observed, expected in ((np.array(o), e) for o, e in pairs):
        error = observed.std(0, ddof=1) / np.sqrt(200)
        assert np.all(np.abs(observed.mean(0) - expected) <= 4.5 * error + 1e-12)
        assert np.all(error[1:] < 0.15 * expected[1:])


def test_encoder_band_of_one_mode_written_out():
    """m' = m [(1 - x)^2 + 2 x^2 / b] + eta^2 l K sigma^2 / b, as E W^2 = l^2 (1 + 2/b)."""
    law = DictionaryLaw([[2.0], [0.0]], [[0.5]], 0.3)
    m, x = 4.0, 0.4 * 0.5
    for _ in range(9):
        m = m * ((1 - x) ** 2 + 2 * x**2 / 6) + 0.16 * 0.5 * 2 * 0.09 / 6
    predicted = band.encoder(law, np.zeros((2, 1)), eta=0.4, batch=6, steps=9)
    assert np.isclose(predicted.distance[0] ** 2, m) and np.isclose(predicted.excess[0], m * 0.25)


def test_bad_input():
    path = trajectory.decoder(np.zeros((2, 2)), np.eye(2), np.eye(2), eta=0.5, steps=[1])
    with pytest.raises(ValueError, match="G: expected shape"):
        band.decoder(path, np.ones((3, 3)), batch=4)
    with pytest.raises(ValueError, match="batch: "):
        band.decoder(path, np.ones((2, 2)), batch=0)
    wild = trajectory.decoder(np.zeros((2, 2)), 5 * np.eye(2), np.eye(2), eta=0.5, steps=[1])
    with pytest.raises(ValueError, match="path: a mode"):
        band.decoder(wild, np.ones((2, 2)), batch=4)
    with pytest.raises(ValueError, match="path: expected discrete"):
        band.decoder(trajectory.flow([[0.0]], [[1.0]], [[1.0]], times=1), [[1.0]], batch=4)
    law = DictionaryLaw([[2.0]], [[0.5]], 0.3)
    with pytest.raises(ValueError, match="steps: "):
        band.encoder(law, [[0.0]], eta=0.1, batch=4, steps=[-1])
    with pytest.raises(ValueError, match="G0: "):
        band.encoder(law, [[np.inf]], eta=0.1, batch=4, steps=[1])
