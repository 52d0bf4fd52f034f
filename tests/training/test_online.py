import numpy as np
import pytest

from twofold.encoder.dictionary import DictionaryLaw
from twofold.protocol import Law
from twofold.tasks import laws, moments
from twofold.training import online, trajectory

LAW = Law(np.logspace(0, -1, 6), 24, 1e-3)
LOW = Law(np.logspace(0, -0.5, 6), 24, 0.0, noise=0.3, rank=2, target="coefficients")


def dictionary(seed=0, K=5, r=3, noise=0.1):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((r, 2 * r))
    return DictionaryLaw(rng.standard_normal((K, r)), A @ A.T / (2 * r), noise)


LEARNERS = {
    "decoder": lambda seed: online.DecoderSGD(LAW, eta=0.5, batch=16, seed=seed),
    "encoder": lambda seed: online.EncoderSGD(dictionary(), eta=0.2, batch=16, seed=seed),
    "joint": lambda seed: online.JointSGD(LOW, rank=2, eta=0.5, batch=16, seed=seed),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_resumed_run_is_the_uninterrupted_one_bit_for_bit(name):
    whole = LEARNERS[name](3)
    *_, half, last = online.states(whole, whole.start(), [0, 7, 20])
    stored = online.State(half.s, {k: v.copy() for k, v in half.arrays.items()})
    again = LEARNERS[name](3)
    (resumed,) = online.states(again, stored, [20])
    assert resumed.s == last.s == 20
    for key, value in last.arrays.items():
        assert resumed[key].tobytes() == value.tobytes()
        assert isinstance(value, np.ndarray)


@pytest.mark.parametrize("name", LEARNERS)
def test_seeds_differ_and_states_are_not_changed_in_place(name):
    one, two = (LEARNERS[name](seed) for seed in (1, 2))
    start = one.start()
    before = {k: v.copy() for k, v in start.arrays.items()}
    (a,), (b,) = online.states(one, start, [5]), online.states(two, start, [5])
    assert any(np.any(a[k] != b[k]) for k in a.arrays)
    assert all(np.array_equal(before[k], start[k]) for k in before)


def test_a_decoder_step_is_the_gradient_of_its_batch():
    learner = online.DecoderSGD(LAW, eta=0.3, batch=8, seed=4)
    P = np.random.default_rng(0).standard_normal((6, 6))
    d, z = learner.stream.batch(0)
    expected = P - 0.3 * np.mean(
        [np.outer(P @ x - y, x) for x, y in zip(d, z, strict=True)], axis=0
    )
    np.testing.assert_allclose(learner.step(learner.start(P))["P"], expected, atol=1e-14)


def test_a_large_batch_walks_the_population_path():
    learner = online.DecoderSGD(LAW, eta=0.6, batch=100_000, seed=5)
    m = moments.of(LAW).full()
    path = trajectory.decoder(np.zeros((6, 6)), m.C, m.B, eta=0.6, steps=[5, 40])
    for i, state in enumerate(online.states(learner, learner.start(), [5, 40])):
        np.testing.assert_allclose(state["P"], path.at(i), atol=0.02)


def test_the_encoder_gradient_has_the_law_of_a_plain_batch():
    """Mean and covariance of one step from the sufficient statistics, against drawn pairs."""
    law, eta, b, n = dictionary(1, K=2, r=2, noise=0.7), 0.5, 3, 20_000
    G0 = law.G_star + np.array([[0.5, -0.2], [0.1, 0.3]])
    fast = np.array(
        [
            online.EncoderSGD(law, eta, b, seed).step(online.State(0, {"G": G0}))["G"]
            for seed in range(n)
        ]
    )
    z, x = law.sample(9, n * b)
    z, x = z.reshape(n, b, 2), x.reshape(n, b, 2)
    plain = G0 - eta * np.einsum("nbk,nbr->nkr", z @ G0.T - x, z) / b
    fast, plain = fast.reshape(n, 4), plain.reshape(n, 4)
    error = np.sqrt((fast.var(0) + plain.var(0)) / n)
    assert np.all(np.abs(fast.mean(0) - plain.mean(0)) < 4.5 * error)
    A, B = ((x - x.mean(0))[:, :, None] * (x - x.mean(0))[:, None, :] for x in (fast, plain))
    error = np.sqrt((A.var(0) + B.var(0)) / n)
    assert np.all(np.abs(A.mean(0) - B.mean(0)) < 4.5 * error)


def test_the_encoder_with_a_batch_below_its_rank():
    learner = online.EncoderSGD(dictionary(2), eta=0.1, batch=1, seed=0)
    (state,) = online.states(learner, learner.start(), [300])
    assert np.linalg.norm(state["G"] - dictionary(2).G_star) < 2


def test_joint_training_finds_subspace_and_decoder():
    learner = online.JointSGD(LOW, rank=2, eta=0.5, batch=64, seed=6)
    start, last = online.states(learner, learner.start(), [0, 150])
    U_star = laws.loading(LOW)

    def sine(U):
        return np.sqrt(1 - np.linalg.svd(U_star.T @ U)[1].min() ** 2)

    assert sine(last["U"]) < 0.1 < sine(start["U"])
    np.testing.assert_allclose(last["U"].T @ last["U"], np.eye(2), atol=1e-13)
    assert int(last["n"]) == 150 * 64
    H, d = learner.batch_at(999)
    seen, z_dagger = online.latent_systems(last["U"], H, d)
    left = z_dagger - seen @ last["P"].T
    assert np.mean(left**2) < 0.3 * np.mean(z_dagger**2)


def test_the_basis_moves_as_little_as_it_can():
    rng = np.random.default_rng(7)
    U, R = (
        np.linalg.qr(rng.standard_normal((6, 3)))[0],
        np.linalg.qr(rng.standard_normal((3, 3)))[0],
    )
    np.testing.assert_allclose(online.aligned(U @ R, U), U, atol=1e-14)
    V = online.aligned(np.linalg.qr(rng.standard_normal((6, 3)))[0], U)
    for _ in range(50):
        turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        assert np.linalg.norm(V @ turn - U) >= np.linalg.norm(V - U)


def test_a_diverging_run_says_so():
    learner = online.DecoderSGD(LAW, eta=1e3, batch=16, seed=0)
    (state,) = online.states(learner, learner.start(), [200])
    assert not np.all(np.isfinite(state["P"]))


def walk(since, times):
    return list(online.states(LEARNERS["decoder"](0), online.State(since, {}), times))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: online.DecoderSGD(LAW, eta=0.0, batch=4, seed=0), "eta: "),
        (lambda: online.EncoderSGD(dictionary(), eta=np.nan, batch=4, seed=0), "eta: "),
        (lambda: online.EncoderSGD(dictionary(), eta=0.1, batch=0, seed=0), "batch: "),
        (lambda: online.EncoderSGD(dictionary(), eta=0.1, batch=4, seed=-1), "seed: "),
        (lambda: online.JointSGD(LOW, rank=7, eta=0.1, batch=4, seed=0), "rank: "),
        (lambda: online.JointSGD(Law(np.ones(9), 4), rank=2, eta=0.1, batch=4, seed=0), "law: "),
        (lambda: LEARNERS["decoder"](0).start(np.eye(5)), "P0: "),
        (lambda: LEARNERS["joint"](0).start(np.eye(5)), "U0: "),
        (lambda: walk(0, [2, 1]), "times: "),
        (lambda: walk(0, [0.5]), "times: "),
        (lambda: walk(3, [1]), "times: 1 lies"),
    ],
)  # fmt: skip
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
