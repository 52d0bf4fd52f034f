"""A run's deterministic certificates redone in ball arithmetic, and its artifacts' digests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from twofold.findings import Findings
from twofold.rigor.opinion import command
from twofold.rigor.opinion.judging import Outcome, disagreements, redo
from twofold.runs import folder as run_folder

Listener = Callable[[Outcome], None]
OWN = (".safetensors", ".json", ".parquet")


@dataclass(frozen=True)
class Recheck:
    """One outcome per certificate; ``failures`` is empty where everything redone agrees."""

    outcomes: tuple[Outcome, ...]
    failures: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Rows by what became of them, and the certificates that were not redone."""
        redone = [o for o in self.outcomes if not o.skipped]
        words = ("agrees", "disagrees", "undecided", "silent")
        rows = {word: sum(getattr(o, word) for o in redone) for word in words}
        return {**rows, "redone": len(redone), "skipped": len(self.outcomes) - len(redone)}

    def lines(self) -> list[str]:
        """The table, the failures, the sum."""
        n = self.counts
        total = (
            f"{n['redone']} certificates redone: {n['agrees']} rows agree, {n['disagrees']} "
            f"disagree, {n['undecided']} undecided, {n['silent']} silent; {n['skipped']} not redone"
        )
        return [*command.table(list(self.outcomes)), *(f"FAILED {f}" for f in self.failures), total]

    def record(self) -> dict[str, Any]:
        """The same as one JSON object."""
        outcomes = [asdict(outcome) for outcome in self.outcomes]
        return {"counts": self.counts, "failures": list(self.failures), "certificates": outcomes}


def recheck(path: Path, listen: Listener = lambda outcome: None) -> Recheck:
    """Redo a run's folder or a proof file; ``listen`` hears every outcome as it comes."""
    if not Path(path).is_dir():
        outcomes, failures = command.redo_file(str(path), listen)
        return Recheck(tuple(outcomes), tuple(failures))
    found, outcomes = [], []
    for study in run_folder.read_manifest(path)["studies"]:
        broken = _changed(Path(path), study)
        found += broken
        if not broken:
            findings = run_folder.load(path, study)
            found += _orphans(study, findings)
            for outcome in _redone(study, findings):
                outcomes.append(outcome)
                listen(outcome)
    found += _strangers(Path(path))
    return Recheck(tuple(outcomes), tuple(found + disagreements(outcomes)))


def _redone(study: str, findings: Findings) -> Iterator[Outcome]:
    for certificate in findings.certificates:
        outcome = redo(certificate.to_json(), findings.evidence.get(certificate.source))
        outcome.study = study
        yield outcome


def _changed(folder: Path, study: str) -> list[str]:
    bad = run_folder.tampered(folder, run_folder.read_manifest(folder)["studies"][study])
    return [f"{study}: {name} missing or changed since it was written" for name in bad]


def _orphans(study: str, findings: Findings) -> list[str]:
    """Evidence whose certificate is gone."""
    lost = set(findings.evidence) - {c.source for c in findings.certificates}
    return [f"{study}: evidence {source[:12]} belongs to no certificate" for source in sorted(lost)]


def _strangers(folder: Path) -> list[str]:
    """Summaries that changed, and artifacts that no study of the manifest owns."""
    manifest = run_folder.read_manifest(folder)
    known = {"manifest.json"} | {n for a in manifest["studies"].values() for n in a}
    out = []
    for artifacts in manifest["summaries"].values():
        known |= set(artifacts)
        out += [f"{n} missing or changed" for n in run_folder.tampered(folder, artifacts)]
    here = {p.name for p in folder.iterdir() if p.suffix in OWN and not p.name.startswith(".")}
    return out + [f"{name} is not in the manifest" for name in sorted(here - known)]
