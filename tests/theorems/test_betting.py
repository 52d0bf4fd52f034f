"""The betting bound: its capital, its coverage, and how each misuse of it fails."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest

from twofold.theorems import bernstein, betting, capital, heldout, tail

SEED_MEAN, SEED_UPPER, SEED_N, SEED_CLIP = 7.674719e-3, 1.771005e-1, 512, 10.0
LAWS = {  # name: (draw, true mean), losses in [0, 1] and clipped at 1
    "bernoulli": (lambda rng, shape: (rng.random(shape) < 0.0115).astype(float), 0.0115),
    "two-point": (lambda rng, shape: np.where(rng.random(shape) < 0.05, 0.9, 0.02), 0.064),
    "uniform": (lambda rng, shape: rng.random(shape), 0.5),
    "beta": (lambda rng, shape: rng.beta(0.5, 5.0, shape), 0.5 / 5.5),
}


def bets_twin(Y, delta, running=False):
    n, t = len(Y), np.arange(1, len(Y) + 1)
    mean = (0.5 + np.cumsum(Y)) / (t + 1)
    variance = (0.25 + np.cumsum((Y - mean) ** 2)) / (t + 1)
    before = np.concatenate([[0.25], variance[:-1]])
    return np.sqrt(2 * np.log(1 / delta) / ((t * np.log(1 + t) if running else n) * before))


def log_capital_twin(Y, m, bet):
    return np.cumsum(np.log(1 - np.minimum(bet, 0.99 / (1 - m)) * (Y - m)))


def upper_twin(losses, clip, delta, running=False):
    """The definition, in logarithms, by plain bisection; rows in the order given."""
    Y = np.minimum(losses, clip) / clip
    bet, low, high = bets_twin(Y, delta, running), 0.0, 1.0
    for _ in range(60):
        m = 0.5 * (low + high)
        if m in (low, high):
            break
        reached = np.max(log_capital_twin(Y, m, bet)) >= np.log(1 / delta) + 1e-9
        low, high = (low, m) if reached else (m, high)
    return clip * high


def in_hash_order(losses):
    """Rows arranged so that ``upper`` reads them as they stand here."""
    out = np.empty_like(losses)
    out[heldout.order(len(losses))] = losses
    return out


def exact_capital(loss, bet, clip, m):
    """max_t K_t(m) in rational arithmetic, the floats taken as the numbers they are."""
    most = Fraction(capital.TRUNCATION) / (Fraction(clip) - Fraction(m))
    K, top = Fraction(1), Fraction(1)
    for b, x in zip(bet, loss, strict=True):
        K *= 1 - min(Fraction(b), most) * (Fraction(x) - Fraction(m))
        top = max(top, K)
    return top


@pytest.mark.parametrize("seed", range(6))
def test_the_kernels_match_the_definition(seed):
    rng = np.random.default_rng(seed)
    for n, clip, delta in ((1, 1.0, 0.05), (7, 10.0, 0.3), (300, 0.37, 0.05), (512, 10.0, 1e-6)):
        draw = rng.choice([rng.exponential, lambda size: rng.beta(0.3, 2, size)])
        losses = draw(size=n) * clip
        expected = upper_twin(losses, clip, delta)
        assert betting.upper(in_hash_order(losses), clip=clip, delta=delta) == pytest.approx(
            expected, rel=1e-8
        )
        path = betting.running(losses, clip=clip, delta=delta)
        assert path[-1] == pytest.approx(upper_twin(losses, clip, delta, running=True), rel=1e-8)


def test_the_capital_is_recovered_from_far_below_the_range_of_floats():
    losses = np.concatenate([np.ones(400), np.zeros(900)])
    bet = np.full(1300, 50.0)
    m = 1.0 - 2.0**-4
    for count, reached in ((900, True), (200, False)):
        expected = np.max(log_capital_twin(losses[: 400 + count], m, bet[: 400 + count]))
        assert (expected >= np.log(20)) == reached
        found = capital.reaches(losses[: 400 + count], bet[: 400 + count], 1.0, m, 20.0)
        assert found == reached


def computed_capital(loss, bet, clip, m):
    """The kernel's own products, in its order."""
    most, K, top = capital.TRUNCATION / (clip - m), 1.0, 1.0
    for b, x in zip(bet, loss, strict=True):
        K *= 1.0 - min(b, most) * (x - m)
        top = max(top, K)
    return top


def test_the_bound_is_proved_in_rational_arithmetic():
    rng = np.random.default_rng(11)
    for _ in range(30):
        loss = rng.beta(0.5, 3, 60)
        bet = capital.bets(loss, 1.0, np.full(60, 2 * np.log(20) / 60))
        m = capital.least(loss, bet, 1.0, capital.goal(0.05, 60), 1.0)
        assert m < 1 and exact_capital(loss, bet, 1.0, m) >= 1 / Fraction(0.05)


