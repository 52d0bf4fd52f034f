import copy

import numpy as np
import pytest

from twofold.rigor.opinion.judging import redo
from twofold.rigor.opinion.records import fingerprint
from twofold.rigor.opinion.routes import ROUTES

NAMES = sorted(ROUTES)
BOUNDS = [n for n in NAMES if ROUTES[n].kind == "bound"]
IDENTITIES = [n for n in NAMES if ROUTES[n].kind == "identity"]
UPPER = [n for n in BOUNDS if ROUTES[n].side == "upper"]
SHARP = [n for n in UPPER if not n.startswith("Davis-Kahan")]
FLAVOURS = ("random", "attained", "hard")


def caught(record, inputs):
    outcome = redo(record, inputs)
    return outcome.disagrees > 0 and outcome.notes


def sealed(record, inputs):
    """The record of somebody who also forged its source."""
    arrays = [inputs[name] for name in ROUTES[record["name"]].inputs]
    return {**record, "source": fingerprint(*arrays)}


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("name", NAMES)
def test_what_the_package_proves_is_proved_again(make, name, flavour):
    for seed in range(3):
        record, inputs = make(name, flavour, seed)
        outcome = redo(record, inputs)
        assert not outcome.skipped and not outcome.disagrees, outcome
        assert not outcome.undecided and outcome.agrees + outcome.silent == outcome.rows
        assert outcome.agrees > 0 or flavour == "hard"


def test_every_case_but_a_few_hard_ones_speaks(make):
    silent = [n for n in NAMES if not redo(*make(n, "hard")).agrees]
    assert not silent


@pytest.mark.parametrize("name", NAMES)
def test_one_bit_of_any_input_is_noticed(make, name):
    record, inputs = make(name)
    for key, array in inputs.items():
        if array.size:
            changed = array.copy()
            changed.reshape(-1).view(np.uint64)[-1] ^= 1
            assert caught(record, {**inputs, key: changed}), key


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "field, text", [("kind", "estimate"), ("kind", "bound"), ("side", "lower")]
)
def test_another_kind_or_side_is_noticed(make, name, field, text):
    record, inputs = make(name)
    if record[field] != text and not (text == "bound" and record["kind"] == "bound"):
        assert caught({**record, field: text}, inputs)


@pytest.mark.parametrize("name", NAMES)
def test_a_row_cannot_be_silenced_or_given_a_voice(make, name):
    record, inputs = make(name)
    quiet = copy.deepcopy(record)
    quiet["applies"][0] = False
    assert caught(quiet, inputs)
    loud = copy.deepcopy(record)
    loud["reason"][0] = "the hypothesis is not met"
    assert caught(loud, inputs)


@pytest.mark.parametrize("name", SHARP)
@pytest.mark.parametrize("factor", [1 - 1e-9, 0.5, 2.0, 1e3])
def test_a_bound_lowered_by_a_billionth_or_doubled_is_noticed(make, name, factor):
    record, inputs = make(name)
    row = int(np.argmax([0 if isinstance(b, str) else b for b in record["bound"]]))
    forged = copy.deepcopy(record)
    forged["bound"][row] *= factor
    assert caught(forged, inputs)


@pytest.mark.parametrize("name", [n for n in UPPER if n.startswith("Davis-Kahan")])
def test_an_angle_bound_lowered_is_noticed(make, name):
    record, inputs = make(name)
    forged = copy.deepcopy(record)
    forged["bound"][0] *= 1 - 1e-9
    assert caught(forged, inputs)


@pytest.mark.parametrize("name", SHARP)
def test_lowering_the_bound_and_the_value_of_an_attained_row_is_noticed(make, name):
    record, inputs = make(name, "attained")
    forged = copy.deepcopy(record)
    forged["bound"][0] *= 1 - 1e-9
    forged["value"][0] = min(forged["value"][0], forged["bound"][0])
    assert caught(forged, inputs)


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("factor", [0.0, 1 - 1e-6, 1 + 1e-6])
def test_another_value_is_noticed(make, name, factor):
    record, inputs = make(name)
    forged = copy.deepcopy(record)
    row = int(np.argmax(record["value"]))
    forged["value"][row] *= factor
    assert caught(forged, inputs)


@pytest.mark.parametrize("name", BOUNDS)
def test_a_rounding_that_excuses_anything_is_noticed(make, name):
    record, inputs = make(name)
    forged = copy.deepcopy(record)
    size = max(forged["value"][0], forged["bound"][0], 1.0)
    forged["rounding"][0] = 1e9 * size
    assert caught(forged, inputs)


