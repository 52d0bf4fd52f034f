import numpy as np
import pytest

from twofold import EncoderDecoder, take_apart
from twofold.decoder.richardson import Richardson
from twofold.encoder.dense import DenseSystem
from twofold.encoder.operator import OperatorSystem
from twofold.encoder.weak_form import WeakForm
from twofold.tasks import families, forcing, pde

GAUSSIAN = families.gaussian(seed=1)
TASKS = pde.sample(GAUSSIAN, seed=0, count=200)


def test_rows_are_the_seed_s_inner_products():
    probes = np.random.default_rng(0).standard_normal((3, 16))
    G, b = WeakForm(GAUSSIAN, probes=probes).rows(TASKS.prompt)
    assert G.shape == (200, 24, 4) and b.shape == (200, 24)
    for n, i, r, k in ((0, 0, 0, 0), (7, 3, 2, 1), (199, 7, 1, 3)):
        inner = (GAUSSIAN.A[k + 1] @ TASKS.u[n, i]) @ probes[r]
        np.testing.assert_allclose(G[n, 3 * i + r, k], inner, rtol=1e-12)
        right = (TASKS.f[n, i] - GAUSSIAN.A[0] @ TASKS.u[n, i]) @ probes[r]
        np.testing.assert_allclose(b[n, 3 * i + r], right, rtol=1e-11)


