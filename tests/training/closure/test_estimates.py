"""The equivalent and its 1/M term: the orders of the exact expansion, and their adjoints."""

import numpy as np
import pytest

from twofold.tasks import moments
from twofold.tasks.regression import regression_law
from twofold.training import closure, complex_step
from twofold.training.closure import case as cases
from twofold.training.closure import corrected, equivalent, error_law, wick, words


def setting(K, M, L, full=False, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.3, 1.0, K)
    P = np.diag(p) + 0.2 * rng.standard_normal((K, K)) if full else p
    sigma, prior = np.linspace(1.0, 0.2, K), rng.uniform(0.5, 2.0, K)
    return cases.of(P, sigma=sigma, prior=prior, prompt=M, ridge=0.05, depth=L)


@pytest.mark.parametrize("L", [1, 2, 3, 4])
def test_the_equivalent_is_the_planar_part_of_the_exact_sum(L):
    P, case = setting(5, 8, L)
    assert equivalent.risk(P, case) == pytest.approx(wick.risk(P, case, orders=1), rel=1e-12)


@pytest.mark.parametrize("L", [1, 2, 3, 4])
def test_the_correction_is_the_second_coefficient_of_the_replication_expansion(L):
    """Every (s, b, p) repeated t times with M -> t M: R = rho_0 + rho_1/t + ..., sorted exactly."""
    P, case = setting(4, 7, L, seed=1)
    zero, one = (wick.risk(P, case, orders=k) for k in (1, 2))
    step = corrected.risk(P, case, twist=1j * complex_step.STEP)
    assert np.real(step) == pytest.approx(zero, rel=1e-12)
    assert np.imag(step) / complex_step.STEP == pytest.approx(one - zero, rel=1e-10, abs=1e-13)
    # what the engine has beyond that is of second order
    left = [
        (corrected.risk(*replicated(P, case, L, t)) - zero - (one - zero) / t) * t**2
        for t in (10, 20)
    ]
    assert left[0] == pytest.approx(left[1], rel=0.05, abs=1e-8)


def replicated(p, case, L, t):
    return cases.of(np.repeat(p, t), sigma=np.repeat(case.sigma, t),
                    prior=np.repeat(case.prior, t), prompt=case.prompt * t, ridge=case.ridge,
                    depth=L)  # fmt: skip


def test_the_correction_of_a_full_P_leaves_an_error_of_second_order():
    rng = np.random.default_rng(3)
    P = np.eye(3) + 0.2 * rng.standard_normal((3, 3))
    s, b = np.array([1.0, 0.5, 0.3]), np.array([1.0, 2.0, 0.5])
    left = []
    for t in (8, 16):
        big, case = cases.of(np.kron(P, np.eye(t)), sigma=np.repeat(s, t), prior=np.repeat(b, t),
                             prompt=7 * t, ridge=0.05, depth=2)  # fmt: skip
        left.append((words.risk(big, case) - corrected.risk(big, case)) * t**2)
    assert left[0] == pytest.approx(left[1], rel=0.05) and abs(left[0]) < 1


def test_the_corrected_engine_is_exact_at_depth_one():
    for full in (False, True):
        P, case = setting(5, 8, 1, full)
        assert corrected.risk(P, case) == pytest.approx(words.risk(P, case), rel=1e-12)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("engine", [equivalent, corrected])
@pytest.mark.parametrize("L", [1, 3, 5])
def test_adjoints_agree_with_the_complex_step(engine, full, L):
    P, case = setting(4, 9, L, full)
    value, bar = engine.gradient(P, case)
    step = complex_step.gradient(lambda P: engine.risk(P, case), P)
    assert value == pytest.approx(float(np.real(engine.risk(P, case))), rel=1e-13)
    np.testing.assert_allclose(bar, step, rtol=0, atol=1e-12 * np.abs(step).max())


@pytest.mark.parametrize("engine", [equivalent, corrected])
def test_a_diagonal_P_is_a_special_full_one_and_any_polynomial_goes(engine):
    rng = np.random.default_rng(5)
    kw = {"sigma": rng.uniform(0.2, 1, 5), "prior": rng.uniform(0.5, 2, 5), "prompt": 9,
          "ridge": 0.1, "weights": rng.standard_normal(5)}  # fmt: skip
    p = rng.uniform(0.3, 1, 5)
    (P, case), (Q, wide) = cases.of(p, **kw), cases.of(np.diag(p), **kw)
    assert engine.risk(P, case) == pytest.approx(engine.risk(Q, wide), rel=1e-12)
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    kw |= {name: (turn * kw[name]) @ turn.T for name in ("sigma", "prior")}
    T, turned = cases.of((turn * p) @ turn.T, **kw)
    assert engine.risk(T, turned) == pytest.approx(engine.risk(P, case), rel=1e-11)


def test_the_error_laws_hold_where_they_were_stated():
    errors = {}
    for K in (16, 32):
        for condition in (1.0, 100.0):
            law = regression_law(dim=K, prompt=4 * K, condition=condition, ridge=1e-3)
            for L in (2, 4):
                e = error_law.measured(moments.of(law).oracle, law, L)
                assert abs(e.equivalent) <= e.allowed
                assert abs(e.corrected) <= e.allowed_corrected
                errors[K, condition, L] = e
    for condition in (1.0, 100.0):
        for L in (2, 4):
            small, large = errors[16, condition, L], errors[32, condition, L]
            assert 1.7 < small.equivalent / large.equivalent < 2.3
            assert abs(small.corrected) > 3 * abs(large.corrected)


def test_the_estimate_is_never_a_proof():
    law = regression_law(dim=8, prompt=32)
    proof = error_law.certify([(moments.of(law).oracle, law, 2)])
    assert proof.kind == "estimate" and not proof.condemned and proof.counts["holds"] == 1


def test_drift_is_half_K_times_the_gradient():
    law = regression_law(dim=5, prompt=20)
    P = np.full(5, 0.4)
    kw = {"sigma": law.sigma, "prompt": 20, "depth": 3}
    drift, h = closure.gradient(P, **kw), 1e-6
    for i in range(5):
        e = h * np.eye(5)[i]
        slope = (closure.risk(P + e, **kw) - closure.risk(P - e, **kw)) / (2 * h)
        assert drift[i] == pytest.approx(2.5 * slope, rel=1e-6)
