"""Fakes stand for torch, scikit-learn, SciPy and JAX: only what they can do is looked at."""

import sys
from types import ModuleType

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from twofold import foreign

ROWS = np.random.default_rng(0).standard_normal((5, 3))


class Tensor:
    """What a torch tensor does: a graph, a device and an odd layout before its numbers."""

    def __init__(self, data, dtype=None, stage=()):
        self.data, self.stage = np.asarray(data), stage
        self.dtype = dtype or f"torch.{self.data.dtype.name}"

    def _next(self, word):
        return Tensor(self.data, self.dtype, (*self.stage, word))

    def detach(self):
        return self._next("detach")

    def cpu(self):
        assert self.stage == ("detach",)
        return self._next("cpu")

    def contiguous(self):
        assert self.stage == ("detach", "cpu")
        return self._next("contiguous")

    def float(self):
        return Tensor(self.data.astype(np.float32), None, self.stage)

    def __array__(self, dtype=None, copy=None):
        if "detach" not in self.stage or "bfloat16" in str(self.dtype):
            raise TypeError("cannot be read yet")
        return self.data

    def to(self, other):
        return Tensor(self.data.astype(other.data.dtype))


class OnlyDLPack:
    def __init__(self, data):
        self.data = data

    def __dlpack__(self, **options):
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.data.__dlpack_device__()


class JaxLike:
    dtype = np.dtype(np.float32)

    def __array__(self, dtype=None, copy=None):
        return ROWS.astype(np.float32)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (ROWS, "float64", ROWS),
        (ROWS.tolist(), "float64", ROWS),
        (ROWS.astype(">f8"), "float64", ROWS),
        (ROWS[::-1], "float64", ROWS[::-1]),
        (np.asfortranarray(ROWS), "float64", ROWS),
        (ROWS.astype(np.float32), "float32", ROWS.astype(np.float32)),
        (ROWS.astype(np.float16), "float16", ROWS.astype(np.float16)),
        (np.arange(6).reshape(2, 3), "int64", np.arange(6).reshape(2, 3)),
        (Tensor(ROWS), "float64", ROWS),
        (Tensor(ROWS.astype(np.float32)), "float32", ROWS.astype(np.float32)),
        (Tensor(ROWS.astype(np.float16), "torch.bfloat16"), "bfloat16", ROWS.astype(np.float16)),
        (JaxLike(), "float32", ROWS.astype(np.float32)),
    ],
)
def test_arrays_come_out_as_the_same_numbers_in_float64(value, dtype, expected):
    array, came = foreign.array("x", value)
    assert array.dtype == np.float64 and array.dtype.isnative and array.flags.c_contiguous
    assert came == dtype
    np.testing.assert_array_equal(array, np.asarray(expected, dtype=np.float64))


def test_dlpack_alone_is_enough():
    np.testing.assert_array_equal(foreign.array("x", OnlyDLPack(ROWS))[0], ROWS)


def test_nan_and_inf_pass_for_the_rows_to_fall_silent():
    bad = np.array([[np.nan, np.inf], [1.0, 2.0]])
    np.testing.assert_array_equal(foreign.array("x", bad)[0], bad)


@pytest.mark.parametrize(
    "value",
    [ROWS + 1j, np.array([[object()]]), np.array([2**60]), [[1.0], [1.0, 2.0]], None, "abc"],
)
def test_what_float64_cannot_hold_is_refused_by_name(value):
    with pytest.raises(ValueError, match="decoder output"):
        foreign.array("decoder output", value)


def test_wrong_shape_is_refused_by_name():
    with pytest.raises(ValueError, match=r"decoder output.*\(5, 4\).*\(5, 3\)"):
        foreign.array("decoder output", ROWS, shape=(5, 4))


class Predictor:
    def predict(self, rows):
        assert type(rows) is np.ndarray
        return rows @ np.diag([1.0, 2.0, 3.0])


def test_predict_reads_rows():
    predict = foreign.function("decoder", Predictor())
    np.testing.assert_array_equal(predict(ROWS), ROWS * [1, 2, 3])
    np.testing.assert_array_equal(predict(Tensor(ROWS)), ROWS * [1, 2, 3])


def test_linear_operator_maps_each_row():
    W = np.random.default_rng(1).standard_normal((4, 3))
    operator = foreign.function("decoder", aslinearoperator(W))
    np.testing.assert_allclose(operator(ROWS), ROWS @ W.T, rtol=1e-14)


@pytest.mark.parametrize("model", [Predictor(), aslinearoperator(np.eye(3))])
def test_row_models_refuse_a_prompt(model):
    with pytest.raises(ValueError, match="encoder.*reads one array.*wrap it"):
        foreign.function("encoder", model)({"H": ROWS})


def test_functions_stay_themselves_and_others_are_refused():
    assert foreign.function("decoder", np.sin) is np.sin
    with pytest.raises(ValueError, match="decoder: expected a function.*got int"):
        foreign.function("decoder", 3)


@pytest.fixture
def fake_torch(monkeypatch):
    library = ModuleType("faketorch")
    library.grad = True
    library.from_dlpack = lambda array: Tensor(array)

    class NoGrad:
        def __enter__(self):
            library.grad = False

        def __exit__(self, *_):
            library.grad = True

    library.no_grad = NoGrad
    monkeypatch.setitem(sys.modules, "faketorch", library)
    monkeypatch.setattr(Tensor, "__module__", "faketorch.tensors")
    return library


class Module:
    def __init__(self, library):
        self.library, self.weight = library, Tensor(np.ones(1, dtype=np.float32))

    def parameters(self):
        return iter([self.weight])

    def forward(self, x):
        assert not self.library.grad
        x = x["d"] if isinstance(x, dict) else x
        assert isinstance(x, Tensor) and x.data.dtype == np.float32
        return Tensor(2 * x.data)

    __call__ = forward


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: {"d": x, "name": "kept"}])
def test_torch_modules_get_tensors_of_their_own_type_and_no_gradient(fake_torch, wrap):
    model = foreign.function("decoder", Module(fake_torch))
    array, came = foreign.array("decoder output", model(wrap(ROWS)))
    assert came == "float32"
    np.testing.assert_array_equal(array, 2 * ROWS.astype(np.float32))


def test_a_torch_module_cannot_write_into_the_prompt(fake_torch):
    class Writer(Module):
        def forward(self, x):
            x.data[:] = 0.0
            return x

        __call__ = forward

    before = ROWS.copy()
    foreign.function("encoder", Writer(fake_torch))(ROWS)
    np.testing.assert_array_equal(ROWS, before)


def test_titles():
    assert foreign.title(np.linalg.solve) == "solve"
    assert foreign.title(Predictor()) == "Predictor"