def test_no_probes_means_the_coordinate_vectors():
    plain = WeakForm(GAUSSIAN).rows(TASKS.prompt)
    named = WeakForm(GAUSSIAN, probes=np.eye(16)).rows(TASKS.prompt)
    for one, other in zip(plain, named, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("gram", [False, True])
def test_the_estimate_is_ridge_regression_by_augmented_least_squares(gram):
    encoder = WeakForm(GAUSSIAN, ridge=0.1, gram=gram)
    G, b = encoder.rows(TASKS.prompt)
    root = np.linalg.cholesky(0.1 * encoder.metric).T
    for n in (0, 11, 199):
        stacked = np.vstack([G[n], root])
        z = np.linalg.lstsq(stacked, np.r_[b[n], np.zeros(4)], rcond=None)[0]
        np.testing.assert_allclose(encoder.estimate(TASKS.prompt)[n], z, rtol=1e-11, atol=1e-13)


def test_without_ridge_and_noise_the_latent_comes_back():
    z = WeakForm(GAUSSIAN, ridge=0.0).estimate(TASKS.prompt)
    np.testing.assert_allclose(z, TASKS.latent, atol=1e-13)


def test_the_metric_does_not_care_how_the_operators_are_scaled():
    """With the Gram metric, A_k -> A_k / s, z -> s z scales the estimate and no more."""
    from twofold.tasks.affine import Dense

    scales = np.array([1.0, 1.0, 4.0, 0.5, 1.0])
    other = Dense(GAUSSIAN.A / scales[:, None, None])
    one = WeakForm(GAUSSIAN, ridge=0.1, gram=True)
    G1, M1 = one.rows(TASKS.prompt)[0], GAUSSIAN.gram()
    G2, M2 = WeakForm(other).rows(TASKS.prompt)[0], other.gram()
    np.testing.assert_allclose(G2 * scales[1:], G1, rtol=1e-12)
    np.testing.assert_allclose(M2 * np.outer(scales[1:], scales[1:]), M1, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(np.mean(np.diagonal(one.metric)), 1.0, rtol=1e-14)


@pytest.mark.parametrize("name", ["dense", "tridiagonal", "sparse"])
def test_a_model_on_each_kind_of_system_is_taken_apart(name):
    family, field = {
        "dense": (GAUSSIAN, None),
        "tridiagonal": (families.elliptic(dim=15), forcing.field(15)),
        "sparse": (families.diffusion(side=7), forcing.field(7, axes=2, modes=3)),
    }[name]
    tasks = pde.sample(family, seed=0, count=50, pairs=4, spread=0.1, forcing=field)
    P = np.linalg.inv(family.dense(np.zeros((1, 4)))[0])
    encoder = WeakForm(family)
    assert isinstance(encoder(tasks.prompt), DenseSystem if name == "dense" else OperatorSystem)
    anatomy = take_apart(EncoderDecoder(encoder, Richardson(P, 6)), tasks)
    usable = np.array([not why for why in tasks.facts["reason"]])
    np.testing.assert_array_equal(anatomy.applies, usable)
    mean = anatomy.mean
    assert mean["total"] == pytest.approx(sum(mean[p] for p in ("floor", "decoder", "cross")))
    assert 0 < mean["floor"] < mean["total"] and np.nanmax(anatomy.radius[usable]) < 1e-9
    shuffled = type(tasks)(tasks.prompt, tasks.truth[::-1], tasks.latent[::-1], scale=tasks.scale)
    again = take_apart(EncoderDecoder(encoder, Richardson(P, 6)), shuffled)
    np.testing.assert_array_equal(anatomy.answer, again.answer)


def test_bad_rows_are_silent_and_the_others_go_on():
    prompt = {name: x.copy() for name, x in TASKS.prompt.items()}
    prompt["u"][3, 1, 2] = np.nan
    prompt["f"][4, 0, 0] = np.inf
    prompt["query"][5] = np.nan
    z = WeakForm(GAUSSIAN).estimate(prompt)
    assert [*np.flatnonzero(np.isnan(z).any(axis=1))] == [3, 4]
    x = WeakForm(GAUSSIAN)(prompt).exact()
    assert [*np.flatnonzero(np.isnan(x).any(axis=1))] == [3, 4, 5]
    np.testing.assert_array_equal(z[:3], WeakForm(GAUSSIAN).estimate(TASKS.prompt)[:3])


def test_a_prompt_that_cannot_see_a_coordinate_is_silent_without_ridge():
    prompt = {"u": np.zeros((2, 8, 16)), "f": np.zeros((2, 8, 16)), "query": np.ones((2, 16))}
    assert np.isnan(WeakForm(GAUSSIAN, ridge=0.0).estimate(prompt)).all()
    np.testing.assert_array_equal(WeakForm(GAUSSIAN).estimate(prompt), 0.0)


def test_narrow_floats_are_upcast_exactly():
    narrow = {name: x.astype(np.float32) for name, x in TASKS.prompt.items()}
    wide = {name: x.astype(np.float64) for name, x in narrow.items()}
    np.testing.assert_array_equal(
        WeakForm(GAUSSIAN).estimate(narrow), WeakForm(GAUSSIAN).estimate(wide)
    )


def test_bad_input():
    few = {name: x[:, :1] if x.ndim == 3 else x for name, x in TASKS.prompt.items()}
    probes = np.random.default_rng(0).standard_normal((3, 16))
    with pytest.raises(ValueError, match=r"200 prompts of 3 weak rows \(m R\) for K = 4"):
        WeakForm(GAUSSIAN, probes=probes)(few)
    for zero in (np.zeros((2, 16)), np.zeros((0, 16)), np.vstack([probes, np.zeros(16)])):
        with pytest.raises(ValueError, match="probes: a zero probe"):
            WeakForm(GAUSSIAN, probes=zero)
    with pytest.raises(ValueError, match="probes: expected shape"):
        WeakForm(GAUSSIAN, probes=np.ones((3, 15)))
    with pytest.raises(ValueError, match="ridge"):
        WeakForm(GAUSSIAN, ridge=-1.0)
    with pytest.raises(ValueError, match="f: expected shape"):
        WeakForm(GAUSSIAN)(TASKS.prompt | {"f": TASKS.f[:, :2]})
    with pytest.raises(ValueError, match="u: expected shape"):
        WeakForm(GAUSSIAN)(TASKS.prompt | {"u": TASKS.u[:, 0]})
