from __future__ import annotations

import numpy as np
import pytest

from twofold.rigor import inputs


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ">f8", ">f4", np.int32, np.uint8])
def test_every_exact_type_becomes_the_same_native_float64(dtype):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    out = inputs.real("x", x)
    assert out.dtype == np.float64 and out.dtype.isnative and out.flags.c_contiguous
    np.testing.assert_array_equal(out, np.arange(12.0).reshape(3, 4))


def test_layout_does_not_change_a_bit():
    x = np.random.default_rng(0).normal(size=(6, 8))
    want = x[::-2, ::2].copy()
    for view in (x[::-2, ::2], np.asfortranarray(want), want.astype(">f8")):
        assert inputs.real("x", view).tobytes() == want.tobytes()


def test_a_scalar_keeps_its_shape_and_a_clean_array_is_not_copied():
    assert inputs.real("x", 3).shape == ()
    x = np.ones((2, 2))
    assert inputs.real("x", x) is x or np.shares_memory(inputs.real("x", x), x)


@pytest.mark.parametrize(
    "x",
    [
        np.ones(2, dtype=complex),
        np.array([1, None], dtype=object),
        np.array(["1"]),
        np.array([True]),
        np.array([2**53 + 1]),
        np.array([-(2**53) - 1]),
        [[1.0], [1.0, 2.0]],
        np.array([1.0, np.nan]),
        np.array([np.inf]),
        np.ma.masked_array([1.0, 2.0], mask=[False, True]),
        np.array([1], dtype=np.longdouble) / 3,
        object(),
    ],
)
def test_what_float64_cannot_hold_is_refused_by_name(x):
    with pytest.raises(ValueError, match="^weights: "):
        inputs.real("weights", x)


def test_exact_integers_and_long_doubles_pass():
    assert inputs.real("x", np.array([2**53]))[0] == 2.0**53
    assert inputs.real("x", np.array([0.1], dtype=np.longdouble) * 0 + 0.5)[0] == 0.5
    assert inputs.real("x", np.zeros((0, 3), dtype=int)).shape == (0, 3)


def test_not_finite_passes_only_when_asked():
    assert np.isnan(inputs.real("x", [np.nan], finite=False)[0])
    with pytest.raises(ValueError, match=r"1 of 2 entries are not finite \(first at \(1,\): nan\)"):
        inputs.real("x", [1.0, np.nan])


def test_shapes():
    assert inputs.real("x", np.ones((2, 3)), ndim=(1, 2), shape=(None, 3)).shape == (2, 3)
    for wrong in ({"ndim": 3}, {"shape": (2, 4)}, {"shape": (2,)}, {"ndim": (1, 3)}):
        with pytest.raises(ValueError, match=r"x: expected .* \(2, 3\)"):
            inputs.real("x", np.ones((2, 3)), **wrong)


def test_rounding_sized_asymmetry_is_averaged_and_more_is_refused():
    A = np.random.default_rng(1).normal(size=(3, 5, 5))
    H = A @ np.swapaxes(A, 1, 2)
    H = np.tril(H) + np.swapaxes(np.tril(H, -1), 1, 2)
    assert np.shares_memory(inputs.symmetric("H", H), H)
    bent = H.copy()
    bent[1, 0, 4] *= 1 + 4e-16
    fixed = inputs.symmetric("H", bent)
    np.testing.assert_array_equal(fixed, np.swapaxes(fixed, 1, 2))
    np.testing.assert_array_equal(fixed[[0, 2]], H[[0, 2]])
    assert 0 < inputs.asymmetry(bent)[1] < 1e-15
    bent[2, 1, 0] *= 1.001
    with pytest.raises(ValueError, match="H: matrix 2 is not symmetric"):
        inputs.symmetric("H", bent)


def test_symmetry_at_the_ends_of_the_range():
    for scale in (5e-324, 1e-310, 1e308):
        H = scale * np.array([[1.0, 1.0], [1.0, 1.0]])
        np.testing.assert_array_equal(inputs.symmetric("H", H), H)
        with pytest.raises(ValueError, match="not symmetric"):
            inputs.symmetric("H", H * np.array([[1.0, -1.0], [1.0, 1.0]]))
    assert inputs.symmetric("H", np.zeros((2, 0, 0))).shape == (2, 0, 0)
    assert inputs.symmetric("H", np.zeros((0, 3, 3))).shape == (0, 3, 3)
    narrow = (np.array([[1, 0.1], [0.1, 1]]) + [[0, 1e-7], [0, 0]]).astype(np.float32)
    assert inputs.asymmetry(inputs.symmetric("H", narrow)) == 0
    assert np.isnan(inputs.symmetric("H", np.full((1, 2, 2), np.nan), finite=False)).all()


def test_systems_agree_with_each_other():
    H, d = np.ones((4, 3, 3)), np.ones((4, 3))
    assert inputs.systems(np.eye(3), H, d)[0].shape == (3, 3)
    assert inputs.systems(np.ones((4, 3, 3)), H)[2] is None
    for P, bad_H, bad_d in (
        (np.eye(2), H, d),
        (np.ones((3, 3, 3)), H, d),
        (np.eye(3), H[0], d),
        (np.eye(3), H[:, :2], d),
        (np.eye(3), H, d[:, :2]),
    ):
        with pytest.raises(ValueError, match="expected"):
            inputs.systems(P, bad_H, bad_d)


def test_whole():
    assert inputs.whole("depth", np.int64(3)) == 3
    for bad in (-1, 1.0, True, "1"):
        with pytest.raises(ValueError, match="depth: expected a whole number"):
            inputs.whole("depth", bad)
