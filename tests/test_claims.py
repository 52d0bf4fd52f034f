import hashlib
import importlib
import math
import tomllib
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from importlib.resources import files

import pytest

from twofold import claims, studies
from twofold.claims import Claim, Measured, judge, over_seeds

BOOK = {claim.id: claim for claim in claims.load()}
COVERAGE = tomllib.loads((files("twofold") / "coverage.toml").read_text(encoding="utf-8"))
LATER = {"information"}
STUDIES = {
    "000-table-1", "000-table-3", "000-figure-1", "000-figure-3", "000-bernstein",
    "001-certificates", "002-gp", "002-obstruction", "000-table-5", "000-figure-5", "002-pde",
    *(f"001-figure-{n}" for n in range(1, 12)),
    "001-section-8",
    "002-overlaps",
    "001-figure-10-qk",
    "002-scaling",
    "000-table-2", "000-figure-2", "000-table-4", "000-figure-4", "002-gradients", "002-ntk",
    "002-status", "002-open",
    "003-atlas",
    "004-information", "004-identities", "004-estimators",
}  # fmt: skip
# Numbers that came out another, each with its reason in claims.toml.
EXPLAINED = {
    "000-T5-best-mse", "002-S5-best-mse",
    "000-T2-error-bound-ratio", "002-S9-heldout-posterior-mse",
}  # fmt: skip
# How many items each seed has.
NUMBERS = {"000": 37, "001": 40, "002": 26, "003": 2, "004": 6}
OTHERS = {"000": 60, "001": 232, "002": 61, "003": 40, "004": 67}

FORCED = Claim("x-1", "x", "p", "t", "0.6724", "forced", "s")
COUNT = replace(FORCED, printed="zero")
IDENTIFIED = replace(FORCED, kind="identified", tolerance=4)
RELATIVE = replace(FORCED, kind="identified", tolerance=0.01, relative=True)
ORDER = replace(FORCED, printed="4.3266×10^{-3}", kind="order", tolerance=10)
ROUNDING = replace(FORCED, printed=r"2.7756 \cdot 10^{-17}", kind="rounding", tolerance=1e-15)
KINDS = (FORCED, IDENTIFIED, RELATIVE, ORDER, ROUNDING)


def word(claim, value, error=None, **rest):
    return judge(claim, Measured(value, error), **rest).word


def test_every_item_of_the_seeds_is_listed_once():
    where, later = COVERAGE["where"], COVERAGE["later"]
    assert set(COVERAGE) == {"where", "later"}
    ids = [*BOOK, *where, *later]
    assert len(BOOK) == 111 and len(where) + len(later) == 460 and len(set(ids)) == 571
    assert Counter(claim.seed for claim in BOOK.values()) == NUMBERS
    assert Counter(name[:3] for name in [*where, *later]) == OTHERS
    assert set(later.values()) == LATER


@pytest.mark.parametrize("name", sorted({w for w in COVERAGE["where"].values()}))
def test_every_place_named_exists(name):
    if name.startswith("twofold."):
        assert resolve(name) is not None
    else:
        assert name in STUDIES or name == "context"


def test_every_study_that_decides_a_claim_now_is_registered():
    assert STUDIES <= set(studies.names())


def resolve(name):
    """What a dotted name stands for; ImportError or AttributeError if there is nothing."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name and not name.startswith(f"{error.name}."):
            raise
        parent, _, last = name.rpartition(".")
        return getattr(resolve(parent), last)


def test_the_resolver_can_fail():
    assert resolve("twofold.claims.judge") is judge
    for name in ("twofold.claims.juge", "twofold.nowhere.at_all"):
        with pytest.raises((AttributeError, ImportError)):
            resolve(name)


def test_what_is_decided_now_and_what_waits():
    for claim in BOOK.values():
        assert claim.pending == (claim.study not in STUDIES), claim.id
        assert claim.pending or claim.seed in ("000", "001", "002", "003", "004"), claim.id
        if claim.kind == "identified" and claim.study != "001-figure-10":
            assert claim.configuration == "post-hoc", claim.id
    assert Counter(c.kind for c in BOOK.values()) == {
        "order": 45, "identified": 19, "forced": 34, "rounding": 13,
    }  # fmt: skip
    assert {claim.id for claim in BOOK.values() if claim.explanation} == EXPLAINED


def test_the_printed_strings_are_those_that_were_compared_with_the_seeds():
    """Each string was searched in its seed's text once; a changed digit changes this hash."""
    record = "".join(f"{c.id} {c.printed}\n" for c in sorted(BOOK.values(), key=lambda c: c.id))
    assert hashlib.sha256(record.encode()).hexdigest() == (
        "02ee31a33f9cc65df45988b5a1bb00a3958a5e463742f831d5d7e43342a804b2"
    )


