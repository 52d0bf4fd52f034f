import numpy as np
import pytest

from twofold.measures.overlap_state import fluctuation, overlap_state


def systems(N=200, K=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3 * K, K))
    return rng.normal(size=(7, K, K)), X.swapaxes(1, 2) @ X / (3 * K), rng.normal(size=(N, K))


def test_the_traces_as_the_seed_prints_them():
    P, H, x = systems()
    state, Hbar, S = overlap_state(P, H, x), H.mean(axis=0), x.T @ x / len(x)
    for s, p in enumerate(P):
        assert state.first[s] == pytest.approx(np.trace(p @ Hbar) / 5, rel=1e-13)
        assert state.second[s] == pytest.approx(np.trace(p @ Hbar @ p @ Hbar) / 5, rel=1e-12)
        energy = np.trace(p @ Hbar @ S @ Hbar.T @ p.T) / 5
        assert state.energy[s] == pytest.approx(energy, rel=1e-12)
        T = np.eye(5) - p @ Hbar
        assert state.mean_system_risk[s] == pytest.approx(np.trace(T @ S @ T.T) / 5, rel=1e-12)


def test_one_system_has_no_fluctuation_but_between_its_solutions():
    P, H, x = systems()
    same = np.broadcast_to(H[0], H.shape)
    np.testing.assert_allclose(fluctuation(P, same, x), 0, atol=1e-13)
    assert np.all(fluctuation(P, H, x) != 0)


def test_on_average_the_fluctuation_is_positive():
    """E |P (H - Hbar) x|^2 / K, where x does not depend on H."""
    P, H, x = systems(N=20_000)
    moved = (P[:, None] @ ((H - H.mean(axis=0)) @ x[..., None]))[..., 0]
    wanted = np.mean(np.sum(moved**2, axis=2), axis=1) / 5
    np.testing.assert_allclose(fluctuation(P, H, x), wanted, rtol=0.2)
    assert np.all(fluctuation(P, H, x) > 0)


def test_one_checkpoint_gives_one_number():
    P, H, x = systems()
    one, many = overlap_state(P[0], H, x), overlap_state(P, H, x)
    assert one.first.shape == () and one.scale == many.scale
    np.testing.assert_allclose(one.energy, many.energy[0], rtol=1e-14)


def test_what_does_not_fit_is_refused():
    P, H, x = systems()
    with pytest.raises(ValueError, match="^x"):
        overlap_state(P, H, x[:3])
    with pytest.raises(ValueError, match="^H"):
        overlap_state(P[:, :4, :4], H, x)
    with pytest.raises(ValueError, match="^H"):
        overlap_state(P, H[:0], x[:0])
    with pytest.raises(ValueError, match="^P"):
        overlap_state(np.full((5, 5), np.nan), H, x)
