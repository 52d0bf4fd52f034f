"""Sections of the report: certificates alike share a line, long tables go into a drawer."""

import re

import numpy as np

from twofold.certificate import certificate, identity
from twofold.findings import Table
from twofold.report import section


def bound(value, name="b"):
    return certificate(name, statement="a \\le b", kind="bound", value=value, bound=1.0,
                       rounding=1e-15)  # fmt: skip


def test_certificates_alike_are_one_line_and_nothing_is_lost():
    said = section.certificates(
        [bound([0.5, 0.7]), identity("i", statement="a=b", gap=[0.0], rounding=1e-15),
         bound([0.1]), bound([3.0]), bound([np.nan, 0.2])]
    )  # fmt: skip
    assert said.count("<tr") == 3 and "× 4" in said
    for word, count in (("holds", 4), ("violated", 1), ("silent", 1)):
        assert re.search(rf"{word}\D+{count}\b", said), word


def test_another_premise_delta_or_theorem_is_another_line():
    items = [bound([0.1]), bound([0.1], "c")]
    items += [certificate("b", statement="a \\le b", kind="confidence", value=[0.1], bound=1.0,
                          delta=delta) for delta in (0.1, 0.2)]  # fmt: skip
    said = section.certificates(items)
    assert said.count("<tr") == 5 and "×" not in said


def test_a_long_table_is_in_a_drawer_with_all_its_rows():
    short, long = (
        section.render_table(Table("t", "T", "caption", ["a"], [[i] for i in range(n)]))
        for n in (section.LONG_TABLE, section.LONG_TABLE + 1)
    )
    assert "<details" not in short and "<details" in long
    assert long.count("<tr") == section.LONG_TABLE + 2 and "T: 31 rows" in long