def test_the_printed_numbers_agree_with_each_other():
    """What the seeds print is tied together by arithmetic, so that a slip of the pen shows."""
    v = claims.value
    assert v("000-T1-noise-floor") == v("000-T1-exact-population-risk") == 4e-4
    ratio = v("000-T1-heldout-risk") / v("000-T1-exact-population-risk")
    assert abs(ratio - v("000-T1-observed-over-predicted")) < 5e-11
    for name, power in {
        "000-T3-identity-gap": 2.0**-55, "001-S11-ladder-decoder": 5 * 2.0**-60,
        "001-S11-ladder-encoder": 2.0**-57, "001-S11-ladder-commuting": 2.0**-54,
        "002-ST2-primal-dual-gap": 65 * 2.0**-52, "002-S7-singular-mismatch": 2.0**-51,
        "002-S7-depth1-risk-A": 2.0**-109, "001-S11-counter-R1A": 0.82**2,
        "001-S11-counter-R1B": 0.44**2,
    }.items():  # fmt: skip
        assert word(replace(FORCED, printed=BOOK[name].printed), power) == "reproduced", name
    for name, risk, n in (
        ("000-T2-eb-upper", v("000-T2-heldout-depth-risk"), 512),
        ("000-T4-eb-upper", v("000-T4-heldout-prediction-risk"), 512),
        ("000-T5-eb-upper", v("000-T5-best-mse"), 1024),
    ):
        assert 0 < v(name) - risk - 70 * math.log(2 / 0.05) / (3 * (n - 1)) < 1e-3
    for one, other in {
        "001-S11-encdec-identity-gap": "000-T3-identity-gap",
        "001-S11-sin2-420": "000-T3-true-subspace-sin2",
        "001-S12.7-prediction-risk": "000-T3-heldout-prediction-risk",
        "000-T3-exact-identity-risk": "000-T3-heldout-prediction-risk",
        "001-S12.7-decoder-actual": "000-T3-decoder-actual-risk",
        "001-S12.7-decoder-certified": "000-T3-decoder-certified-risk",
        "002-ST3-z-mse": "000-T5-z-mse", "002-ST3-A-rel": "000-T5-A-rel-error",
        "002-S5-best-mse": "000-T5-best-mse",
    }.items():  # fmt: skip
        assert word(replace(FORCED, printed=BOOK[one].printed), v(other)) == "reproduced", one
        assert (BOOK[one].kind, BOOK[one].tolerance) == (BOOK[other].kind, BOOK[other].tolerance)


@pytest.mark.parametrize(
    ("printed", "value", "half"),
    [
        (r"4.0020 \times 10^{-4}", "4.002e-4", "5e-9"), ("4.0020×10^{-4}", "4.002e-4", "5e-9"),
        (r"3 \cdot 10^{-5}", "3e-5", "5e-6"), ("7.309e + 00", "7.309", "5e-4"),
        ("1.090e - 01", ".109", "5e-5"), ("1.1031", "1.1031", "5e-5"), ("0.0e + 00", "0", "0"),
        ("800", "800", "8e-10"), ("10^{-2}", ".01", "1e-14"), ("½", ".5", "5e-13"),
    ],
)  # fmt: skip
def test_printed_strings_are_read_with_their_digits(printed, value, half):
    assert claims.numbers(printed) == ((Decimal(value),), Decimal(half))
    assert claims.numbers("[16, 64]") == ((Decimal(16), Decimal(64)), Decimal("1.6e-11"))


