import json

import numpy as np
import pytest

from twofold.findings import Axis, Figure, Panel, Series
from twofold.report import charts


def figure(*series, x=None, y=None):
    return Figure("f", "F", "c", [Panel("p", x or Axis("s"), y or Axis("risk"), series)])


def labels(spec):
    layers = spec["vconcat"][0]["hconcat"][0]["layer"]
    return [layer for layer in layers if layer["mark"]["type"] == "text"]


def test_points_that_cannot_be_drawn_are_left_out_and_the_spec_is_strict_json():
    s = Series("a", [0, 1, 2, 3], [1.0, np.nan, np.inf, -1.0], low=[0.0] * 4, high=[2.0] * 4)
    spec = charts.spec(figure(s, y=Axis("risk", log=True)))
    json.dumps(spec, allow_nan=False)
    layers = spec["vconcat"][0]["hconcat"][0]["layer"]
    heights = {row["y"] for layer in layers for row in layer["data"]["values"]}
    assert heights == {1.0}


def test_an_empty_series_and_a_constant_one_are_drawn():
    spec = charts.spec(figure(Series("none", [], []), Series("flat", [1, 2], [0.0, 0.0])))
    assert len(labels(spec)) == 1


@pytest.mark.parametrize("ends", [[1, 1, 1, 1], [0, 0.01, 0.02, 5], [5, 5, 0, 0]])
def test_labels_keep_their_distance_and_stay_in_the_panel(ends):
    wanted = [charts._pixel(e, (0, 5), False) for e in ends]
    got = sorted(y for _, y in charts._spread(wanted))
    assert min(np.diff(got)) >= charts.LABEL_GAP - 1e-9
    assert got[0] >= -charts.LABEL_GAP and got[-1] <= charts.HEIGHT + 1e-9


@pytest.mark.parametrize(
    "domain",
    [
        (1e-16, 1.0),
        (0.9, 1.1),
        (3e-5, 4e-3),
        (1, 1e6),
        (0.052, 0.098),
        (0.31, 0.38),
        (2.1e-7, 4.8e-7),
    ],
)
def test_a_log_axis_has_few_ticks_and_true_labels(domain):
    ticks = charts._log_ticks(*domain)
    assert 2 <= len(ticks) <= 8
    for value, word in ticks.items():
        assert domain[0] <= value <= domain[1]
        plain = word.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
        if word != plain:
            mantissa, _, exponent = plain.rpartition("10")
            value_said = float(mantissa.strip("·") or 1) * 10.0 ** int(exponent)
        else:
            value_said = float(word)
        assert value_said == pytest.approx(value)
