"""The report of one model, the user's own: its loss taken apart and what is proved of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from twofold.anatomy import PARTS, Anatomy
from twofold.certificate import Certificate
from twofold.findings import Axis, Figure, Findings, Panel, Role, Series, Table
from twofold.report import bibliography, overview, section
from twofold.report.markup import text
from twofold.report.page import page
from twofold.store import files

_ROLES: dict[str, Role] = {
    "total": "observed",
    "floor": "predicted",
    "decoder": "other",
    "cross": "bound",
}


def write_report(anatomy: Anatomy | None, proofs: Sequence[Certificate], path: str | Path) -> Path:
    """Write one offline HTML page on ``anatomy`` and ``proofs``; returns where it went.

    Without a truth there is nothing to take apart: ``anatomy`` is None and the proofs stand alone.
    """
    heading = {"name": "model", "title": "What is proved", "about": "No truth was given."}
    findings = Findings(certificates=proofs)
    if anatomy is not None:
        heading |= {
            "title": "The loss, taken apart",
            "about": f"{len(anatomy)} tasks; best answer: {anatomy.reference} ({anatomy.kind}).",
        }
        findings = Findings(
            tables=[_means(anatomy)], figures=[_spread(anatomy)], certificates=proofs,
            notes=anatomy.notes,
        )  # fmt: skip
    used = bibliography.cited(c.reference for c in proofs)
    references = "".join(f"<li>{text(bibliography.sentence(e))}" for e in used.values())
    sections = [
        ("model", "Encoder floor, decoder error, cross term", section.render(heading, findings)),
        ("references", "References", f"<ol>{references}</ol>"),
    ]
    header = overview.verdict_line(proofs, [])
    target = Path(path)
    files.write_bytes(target, page("twofold: your model", header, sections, "twofold").encode())
    return target


def _means(anatomy: Anatomy) -> Table:
    rows = [[norm, *(means[p] for p in PARTS)] for norm, means in anatomy.conventions.items()]
    caption = (
        "Means over the tasks that could be split, in each norm in use; "
        "total = floor + decoder + cross in every row."
    )
    return Table("parts", "Where the loss comes from", caption, ["norm", *PARTS], rows)


def _spread(anatomy: Anatomy) -> Figure:
    share = np.linspace(0, 100, 101)
    rows = anatomy.applies
    series = []
    for name in PARTS:
        part = anatomy.parts[name][rows]
        if part.size:
            shown = np.abs(part) if name == "cross" else part
            label = "|cross|" if name == "cross" else name
            series.append(Series(label, share, np.percentile(shown, share), role=_ROLES[name]))
    panel = Panel("Each part over the tasks", Axis("share of tasks below", "%"),
                  Axis("squared error", log=True), series)  # fmt: skip
    caption = (
        "How each part spreads over the tasks: the part whose curve lies highest is to blame; "
        "a steep right end says that few tasks carry it."
    )
    return Figure("parts", "Parts of the loss over the tasks", caption, [panel])
