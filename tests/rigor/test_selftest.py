from __future__ import annotations

import ctypes
import platform

import numpy as np
import pytest
from numba import njit

from twofold.rigor import selftest
from twofold.rigor.norms import norm2_upper


def test_this_machine_passes_every_check():
    checks = selftest.checks()
    assert len({check.name for check in checks}) == len(checks) >= 10
    assert [check.name for check in checks if not check.passed] == []


def test_a_failed_check_makes_proofs_refuse(monkeypatch):
    monkeypatch.setattr(selftest, "_once", lambda: ("no contraction",))
    with pytest.raises(ArithmeticError, match="no contraction"):
        norm2_upper(np.eye(2))


def test_flushed_subnormals_and_another_rounding_are_seen():
    flushed = (1.0, 2.0**-52, 0.0, np.nan, np.inf)
    assert not selftest.gradual(flushed)
    assert selftest.gradual(selftest._numpy()) and selftest.nearest_even(selftest._numpy())
    single = tuple(np.array([1.0, 2.0**-52, 2.0**-149], dtype=np.float32))
    assert not selftest.nearest_even(single)


def test_directed_rounding_makes_proofs_refuse():
    try:
        libm = ctypes.CDLL("libm.so.6")
    except OSError:
        pytest.skip("no glibc here")
    upward, nearest = 0x800, 0
    if platform.machine() != "x86_64":
        pytest.skip("the constant of fesetround is x86's")
    norm2_upper(np.eye(2))
    try:
        assert libm.fesetround(upward) == 0
        with pytest.raises(ArithmeticError, match="worker threads"):
            norm2_upper(np.eye(2))
    finally:
        libm.fesetround(nearest)
    norm2_upper(np.eye(2))


def fast(function):
    return njit(fastmath=True)(function.py_func)


@pytest.mark.parametrize(
    ("kernel", "check"),
    [("_lost", "reassociated"), ("_running", "reassociated"), ("_divide", "reciprocal")],
)
def test_fastmath_is_caught(monkeypatch, kernel, check):
    monkeypatch.setattr(selftest, kernel, fast(getattr(selftest, kernel)))
    assert getattr(selftest, check)()


def test_fastmath_is_caught_by_nan(monkeypatch):
    assert selftest.special(np.nan, np.inf)
    assert not fast(selftest.special)(np.nan, np.inf)


def test_contraction_is_caught(monkeypatch):
    def fused(a, b, c, out):
        out[:] = -(2.0**-104)

    monkeypatch.setattr(selftest, "_multiply_add", fused)
    assert selftest.contracted()
