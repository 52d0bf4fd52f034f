"""The report of a user's codes: what the encoder loses, each number with its kind."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from twofold.findings import Axis, Figure, Findings, Panel, Role, Series, Table
from twofold.information.records import Decomposition, Value
from twofold.report import section
from twofold.report.page import page
from twofold.store import files

COLUMNS = ["quantity", "value", "from", "to", "kind", "delta", "family", "note"]


def write_codes(found: Decomposition, path: str | Path) -> Path:
    """Write one offline HTML page; returns where it went."""
    heading = {"name": "codes", "title": "What the encoder loses", "about": "All in nats."}
    body = section.render(heading, findings(found))
    target = Path(path)
    sections = [("codes", "Encoder loss", body)]
    files.write_bytes(target, page("twofold: your codes", "", sections, "twofold").encode())
    return target


def findings(found: Decomposition) -> Findings:
    """The table of all rows, and the intervals drawn, certified and asymptotic apart."""
    table = Table("values", "The risk, taken apart", TOLD, COLUMNS, [row(v) for v in found.values])
    return Findings([table], [_intervals(found)], notes=found.notes)


def sheet(found: Decomposition) -> Any:
    """A line per value and what it rests on, for a terminal."""
    from rich.table import Table as Sheet

    out = Sheet("quantity", "nats", "interval", "kind", "rests on")
    for v in found.values:
        ends = f"{v.low:.4f} .. {v.high:.4f}" if v.high > v.low > -math.inf else ""
        rests = "; ".join(text for text in (v.family, v.note) if text)
        out.add_row(v.name, f"{v.value:.4f}", ends, v.kind, rests)
    return out


def row(v: Value) -> list[Any]:
    """A value's cells; an end that is open stays empty."""
    ends = [x if math.isfinite(x) else "" for x in (v.low, v.high)]
    return [v.name, v.value, *ends, v.kind, v.delta or "", v.family, v.note]


def _intervals(found: Decomposition) -> Figure:
    series, roles = [], dict[str, Role](confidence="bound", estimate="observed")
    for kind, role in roles.items():
        own = [v for v in found.values if v.kind == kind and math.isfinite(v.high - v.low)]
        if own:
            where = [found.values.index(v) + 1 for v in own]
            y, low, high = (
                np.array([getattr(v, k) for v in own]) for k in ("value", "low", "high")
            )
            series.append(Series(kind, where, y, "points", role, low, high))
    panel = Panel("", Axis("row of the table"), Axis("nats"), series)
    return Figure("intervals", "Certified and asymptotic intervals", SEE, [panel])


TOLD = (
    "Confidence rows hold for any law, all together with probability 1 - delta; estimates are "
    "asymptotic. A gap rests on its family: it is the loss plus what the family misses."
)
SEE = "Certified intervals are wider than asymptotic ones; where they exclude 0 the gap is proved."
