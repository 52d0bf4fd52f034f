from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from twofold.rigor import roundoff

U = Fraction(1, 2**53)


@pytest.mark.parametrize("k", [0, 1, 2, 64, 10**6, 2**43])
def test_gamma_is_rounded_up(k):
    true = k * U / (1 - k * U)
    assert true <= Fraction(roundoff.gamma(k)) <= true * (1 + 16 * U)


@pytest.mark.parametrize("k", [0, 1, 7, 1000, 2**30])
@pytest.mark.parametrize("x", [1.0, 1 + 2.0**-52, 2 - 2.0**-52, 0.1, 1e300, 2.0**-1000])
def test_up_covers_k_roundings(k, x):
    worst = Fraction(x) / (1 - U) ** min(k, 1000) + Fraction(2) ** -1030
    assert Fraction(roundoff.up(x, k)) >= worst
    assert Fraction(roundoff.up(x, k)) >= Fraction(x) * (1 + 2 * k * U)


def test_up_never_makes_a_bound_of_nan():
    out = roundoff.up(np.array([np.nan, np.inf, 0.0]), 3)
    assert np.isnan(out[0]) and out[1] == np.inf and 0 < out[2] < 1e-300


@pytest.mark.parametrize("exponent", [-3000, -1074, -1060, -1022, -1, 0, 5, 1020, 3000])
def test_scaling_never_goes_down(exponent):
    x = np.array([0.5, 1 - 2.0**-53, 0.7, 0.0])
    y = roundoff.scaled_up(x, np.full(4, exponent))
    for a, b in zip(x, y, strict=True):
        assert b == np.inf or Fraction(b) >= Fraction(a) * Fraction(2) ** exponent
    assert y[3] == 0 and (y[0] == np.inf) == (exponent == 3000)


def test_too_many_roundings_are_refused():
    for call in (roundoff.gamma, lambda k: roundoff.up(1.0, k)):
        for k in (-1, 2**43 + 1):
            with pytest.raises(ValueError, match="^k: "):
                call(k)
