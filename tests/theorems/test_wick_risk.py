"""Two sums over pairings agree; broken formulas and hypotheses are refused."""

import numpy as np
import pytest

from twofold.tasks import moments
from twofold.theorems import wick_risk
from twofold.training.closure import wick

RNG = np.random.default_rng(0)
LAW = {"sigma": np.array([1.0, 0.4, 0.1]), "prior": np.array([1.0, 2.0, 0.5]), "prompt": 7}


def test_both_sums_agree_on_random_tasks():
    for depth, count in ((0, 100), (1, 1500), (2, 400)):
        p = RNG.uniform(-1, 2, (count, 3))
        proof = wick_risk.certify(p, **LAW, ridge=0.1, depth=depth)
        assert proof.kind == "identity" and proof.counts["holds"] == count
        assert (proof.bound <= 1e-9).all()


def test_equality_where_nothing_is_rounded():
    proof = wick_risk.certify(np.zeros((2, 3)), **LAW, depth=2)
    assert (proof.value == 0).all() and (proof.bound > 0).all()


def test_depth_one_is_the_closed_form():
    p = RNG.uniform(0, 1, 3)
    known = moments.regression(LAW["sigma"], prior=LAW["prior"], prompt=7, ridge=0.1)
    case = wick_risk.cases.of(p, **LAW, ridge=0.1, depth=1)[1]
    one, two, rounding = wick_risk.sides(p, case)
    assert abs(one - known.risk(p)) < 1e-14 and abs(two - one) <= rounding


def test_a_false_sum_is_violated_and_so_is_a_bound_without_rounding(monkeypatch):
    p = RNG.uniform(0, 1, (50, 3))
    honest = wick_risk.certify(p, **LAW, depth=2)
    assert (honest.value > 0).any()
    monkeypatch.setattr(wick_risk.wick, "risk", lambda p, case: wick.gradient(p, case, 2)[0])
    assert wick_risk.certify(p, **LAW, depth=2).counts["violated"] == 50


def test_broken_hypotheses_are_refused_or_silent():
    with pytest.raises(ValueError, match="at most 2"):
        wick_risk.certify(np.ones((1, 3)), **LAW, depth=3)
    with pytest.raises(ValueError, match="like sigma"):
        wick_risk.certify(np.ones((1, 2)), **LAW, depth=1)
    with pytest.raises(ValueError, match="not finite|finite"):
        wick_risk.certify(np.full((1, 3), np.nan), **LAW, depth=1)
    huge = wick_risk.certify(np.full((1, 3), 1e200), **LAW, depth=2)
    assert huge.counts["silent"] == 1 and "float64" in huge.reason[0]
