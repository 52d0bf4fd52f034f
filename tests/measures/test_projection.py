import numpy as np
import pytest

from twofold.measures.projection import explained, projection


def sample(n=500, K=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, K)) @ rng.normal(size=(K, K)), rng.normal(size=(K, K))


def test_a_matrix_is_its_own_projection():
    r, P = sample()
    np.testing.assert_allclose(projection(r @ P.T, r), P, atol=1e-12)
    assert explained(r @ P.T, r) == pytest.approx(1.0, abs=1e-15)


def test_the_closed_form_of_the_seed():
    """E[Delta r'] E[r r']^+, and no other matrix does better."""
    r, P = sample()
    delta = np.tanh(r @ P.T)
    found = projection(delta, r)
    wanted = (delta.T @ r) @ np.linalg.pinv(r.T @ r)
    np.testing.assert_allclose(found, wanted, atol=1e-11)
    best = explained(delta, r)
    assert 0 < best < 1 and best == pytest.approx(explained(delta, r, found), abs=1e-12)
    for seed in range(20):
        other = found + 1e-3 * np.random.default_rng(seed).normal(size=found.shape)
        assert explained(delta, r, other) < best


def test_residuals_that_do_not_span_get_the_least_matrix():
    r = np.ones((9, 3))
    np.testing.assert_allclose(projection(2 * r, r), np.full((3, 3), 2 / 3), atol=1e-12)


def test_even_maps_are_not_explained_at_all():
    r = np.concatenate([sample()[0], -sample()[0]])
    assert explained(r**2, r) == pytest.approx(0.0, abs=1e-12)
    assert np.isnan(explained(0 * r, r))


def test_bad_input_is_refused():
    r, _ = sample()
    for bad, name in (((r[:3], r), "delta"), ((r, r[0]), "r"), ((r * np.nan, r), "delta")):
        with pytest.raises(ValueError, match=f"^{name}"):
            explained(*bad)
    with pytest.raises(ValueError, match="^r"):
        projection(r[:0], r[:0])
    with pytest.raises(ValueError, match="^P"):
        explained(r, r, np.eye(3))
