"""P = D_a A D_v + D_s with its three kernels, and rows that sum to zero."""

import numpy as np
import pytest

from twofold.learned import flexformer
from twofold.learned.flexformer import GUARD, Flexformer

KERNELS = ("stationary", "non-stationary", "softmax")


def plain(flex, theta):
    """The definition, entry by entry."""
    p, K = flex.split(theta), flex.dim
    k = np.empty((K, K))
    for i in range(K):
        for j in range(K):
            q, key = p["q"][i], p["k"][j]
            if flex.kernel == "softmax":
                k[i, j] = np.exp(q @ key / np.sqrt(flex.width))
            elif flex.kernel == "stationary":
                k[i, j] = np.mean(np.cos(p["w"] @ (q - key)))
            else:
                pairs = [(a, b) for a in ("u", "w") for b in ("u", "w")]
                k[i, j] = np.mean([np.cos(p[a] @ q - p[b] @ key) for a, b in pairs])
    A = k / k.sum(axis=1, keepdims=True)
    return np.diag(p["a"]) @ A @ np.diag(p["v"]) + np.diag(p["s"])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("K", [1, 2, 7, 16])
def test_the_matrix_is_its_definition(kernel, K):
    flex = Flexformer(K, kernel, 3, 5)
    for seed in range(3):
        theta = flex.start(seed)
        theta += 0.2 * np.random.default_rng(seed).normal(size=flex.size)
        expected = plain(flex, theta)
        gap = np.max(np.abs(flex.frozen(theta) - expected))
        assert gap <= 1e-12 * np.max(np.abs(expected))


def test_equal_frequencies_make_the_pairs_stationary():
    pairs, single = Flexformer(6, "non-stationary", 3, 5), Flexformer(6, "stationary", 3, 5)
    part = pairs.split(pairs.start(0))
    part["u"][:] = part["w"]
    theta = np.concatenate([np.ravel(part[name]) for name in single.shapes])
    whole = np.concatenate([np.ravel(part[name]) for name in pairs.shapes])
    np.testing.assert_allclose(pairs.matrix(whole), single.matrix(theta), atol=1e-15)


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_of_A_sum_to_one(kernel):
    flex = Flexformer(9, kernel)
    part = flex.split(flex.start(1))
    part["a"][:], part["v"][:], part["s"][:] = 1.0, 1.0, 0.0
    theta = np.concatenate([np.ravel(part[name]) for name in flex.shapes])
    np.testing.assert_allclose(flex.matrix(theta).sum(axis=1), 1.0, rtol=1e-13)


def balanced(offset=0.0):
    """Two keys whose cosines cancel in every row, but for ``offset``."""
    flex = Flexformer(2, "stationary", 1, 1)
    part = {"q": [[0.0], [0.3]], "k": [[0.0], [np.pi - offset]], "w": [[1.0]]}
    part |= {"a": [1.0, 1.0], "v": [1.0, 1.0], "s": [0.0, 0.0]}
    return flex, np.concatenate([np.ravel(part[name]) for name in flex.shapes])


def test_a_row_that_sums_to_zero_is_guarded_counted_and_refused():
    flex, theta = balanced()
    assert flex.margins(theta)[0] < 1e-15 and 0 in flex.guarded(theta)
    P = flex.matrix(theta)
    assert np.isfinite(P).all() and np.max(np.abs(P[0])) == pytest.approx(0.5 / GUARD)
    assert np.isfinite(flex.pull_back(theta, np.eye(2))).all()
    with pytest.raises(ValueError, match="^theta: .*rows \\[0"):
        flex.frozen(theta)


def test_a_row_that_nearly_sums_to_zero_is_guarded_only_below_the_guard():
    """cos 0 + cos(pi - x) = 1 - cos x: half of it is the margin."""
    for offset, expected in ((1e-3, True), (0.2, False)):
        flex, theta = balanced(offset)
        assert (0 in flex.guarded(theta)) is expected
        if not expected:
            row = np.array([1.0, -np.cos(offset)])
            np.testing.assert_allclose(flex.matrix(theta)[0], row / row.sum(), rtol=1e-10)


def test_a_row_of_zeros_stays_one():
    flex = Flexformer(1, "stationary", 1, 1)
    theta = np.array([0.0, np.pi / 2, 1.0, 1.0, 1.0, 0.0])
    assert flexformer.divisors(np, np.zeros((2, 3))).tolist() == [1.0, 1.0]
    assert np.isfinite(flex.matrix(theta)).all()


def test_the_guard_keeps_the_sign_of_the_sum():
    k = np.array([[1.0, -1.0 - 1e-9], [1.0 + 1e-9, -1.0]])
    below, above = flexformer.divisors(np, k)
    assert below < 0 < above and abs(below) == pytest.approx(2 * GUARD, rel=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_audit_changes_the_tokens_and_nothing_else(kernel):
    flex = Flexformer(6, kernel, 3, 4)
    theta = flex.start(0)
    before = flex.split(theta)
    for name, changed in flex.audited(theta, 1).items():
        after = flex.split(changed)
        for key in flex.shapes:
            assert np.array_equal(after[key], before[key]) is (key not in "qk"), (name, key)
    part = flex.split(flex.audited(theta, 1)["tokens permuted"])
    assert np.array_equal(np.sort(part["q"], axis=0), np.sort(before["q"], axis=0))
    constant = flex.matrix(flex.audited(theta, 1)["tokens constant"])
    attention = (constant - np.diag(before["s"])) / np.outer(before["a"], before["v"])
    np.testing.assert_allclose(attention, 1 / 6, rtol=1e-12)


def test_a_large_theta_does_not_overflow_the_softmax():
    flex = Flexformer(4, "softmax")
    part = flex.split(np.array(flex.start(0)))
    theta = np.concatenate([np.ravel(1e3 * part[name]) for name in flex.shapes])
    assert np.isfinite(flex.matrix(theta)).all()


@pytest.mark.parametrize(
    ("field", "bad"),
    [("dim", 0), ("width", 1.5), ("frequencies", -1), ("kernel", "cosine"), ("scale", 0.0)],
)
def test_bad_settings_are_named(field, bad):
    with pytest.raises(ValueError, match=f"^{field}: "):
        Flexformer(**({"dim": 4} | {field: bad}))
