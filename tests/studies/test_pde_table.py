"""What table 5 says of the violations of other tables, without running them."""

from dataclasses import replace

import numpy as np

from twofold.certificate import certificate
from twofold.findings import Findings
from twofold.studies import pde_table

SMALL = replace(pde_table.TABLE.settings, held_out=40, training=40, steps=5, repetitions=2)


def proof(value, kind="bound", **rest):
    value = np.array(value)
    return certificate("x", statement="s", kind=kind, value=value, bound=1.0 + 0 * value, **rest)


def test_the_largest_rate_is_that_of_every_table_read():
    alone = pde_table.table(SMALL)
    assert alone.measured["000-S6-max-violation-rate"].value == 0.0
    other = Findings(certificates=[proof([0.5, 2.0, 0.5, 0.5]), proof([0.1])])
    both = pde_table.table(SMALL, {"000-table-2": other, "000-table-3": Findings()})
    assert both.measured["000-S6-max-violation-rate"].value == 0.25
    assert both.measured["000-T5-violation-rate"].value == 0.0
    assert "000-table-2" in both.notes[-1] and "000-table-2" not in alone.notes[-1]


def test_a_confidence_bound_may_fail_and_is_not_counted():
    chance = proof([2.0, 0.5], kind="confidence", delta=0.05)
    found = pde_table.table(SMALL, {"000-table-2": Findings(certificates=[chance])})
    assert found.measured["000-S6-max-violation-rate"].value == 0.0
