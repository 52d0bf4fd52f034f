import numpy as np
import pytest

from twofold.measures import overlaps


def frame(seed, K, r):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((K, r)))[0]


def tilted(angles, K=7, seed=0):
    """Two frames with these principal angles."""
    angles, r = np.asarray(angles), len(angles)
    Q = frame(seed, K, 2 * r)
    mix = frame(seed + 1, r, r)
    return Q[:, :r], (Q[:, :r] * np.cos(angles) + Q[:, r:] * np.sin(angles)) @ mix


def test_weights_are_the_shares_of_the_excess_risk():
    rng = np.random.default_rng(1)
    E, root = rng.standard_normal((5, 4, 4)), rng.standard_normal((4, 4))
    C = root @ root.T
    omega = overlaps.overlap_weights(E, C)
    assert omega.shape == (5, 4)
    assert np.allclose(omega.sum(axis=1), 1)
    eigenvalues, Q = np.linalg.eigh(C)
    for s in range(5):
        energy = [eigenvalues[i] * np.sum((E[s] @ Q[:, i]) ** 2) for i in (3, 2, 1, 0)]
        assert np.allclose(omega[s], energy / np.trace(E[s] @ C @ E[s].T))
    assert np.allclose(overlaps.overlap_weights(E * 1e300, C), omega)
    assert np.allclose(overlaps.overlap_weights(E * 1e-300, C * 1e-300), omega)


def test_a_spectrum_stands_for_a_diagonal_matrix_in_its_own_order():
    E = np.diag([1.0, 2.0])
    assert np.allclose(overlaps.overlap_weights(E, np.array([4.0, 3.0])), [0.25, 0.75])
    assert np.allclose(overlaps.overlap_weights(E, np.diag([4.0, 3.0])), [0.25, 0.75])
    assert np.allclose(overlaps.overlap_weights(E, np.diag([3.0, 4.0])), [16 / 19, 3 / 19])


def test_no_energy_gives_nan_not_a_number():
    omega = overlaps.overlap_weights(np.stack([np.zeros((2, 2)), np.eye(2)]), np.eye(2))
    assert np.isnan(omega).tolist() == [[True, True], [False, False]]
    assert np.isnan(overlaps.overlap_weights(np.eye(2), np.zeros((2, 2)))).all()
    entropy = overlaps.overlap_entropy(omega)
    assert np.isnan(entropy[0])
    assert entropy[1] == pytest.approx(1)


def test_entropy_at_its_ends():
    assert overlaps.overlap_entropy([1.0, 0, 0]) == 0
    assert overlaps.overlap_entropy(np.full(8, 0.125)) == pytest.approx(1)
    assert overlaps.overlap_entropy([0.5, 0.5, 0, 0]) == pytest.approx(0.5)
    assert np.isnan(overlaps.overlap_entropy([1.0]))
    for bad in ([0.5, 0.6], [1.5, -0.5], [2.0]):
        with pytest.raises(ValueError, match="^omega: "):
            overlaps.overlap_entropy(bad)


@pytest.mark.parametrize(
    "angles", ([1.2, 0.4, 0.1], [1e-5, 1e-7, 1e-9], [np.pi / 2, np.pi / 4, 0.0])
)
def test_principal_angles_are_recovered(angles):
    U, V = tilted(angles)
    assert np.allclose(overlaps.principal_angles(U, V), angles, rtol=0, atol=1e-15 * 8)


def test_a_small_angle_is_not_lost_as_arccos_loses_it():
    U, V = tilted([1e-9])
    assert overlaps.principal_angles(U, V)[0] == pytest.approx(1e-9, rel=1e-5)
    lost = np.arccos(min(1.0, abs((U.T @ V).item())))
    assert abs(lost - 1e-9) > 1e-10
    assert overlaps.sin2_norm(U, V) == pytest.approx(1e-18, rel=1e-5)


def test_the_three_squared_sines_are_kept_apart():
    U, V = tilted([0.5, 0.2])
    s2 = np.sin([0.5, 0.2]) ** 2
    assert overlaps.sin2_norm(U, V) == pytest.approx(s2[0])
    assert overlaps.sin2_frobenius(U, V) == pytest.approx(s2.sum())
    assert overlaps.sin2_mean(U, V) == pytest.approx(s2.mean())
    gap = U @ U.T - V @ V.T
    assert overlaps.sin2_norm(U, V) == pytest.approx(np.linalg.norm(gap, 2) ** 2)
    assert overlaps.sin2_frobenius(U, V) == pytest.approx(np.linalg.norm(gap) ** 2 / 2)


def test_angles_belong_to_the_spans_and_batch():
    U, V = tilted([0.5, 0.2])
    turn = frame(9, 2, 2)
    assert np.allclose(overlaps.principal_angles(U @ turn, V), [0.5, 0.2])
    both = overlaps.principal_angles(np.stack([U, V]), np.stack([V, V]))
    assert np.allclose(both, [[0.5, 0.2], [0, 0]], atol=1e-14)
    assert np.allclose(overlaps.principal_angles(np.eye(3), frame(1, 3, 3)), 0, atol=1e-14)


def test_frames_that_are_not_frames_are_refused():
    U = frame(0, 4, 2)
    for bad, name in ((2 * U, "U"), (U[:, :0], "U"), (U.T, "U"), (U * np.nan, "U")):
        with pytest.raises(ValueError, match=f"^{name}: "):
            overlaps.principal_angles(bad, U)
    with pytest.raises(ValueError, match="^V: "):
        overlaps.principal_angles(U, frame(0, 4, 1))


def test_distance_and_cosine_defect():
    oracle = np.random.default_rng(3).standard_normal((4, 4))
    assert overlaps.relative_distance(1.5 * oracle, oracle) == pytest.approx(0.5)
    assert overlaps.cosine_defect(1.5 * oracle, oracle) < 1e-31
    assert overlaps.cosine_defect(-oracle, oracle) == pytest.approx(2)
    P = np.stack([oracle, np.zeros((4, 4))])
    assert overlaps.relative_distance(P, oracle).tolist() == [0, 1]
    assert np.isnan(overlaps.cosine_defect(P, oracle)).tolist() == [False, True]
    assert np.isnan(overlaps.relative_distance(oracle, 0 * oracle))
    for scale in (1e300, 1e-300):
        assert overlaps.relative_distance(3 * scale * oracle, scale * oracle) == pytest.approx(2)
    with pytest.raises(ValueError, match="^oracle: "):
        overlaps.cosine_defect(oracle, np.eye(3))


def test_a_small_cosine_defect_keeps_its_digits():
    """1 - cos by subtraction returns 0 or 1e-16 here."""
    oracle = np.diag([1.0, 0.0])
    t = 1e-10
    P = oracle + t * np.array([[0.0, 1.0], [0.0, 0.0]])
    assert overlaps.cosine_defect(P, oracle) == pytest.approx(t**2 / 2, rel=1e-6)
    naive = 1 - np.sum(P * oracle) / np.linalg.norm(P) / np.linalg.norm(oracle)
    assert abs(naive - t**2 / 2) > 1e-21


def test_bad_moments_are_refused():
    for C, name in ((np.diag([1.0, -1.0]), "C"), (np.eye(3), "E"), (np.eye(2) * 1j, "C")):
        with pytest.raises(ValueError, match=f"^{name}: "):
            overlaps.overlap_weights(np.eye(2), C)
