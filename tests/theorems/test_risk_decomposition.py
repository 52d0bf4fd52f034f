from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from twofold.anatomy import take_apart
from twofold.protocol import EncoderDecoder, Tasks
from twofold.theorems import risk_decomposition


def anatomy_of(answer, best, truth, metric=None, scale=1.0):
    """The anatomy of a model that says ``answer`` where it could have said ``best``."""
    model = EncoderDecoder(lambda prompt: prompt["code"], lambda code: answer)
    tasks = Tasks({"code": best}, truth, metric=metric, scale=scale)
    return take_apart(model, tasks, reference=lambda code: code)


def draw(seed, K=6, count=2000, close=1.0):
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((count, K)) * 10.0 ** rng.uniform(-3, 3, (count, 1))
    best = truth * (1 + close * rng.standard_normal((count, K)))
    answer = best + close * rng.standard_normal((count, K)) * np.abs(truth)
    root = rng.standard_normal((K, K))
    return answer, best, truth, root @ root.T


def exact_parts(anatomy, n):
    """The four parts of row n in rational arithmetic."""
    K = anatomy.truth.shape[1]
    S = np.eye(K) if anatomy.metric is None else anatomy.metric
    S = [[Fraction(x) for x in row] for row in S]
    answer, best, truth = (
        [Fraction(x) for x in rows[n]] for rows in (anatomy.answer, anatomy.best, anatomy.truth)
    )
    a = [x - y for x, y in zip(answer, best, strict=True)]
    b = [x - y for x, y in zip(best, truth, strict=True)]

    def form(v, w):
        return Fraction(anatomy.scale) * sum(
            v[i] * S[i][j] * w[j] for i in range(K) for j in range(K)
        )

    e = [x + y for x, y in zip(a, b, strict=True)]
    return {
        "total": form(e, e),
        "floor": form(b, b),
        "decoder": form(a, a),
        "cross": 2 * form(a, b),
    }


@pytest.mark.parametrize("close", [1.0, 1e-6, 1e-13])
@pytest.mark.parametrize("metric", [True, False])
@pytest.mark.parametrize("scale", [1.0, 1 / 6])
def test_holds_on_two_thousand_tasks_and_needs_its_rounding(close, metric, scale):
    answer, best, truth, S = draw(0, close=close)
    found = anatomy_of(answer, best, truth, S if metric else None, scale)
    proof = risk_decomposition.certify(found)
    assert proof.counts == {"holds": 2000, "violated": 0, "silent": 0}
    assert proof.kind == "identity" and proof.about == "computed"
    without = replace(proof, bound=0 * proof.bound, rounding=0 * proof.rounding)
    if close > 1e-9:  # nearer than that the differences are few-bit numbers and sums are exact
        assert without.counts["violated"] > 500
    squares = sum(np.sum(rows**2, axis=1) for rows in (answer, best, truth))
    assert np.max(proof.rounding / (squares * np.linalg.norm(S, 2))) < 1e-13


@pytest.mark.parametrize("metric", [True, False])
def test_every_part_is_within_its_proved_error_of_the_rational_one(metric):
    answer, best, truth, S = draw(1, count=40, close=1e-8)
    found = anatomy_of(answer, best, truth, S if metric else None, 1 / 6)
    errors = risk_decomposition.part_errors(found)
    for n in range(len(found)):
        exact = exact_parts(found, n)
        assert exact["total"] == exact["floor"] + exact["decoder"] + exact["cross"]
        for name, value in exact.items():
            assert abs(Fraction(found.parts[name][n]) - value) <= Fraction(errors[name][n])


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e-162, 1e100, 1e150])
def test_underflow_and_size_are_inside_the_rounding(size):
    answer, best, truth, S = draw(2, count=30)
    top = np.max(np.abs([answer, best, truth]))
    found = anatomy_of(*(rows * (size / top) for rows in (answer, best, truth)), S)
    assert risk_decomposition.certify(found).counts["violated"] == 0
    errors = risk_decomposition.part_errors(found)
    for n in range(len(found)):
        for name, value in exact_parts(found, n).items():
            assert abs(Fraction(found.parts[name][n]) - value) <= Fraction(errors[name][n])


def test_a_large_factor_after_an_underflow_is_paid_for():
    answer, best, truth = np.array([[[0.0, 1e150]], [[0.0, 0.0]], [[-1e-170, 0.0]]])
    found = anatomy_of(answer, best, truth, np.array([[1.0, 1e-150], [1e-150, 1.0]]))
    errors = risk_decomposition.part_errors(found)
    for name, value in exact_parts(found, 0).items():
        assert abs(Fraction(found.parts[name][0]) - value) <= Fraction(errors[name][0])


def test_attained_where_the_arithmetic_is_exact():
    rng = np.random.default_rng(3)
    answer, best, truth = rng.integers(-50, 50, (3, 200, 6)).astype(float)
    proof = risk_decomposition.certify(anatomy_of(answer, best, truth))
    assert not proof.value.any() and proof.counts["holds"] == 200


@pytest.mark.parametrize("part", ["total", "floor", "decoder", "cross"])
@pytest.mark.parametrize("factor", [0.5, 1 + 1e-12, -1.0])
def test_a_false_part_is_refused(part, factor):
    answer, best, truth, S = draw(4, count=300)
    found = anatomy_of(answer, best, truth, S)
    false = replace(found, parts={**found.parts, part: factor * found.parts[part]})
    violated = risk_decomposition.certify(false).counts["violated"]
    assert violated == 300 if abs(factor - 1) > 0.1 else violated > 100


def test_a_sum_without_the_cross_term_is_refused():
    answer, best, truth, _ = draw(5, count=100)
    found = anatomy_of(answer, best, truth)
    false = replace(found, parts={**found.parts, "cross": 0 * found.parts["cross"]})
    assert risk_decomposition.certify(false).counts["violated"] == 100


def test_silent_rows_keep_their_reason():
    answer, best, truth, _ = draw(6, count=5)
    truth[1, 0], best[3, 2] = np.nan, np.inf
    proof = risk_decomposition.certify(anatomy_of(answer, best, truth))
    assert list(proof.verdict) == ["holds", "silent", "holds", "silent", "holds"]
    assert "truth" in proof.reason[1] and "encoder" in proof.reason[3]
    assert len(proof.source) == 64
