"""Spectra are what they say, U* belongs to the law, and bad laws are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.protocol import Law
from twofold.tasks import laws


@pytest.mark.parametrize("kind", laws.SPECTRA)
@pytest.mark.parametrize("dim", [1, 2, 7])
def test_spectra_run_from_one_to_one_over_condition(kind, dim):
    s = laws.spectrum(kind, dim, 50.0)
    assert s.shape == (dim,) and np.all(np.diff(s) <= 0) and s[0] == 1.0
    if dim > 1 and kind != "isotropic":
        assert np.isclose(s[-1], 0.02, rtol=1e-14)


def test_log_and_power_spectra_by_formula():
    assert np.allclose(np.diff(np.log(laws.spectrum("log", 9, 30.0))), -np.log(30.0) / 8)
    s, i = laws.spectrum("power", 9, 30.0), np.arange(1, 10)
    assert np.allclose(np.log(s[1:]) / np.log(i[1:]), np.log(s[1]) / np.log(2))


def test_roots():
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((5, 3))
    Sigma = factor @ factor.T
    A = laws.root(Sigma)
    assert np.allclose(A @ A.T, Sigma, atol=1e-13)
    assert np.array_equal(laws.root(np.array([4.0, 0.0])), [2.0, 0.0])
    assert np.array_equal(laws.root(np.diag([0.04, 4.0])), np.diag([0.2, 2.0]))
    v = rng.standard_normal((4, 5))
    assert np.allclose(laws.apply(A, v), (A @ v.T).T)
    assert np.allclose(laws.transposed(A, v), (A.T @ v.T).T)


def test_loading_is_orthonormal_and_belongs_to_the_law():
    law = Law(np.ones(6), 4, rank=3)
    U = laws.loading(law)
    assert U is not None and np.allclose(U.T @ U, np.eye(3), atol=1e-14)
    assert np.array_equal(U, laws.loading(Law(laws.spectrum("log", 6), 9, 0.1, rank=3)))
    assert laws.loading(Law(np.ones(6), 4)) is None


def test_target_covariance_of_a_low_rank_law():
    law = Law(np.ones(6), 4, rank=2, prior=np.array([[2.0, 0.5], [0.5, 1.0]]))
    U = laws.loading(law)
    assert np.allclose(laws.target_covariance(law), U @ law.prior @ U.T, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, ">f8"])
def test_arrays_are_upcast_exactly(dtype):
    given = np.array([4, 2, 1], dtype=dtype)[::-1]
    law = laws.checked(Law(given, 3, prior=given))
    assert law.sigma.dtype == np.float64 and law.sigma.flags.c_contiguous
    assert np.array_equal(law.sigma, [1.0, 2.0, 4.0]) and np.array_equal(law.sigma, law.prior)


BAD = [
    ("sigma", {"sigma": np.array([1.0, np.nan])}),
    ("sigma", {"sigma": np.array([1.0, np.inf])}),
    ("sigma", {"sigma": np.array([1.0, -0.1])}),
    ("sigma", {"sigma": np.zeros(0)}),
    ("sigma", {"sigma": np.float64(1.0)}),
    ("sigma", {"sigma": np.ones((2, 3))}),
    ("sigma", {"sigma": np.ones((2, 2, 2))}),
    ("sigma", {"sigma": np.array([1.0, 1.0j])}),
    ("sigma", {"sigma": np.array([1.0, None])}),
    ("sigma", {"sigma": np.array(["a", "b"])}),
    ("sigma", {"sigma": np.array([1.0, 1e300])}),
    ("sigma", {"sigma": np.array([1.0, 5e-324])}),
    ("sigma", {"sigma": np.array([[1.0, 0.5], [0.4, 1.0]])}),
    ("sigma", {"sigma": np.array([[1.0, 2.0], [2.0, 1.0]])}),
    ("sigma", {"sigma": np.array([2**60, 1])}),
    ("prior", {"prior": np.ones(3)}),
    ("prior", {"prior": np.array([1.0, -1.0])}),
    ("prior", {"prior": np.array([1.0, np.nan])}),
    ("prior", {"prior": np.ones(2), "rank": 1}),
    ("prompt", {"prompt": 0}),
    ("prompt", {"prompt": 2.5}),
    ("prompt", {"prompt": True}),
    ("ridge", {"ridge": -1e-3}),
    ("ridge", {"ridge": np.nan}),
    ("ridge", {"ridge": 1e300}),
    ("ridge", {"ridge": np.ones(2)}),
    ("ridge", {"ridge": True}),
    ("noise", {"noise": -0.1}),
    ("noise", {"noise": np.inf}),
    ("noise", {"noise": 1e-310}),
    ("noise", {"noise": "loud"}),
    ("rank", {"rank": 0}),
    ("rank", {"rank": 3}),
    ("rank", {"rank": 1.0}),
    ("target", {"target": "beta"}),
    ("kurtosis", {"kurtosis": -2.1}),
    ("kurtosis", {"kurtosis": np.nan}),
    ("kurtosis", {"kurtosis": 1.0, "sigma": np.array([[1.0, 0.5], [0.5, 1.0]])}),
]


@pytest.mark.parametrize(("name", "change"), BAD)
def test_bad_laws_are_refused_by_name(name, change):
    with pytest.raises(ValueError, match=f"^{name}:"):
        laws.checked(Law(**({"sigma": np.ones(2), "prompt": 3} | change)))


@pytest.mark.parametrize(
    ("kind", "dim", "condition", "name"),
    [
        ("flat", 3, 10.0, "spectrum"),
        ("log", 0, 10.0, "dim"),
        ("log", 3, 0.5, "condition"),
        ("log", 3, np.nan, "condition"),
        ("log", 3, np.inf, "condition"),
    ],
)
def test_bad_spectra_are_refused_by_name(kind, dim, condition, name):
    with pytest.raises(ValueError, match=f"^{name}:"):
        laws.spectrum(kind, dim, condition)
