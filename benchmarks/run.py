"""Run the benchmarks: one process per number of threads, one table, non-zero on a missed gate.

``python benchmarks/run.py [MODULE...] [--json FILE]``. A module of this folder takes part when it
has ``cases() -> iterable of harness.Case``. Exit status: 1 a gate was missed, 2 the clock
was not to be trusted (a case was refused), 0 otherwise.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness import Case

HERE = Path(__file__).resolve().parent
POOLS = ("OPENBLAS", "OMP", "MKL", "NUMBA", "BLIS")
THREADS = (1, 2)


def main() -> int:
    """The command line; without the private options it starts the processes that measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="modules of benchmarks/ (default: all)")
    parser.add_argument("--json", type=Path, help="also write the outcomes to this file")
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        return peak(options.modules, options.peak)
    if options.threads:
        return measure(options.modules, options.threads, options.json)
    outcomes = [row for threads in THREADS for row in started(options.modules, threads)]
    if options.json:
        options.json.write_text(json.dumps(outcomes, indent=1))
    show(outcomes)
    believed = [row for row in outcomes if not row["refused"]]
    if any(word == "missed" for row in believed for word, _ in row["verdicts"]):
        return 1
    return 0 if outcomes and len(believed) == len(outcomes) else 2


def started(modules: list[str], threads: int) -> list[dict[str, Any]]:
    """The outcomes of all cases with that many threads, measured in a process pinned to it.

    Peak memory is asked for from here: a child inherits the high-water mark of its parent.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "outcomes.json"
        child([*modules, "--threads", str(threads), "--json", str(out)], threads)
        rows = json.loads(out.read_text())
    for row in rows:
        row["peak"] = float(child([*modules, "--peak", row["case"]], threads))
    return rows


def child(arguments: list[str], threads: int) -> str:
    """Run this file again with its pools pinned before anything is imported."""
    pinned = {f"{pool}_NUM_THREADS": str(threads) for pool in POOLS}
    done = subprocess.run(
        [sys.executable, __file__, *arguments],
        env=os.environ | pinned,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def discovered(modules: list[str]) -> Iterator[Case]:
    """The cases of the named modules, or of every module that has some."""
    names = modules or sorted(path.stem for path in HERE.glob("*.py") if path.stem != "run")
    for name in names:
        module = importlib.import_module(name)
        if hasattr(module, "cases"):
            yield from module.cases()


def measure(modules: list[str], threads: int, out: Path) -> int:
    """In the pinned process: run the cases and write their outcomes."""
    import harness

    def report(outcome: harness.Outcome) -> None:
        words = outcome.refused or "; ".join(words for _, words in outcome.verdicts)
        sys.stderr.write(f"{outcome.case} [{threads}]: {words}\n")

    cases = [case for case in discovered(modules) if case.threads == threads]
    rows = [asdict(outcome) for outcome in harness.run(cases, report)] if cases else []
    out.write_text(json.dumps(rows))
    return 0


def peak(modules: list[str], name: str) -> int:
    """In a process of its own: the peak resident memory of one case at its threads, in MB."""
    import harness

    threads = int(os.environ["NUMBA_NUM_THREADS"])
    case = next(c for c in discovered(modules) if (c.name, c.threads) == (name, threads))
    sys.stdout.write(str(harness.peak_memory(case)))
    return 0


def show(outcomes: list[dict[str, Any]]) -> None:
    """One table of all outcomes; a refused case shows its reason and no number."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="benchmarks: best of 7, ratios within one process", show_lines=True)
    for column in ("case", "threads", "ours / first call", "rivals", "gates", "of limit", "peak"):
        table.add_column(column)
    for row in outcomes:
        name, threads = row["case"], str(row["threads"])
        if row["refused"]:
            table.add_row(name, threads, "refused", row["refused"], "", "", "")
            continue
        ours = row["clocks"].pop("ours")
        rivals = [f"{label} {ms(clock['wall'])}" for label, clock in row["clocks"].items()]
        rivals += [f"{label} absent" for label in row["absent"]]
        gates = [f"{word}: {words}" for word, words in row["verdicts"]]
        table.add_row(
            name,
            threads,
            f"{ms(ours['wall'])} / {ms(ours['first'])}",
            "\n".join(rivals),
            "\n".join(gates),
            f"{row['limit']:.0%}" if row["limit"] else "",
            f"{row['peak']:.0f} MB",
        )
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table)
    for threads in sorted({row["threads"] for row in outcomes}):
        rates = [(row["dgemm"], row["triad"]) for row in outcomes if row["threads"] == threads]
        dgemm, triad = (max(column) for column in zip(*rates, strict=True))
        console.print(f"{threads} thread(s): dgemm {dgemm:.0f} GFLOP/s, triad {triad:.0f} GB/s")


def ms(seconds: float) -> str:
    """Milliseconds with three significant digits."""
    return f"{seconds * 1e3:.3g} ms"


if __name__ == "__main__":
    sys.exit(main())
