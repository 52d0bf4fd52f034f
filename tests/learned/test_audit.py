"""The causal audit: what is changed, what stays, and what has no features."""

import numpy as np
import pytest

from twofold.learned import attention, audit
from twofold.learned.flexformer import Flexformer
from twofold.learned.free import Free
from twofold.learned.softmax_spd import SoftmaxSPD

K = 6
FAMILIES = [Flexformer(K), Flexformer(K, "non-stationary"), Flexformer(K, "softmax"), SoftmaxSPD(K)]


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_only_the_tokens_change(family):
    theta = family.start(0)
    made = audit.matrices(family, theta, seed=3)
    np.testing.assert_array_equal(made["as learned"], family.matrix(theta))
    for name in ("permuted", "constant"):
        assert np.max(np.abs(made[name] - made["as learned"])) > 1e-3


def test_permuted_tokens_permute_the_kernel_and_not_the_diagonals():
    family = Flexformer(K, "softmax")
    theta, o = family.start(0), audit.order(K, 3)
    part = family.split(theta)
    part |= {"a": np.ones(K), "v": np.ones(K), "s": np.zeros(K)}
    theta = np.concatenate([np.ravel(part[name]) for name in family.shapes])
    made = audit.matrices(family, theta, seed=3)
    np.testing.assert_allclose(made["permuted"], made["as learned"][o][:, o], atol=1e-14)


def test_constant_tokens_tell_no_coordinates_apart():
    family = Flexformer(K)
    part = family.split(family.start(0))
    P = audit.matrices(family, family.start(0))["constant"]
    np.testing.assert_allclose(
        P - np.diag(part["s"]), np.outer(part["a"], part["v"]) / K, atol=1e-14
    )


def test_every_coordinate_is_moved():
    for seed in range(50):
        o = audit.order(K, seed)
        assert sorted(o) == list(range(K)) and not np.any(o == np.arange(K))
    np.testing.assert_array_equal(audit.order(K, 1), audit.order(K, 1))


def test_attention_keeps_what_it_makes_of_the_residual():
    model, o = attention.start(seed=0, dim=K), audit.order(K, 0)
    made = audit.attentions(model)
    M, moved = model.kernel, made["permuted"].kernel
    np.testing.assert_allclose(moved[:, :K, :K], M[:, o][:, :, o], atol=1e-14)
    np.testing.assert_allclose(moved[:, -1, -1], M[:, -1, -1], atol=1e-14)
    flat = made["constant"].kernel[:, :K, :K]
    np.testing.assert_allclose(flat, flat[:, :1, :1] * np.ones((K, K)), atol=1e-14)
    assert made["as learned"] is model


def test_what_has_no_features_is_refused():
    with pytest.raises(ValueError, match="^family"):
        audit.matrices(Free(K), Free(K, 1.0).start(0))
    with pytest.raises(ValueError, match="^theta"):
        audit.matrices(Flexformer(K), np.zeros(3))
    with pytest.raises(ValueError, match="^K"):
        audit.order(1, 0)
