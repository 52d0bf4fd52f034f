import numpy as np
import pytest

from twofold.encoder.dense import DenseSystem
from twofold.protocol import System

N, R, K = 6, 4, 7


def draw(seed=0):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((N, R, R + 3))
    return root @ np.swapaxes(root, 1, 2), rng.standard_normal((N, R)), rng.standard_normal((K, R))


def test_it_is_a_system_and_the_answer_is_lifted():
    H, d, U = draw()
    system = DenseSystem(H, d, U)
    assert isinstance(system, System) and len(system) == N
    x = np.random.default_rng(1).standard_normal((N, R))
    for n in range(N):
        np.testing.assert_allclose(system.matvec(x)[n], H[n] @ x[n], rtol=1e-13)
        np.testing.assert_allclose(system.lift(x)[n], U @ x[n], rtol=1e-13)
    np.testing.assert_array_equal(DenseSystem(H, d).lift(x), x)
    assert system.dense() is system.H


def test_the_radius_encloses_the_true_solution():
    """Integers, so that d = H x holds exactly."""
    rng = np.random.default_rng(2)
    root = rng.integers(-9, 9, (N, R, R + 3)).astype(float)
    H, x = root @ np.swapaxes(root, 1, 2), rng.integers(-9, 9, (N, R)).astype(float)
    system = DenseSystem(H, (H @ x[..., None])[..., 0])
    found, radius = system.enclosure()
    assert np.all(np.linalg.norm(found - x, axis=1) <= radius)
    assert np.all(radius < 1e-12 * np.linalg.norm(x, axis=1))
    np.testing.assert_array_equal(system.exact(), found)


def test_systems_without_symmetry_are_solved_too():
    rng = np.random.default_rng(3)
    H = rng.integers(-9, 9, (N, R, R)).astype(float) + 30 * np.eye(R)
    x = rng.integers(-9, 9, (N, R)).astype(float)
    found, radius = DenseSystem(H, (H @ x[..., None])[..., 0]).enclosure()
    assert np.all(np.linalg.norm(found - x, axis=1) <= radius) and np.all(radius < 1e-11)


@pytest.mark.parametrize("spoil", ["nan H", "inf d", "singular"])
def test_a_bad_row_has_no_finite_radius_and_the_others_go_on(spoil):
    H, d, _ = draw()
    good = DenseSystem(H, d).enclosure()
    H, d = H.copy(), d.copy()
    if spoil == "nan H":
        H[2, 1, 1] = np.nan
    if spoil == "inf d":
        d[2, 0] = np.inf
    if spoil == "singular":
        H[2] = np.ones((R, R))
    x, radius = DenseSystem(H, d).enclosure()
    assert not np.isfinite(radius[2])
    rest = np.arange(N) != 2
    np.testing.assert_array_equal(x[rest], good[0][rest])
    np.testing.assert_array_equal(radius[rest], good[1][rest])


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.astype(">f8"),
        lambda a: np.asfortranarray(a),
        lambda a: np.ascontiguousarray(a[::-1])[::-1],
        lambda a: a.tolist(),
    ],
)
def test_layout_and_byte_order_give_the_same_bits(change):
    H, d, _ = draw()
    one, two = DenseSystem(H, d).enclosure(), DenseSystem(change(H), change(d)).enclosure()
    assert one[0].tobytes() == two[0].tobytes() and one[1].tobytes() == two[1].tobytes()


@pytest.mark.parametrize(
    ("H", "d", "U", "message"),
    [
        (np.eye(2)[None], np.ones((1, 3)), None, r"H: expected shape \(1, 3, 3\)"),
        (np.eye(2), np.ones((1, 2)), None, "H: expected shape"),
        (np.zeros((0, 2, 2)), np.zeros((0, 2)), None, "d: expected at least one task"),
        (np.zeros((1, 0, 0)), np.zeros((1, 0)), None, "d: expected at least one task"),
        (np.eye(2)[None], np.ones(2), None, "d: expected 2 axes"),
        (np.eye(2)[None] + 1j, np.ones((1, 2)), None, "H: expected real numbers"),
        (np.eye(2)[None], np.ones((1, 2)).astype(object), None, "d: expected real numbers"),
        (np.eye(2)[None], np.ones((1, 2)), np.ones((3, 1)), "U: expected shape"),
        (np.eye(2)[None], np.ones((1, 2)), np.full((3, 2), np.nan), "U: .*not finite"),
    ],
)
def test_bad_input(H, d, U, message):
    with pytest.raises(ValueError, match=message):
        DenseSystem(H, d, U)
