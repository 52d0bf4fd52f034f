import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twofold.certificate import (
    Certificate,
    binomial_tail,
    certificate,
    fingerprint,
    identity,
    violation_rate,
)

floats = st.floats(allow_nan=True, allow_infinity=True)


def test_verdicts_by_side_with_rounding_outwards():
    rest = dict(statement="a \\le b", kind="bound", value=[1.0, 1.0 + 2e-15, 1.1], bound=1.0)
    assert certificate("x", rounding=3e-15, **rest).verdict.tolist() == [
        "holds",
        "holds",
        "violated",
    ]
    lower = certificate("x", side="lower", rounding=0.0, **rest)
    assert lower.verdict.tolist() == ["holds"] * 3
    both = certificate("x", statement="", kind="bound", side="both", value=[-2.0, 2.0], bound=1.0)
    assert both.counts == {"holds": 0, "violated": 2, "silent": 0}


def test_without_its_rounding_an_attained_bound_fails_by_an_ulp():
    value = np.nextafter(1.0, 2.0) + 2 * np.finfo(float).eps
    bare = certificate("x", statement="", kind="bound", value=value, bound=1.0, rounding=0.0)
    assert bare.verdict[0] == "violated"


@pytest.mark.parametrize("field", ["value", "bound", "rounding"])
def test_nan_is_silent_never_a_pass(field):
    numbers = {"value": [0.0], "bound": [1.0], "rounding": [0.0], field: [np.nan]}
    c = certificate("x", statement="", kind="bound", **numbers)
    assert c.verdict.tolist() == ["silent"] and np.isnan(c.tightness[0])
    assert list(c.why_silent().values()) == [1]


def test_rows_whose_hypotheses_fail_are_silent_with_their_reason():
    c = certificate(
        "x", statement="", kind="bound", value=[9.0, 9.0], bound=1.0,
        applies=[False, False], reason=["rho > 1", "zero gap"],
    )  # fmt: skip
    assert c.counts["silent"] == 2 and c.why_silent() == {"rho > 1": 1, "zero gap": 1}
    assert not c.condemned


def test_an_identity_is_judged_by_what_rounding_may_cost():
    c = identity("x", statement="a=b", gap=[-1e-16, 1e-14], rounding=1e-15)
    assert c.verdict.tolist() == ["holds", "violated"] and c.condemned


def test_confidence_is_condemned_by_the_binomial_tail_only():
    def made(bad):
        value = np.r_[np.full(bad, 2.0), np.zeros(1000 - bad)]
        return certificate("x", statement="", kind="confidence", delta=0.05, value=value, bound=1.0)

    assert not made(50).condemned and not made(65).condemned and made(90).condemned


def test_the_binomial_tail_against_its_sum():
    from math import comb

    exact = sum(comb(20, i) * 0.3**i * 0.7 ** (20 - i) for i in range(9, 21))
    assert binomial_tail(9, 20, 0.3) == pytest.approx(exact, rel=1e-12)


def test_tightness_is_one_where_the_bound_is_attained():
    c = certificate("x", statement="", kind="bound", value=[1.0, 0.0, 0.0], bound=[1.0, 2.0, 0.0])
    assert c.tightness.tolist() == [1.0, 0.0, 1.0]
    low = certificate("x", statement="", kind="bound", side="lower", value=4.0, bound=1.0)
    assert low.tightness.tolist() == [0.25]


@given(st.lists(st.tuples(floats, floats, floats, st.booleans(), st.text()), max_size=5))
def test_json_round_trip_is_exact_and_strict(rows):
    columns = list(zip(*rows, strict=True)) or [()] * 5
    before = Certificate(
        "n", "s", "bound", "upper", "exact", *(np.array(c, dtype=float) for c in columns[:3]),
        np.array(columns[3], dtype=bool), tuple(columns[4]),
    )  # fmt: skip
    text = json.dumps(before.to_json(), allow_nan=False)
    after = Certificate.from_json(text)
    assert after.to_json() == before.to_json()
    assert np.array_equal(after.value, before.value, equal_nan=True)


def test_an_infinite_value_is_silent_and_an_infinite_bound_is_only_vacuous():
    inf = np.inf
    c = certificate("x", statement="", kind="bound", value=[inf, inf, 1.0], bound=[inf, 1.0, inf])
    assert c.verdict.tolist() == ["silent", "silent", "holds"]


@pytest.mark.parametrize(
    "change",
    [
        {"applies": ["no"]},
        {"value": [True]},
        {"reason": [5]},
        {"value": 1.0},
        {"value": [10**400]},
        {"delta": "0.1"},
        {"name": 3},
        {"schema": "other"},
        {"extra": 1},
        {"value": ["1e5"]},
        {"kind": "proof"},
        {"value": [1.0] * 9},
    ],
)
def test_a_foreign_record_is_refused(change):
    record = certificate("x", statement="", kind="bound", value=1.0, bound=1.0).to_json()
    with pytest.raises(ValueError, match="certificate"):
        Certificate.from_json({**record, **change})


@pytest.mark.parametrize(
    "wrong",
    [dict(kind="proof"), dict(side="left"), dict(about="x"), dict(kind="confidence"),
     dict(kind="assumption"), dict(kind="confidence", delta=1.5), dict(value=[[1.0]])],
)  # fmt: skip
def test_a_malformed_certificate_is_refused(wrong):
    with pytest.raises(ValueError, match="certificate 'x'"):
        certificate("x", **{"statement": "", "kind": "bound", "value": 1.0, "bound": 1.0, **wrong})


def test_a_fingerprint_sees_values_and_shapes_but_not_layout():
    a = np.arange(6.0).reshape(2, 3)
    assert fingerprint(a) == fingerprint(np.asfortranarray(a)) == fingerprint(a.astype(">f8"))
    assert (
        len({fingerprint(a), fingerprint(a.T), fingerprint(a.astype("f4")), fingerprint(a + 1)})
        == 4
    )


def test_a_violation_rate_is_the_worst_of_all_and_none_is_refused():
    bound = certificate(
        "a", statement="s", kind="bound", value=np.array([2.0, 0.5, np.nan, 0.1]), bound=1.0
    )
    clean = certificate("b", statement="s", kind="bound", value=np.zeros(3), bound=1.0)
    assert violation_rate([bound, clean]) == 0.25 and violation_rate([clean]) == 0.0
    with pytest.raises(ValueError, match="certificates: none given"):
        violation_rate([])
