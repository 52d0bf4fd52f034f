"""One study's findings as HTML: figures with their data, tables, certificates, notes."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from twofold.certificate import Certificate
from twofold.findings import Figure, Findings, Table
from twofold.report import charts
from twofold.report.markup import badge, details, formula, number, table, text

SHOWN_ROWS = 40
LONG_TABLE = 30


def render(heading: Mapping[str, str], findings: Findings) -> str:
    """The section of one study."""
    parts = [
        f'<section class=study id="{text(heading["name"])}">',
        f"<h3>{text(heading['title'])}</h3><p class=about>{text(heading['about'])}</p>",
        *(render_table(t) for t in findings.tables),
        *(render_figure(f, heading["name"]) for f in findings.figures),
        certificates(findings.certificates),
    ]
    if findings.notes:
        parts.append(
            "<ul class=notes>" + "".join(f"<li>{text(n)}" for n in findings.notes) + "</ul>"
        )
    return "".join(parts) + "</section>"


def render_table(item: Table) -> str:
    """A table with its caption; a long one in a drawer."""
    cells = [[number(cell, 5) for cell in row] for row in item.rows]
    caption = f"<figcaption><b>{text(item.title)}.</b> {text(item.caption)}</figcaption>"
    shown = table(item.columns, cells)
    if len(cells) > LONG_TABLE:
        shown = details(f"{item.title}: {len(cells)} rows", shown)
    return f"<figure>{shown}{caption}</figure>"


def render_figure(item: Figure, study: str) -> str:
    """A chart, its caption, and its data in a drawer."""
    drawing = json.dumps(charts.spec(item), allow_nan=False).replace("<", "\\u003c")
    identity = text(f"{study}-{item.name}")
    return (
        f'<figure id="{identity}"><div class=chart role=img aria-label="{text(item.title)}"></div>'
        f"<script type=application/json class=spec>{drawing}</script>"
        f"<figcaption><b>{text(item.title)}.</b> {text(item.caption)}</figcaption>"
        f"{_data(item)}</figure>"
    )


def rows_of(item: Figure) -> tuple[list[str], list[list[Any]]]:
    """All data of a figure as one long table: header and rows."""
    rows = []
    for panel in item.panels:
        for s in panel.series:
            blank = np.full(len(s.x), np.nan)
            low, high = (blank if v is None else v for v in (s.low, s.high))
            for values in zip(s.x, s.y, low, high, strict=True):
                rows.append([panel.title, s.label, *(float(v) for v in values)])
    return ["panel", "series", "x", "y", "low", "high"], rows


def to_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Comma-separated values; floats at full precision."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()


def _data(item: Figure) -> str:
    columns, rows = rows_of(item)
    every = max(1, -(-len(rows) // SHOWN_ROWS))
    shown = [[number(cell, 6) for cell in row] for row in rows[::every]]
    link = base64.b64encode(to_csv(columns, rows).encode()).decode()
    more = f" (one row in {every} of {len(rows)})" if every > 1 else ""
    download = (
        f'<a download="{text(item.name)}.csv" href="data:text/csv;base64,{link}">'
        "all rows as CSV</a>"
    )
    return details(f"Data{more}", f"<p>{download}</p>" + table(columns, shown, "data"))


def certificates(items: Sequence[Certificate]) -> str:
    """What was proved: statement, kind, verdict counts, tightness, and why any row is silent."""
    if not items:
        return ""
    columns = ("certificate", "statement", "kind", "rows", "verdict", "tightness", "rounding ≤")
    return (
        "<h4>What is proved</h4>"
        + table(columns, [_certificate_row(group) for group in _alike(items)], "proofs")
        + _small_print(items)
    )


def _alike(items: Sequence[Certificate]) -> list[list[Certificate]]:
    """Certificates of one theorem, kind and delta together, in the order of the first of each."""
    groups: dict[tuple[Any, ...], list[Certificate]] = {}
    for c in items:
        groups.setdefault((c.name, c.statement, c.kind, c.about, c.side, c.delta), []).append(c)
    return list(groups.values())


def _certificate_row(group: Sequence[Certificate]) -> list[str]:
    """One line for certificates alike: counts added, the median and the largest over all rows."""
    c, times = group[0], f" × {len(group)}" if len(group) > 1 else ""
    kind = c.kind if c.delta is None else f"{c.kind}, δ = {number(c.delta)}"
    kind += f", about the {'exact iteration' if c.about == 'exact' else 'computed output'}"
    counts = {word: sum(one.counts[word] for one in group) for word in c.counts}
    verdicts = " ".join(f"{badge(word)} {n}" for word, n in counts.items() if n)
    shown = {"estimate": "<span class=muted>nothing is proved</span>"}.get(c.kind, verdicts)
    tight, rounding = (_finite([getattr(one, name) for one in group])
                       for name in ("tightness", "rounding"))  # fmt: skip
    spread = "–" if not len(tight) else f"median {number(float(np.median(tight)), 3)}"
    return [
        f"<code>{text(c.name)}</code>{times}", formula(c.statement), text(kind),
        str(sum(map(len, group))), shown,
        spread, number(float(rounding.max()), 2) if len(rounding) else "–",
    ]  # fmt: skip


def _finite(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """All finite entries."""
    entries = np.concatenate(arrays)
    return entries[np.isfinite(entries)]


def _small_print(items: Sequence[Certificate]) -> str:
    """Premises, then what is silent and why; said once for all certificates that share it."""
    names: dict[str, list[str]] = {}
    for c in items:
        said = [f"premise: {c.premise}"] if c.premise else []
        said += [f"{n} of {len(c)} rows silent: {why}" for why, n in c.why_silent().items()]
        for line in said:
            names.setdefault(line, []).append(c.name)
    lines = [
        f"<li>{', '.join(f'<code>{text(n)}</code>' for n in dict.fromkeys(who))}: {text(line)}"
        for line, who in names.items()
    ]
    return f"<ul class=notes>{''.join(lines)}</ul>" if lines else ""