@pytest.mark.parametrize("name", IDENTITIES)
def test_a_gap_and_the_cost_that_excuses_it_are_noticed(make, name):
    record, inputs = make(name)
    gap = copy.deepcopy(record)
    gap["value"][0] = 2 * gap["bound"][0]
    assert caught(gap, inputs)
    excused = copy.deepcopy(record)
    excused["bound"][0] = excused["rounding"][0] = 1e9
    assert caught(excused, inputs)
    small = copy.deepcopy(excused)
    small["value"][0], small["bound"][0] = 1e6 * record["bound"][0], 1e7 * record["bound"][0]
    assert caught(small, inputs)


@pytest.mark.parametrize("name", BOUNDS)
def test_other_inputs_under_a_forged_source_are_noticed(make, name):
    record, inputs = make(name)
    key = {"factor two": "answer", "encoder_rate": "modes"}.get(name, list(inputs)[0])
    change = inputs[key] * np.linspace(1.01, 1.02, inputs[key].shape[-1] if inputs[key].ndim else 1)
    if key == "sigma":
        change = (change + change.T) / 2
    changed = {**inputs, key: change.reshape(inputs[key].shape)}
    assert caught(sealed(record, changed), changed)


def voiced(record, row=0):
    """The record with a silent row made to speak, with numbers that look true."""
    forged = copy.deepcopy(record)
    forged["applies"][row], forged["reason"][row] = True, ""
    return forged


def test_broken_hypotheses_are_noticed_whatever_the_record_says(make):
    record, inputs = make("nonclosure")
    x = inputs["x"].copy()
    x[0] = inputs["y"][0]
    zero = voiced(record)
    zero["value"][0] = zero["bound"][0] = 0.0
    changed = {**inputs, "x": x}
    assert caught(sealed(zero, changed), changed)

    record, inputs = make("subspace floor")
    changed = {**inputs, "U": inputs["U"] * (1 + 1e-6)}
    assert caught(sealed(record, changed), changed)

    record, inputs = make("excess_risk")
    changed = {**inputs, "B": inputs["B"] * (1 + 1e-9)}
    assert caught(sealed(record, changed), changed)

    record, inputs = make("encoder_rate")
    changed = {**inputs, "eta": np.array(2.5)}
    assert caught(sealed(record, changed), changed)

    record, inputs = make("resolvent bound")
    changed = {**inputs, "H_M": inputs["H_inf"] + 10 * (inputs["H_M"] - inputs["H_inf"])}
    assert caught(sealed(record, changed), changed)


def test_silent_rows_are_counted_and_not_judged(make):
    record, inputs = make("Richardson rate")
    for key in ("value", "bound", "rounding"):
        record[key][2] = "nan"
    record["applies"][2], record["reason"][2] = False, "the input is not finite"
    d = inputs["d"].copy()
    d[2] = np.nan
    changed = {**inputs, "d": d}
    outcome = redo(sealed(record, changed), changed)
    assert (outcome.silent, outcome.agrees, outcome.disagrees) == (1, outcome.rows - 1, 0)
    assert caught(sealed(voiced(record, 2) | {"value": [0.0] * 6}, changed), changed)


def test_what_cannot_be_redone_says_why(make):
    record, inputs = make("tracking")
    assert redo({**record, "name": "of another"}, inputs).skipped == "no route"
    assert "estimate" in redo({**record, "name": "x", "kind": "estimate"}, None).skipped
    assert redo(record, None).skipped == "no inputs stored"
    assert redo(record, {"E0": inputs["E0"]}).skipped == "inputs without eta, C, D"


@pytest.mark.parametrize("depth", [-1, 2**60])
def test_inputs_that_make_no_sense_are_refused(make, depth):
    record, inputs = make("Richardson rate")
    changed = {**inputs, "depth": np.int64(depth)}
    outcome = redo(sealed(record, changed), changed)
    assert outcome.disagrees and "do not fit" in outcome.notes[0]
    changed = {**inputs, "d": inputs["d"][:, :-1].copy()}
    assert redo(sealed(record, changed), changed).disagrees == outcome.rows


def test_a_singular_system_is_undecided_not_agreed(make):
    record, inputs = make("ridge bias")
    changed = {**inputs, "H": 0 * inputs["H"]}
    outcome = redo(sealed(record, changed), changed)
    assert outcome.undecided == outcome.rows and not outcome.agrees
