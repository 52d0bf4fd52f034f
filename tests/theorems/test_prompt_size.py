"""The prompt-size law: an exact sum, its first-order bound, and the limit in which it is sharp."""

from fractions import Fraction

import numpy as np
import pytest

from twofold.tasks import moments
from twofold.theorems import prompt_size


def laws(count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        K = int(rng.integers(1, 12))
        sigma = 10.0 ** rng.uniform(-3, 1, K)
        law = {"ridge": float(rng.choice([0.0, 1e-3, 0.5])), "kurtosis": float(rng.uniform(-1, 4))}
        if rng.random() < 0.5:
            law = {"noise": float(rng.exponential()), "target": "coefficients"}
        if rng.random() < 0.5:
            law["prior"] = rng.exponential(size=K)
        yield sigma, int(10.0 ** rng.uniform(0.5, 6)), law


def exact_gap(sigma, M, *, ridge=0.0, noise=0.0, prior=None, target="solve", kurtosis=0.0):
    """floor(M) - floor(inf) and M times its limit, from the closed forms, in rationals."""
    s = [Fraction(float(x)) for x in sigma]
    b = [Fraction(float(x)) for x in (np.ones(len(s)) if prior is None else prior)]
    trace = sum(x * y for x, y in zip(s, b, strict=True))
    solve = target == "solve"
    sigma2 = Fraction(0) if solve else Fraction(float(noise)) ** 2
    gap = limit = Fraction(0)
    for x, y in zip(s, b, strict=True):
        a = x + Fraction(ridge) if solve else x
        V = (x * (trace + sigma2) + (1 + Fraction(kurtosis)) * y * x**2) / M
        C, B = y * a**2 + V, y * a
        gap += y - B**2 / C if C and B else 0
        limit += M * V / a**2 if B else 0
    return gap / len(s), limit / len(s)


def test_sum_and_limit_are_the_closed_forms_within_their_own_rounding():
    for sigma, M, law in laws(300, 1):
        gap, limit = exact_gap(sigma, M, **law)
        slack = Fraction(prompt_size.roundoff(sigma, M, **law))
        assert slack < 1e-12
        for exact, found in (
            (gap, prompt_size.gap(sigma, M, **law)),
            (limit, prompt_size.constant(sigma, M, **law)),
        ):
            assert abs(Fraction(found) - exact) <= slack * exact


def test_the_floor_itself_agrees():
    """The risk of P* as the moments measure it, minus the lost axes, is the same sum."""
    for sigma, M, law in laws(200, 2):
        found, live = prompt_size.terms(sigma, M, **law)
        lost = np.sum(found.S[~live]) / len(sigma)
        rounding = (48 + 4 * len(sigma)) * 2.0**-53 * np.mean(found.S)
        assert abs(found.floor - lost - prompt_size.gap(sigma, M, **law)) <= rounding


def test_the_bound_holds_on_2000_laws():
    for sigma, M, law in laws(2000, 3):
        record = prompt_size.certify(sigma, [M], **law)
        assert record.verdict[0] == "holds"
        assert record.rounding[0] <= 1e-11 * record.bound[0]


def test_the_bound_is_attained_as_the_prompt_grows():
    record = prompt_size.certify(np.logspace(0, -1, 16), 10.0 ** np.arange(1, 13), ridge=1e-3)
    assert np.all(np.diff(record.tightness) > 0) and record.tightness[-1] > 1 - 1e-9
    assert record.tightness[0] < 0.5


def test_the_isotropic_case_by_hand():
    """Sigma = I, lambda = 0: V = (K + 1) / M, so the gap is (K + 1) / (M + K + 1)."""
    for K, M in ((1, 5), (16, 128), (64, 4096)):
        assert prompt_size.gap(np.ones(K), M) == pytest.approx((K + 1) / (M + K + 1), rel=1e-13)
        assert prompt_size.constant(np.ones(K), M) == pytest.approx(K + 1, rel=1e-13)


def test_axes_without_signal_are_lost_at_every_prompt_size():
    sigma, law = np.array([1.0, 0.0, 0.5]), {"target": "coefficients"}
    assert moments.regression(sigma, prompt=10**9, **law).floor == pytest.approx(1 / 3, rel=1e-6)
    gap, _ = exact_gap(sigma, 100, **law)
    assert prompt_size.gap(sigma, 100, **law) == pytest.approx(float(gap), rel=1e-13)
    assert prompt_size.gap([1.0, 0.5], 50, prior=[0.0, 1.0]) > 0
    assert prompt_size.gap([1.0, 0.5], 50, prior=[0.0, 0.0]) == 0.0


def test_the_estimate_measures_its_constant_and_is_no_universal_law():
    sigma = np.logspace(0, -2, 64)
    record = prompt_size.estimate(sigma, [64, 1024, 10**6], ridge=1e-4)
    assert record.kind == "estimate" and record.tightness[-1] == pytest.approx(1)
    assert np.all(np.diff(record.tightness) > 0)
    flat = prompt_size.estimate(np.ones(64), [10**6])
    ratio = record.bound[-1] / flat.bound[-1]
    assert ratio > 3  # the same d_eff to 2 %, a constant several times larger


@pytest.mark.parametrize("prompts", [[], [1.5], [0], [np.nan], [[4, 8]]])
def test_bad_prompts_are_named(prompts):
    with pytest.raises(ValueError, match="prompt"):
        prompt_size.certify([1.0, 0.5], prompts)


def test_matrices_that_do_not_commute_are_refused_and_lost_digits_silence():
    with pytest.raises(ValueError, match="spectra"):
        prompt_size.certify(np.array([[1.0, 0.2], [0.2, 1.0]]), [8])
    worst = {"prior": [1e-70], "target": "coefficients"}
    exact, _ = exact_gap([1e-70], 10**9, **worst)
    found = prompt_size.gap([1e-70], 10**9, **worst)
    assert found == pytest.approx(float(exact), rel=1e-13) and found > 0
    flip = prompt_size.certify([1.0], [10], kurtosis=-2.0)
    assert flip.value[0] == 0 and flip.verdict[0] == "silent"
    nearly = prompt_size.certify([1.0, 1e-12], [10], kurtosis=-2.0)
    assert nearly.verdict[0] == "silent" and "kurtosis" in nearly.reason[0]
