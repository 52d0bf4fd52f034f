"""Seed 002, section 1: its table of what is verified, disproved and open, from this run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from twofold import claims
from twofold.findings import Findings, Study, Table

Others = Mapping[str, Findings]


@dataclass(frozen=True)
class Settings:
    """Nothing to set: the rows are read from the other studies of the run."""

    seed: int = 0


@dataclass(frozen=True)
class Row:
    """An item of the seed's table, its word on it, and the studies whose numbers decide ours."""

    item: str
    word: str
    studies: tuple[str, ...]
    prefixes: tuple[str, ...]
    """of the ids of the claims that are its evidence"""


ROWS = (
    Row("Frozen decoder certificates", "verified", ("002-gp", "002-pde"), ("002-ST1",)),
    Row("Finite-rank GP/KRR recast", "verified", ("002-gp",), ("002-ST2", "002-S4")),
    Row("PDE encoder–decoder recast", "verified", ("002-pde",), ("002-ST3", "002-S5")),
    Row("Scaling sweep", "verified", ("002-scaling",), ("002-ST4", "002-S6", "002-F3")),
    Row("Spectra-only closure", "disproved", ("002-obstruction",), ("002-S7",)),
    Row("Joint overlap logging", "verified", ("002-overlaps",), ("002-ST6", "002-S8")),
    Row("Exact nonlinear finite-set dynamics", "verified", ("002-gradients",),
        ("002-S9-theta", "002-S9-P")),
    Row("Flexformer local NTK curves", "verified locally", ("002-ntk",),
        ("002-S9-ntk", "002-S9-heldout")),
)  # fmt: skip
OPEN = ("Flexformer global outer-training theory", "open", "002-open")
LIMITS = "; not for heavy tails, targets that depend on H, softmax decoders, finite training sets"


def run(config: Settings, others: Others | None = None) -> Findings:
    """One line for each item; what this run has not made says so."""
    found = others or {}
    rows = [[row.item, row.word, *_evidence(row, found)] for row in ROWS]
    rows.append([*OPEN[:2], *_closed(found)])
    heads = ["item", "the seed", "ours", "evidence: ours (seed)"]
    return Findings([Table("status", "Status of seed 002, remade", TOLD, heads, rows)])


def _closed(found: Others) -> tuple[str, str]:
    """What became of the open problem: its study's own summary."""
    here = found.get(OPEN[2], Findings())
    told = [row for table in here.tables if table.name == "closed" for row in table.rows]
    if not told:
        return "not in this run", f"run {OPEN[2]} as well"
    if any(c.counts["violated"] for c in here.certificates if _proved(c.kind)):
        return "failed", "an identity is violated"
    numbers = [f"{name}: {value:.2g}" for name, value in told]
    return "closed for Gaussian prompts", "; ".join(numbers) + LIMITS


def _evidence(row: Row, found: Others) -> tuple[str, str]:
    """(our word, the numbers behind it)."""
    missing = [name for name in row.studies if name not in found]
    if missing:
        return "not in this run", f"run {', '.join(missing)} as well"
    here = [found[name] for name in row.studies]
    told = [c for c in claims.load() if c.id.startswith(row.prefixes)]
    measured = {name: m for f in here for name, m in f.measured.items()}
    words = [claims.judge(c, measured.get(c.id), ran=True) for c in told]
    violated = sum(c.counts["violated"] for f in here for c in f.certificates if _proved(c.kind))
    return _word(row, words, violated), "; ".join([*map(_number, words), f"{violated} violated"])


def _word(row: Row, words: Sequence[claims.Verdict], violated: int) -> str:
    if violated or any(v.word == "failed" for v in words):
        return "failed"
    differs = sum(v.word == "differs-explained" for v in words)
    return row.word if not differs else f"{row.word}; {differs} of {len(words)} numbers differ"


def _number(verdict: claims.Verdict) -> str:
    ours = verdict.measured.value if verdict.measured else "–"
    short = f"{ours:.4g}" if isinstance(ours, int | float) else str(ours)
    return f"{verdict.claim.text}: {short} ({verdict.claim.printed})"


def _proved(kind: str) -> bool:
    return kind in ("identity", "bound")


TOLD = (
    "Our word is the seed's only where every number behind it is reproduced or explained and no "
    "certificate is violated."
)
STUDY = Study("002-status", "Status of seed 002", "open questions", "002 §1 and §10.", Settings(),
              run, cost=0.1,
              reads=(*(name for row in ROWS for name in row.studies), OPEN[2]))  # fmt: skip