def test_the_margin_covers_the_rounding_and_no_margin_does_not():
    """With delta where the computed capital just reaches 1/delta, the exact one often does not."""
    rng, careless = np.random.default_rng(12), 0
    for trial in range(60):
        n = 50
        loss = rng.choice([rng.beta(0.5, 3, n), np.where(rng.random(n) < 0.1, 1.0, 0.0)])
        m = float(rng.uniform(0.3, 1 - 2.0 ** -rng.integers(2, 40)))
        bet = rng.exponential(3.0 if trial % 2 else 1e3, n)
        top = computed_capital(loss, bet, 1.0, m)
        assert capital.reaches(loss, bet, 1.0, m, top)
        exact = exact_capital(loss, bet, 1.0, m)
        careless += exact < Fraction(top)
        assert abs(Fraction(top) / exact - 1) <= n * Fraction(400, 2**53)
        if top > 1.1:
            delta = (1 + max(1e-9, n * 2.0**-44)) / top
            assert not capital.reaches(loss, bet, 1.0, m, capital.goal(delta * (1 - 1e-9), n))
            assert exact >= 1 / Fraction(delta)
    assert careless > 5


def test_the_margin_grows_with_the_sample():
    assert capital.goal(0.05, 17_000) == (1 + 1e-9) / 0.05
    assert capital.goal(0.05, 10**9) * 0.05 - 1 >= 400 * 2.0**-53 * 10**9


def test_the_capital_does_not_decrease_in_m():
    rng = np.random.default_rng(5)
    grid = np.linspace(0.0, 1.0, 202)[1:-1]
    for draw, _ in LAWS.values():
        Y = draw(rng, 200)
        bet = bets_twin(Y, 0.05)
        table = np.array([log_capital_twin(Y, m, bet) for m in grid])
        assert np.all(np.diff(table, axis=0) >= -1e-10)
        reached = [capital.reaches(Y, bet, 1.0, m, 20.0) for m in grid]
        assert np.array_equal(reached, np.sort(reached))


def coverage(upper, law, n, count, delta, seed):
    """The exact binomial test that misses come at no more than delta, and the number of misses."""
    draw, mean = LAWS[law]
    samples = draw(np.random.default_rng(seed), (count, n))
    misses = sum(upper(row) < mean for row in samples)
    return binomtest(misses, count, delta, alternative="greater").pvalue, misses


def clt(row):
    return row.mean() + 1.6448536 * row.std(ddof=1) / np.sqrt(len(row))


@pytest.mark.parametrize("law", LAWS)
def test_misses_are_not_above_delta(law):
    p, _ = coverage(lambda x: betting.upper(x, clip=1.0, delta=0.05), law, 512, 2000, 0.05, 1)
    assert p >= 1e-3


def test_the_coverage_test_refutes_a_false_bound():
    assert coverage(clt, "bernoulli", 128, 2000, 0.05, 1)[0] < 1e-3


def test_an_attained_delta_a_smaller_one_would_be_refuted():
    """On Bernoulli(.0115), n = 1024, delta is nearly used up: nothing is given away."""
    p, misses = coverage(
        lambda x: betting.upper(x, clip=1.0, delta=0.05), "bernoulli", 1024, 4000, 0.05, 8
    )
    assert p >= 1e-3
    assert binomtest(misses, 4000, 0.025, alternative="greater").pvalue < 1e-3


def seed_losses(kind, rng):
    """512 losses with the seed's mean and the variance that its printed bound implies."""
    log = np.log(2 / 0.05)
    spread = SEED_UPPER - SEED_MEAN - 7 * SEED_CLIP * log / (3 * (SEED_N - 1))
    sd = np.sqrt(spread**2 * SEED_N / (2 * log))
    shape = (SEED_MEAN / sd) ** 2
    if kind == "two-point":
        raw = np.where(rng.random(SEED_N) < 0.3, 1.0, 0.0)
    elif kind == "gamma":
        raw = rng.gamma(shape, size=SEED_N)
    else:
        raw = rng.lognormal(0.0, np.sqrt(np.log1p(1 / shape)), SEED_N)
    raw = np.maximum(SEED_MEAN + sd * (raw - raw.mean()) / raw.std(ddof=1), 0.0)
    return raw * SEED_MEAN / raw.mean()


@pytest.mark.parametrize("kind", ["gamma", "lognormal", "two-point"])
def test_betting_is_at_least_two_and_a_half_times_closer_than_bernstein(kind):
    for seed in range(20):
        x = seed_losses(kind, np.random.default_rng(seed))
        excess = bernstein.upper(x, clip=SEED_CLIP, delta=0.05) - x.mean()
        assert excess / (betting.upper(x, clip=SEED_CLIP, delta=0.05) - x.mean()) >= 2.5