def test_other_strings_are_no_printed_numbers():
    for printed in "|nan|inf|1_000|1e-3|-1|٣|1.5 |[16]|[1, 2|1.|.5|0x10".split("|"):
        with pytest.raises(ValueError, match="printed"):
            claims.numbers(printed)


@pytest.mark.parametrize(
    ("claim", "inside", "outside"),
    [
        (FORCED, [0.6724, 0.82**2, 0.67236, 0.67244], [0.67234, 0.67246, 0.6725, -0.6724]),
        (COUNT, [0, 0.0, -0.0], [1, 0.4, 1e-300, -1e-17]),
        (replace(FORCED, printed="0.0e + 00"), [0.0], [0.04]),
        (replace(FORCED, printed="800"), [800, 800 * (1 + 2**-52)], [800.4, 799, 800.000001]),
        (replace(FORCED, printed="½"), [0.5], [0.500000000001]),
        (replace(FORCED, printed="[16, 64]"), [(16, 64), [16.0, 64.0]], [(64, 16), 16, (16,)]),
        (RELATIVE, [0.6724, 0.679, 0.6657], [0.6793, 0.6655, -0.6724]),
        (ORDER, [4.4e-4, 4.2e-2], [4.2e-4, 4.4e-2, -4e-3, 0.0]),
        (ROUNDING, [0.0, 2e-17, -9e-16], [1e-15, 2e-15, -2e-15]),
    ],
)
def test_each_kind_accepts_and_refuses(claim, inside, outside):
    assert [word(claim, x) for x in inside] == ["reproduced"] * len(inside)
    assert [word(claim, x) for x in outside] == ["failed"] * len(outside)


def test_identified_counts_standard_errors_beyond_the_printed_digits():
    half = 5e-5
    assert word(IDENTIFIED, 0.6724 + half + 3.9e-3, 1e-3) == "reproduced"
    assert word(IDENTIFIED, 0.6724 + half + 4.1e-3, 1e-3) == "failed"
    assert word(IDENTIFIED, 0.6724, 0.0) == "reproduced"
    assert word(IDENTIFIED, 0.6725, 0.0) == "failed"


@pytest.mark.parametrize("error", [None, math.nan, math.inf, -1.0, 0.17])
def test_an_error_that_decides_nothing_reproduces_nothing(error):
    assert word(IDENTIFIED, 0.6724, error) == "failed"


@pytest.mark.parametrize("claim", KINDS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, (0.6724, math.nan), ()])
def test_what_is_no_number_fails_even_if_explained(claim, value):
    assert word(claim, value, 1e-3) == "failed"
    assert word(replace(claim, explanation="known"), value, 1e-3) == "failed"


@pytest.mark.parametrize("claim", KINDS)
def test_only_a_written_reason_explains_a_difference(claim):
    assert word(claim, 0.9) == "failed"
    verdict = judge(replace(claim, explanation="because"), Measured(0.9))
    assert verdict.word == "differs-explained" and verdict.why.endswith("because")


def test_a_reason_takes_nothing_from_a_number_that_agrees():
    assert word(replace(FORCED, explanation="because"), 0.6724) == "reproduced"


def test_a_missing_number_fails_only_if_its_study_ran():
    assert judge(FORCED, None).word == "pending"
    assert judge(FORCED, None, ran=True).word == "failed"
    assert judge(replace(FORCED, pending=True), None, ran=True).word == "pending"
    assert word(replace(FORCED, pending=True), 0.1, ran=True) == "pending"


@pytest.mark.parametrize("claim", BOOK.values(), ids=lambda claim: claim.id)
def test_every_claim_accepts_its_own_number_and_no_distant_one(claim):
    claim = replace(claim, pending=False, explanation="")
    values, half = claims.numbers(claim.printed)
    own = tuple(map(float, values))
    scatter = 1e-3 * abs(own[0]) or 1e-3
    own = (own[0] * 0.999,) if claim.kind == "rounding" else own
    assert word(claim, own, scatter) == "reproduced"
    assert word(claim, tuple(20 * x + 1 for x in own), scatter) == "failed"


