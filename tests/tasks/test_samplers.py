"""The fast samplers draw from the plain sampler's law, and every draw is reproducible."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.stats import ks_2samp

from twofold.protocol import Law
from twofold.tasks import laws, samplers

MATRIX = np.array([[1.0, 0.4, 0.0], [0.4, 0.7, -0.2], [0.0, -0.2, 0.3]])
PRIOR = np.array([[0.5, -0.3, 0.1], [-0.3, 1.0, 0.0], [0.1, 0.0, 2.0]])
CASES = {
    "solve, M > K": Law(np.array([1.0, 0.5, 0.1]), 7, 0.2),
    "solve, M < K": Law(np.array([1.0, 0.5, 0.1]), 2, 0.2, 0.5, np.array([1.0, 3.0, 0.3])),
    "solve, M = 1, matrices": Law(MATRIX, 1, 0.1, 0.0, PRIOR),
    "coefficients, M > K": Law(np.array([1.0, 0.5, 0.1]), 5, 0.2, 0.7, target="coefficients"),
    "coefficients, M < K": Law(MATRIX, 2, 0.0, 0.7, PRIOR, target="coefficients"),
    "rank 2": Law(np.array([1.0, 0.5, 0.1]), 4, 0.0, 0.3, None, 2, "coefficients"),
    "one coordinate": Law(np.array([2.0]), 3, 0.1, 0.4, target="coefficients"),
}
COUNT = 40_000


def _monomials(columns: np.ndarray, order: int) -> np.ndarray:
    pick = range(columns.shape[1])
    return np.stack(
        [
            np.prod(columns[:, list(index)], axis=1)
            for power in range(1, order + 1)
            for index in combinations_with_replacement(pick, power)
        ],
        axis=1,
    )


def _z_scores(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    error = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
    return np.abs(a.mean(axis=0) - b.mean(axis=0)) / np.where(error > 0, error, 1.0)


def _joint(tasks) -> np.ndarray:
    """What the prompt adds to its mean response, beside the target: a sharper pair than d."""
    law = tasks.facts["law"]
    a = laws.matrix(law.sigma) + (law.ridge if law.target == "solve" else 0.0) * np.eye(law.dim)
    return np.concatenate([tasks.d - tasks.truth @ a, tasks.truth], axis=1)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("needs", ["d", "H"])
def test_joint_moments_to_order_four_match_the_plain_sampler(case, needs):
    fast = samplers.draw(CASES[case], COUNT, seed=1, needs=needs)
    plain = samplers.draw(CASES[case], COUNT, seed=2, needs="X")
    z = _z_scores(_monomials(_joint(fast), 4), _monomials(_joint(plain), 4))
    assert z.max() < 5.0
    assert np.sqrt(np.mean(z**2)) < 1.5


@pytest.mark.parametrize("case", CASES)
def test_bartlett_matches_the_plain_sampler_in_H_and_c(case):
    rows, columns = np.tril_indices(CASES[case].dim)
    entries = [
        np.concatenate([tasks.H[:, rows, columns], tasks.c], axis=1)
        for tasks in (
            samplers.draw(CASES[case], COUNT, seed=3, needs="H"),
            samplers.draw(CASES[case], COUNT, seed=4, needs="X"),
        )
    ]
    assert _z_scores(*(_monomials(e, 3) for e in entries)).max() < 5.0
    fourth = [e[:, : len(rows)] ** 4 for e in entries]
    assert _z_scores(*fourth).max() < 5.0


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("needs", ["d", "H"])
def test_distributions_match_the_plain_sampler(case, needs):
    law = CASES[case]
    fast = samplers.draw(law, COUNT, seed=5, needs=needs)
    plain = samplers.draw(law, COUNT, seed=6, needs="X")
    w = np.linspace(1.0, -0.5, law.dim)
    for read in (
        lambda t: t.d @ w,
        lambda t: np.sum(t.d**2, axis=1),
        lambda t: np.sum(t.d * t.truth, axis=1),
        lambda t: t.d[:, 0] * t.truth[:, -1],
    ):
        assert ks_2samp(read(fast), read(plain)).pvalue > 1e-4


@pytest.mark.parametrize("wrong", [{"prompt": 6}, {"noise": 0.5}, {"kurtosis": 0.6}])
def test_the_comparison_refuses_a_slightly_wrong_law(wrong):
    law = CASES["coefficients, M > K"]
    fast = samplers.draw(replace(law, **wrong), COUNT, seed=1, needs="d")
    plain = samplers.draw(law, COUNT, seed=2, needs="X")
    assert _z_scores(_monomials(_joint(fast), 4), _monomials(_joint(plain), 4)).max() > 5.0


@pytest.mark.parametrize("needs", ["H", "X"])
@pytest.mark.parametrize("target", ["solve", "coefficients"])
def test_the_system_is_what_the_prompt_says(needs, target):
    law = Law(np.array([1.0, 0.5, 0.1, 0.2]), 9, 0.3, 0.4, target=target)
    tasks = samplers.draw(law, 50, seed=0, needs=needs)
    assert np.array_equal(tasks.H, np.swapaxes(tasks.H, 1, 2))
    expected = tasks.c if target == "coefficients" else (tasks.H @ tasks.truth[..., None])[..., 0]
    assert np.array_equal(tasks.d, expected)
    if needs == "X":
        gram = np.einsum("nmi,nmj->nij", tasks.X, tasks.X) / 9 + 0.3 * np.eye(4)
        assert np.allclose(tasks.H, gram, rtol=0, atol=1e-13)
        assert np.allclose(tasks.c, np.einsum("nmi,nm->ni", tasks.X, tasks.y) / 9, atol=1e-13)
        residual = tasks.y - np.einsum("nmi,ni->nm", tasks.X, tasks.truth)
        assert 0.3 < residual.std() < 0.5


@pytest.mark.parametrize("needs", ["d", "H", "X"])
def test_task_n_does_not_depend_on_the_count(needs):
    law = Law(laws.spectrum("log", 6), 5, 0.1, 0.2)
    long, short, again = (
        samplers.draw(law, count, seed=9, needs=needs) for count in (1500, 3, 1500)
    )
    assert len(short) == 3 and len(long) == 1500
    for name in long.prompt:
        assert np.array_equal(long.prompt[name][:3], short.prompt[name])
        assert np.array_equal(long.prompt[name], again.prompt[name])
    assert np.array_equal(long.truth[:3], short.truth)
    assert np.array_equal(long.ids[:3], short.ids)


def test_chunks_and_seeds_and_samplers_are_independent():
    law = Law(np.ones(3), 4)
    drawn = [
        samplers.draw(law, 2100, seed=seed, needs=needs) for seed in (0, 1) for needs in ("d", "H")
    ]
    first = np.concatenate([tasks.truth[:, 0] for tasks in drawn])
    assert len(np.unique(first)) == len(first)
    ids = np.concatenate([tasks.ids for tasks in drawn])
    assert ids.dtype == np.int64 and len(np.unique(ids)) == len(ids) and ids.min() >= 0


def test_facts_say_which_sampler_and_why():
    gaussian, uniform = Law(np.ones(3), 4), Law(np.ones(3), 4, kurtosis=-1.2)
    for law, needs, sampler, fallback in (
        (gaussian, "d", "direct", 0),
        (gaussian, "H", "bartlett", 0),
        (gaussian, "X", "plain", 0),
        (uniform, "d", "plain", 5),
        (uniform, "H", "plain", 5),
        (uniform, "X", "plain", 0),
    ):
        facts = samplers.draw(law, 5, seed=0, needs=needs).facts
        assert (facts["sampler"], facts["fallback"]) == (sampler, fallback)
        assert facts["why"] and facts["loading"] is None
        assert np.array_equal(facts["spectrum"], law.sigma)


def test_only_what_was_drawn_is_in_the_prompt():
    law = Law(np.ones(3), 4)
    for needs, names in (("d", {"d"}), ("H", {"H", "d", "c"}), ("X", {"H", "d", "c", "X", "y"})):
        assert set(samplers.draw(law, 2, seed=0, needs=needs).prompt) == names


@pytest.mark.parametrize("kurtosis", [0.0, 1.0])
def test_stream_batches_are_a_function_of_seed_and_step(kurtosis):
    law = Law(laws.spectrum("power", 4), 6, 0.1, kurtosis=kurtosis)
    one, two = samplers.stream(law, 32, 7), samplers.stream(law, 32, 7)
    later = one.batch(5)
    one.batch(0)
    for a, b in zip(later, two.batch(5), strict=True):
        assert np.array_equal(a, b) and a.shape == (32, 4)
    assert not np.any(one.batch(4)[0] == later[0])
    assert not np.any(samplers.stream(law, 32, 8).batch(5)[0] == later[0])
    assert one.sampler == ("direct" if kurtosis == 0.0 else "plain")


def test_stream_draws_the_same_law_as_draw():
    law = Law(np.array([1.0, 0.3]), 5, 0.1, 0.6, target="coefficients")
    source = samplers.stream(law, 500, 3)
    d, target = (np.concatenate(x) for x in zip(*(source.batch(s) for s in range(80)), strict=True))
    plain = samplers.draw(law, COUNT, seed=2, needs="X")
    a, b = (np.concatenate(x, axis=1) for x in ((d, target), (plain.d, plain.truth)))
    z = _z_scores(_monomials(a, 4), _monomials(b, 4))
    assert z.max() < 5.0
    assert np.array_equal(source.tasks(3).ids, source.tasks(3).ids)
    assert not np.intersect1d(source.tasks(3).ids, source.tasks(4).ids).size
    assert source.tasks(3).H.shape == (500, 2, 2)


def test_degenerate_laws_stay_exact():
    silent = samplers.draw(Law(np.zeros(3), 4, 0.5), 6, seed=0, needs="d")
    assert np.array_equal(silent.d, 0.5 * silent.truth)
    nothing = samplers.draw(
        Law(np.ones(3), 4, 0.5, 0.0, np.zeros(3), target="coefficients"), 6, seed=0, needs="d"
    )
    assert np.all(nothing.d == 0.0) and np.all(nothing.truth == 0.0)
    only_noise = samplers.draw(
        Law(np.ones(3), 4, 0.0, 0.5, np.zeros(3), target="coefficients"), COUNT, seed=0, needs="d"
    )
    assert abs(np.mean(only_noise.d**2) * 16 - 1.0) < 0.05


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"count": 0}, "count"),
        ({"count": 2.0}, "count"),
        ({"seed": -1}, "seed"),
        ({"seed": True}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"needs": "y"}, "needs"),
    ],
)
def test_bad_draws_are_refused_by_name(change, name):
    given = {"count": 2, "seed": 0, "needs": "H"} | change
    with pytest.raises(ValueError, match=f"^{name}:"):
        samplers.draw(Law(np.ones(2), 3), given.pop("count"), **given)


@pytest.mark.parametrize(("batch", "seed", "s"), [(0, 0, 0), (2, -1, 0), (2, 0, -1), (2, 0, 0.5)])
def test_bad_streams_are_refused(batch, seed, s):
    with pytest.raises(ValueError, match=r"^(batch|seed|s): expected a whole number"):
        samplers.stream(Law(np.ones(2), 3), batch, seed).batch(s)
