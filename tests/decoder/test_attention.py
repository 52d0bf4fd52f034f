"""Attention as an update map: its Jacobian by other routes, its form, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

import twofold
from twofold.decoder import attention, attention_bounds
from twofold.decoder.attention import Attention
from twofold.encoder.dense import DenseSystem
from twofold.rigor import entrywise

K = 5


def drawn(kind="softmax", seed=0, size=1.0, **rest):
    rng = np.random.default_rng(seed)
    q, k = size * rng.normal(size=(2, 2, 3, K + 1))
    v, o = rng.normal(size=(2, 2, K))
    return Attention(q, k, v, o, rng.normal(size=K), kind, **rest)


def residuals(n=50, seed=1):
    return np.random.default_rng(seed).normal(size=(n, K))


def by_hand(model, r):
    """Token by token, as the paper writes it."""
    out = model.diagonal * r
    tokens = [np.r_[np.eye(K)[j], r[j]] for j in range(K)]
    for q, k, v, o in zip(model.query, model.key, model.value, model.output, strict=True):
        for i in range(K):
            s = np.array([model.scale * (q @ tokens[i]) @ (k @ t) for t in tokens])
            a = np.exp(s - s.max()) / np.sum(np.exp(s - s.max())) if model.kind == "softmax" else s
            out[i] += o[i] * np.sum(a * v * r) / len(model.query)
    return out


@pytest.mark.parametrize("kind", ["softmax", "linear"])
def test_the_map_token_by_token(kind):
    model, r = drawn(kind, scale=0.7), residuals()
    wanted = np.array([by_hand(model, x.copy()) for x in r])
    np.testing.assert_allclose(model.move(r), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["softmax", "linear"])
def test_the_jacobian_against_complex_steps(kind):
    model, r, s = drawn(kind), residuals(), drawn(kind).scores

    class Plain:
        exp, sum = np.exp, np.sum

        @staticmethod
        def max(x, axis, keepdims):
            return np.max(x.real, axis, keepdims=keepdims)

    steps = [attention.update(Plain, s, r + 1e-30j * e).imag / 1e-30 for e in np.eye(K)]
    np.testing.assert_allclose(model.jacobian(r), np.stack(steps, -1), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("kind", ["softmax", "linear"])
def test_delta_is_n_r_and_zero_is_at_rest(kind):
    model, r = drawn(kind), residuals()
    N = attention.matrix(np, model.scores, r)
    np.testing.assert_allclose((N @ r[..., None])[..., 0], model.move(r), atol=1e-12)
    assert not model.move(np.zeros((1, K))).any()
    small = 1e-9 * r
    np.testing.assert_allclose(model.move(small), small @ model.at_rest().T, rtol=1e-6, atol=1e-15)


def test_the_gauge_is_gone():
    model, A = drawn(), np.random.default_rng(2).normal(size=(3, 3))
    turned = replace(model, query=A @ model.query, key=np.linalg.inv(A).T @ model.key)
    np.testing.assert_allclose(turned.kernel, model.kernel, atol=1e-11)
    np.testing.assert_allclose(turned.move(residuals()), model.move(residuals()), atol=1e-10)


def test_an_amplitude_is_a_change_of_units():
    model, r = drawn(), residuals()
    np.testing.assert_allclose(
        model.at_amplitude(0.3).move(r), model.move(0.3 * r) / 0.3, rtol=1e-11
    )


@pytest.mark.parametrize("kind", ["softmax", "linear"])
def test_one_matrix_by_its_form(kind):
    model = drawn(kind).at_amplitude(0.0)
    P, r = model.global_matrix(), residuals()
    np.testing.assert_allclose(model.move(r), r @ P.T, rtol=1e-12, atol=1e-13)
    assert drawn(kind).global_matrix() is None


def test_as_a_decoder_it_is_taken_apart():
    tasks = twofold.tasks.regression.sample(seed=0, dim=K, prompt=200, ridge=1e-3, count=64)
    model = drawn(size=0.1, depth=6)
    model = replace(model, output=0.1 * model.output, diagonal=np.full(K, 0.9))
    system = DenseSystem(tasks.H, tasks.d)
    z = np.zeros_like(tasks.d)
    for _ in range(6):
        z = z + model.update(z, tasks.H, tasks.d)
    np.testing.assert_allclose(model(system), z, rtol=1e-12, atol=1e-13)
    whole = twofold.EncoderDecoder(lambda p: DenseSystem(p["H"], p["d"]), model)
    assert twofold.take_apart(whole, tasks).mean["decoder"] < 0.2


@pytest.mark.parametrize("kind", ["softmax", "linear"])
@pytest.mark.parametrize("R", [1e-3, 0.3, 2.0])
def test_the_variations_bound_two_thousand_residuals(kind, R):
    for seed in range(4):
        model = drawn(kind, seed)
        r = residuals(500, seed)
        r *= R / np.linalg.norm(r, axis=1)[:, None]
        r[:K] = R * np.eye(K)
        rest, s = model.at_rest(), model.scores
        N = np.linalg.norm(attention.matrix(np, s, r) - rest, 2, axis=(1, 2))
        J = np.linalg.norm(model.jacobian(r) - rest, 2, axis=(1, 2))
        assert N.max() <= attention_bounds.matrix_variation(s, np.array([R]))[0]
        assert J.max() <= attention_bounds.jacobian_variation(s, np.array([R]))[0]


def test_a_variation_is_attained_by_linear_attention():
    """One head, p = v = e_1, o = e_1: N(r) - N(0) = R e_1 e_1' at r = R e_1."""
    e = np.eye(K)[0]
    q, k = np.zeros((2, 1, 1, K + 1))
    q[0, 0, -1], k[0, 0, 0] = 1.0, 1.0
    model = Attention(q, k, e[None], e[None], np.zeros(K), "linear")
    bound = attention_bounds.matrix_variation(model.scores, np.array([2.0]))[0]
    moved = attention.matrix(np, model.scores, 2.0 * e[None])[0] - model.at_rest()
    assert np.linalg.norm(moved, 2) == 2.0 and 2.0 <= bound <= 2.0 * (1 + 1e-13)


