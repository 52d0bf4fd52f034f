"""The report of a run: everything in it is read back from the run's folder."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from twofold import claims as book
from twofold.certificate import Certificate
from twofold.findings import Findings, Part
from twofold.report import bibliography, overview, section
from twofold.report.markup import details, text
from twofold.report.page import page
from twofold.runs import folder as run_folder
from twofold.store import files


@dataclass(frozen=True)
class RunResult:
    """What a run says: per study its heading and findings, and the verdict on each claim."""

    folder: Path
    manifest: dict[str, Any]
    studies: list[tuple[dict[str, str], Findings]]
    claims: tuple[book.Claim, ...]
    verdicts: list[book.Verdict]

    @property
    def measured(self) -> dict[str, book.Measured]:
        """Every measured claim of the run."""
        return {k: m for _, f in self.studies for k, m in f.measured.items()}

    @property
    def certificates(self) -> list[Certificate]:
        """Every certificate of the run."""
        return [c for _, f in self.studies for c in f.certificates]

    @property
    def failures(self) -> list[str]:
        """What makes the command exit non-zero: condemned certificates and failed claims."""
        condemned = [f"certificate {c.name}" for c in self.certificates if c.condemned]
        pairs = zip(self.claims, self.verdicts, strict=True)
        return condemned + [f"claim {c.id}: {v.why}" for c, v in pairs if v.word == "failed"]


def read(folder: Path) -> RunResult:
    """Read a run and judge every claim by what its studies measured."""
    manifest = run_folder.read_manifest(folder)
    studies = [
        (run_folder.heading(folder, name), run_folder.load(folder, name))
        for name in sorted(manifest["studies"], key=_natural)
    ]
    measured = {k: m for _, f in studies for k, m in f.measured.items()}
    claims = book.load()
    if unknown := sorted(set(measured) - {c.id for c in claims}):
        raise ValueError(f"{folder}: measured numbers that no seed claims: {', '.join(unknown)}")
    ran = set(manifest["studies"])
    verdicts = [book.judge(c, measured.get(c.id), ran=c.study in ran) for c in claims]
    return RunResult(Path(folder), manifest, studies, claims, verdicts)


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """Numbers inside a name count as numbers: figure 9 comes before figure 10."""
    return [(p.isdigit(), int(p) if p.isdigit() else 0, p) for p in re.split(r"(\d+)", name)]


def write(folder: Path) -> RunResult:
    """Write `report.html` into the run's folder."""
    result = read(folder)
    files.write_bytes(Path(folder) / "report.html", _render(result).encode())
    return result


def _render(result: RunResult) -> str:
    header = overview.verdict_line(result.certificates, result.verdicts)
    sections = [
        ("claims", "The seeds' numbers, and ours",
         overview.claims_table(result.claims, result.measured, result.verdicts)),
        *((_anchor(part), part[0].upper() + part[1:], body) for part, body in _parts(result)),
        ("references", "References", _references(result)),
        ("run", "This run", _provenance(result)),
    ]  # fmt: skip
    return page("twofold: the loss, taken apart", header, sections, text(_footer(result)))


def _parts(result: RunResult) -> list[tuple[str, str]]:
    out = []
    for part in get_args(Part):
        mine = [(h, f) for h, f in result.studies if h["part"] == part]
        if mine:
            out.append((part, "".join(section.render(h, f) for h, f in mine)))
    return out


def _anchor(part: str) -> str:
    return part.replace(" ", "-")


def _references(result: RunResult) -> str:
    used = bibliography.cited(c.reference for c in result.certificates)
    return (
        "<ol>" + "".join(f"<li>{text(bibliography.sentence(e))}" for e in used.values()) + "</ol>"
    )


def _provenance(result: RunResult) -> str:
    record = {k: result.manifest[k] for k in ("hash", "code", "versions", "settings")}
    body = f"<pre><code>{text(json.dumps(record, indent=1))}</code></pre>"
    return details("Versions and settings", body)


def _footer(result: RunResult) -> str:
    versions = result.manifest["versions"]
    return f"twofold {versions['twofold']}, run {result.manifest['hash']}."
