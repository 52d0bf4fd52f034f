"""Positive definite for every theta, by construction."""

import numpy as np
import pytest

from twofold.learned.softmax_spd import SoftmaxSPD


def test_no_eigenvalue_undercuts_the_diagonal_on_2000_draws():
    family, rng = SoftmaxSPD(6, 3), np.random.default_rng(0)
    for _ in range(2000):
        theta = rng.normal(size=family.size) * 10.0 ** rng.uniform(-1, 0.7)
        P = family.matrix(theta)
        assert np.array_equal(P, P.T)
        assert np.linalg.eigvalsh(P)[0] >= family.least_eigenvalue(theta) - 1e-13 * np.trace(P)


def test_equal_queries_attain_the_bound():
    """exp(g) then has rank one: all but one eigenvalue are exp(s)."""
    family = SoftmaxSPD(5, 2)
    part = {"q": np.ones((5, 2)), "a": np.ones(5), "s": np.full(5, -1.0)}
    theta = np.concatenate([np.ravel(part[name]) for name in family.shapes])
    values = np.linalg.eigvalsh(family.matrix(theta))
    assert values[0] == pytest.approx(family.least_eigenvalue(theta), rel=1e-13)
    assert values[-1] == pytest.approx(np.exp(-1.0) + 1.0, rel=1e-13)


def test_it_is_similar_to_the_softmax():
    family = SoftmaxSPD(5, 2)
    part = family.split(np.random.default_rng(1).normal(size=family.size))
    part["a"][:], part["s"][:] = 1.0, -800.0
    theta = np.concatenate([np.ravel(part[name]) for name in family.shapes])
    g = part["q"] @ part["q"].T / np.sqrt(2)
    rows = np.exp(g) / np.exp(g).sum(axis=1, keepdims=True)
    found = np.sort(np.linalg.eigvalsh(family.frozen(theta)))
    np.testing.assert_allclose(found, np.sort(np.linalg.eigvals(rows).real), atol=1e-13)


def test_separate_keys_would_not_be_definite():
    """The premise matters: one-head attention with keys of its own has eigenvalues below zero."""
    rng = np.random.default_rng(2)
    q, k = rng.normal(size=(2, 5, 2))
    A = np.exp(q @ k.T)
    A /= A.sum(axis=1, keepdims=True)
    assert np.linalg.eigvalsh(A + A.T)[0] < 0


def test_nothing_overflows():
    family = SoftmaxSPD(4, 2)
    theta = family.start(0)
    theta[:8] *= 1e4
    assert np.isfinite(family.matrix(theta)).all()


@pytest.mark.parametrize(("field", "bad"), [("dim", 0), ("width", 0), ("scale", -1.0)])
def test_bad_settings_are_named(field, bad):
    with pytest.raises(ValueError, match=f"^{field}: "):
        SoftmaxSPD(**({"dim": 4} | {field: bad}))
