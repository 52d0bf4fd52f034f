import json
import math

import numpy as np
import pytest

from twofold.information import decompose, exact
from twofold.theorems.paired import mixed

LAW = exact.SparseSoftmax(dim=8, sparsity=3, discrimination=4.0)


def drawn(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 256, n)
    edges = np.cumsum(LAW.p_y_given_x, axis=1)
    return x, np.minimum(np.sum(rng.random(n)[:, None] >= edges[x], axis=1), 3)


def run(n=4000, seed=0, **change):
    x, y = drawn(n, seed)
    u = LAW.biased[x] % 8 if "u" not in change else change.pop("u")[x]
    given = {"reference": LAW.p_y_given_x[x]} | change
    return decompose(u, None, LAW.states[x], y, **given)


def true(u):
    return exact.channel(LAW.p_x, LAW.p_y_given_x, u)


def test_certified_rows_contain_the_exact_values_and_the_loss_is_proved_positive():
    found, exactly = run(), true(LAW.biased % 8)
    assert 0 < found["I(X;Y|U), at least"].low < exactly.loss < found["I(X;Y|U), at most"].high
    noise = exactly.conditional_entropy
    assert found["R_X"].low < noise + 1e-3 and noise < found["R_X"].high
    assert found["R_U"].low < noise + exactly.loss + 0.01 < found["R_U"].high + 0.01
    gap = found["encoder gap R_U - R_X, cross-fitted"]
    assert gap.low - 0.02 < exactly.loss < gap.high + 0.02
    assert found["H(Y)"].value == pytest.approx(exactly.entropy, abs=0.02)


def test_miscoverage_of_the_whole_list_is_below_delta():
    exactly, missed = true(LAW.biased % 8), 0
    for seed in range(20):
        found = run(400, seed, delta=0.1)
        low, high = found["I(X;Y|U), at least"].low, found["I(X;Y|U), at most"].high
        missed += not low <= exactly.loss <= high
    assert missed <= 3


def test_every_row_says_its_kind_and_shares_of_delta_add_up():
    found = run(delta=0.05)
    certified = [v for v in found.values if v.kind == "confidence" and v.delta]
    assert sum(v.delta for v in certified) <= 0.05 * (1 + 1e-12)
    for v in found.values:
        asymptotic = "asymptotic" in v.note
        assert v.kind == "estimate" if asymptotic else True
        assert v.family or v.kind != "confidence" or not v.delta
    json.dumps(found.to_json(), allow_nan=False)


def test_a_decoder_is_charged_with_its_divergence_and_the_parts_add_up():
    x, y = drawn(4000)
    exactly = true(LAW.sufficient)
    wrong = exactly.decoder**0.3
    wrong /= wrong.sum(1, keepdims=True)
    known = exact.channel(LAW.p_x, LAW.p_y_given_x, LAW.sufficient, wrong)
    found = decompose(LAW.sufficient[x], lambda u: wrong[u.astype(int)], LAW.states[x], y,
                      reference=LAW.p_y_given_x[x])  # fmt: skip
    gap = found["decoder gap R_decoder - R_U, cross-fitted"]
    assert gap.low - 0.02 < known.decoder_kl < gap.high + 0.02
    assert abs(found["R_decoder - R_X - both gaps"].value) < 1e-12
    assert found["I(X;Y|U), at least"].low == 0.0


def test_a_continuous_code_gets_no_lower_bound_and_is_told_why():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    y = (X[:, 0] + 0.3 * rng.standard_normal(600) > 0).astype(int)
    found = decompose(lambda X: X[:, :2] * 0.5, None, X, y, layers=[X * 2, np.round(X)])
    at_least = found["I(X;Y|U), at least"]
    assert (
        at_least.low == 0.0 and at_least.kind == "bound" and "no distribution-free" in at_least.note
    )
    assert "injective" in found["layer 1: distinct rows"].note
    assert "rows tie" in found["layer 2: distinct rows"].note
    assert found["layer 2: usable loss"].kind == "estimate"


def test_repeated_rows_are_kept_together_and_said():
    x, y = drawn(300)
    found = run(1000)
    assert any("X is discrete" in note for note in found.notes)
    assert run(1000).to_json() == found.to_json()
    X = np.random.default_rng(0).standard_normal((50, 2))
    X[49] = X[0]
    notes = decompose(X, None, X, np.arange(50) % 2).notes
    assert any("1 rows repeat" in note and "none leaks" in note for note in notes)


def test_few_rows_are_honestly_wide():
    found = run(12)
    assert found["I(X;Y|U), at least"].low == 0.0
    assert found["R_U"].high - found["R_U"].low > 1.0


def test_bad_input_is_named():
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    bad = X.copy()
    bad[3, 1] = np.nan
    for given, message in (
        ({"y": 0 * y}, "y: one class only"), ({"y": y[:9], "X": X[:9]}, "n >= 10"),
        ({"y": y + 10**9}, "y: labels of cells"), ({"y": y * 1000003}, "more than can be learned"),
        ({"X": bad}, "X: 1 of 40 entries are not finite"), ({"encoder": bad}, "encoder: 1 of 40"),
        ({"encoder": X[:7]}, "encoder: 7 codes"), ({"method": "knn"}, "method"),
        ({"decoder": np.ones((20, 2))}, "decoder: expected probabilities"),
        ({"delta": 0.0}, "delta"), ({"layers": [X[:3]]}, r"layers\[0\]: 3 rows"),
    ):  # fmt: skip
        call = {"encoder": X, "decoder": None, "X": X, "y": y} | given
        with pytest.raises(ValueError, match=message):
            decompose(**call)


def test_mixing_moves_a_risk_by_a_thousandth_at_most():
    assert mixed(np.array([1.0]), 10**6)[0][0] <= math.log(1 / (1 - 1e-3)) + 1e-12
