import numpy as np
import pytest

from twofold.theorems import betting, paired


def pairs(rng, R=10000, n=60):
    """Two losses with a common scatter; E(one - other) = .05 * 1 - .05 * .4 = .03."""
    common = rng.integers(0, 2, (R, n))
    one = common + (rng.random((R, n)) < 0.05)
    other = common + 0.4 * (rng.random((R, n)) < 0.05)
    return one, other, 0.03


def test_both_sides_hold_over_ten_thousand_samples():
    one, other, truth = pairs(np.random.default_rng(0))
    for proof in paired.certify(one, other, clip=1.0, delta=0.1, difference=truth):
        assert not proof.condemned and proof.delta == 0.05


def test_what_both_share_cancels():
    one, other, _ = pairs(np.random.default_rng(1), R=1, n=2000)
    low, high = paired.interval(one[0], other[0], clip=1.0, delta=0.1)
    alone = [betting.upper(x, clip=2.0, delta=0.05) - x.mean() for x in (one[0], other[0])]
    assert high - low < 0.8 * sum(alone)
    assert paired.interval(one[0], one[0], clip=1.0, delta=0.1)[0] < 0


def test_turning_the_pair_turns_the_interval():
    one, other, _ = pairs(np.random.default_rng(2), R=1, n=200)
    low, high = paired.interval(one[0], other[0], clip=1.0, delta=0.1)
    back = paired.interval(other[0], one[0], clip=1.0, delta=0.1)
    assert back == pytest.approx((-high, -low), abs=1e-12)


def test_a_mixed_predictor_has_the_loss_it_promises():
    loss, clip = paired.mixed(np.array([0.0, 1.0, 0.5]), 4, 1e-3)
    assert loss.max() <= clip and loss[1] < 2e-3
    q = np.array([0.9, 0.3])
    assert np.all(paired.mixed(q, 4)[0] <= -np.log(q) + 1.1e-3)


def test_a_false_statement_is_refused():
    one, other, truth = pairs(np.random.default_rng(3), R=2000, n=400)
    upper, lower = paired.certify(one, other, clip=1.0, delta=0.1, difference=truth + 0.03)
    assert upper.condemned and not lower.condemned


def test_bad_input_is_named():
    a = np.array([0.1, 0.9])
    for given, message in (
        ({"one": a, "other": a[:1], "clip": 1.0}, "one, other"),
        ({"one": 3 * a, "other": a, "clip": 1.0}, "clip: a difference is"),
        ({"one": -a, "other": a, "clip": 1.0}, "losses"),
    ):
        with pytest.raises(ValueError, match=message):
            paired.interval(**given, delta=0.1)
    with pytest.raises(ValueError, match="probability"):
        paired.mixed(np.array([1.5]), 2)