@pytest.mark.parametrize("claim", BOOK.values(), ids=lambda claim: claim.id)
def test_one_changed_digit_is_noticed_when_digits_are_compared(claim):
    claim = replace(claim, kind="forced", tolerance=None, relative=False, explanation="")
    own = tuple(map(float, claims.numbers(claim.printed)[0]))
    for place, digit in enumerate(claim.printed):
        if not digit.isdecimal():
            continue
        changed = f"{claim.printed[:place]}{(int(digit) + 1) % 10}{claim.printed[place + 1 :]}"
        try:
            mutant = replace(claim, printed=changed, pending=False)
        except ValueError:
            continue
        same = claims.numbers(changed)[0] == claims.numbers(claim.printed)[0]
        assert word(mutant, own) == ("reproduced" if same else "failed"), changed


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "close"}, {"kind": ["forced"]}, {"tolerance": 4}, {"relative": True},
        {"kind": "identified"}, {"kind": "order", "tolerance": 1}, {"pending": 1},
        {"kind": "order", "tolerance": 10, "printed": "zero"}, {"seed": "y"}, {"study": ""},
        {"kind": "rounding", "tolerance": 0.5}, {"kind": "order", "tolerance": True},
        {"kind": "identified", "tolerance": math.nan}, {"kind": "identified", "tolerance": "4"},
        {"kind": "identified", "tolerance": math.inf}, {"kind": "identified", "tolerance": -1},
        {"kind": "identified", "tolerance": 4, "relative": True}, {"printed": "about 3"},
        {"kind": "identified", "tolerance": 0.1, "relative": True, "printed": "zero"},
        {"kind": "order", "tolerance": 10, "printed": "[16, 64]"}, {"configuration": "fitted"},
        {"kind": "order", "tolerance": 10, "relative": True}, {"note": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_claim_that_makes_no_sense_is_refused(change):
    with pytest.raises(ValueError, match=r"claim 'x-1'|printed"):
        replace(FORCED, **change)


ROW = """[[claim]]
id = "x-1"
seed = "x"
place = "p"
text = "t"
printed = "4"
kind = "forced"
study = "s"
"""


def test_the_file_is_read_strictly():
    assert claims.parse(ROW) == (replace(FORCED, printed="4"),)
    for text in (ROW + 'colour = "red"', ROW.replace('study = "s"\n', ""), ROW + ROW, "x = 1"):
        with pytest.raises(ValueError, match="claims"):
            claims.parse(text)
    with pytest.raises(ValueError):
        claims.parse(ROW + "kind =")


def test_a_value_by_its_id():
    assert claims.value("000-T2-stable-rank") == 2.9198
    for name in ("000-T2-stable-rnak", "002-S6-gp-prompt-sizes"):
        with pytest.raises(ValueError, match=name):
            claims.value(name)


def test_the_seeds_own_run_counts_as_one_more_draw():
    measured = over_seeds([1.0, 2.0, 3.0, 4.0, 5.0], note="five")
    assert measured.value == 3.0 and measured.note == "five"
    assert measured.standard_error == pytest.approx(math.sqrt(2.5 * 1.2), rel=1e-15)
    for draws in ([], [1.0], [1.0, math.nan], [1.0, math.inf]):
        with pytest.raises(ValueError, match="draws"):
            over_seeds(draws)


def test_the_summary_counts_by_kind_and_word():
    judged = [judge(c, Measured(0.6724, 0.01)) for c in (FORCED, IDENTIFIED, COUNT)]
    table = claims.summary([*judged, judge(ORDER, None)])
    assert table["forced"] == {"reproduced": 1, "differs-explained": 0, "pending": 0, "failed": 1}
    assert table["identified"]["reproduced"] == 1 and table["order"]["pending"] == 1
    assert sum(sum(row.values()) for row in table.values()) == 4