def test_zeros_come_within_a_few_per_cent_of_what_nothing_undercuts():
    for n in (64, 512, 1024, 4096):
        U = betting.upper(np.zeros(n), clip=10.0, delta=0.05)
        least = betting.floor(n, clip=10.0, delta=0.05)
        assert least < U < 1.05 * least
        assert least == pytest.approx(10.0 * tail.upper(np.zeros(n), clip=1.0, delta=0.05))
    with pytest.raises(ValueError, match="count"):
        betting.floor(0, clip=1.0, delta=0.05)


def test_nothing_is_known_of_a_sample_at_the_clip():
    for losses in (np.full(50, 3.0), [3.0], [1e300] * 4):
        assert betting.upper(losses, clip=3.0, delta=0.05) == 3.0
    assert (
        betting.upper([0.0], clip=1.0, delta=0.05)
        == 1.0
        > betting.upper([0.0, 0.0], clip=1.0, delta=0.05)
    )
    equal = betting.upper(np.full(400, 0.25), clip=1.0, delta=0.05)
    assert 0.25 < equal < 0.33


def test_rows_in_any_order_give_the_same_bits_when_ids_go_with_them():
    rng = np.random.default_rng(2)
    losses, ids = rng.exponential(0.1, 200), np.arange(200)
    base = betting.upper(losses, clip=1.0, delta=0.05, ids=ids)
    reached = set()
    for _ in range(20):
        shuffle = rng.permutation(200)
        assert betting.upper(losses[shuffle], clip=1.0, delta=0.05, ids=ids[shuffle]) == base
        reached.add(betting.upper(losses[shuffle], clip=1.0, delta=0.05))
    assert betting.upper(losses, clip=1.0, delta=0.05) == base and len(reached) > 10


def test_sorted_rows_do_no_systematic_harm():
    """Taken as they stand, ascending rows miss always; the fixed shuffle takes the sting out."""
    draw, mean = LAWS["beta"]
    rows = np.sort(draw(np.random.default_rng(4), (300, 256)), axis=1)
    as_they_stand = [upper_twin(row, 1.0, 0.05) < mean for row in rows[:20]]
    shuffled = [betting.upper(row, clip=1.0, delta=0.05) < mean for row in rows]
    assert np.mean(as_they_stand) > 0.9 and np.mean(shuffled) < 0.05


def test_the_running_bound_never_changes_its_past():
    losses = np.random.default_rng(6).exponential(0.1, 120)
    path = betting.running(losses, clip=1.0, delta=0.05)
    assert np.all(np.diff(path) <= 0) and path[-1] < path[0] <= 1.0
    for t in (1, 2, 50, 119):
        prefix = betting.running(losses[:t], clip=1.0, delta=0.05)
        assert np.array_equal(prefix, path[:t])


@pytest.mark.parametrize("law", LAWS)
def test_stopping_at_the_best_look_is_allowed_for_the_running_bound_alone(law):
    draw, mean = LAWS[law]
    samples = draw(np.random.default_rng(12), (500, 200))
    best = [betting.running(row, clip=1.0, delta=0.05).min() for row in samples]
    misses = int(np.sum(np.array(best) < mean))
    assert binomtest(misses, 500, 0.05, alternative="greater").pvalue >= 1e-3
    if law == "uniform":
        looks = [min(clt(row[:t]) for t in range(5, 201, 5)) < mean for row in samples]
        assert binomtest(sum(looks), 500, 0.05, alternative="greater").pvalue < 1e-6


def test_the_best_of_many_candidates_needs_the_family():
    rng, p, k, n = np.random.default_rng(7), 0.0115, 30, 512
    fails = {1: 0, k: 0}
    for _ in range(120):
        candidates = (rng.random((k, n)) < p).astype(float)
        best = candidates[np.argmin(candidates.mean(axis=1))]
        for family in fails:
            fails[family] += betting.upper(best, clip=1.0, delta=0.05, family=family) < p
    assert binomtest(fails[1], 120, 0.05, alternative="greater").pvalue < 1e-6
    assert binomtest(fails[k], 120, 0.05, alternative="greater").pvalue >= 1e-3


def test_a_certificate_is_tested_where_the_risk_is_known():
    draw, mean = LAWS["beta"]
    rows = draw(np.random.default_rng(9), (2000, 128))
    record = betting.certify(rows, clip=1.0, delta=0.05, risk=mean)
    assert record.kind == "confidence" and record.delta == 0.05 and not record.condemned
    false = betting.certify(rows, clip=1.0, delta=0.05, risk=1.6 * mean)
    assert false.condemned
    measured = betting.certify(rows[0], clip=1.0, delta=0.05, ids=np.arange(128))
    assert measured.value[0] == rows[0].mean() and 0.3 < measured.tightness[0] < 1


def test_a_sum_of_losses_that_overflows_is_no_violation():
    for certify in (betting.certify, bernstein.certify):
        c = certify(np.full(3, 1e308), clip=1e308, delta=0.1)
        assert c.value[0] == pytest.approx(1e308) and c.counts["violated"] == 0
