"""The first screen: one verdict line, then every number of the seeds beside ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from twofold.certificate import DETERMINISTIC, Certificate
from twofold.claims import Claim, Measured, Verdict
from twofold.report.markup import badge, details, number, printed, table, text


def verdict_line(certificates: Sequence[Certificate], verdicts: Sequence[Verdict]) -> str:
    """How many rows of how many certificates hold, and how the claims came out."""
    rows: Counter[str] = Counter()
    for c in certificates:
        if c.kind != "estimate":
            rows.update(c.counts)
    condemned = [c.name for c in certificates if c.condemned]
    words = Counter(v.word for v in verdicts)
    bad = bool(condemned or words["failed"])
    line = (
        f"{len(certificates)} certificates over {sum(rows.values())} rows: {rows['holds']} hold, "
        f"{rows['violated']} violated, {rows['silent']} silent"
        f" ({number(100 * silent_share(certificates), 2)} % of the deterministic rows)."
    )
    if verdicts:
        line += " Claims of the seeds: " + ", ".join(f"{n} {w}" for w, n in words.items()) + "."
    if condemned:
        line += f" Condemned: {', '.join(condemned)}."
    return f'<p class="verdict{" bad" if bad else ""}">{text(line)}</p>'


def silent_share(certificates: Sequence[Certificate]) -> float:
    """The share of rows on which the deterministic certificates say nothing."""
    ours = [c for c in certificates if c.kind in DETERMINISTIC]
    rows = sum(len(c) for c in ours)
    return sum(c.counts["silent"] for c in ours) / rows if rows else 0.0


def claims_table(
    claims: Sequence[Claim], measured: Mapping[str, Measured], verdicts: Sequence[Verdict]
) -> str:
    """The decided claims in the open, the pending ones in a drawer."""
    columns = ("claim", "place", "printed", "ours", "kind", "verdict", "why")
    decided, waiting = [], []
    for claim, verdict in zip(claims, verdicts, strict=True):
        row = [
            text(claim.text), text(f"{claim.seed} {claim.place}"), printed(claim.printed),
            _ours(measured.get(claim.id)), _kind(claim), badge(verdict.word), text(verdict.why),
        ]  # fmt: skip
        (waiting if verdict.word == "pending" else decided).append(row)
    kinds = Counter(c.kind for c, v in zip(claims, verdicts, strict=True) if v.word != "pending")
    by_kind = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    intro = (
        "<p class=about><i>forced</i>: a formula decides it. <i>identified</i>: our configuration "
        "reproduces it within sampling error. <i>order</i>: same order of magnitude and ordering. "
        "<i>rounding</i>: below a limit. <i>post-hoc</i>: the seeds print no configuration, ours "
        f"was fitted to the number. Decided here: {text(by_kind or 'none')}.</p>"
    )
    later = details(f"{len(waiting)} claims not decided by this run", table(columns, waiting))
    return intro + table(columns, decided) + (later if waiting else "")


def _kind(claim: Claim) -> str:
    return text(claim.kind) + (" (post-hoc)" if claim.configuration == "post-hoc" else "")


def _ours(measured: Measured | None) -> str:
    if measured is None:
        return "–"
    spread, value = measured.standard_error, measured.value
    if isinstance(value, Sequence):
        return ", ".join(number(x, 7) for x in value)
    return number(value, 7) + (f" ± {number(spread, 2)}" if spread else "")