@pytest.mark.parametrize(
    ("seen", "r", "N", "J"),
    [
        ((0, [1, -1]), [np.sqrt(0.5), -np.sqrt(0.5)], 1.0, 1.0),
        ((1, [0.5, -0.5]), [1.0, 0.0], 1.0, 0.75),
    ],
)
def test_a_variation_is_nearly_attained_by_the_softmax(seen, r, N, J):
    """Two tokens attended to alike: every constant of the bound is needed (q, then p)."""
    which, weights = seen
    q, k = np.zeros((2, 1, 1, 3))
    q[0, 0, 0 if which == 0 else -1] = 1.0
    k[0, 0] = [0, 0, 1] if which == 0 else [*weights, 0]
    e = np.array([[1.0, 0.0]])
    model, R = Attention(q, k, np.ones((1, 2)), e, np.zeros(2)), np.array([1e-4])
    at, rest, s = R * np.array([r]), model.at_rest(), model.scores
    for share, moved, bound in (
        (N, attention.matrix(np, s, at), attention_bounds.matrix_variation(s, R)),
        (J, model.jacobian(at), attention_bounds.jacobian_variation(s, R)),
    ):
        size = np.linalg.norm(moved[0] - rest, 2)
        assert share * (1 - 1e-3) * bound[0] <= size <= bound[0]


def test_the_lipschitz_constant_of_the_softmax_is_one_half():
    """|softmax(s) - softmax(s')|_1 <= osc(s - s') / 2, attained in the limit at a = (1/2, 1/2)."""
    rng = np.random.default_rng(3)

    def softmax(s):
        return np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True)

    s, t = rng.normal(size=(2, 5000, 4)) * 3
    moved = np.abs(softmax(s) - softmax(t)).sum(axis=1)
    assert np.all(moved <= np.ptp(s - t, axis=1) / 2)
    near = np.abs(softmax(np.array([1e-6, 0.0])) - 0.5).sum()
    assert near == pytest.approx(1e-6 / 2, rel=1e-6)


def test_enclosures_hold_what_floats_give():
    model, r = drawn(), residuals()
    for formula in (attention.update, attention.matrix, attention.jacobian):
        floats, found = (formula(xp, model.scores, x) for xp, x in
                         ((np, r), (entrywise, entrywise.exact(r))))  # fmt: skip
        assert np.all(np.abs(floats - found.mid) <= found.radius)
        assert found.radius.max() < 1e-9


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"key": np.zeros((2, 3, K))}, "key"), ({"value": np.zeros((1, K))}, "value"),
        ({"output": np.full((2, K), np.nan)}, "output"), ({"kind": "relu"}, "kind"),
        ({"diagonal": np.zeros(3)}, "diagonal"), ({"depth": 1.5}, "depth"),
        ({"query": np.zeros((2, 3, K + 1), complex)}, "query"), ({"scale": np.inf}, "scale"),
    ],
)  # fmt: skip
def test_bad_weights_are_refused(change, name):
    with pytest.raises(ValueError, match=f"^{name}"):
        replace(drawn(), **change)


def test_bad_arguments_and_narrow_weights():
    model, r = drawn(), residuals()
    narrow = replace(model, query=model.query.astype(np.float32))
    assert (
        narrow.query.dtype == np.float64 and narrow.move(r.astype(np.float32)).dtype == np.float64
    )
    for bad in (r[:, :3], r[0], r * 1j):
        with pytest.raises(ValueError, match="^r"):
            model.move(bad)
    with pytest.raises(ValueError, match="^H"):
        model.update(r, np.eye(K), r)
    r[3, 0] = np.nan
    assert np.isnan(model.move(r)[3]).all() and np.isfinite(np.delete(model.move(r), 3, 0)).all()
