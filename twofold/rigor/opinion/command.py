r"""Redo a proof file and say what came out: exit 0 agreement, 1 disagreement, 2 unreadable."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict

from twofold.rigor.opinion.judging import Outcome, disagreements, redo
from twofold.rigor.opinion.proofs import inputs_of, load, seal
from twofold.rigor.opinion.records import Unreadable


def redo_file(
    path: str, listen: Callable[[Outcome], None] = lambda outcome: None
) -> tuple[list[Outcome], list[str]]:
    """Every certificate of a proof file, and what failed."""
    proof = load(path)
    arrays = [inputs_of(proof, i) for i in range(len(proof["certificates"]))]
    failures = [] if seal(proof) == proof["sha256"] else ["changed since it was sealed (sha256)"]
    used = {key for names in proof["inputs"] if names is not None for key in names.values()}
    if set(proof["arrays"]) - used:
        failures.append("arrays without a certificate: was one taken out?")
    outcomes = []
    for record, inputs in zip(proof["certificates"], arrays, strict=True):
        outcomes.append(redo(record, inputs))
        listen(outcomes[-1])
    return outcomes, failures + disagreements(outcomes)


def table(outcomes: list[Outcome]) -> list[str]:
    """The outcomes as lines of text."""
    lines = [
        f"{'certificate':<34}{'rows':>7}{'agree':>7}{'differ':>8}{'undecided':>11}{'silent':>8}"
    ]
    for o in outcomes:
        counts = f"{o.agrees:>7}{o.disagrees:>8}{o.undecided:>11}{o.silent:>8}"
        lines.append(f"{o.name:<34.34}{o.rows:>7}" + (f"  {o.skipped}" if o.skipped else counts))
        lines += [f"    {note}" for note in o.notes if o.undecided and not o.disagrees]
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Redo one proof file; the exit status says how it went."""
    parser = argparse.ArgumentParser(description="Redo the certificates of a proof file in balls.")
    parser.add_argument("proof", help="a file written by `export`")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    given = parser.parse_args(arguments)
    try:
        outcomes, failures = redo_file(given.proof)
    except Unreadable as error:
        sys.stderr.write(f"recheck: {error}\n")
        return 2
    if given.json:
        rows = [asdict(outcome) for outcome in outcomes]
        lines = [json.dumps({"certificates": rows, "failures": failures})]
    else:
        lines = table(outcomes) + [f"FAILED {text}" for text in failures]
        lines.append("disagreement" if failures else "everything that was redone agrees")
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if failures else 0
