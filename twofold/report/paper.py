"""For paper: each figure as SVG and PDF, each table as CSV and LaTeX, the references as .bib."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from twofold.findings import Table
from twofold.report import bibliography, charts, section
from twofold.report.palette import paint
from twofold.report.run_report import RunResult
from twofold.store import files

_SPECIAL = {c: f"\\{c}" for c in "#$%&_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def export(result: RunResult, out: Path) -> list[Path]:
    """Write every figure, table and reference of a run into ``out``; returns the paths."""
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for heading, findings in result.studies:
        for figure in findings.figures:
            stem = files.inside(out, f"{heading['name']}-{figure.name}")
            written += _figure(stem, charts.spec(figure))
            written.append(_csv(stem, *section.rows_of(figure)))
        for item in findings.tables:
            stem = files.inside(out, f"{heading['name']}-{item.name}")
            written += [_csv(stem, item.columns, item.rows), _latex(stem, item)]
    used = bibliography.cited(c.reference for c in result.certificates)
    source = "\n".join(entry["bibtex"] for entry in used.values())
    return [*written, _write(out / "references.bib", source.encode())]


def latex(item: Table) -> str:
    """A table as a LaTeX float with a plain tabular."""
    lines = [" & ".join(escape(c) for c in item.columns) + r" \\ \hline"]
    lines += [" & ".join(_cell(c) for c in row) + r" \\" for row in item.rows]
    body = "\n".join(lines)
    return (
        f"\\begin{{table}}\n\\caption{{{escape(item.title)}. {escape(item.caption)}}}\n"
        f"\\begin{{tabular}}{{{'l' * len(item.columns)}}}\n{body}\n\\end{{tabular}}\n"
        "\\end{table}\n"
    )


def escape(text: Any) -> str:
    """Text as LaTeX prints it."""
    return "".join(_SPECIAL.get(c, c) for c in str(text))


def _cell(item: Any) -> str:
    if not isinstance(item, float) or not math.isfinite(item):
        return escape(item)
    mantissa, _, exponent = f"{item:.5g}".partition("e")
    return f"${mantissa} \\cdot 10^{{{int(exponent)}}}$" if exponent else f"${mantissa}$"


def _figure(stem: Path, spec: dict[str, Any]) -> list[Path]:
    import vl_convert

    painted = paint(json.dumps(spec))
    svg = vl_convert.vegalite_to_svg(painted).encode()
    pdf = vl_convert.vegalite_to_pdf(painted)
    return [_write(_named(stem, "svg"), svg), _write(_named(stem, "pdf"), pdf)]


def _csv(stem: Path, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    return _write(_named(stem, "csv"), section.to_csv(columns, rows).encode())


def _latex(stem: Path, item: Table) -> Path:
    return _write(_named(stem, "tex"), latex(item).encode())


def _named(stem: Path, suffix: str) -> Path:
    return stem.with_name(f"{stem.name}.{suffix}")


def _write(path: Path, data: bytes) -> Path:
    files.write_bytes(path, data)
    return path
