"""The status table says what the run says: verified, failed, or not in this run."""

from dataclasses import replace

import pytest

from twofold import claims
from twofold.certificate import identity
from twofold.claims import Measured
from twofold.findings import Findings, Table
from twofold.studies import status


def as_printed(name):
    """Findings that repeat every printed number of a study."""
    told = [c for c in claims.load() if c.study == name]
    values = {c.id: [float(x) for x in claims.numbers(c.printed)[0]] for c in told}
    return Findings(measured={
        k: Measured(v if len(v) > 1 else v[0], 1e-9) for k, v in values.items()})  # fmt: skip


@pytest.fixture
def others():
    return {name: as_printed(name) for name in status.STUDY.reads}


def words(found):
    return [row[2] for row in status.run(status.Settings(), found).tables[0].rows]


def test_the_seeds_own_numbers_give_the_seeds_own_table(others):
    assert words(others)[:-1] == [row.word for row in status.ROWS]


def test_every_row_has_evidence_in_the_claims():
    known = claims.load()
    for row in status.ROWS:
        told = [c for c in known if c.id.startswith(row.prefixes)]
        assert told and {c.study for c in told} <= set(row.studies)


def test_what_was_not_run_says_so(others):
    del others["002-gp"]
    found = words(others)
    assert found[0] == found[1] == "not in this run" and found[4] == "disproved"
    assert set(words({})[:-1]) == {"not in this run"}


def test_one_number_or_one_certificate_off_is_a_failure(others):
    bad = {**others["002-obstruction"].measured, "002-S7-depth1-risk-B": Measured(7.0)}
    others["002-obstruction"] = replace(others["002-obstruction"], measured=bad)
    proof = identity("i", statement="a=b", gap=[1.0], rounding=1e-15)
    others["002-overlaps"] = replace(others["002-overlaps"], certificates=[proof])
    found = words(others)
    assert found[4] == found[5] == "failed" and found[3] == "verified"


def test_the_open_problem_is_closed_where_its_study_says_so(others):
    table = Table("closed", "", "", ["largest distance", "value"], [["identity", 1e-16]])
    others["002-open"] = Findings([table])
    row = status.run(status.Settings(), others).tables[0].rows[-1]
    assert row[1:3] == ["open", "closed for Gaussian prompts"]
    assert "identity: 1e-16" in row[3] and "heavy tails" in row[3]
    proof = identity("i", statement="a=b", gap=[1.0], rounding=1e-15)
    others["002-open"] = Findings([table], certificates=[proof])
    assert words(others)[-1] == "failed"
    assert words({})[-1] == "not in this run"
