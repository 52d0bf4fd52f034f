r"""Each row of a certificate judged again, at growing precision until every comparison is decided.

    bound     |value - left| <= rounding,  left <= limit,  right <= limit      (reversed from below)
    identity  |left - right| <= bound,  |value| is explained by rounding

with limit = bound + rounding. A rounding above 2^-20 of the scale of what was added would excuse
anything, and is refused; so is a bound above the right side, where the two should be one number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flint import arb, ctx

from twofold.rigor.opinion.balls import TINY, Refuted, Undecided, at_most
from twofold.rigor.opinion.records import DETERMINISTIC, check_record, fingerprint, number, verdict
from twofold.rigor.opinion.routes import ROUTES, Route
from twofold.rigor.opinion.sides import Sides

PRECISIONS = (192, 384, 768, 1536)
VACUOUS = 2.0**-20
NOTES = 3


@dataclass
class Outcome:
    """What became of one certificate: how many rows agree, and why the others do not."""

    name: str
    kind: str
    rows: int
    agrees: int = 0
    disagrees: int = 0
    undecided: int = 0
    silent: int = 0
    skipped: str = ""
    """Why it was not redone; empty where it was."""
    notes: list[str] = field(default_factory=list)
    study: str = ""

    def note(self, text: str) -> None:
        """Keep the first few explanations."""
        if len(self.notes) < NOTES:
            self.notes.append(text)


def redo(record: Mapping[str, Any], inputs: Mapping[str, np.ndarray] | None) -> Outcome:
    """One certificate, as ``to_json`` wrote it, proved again from its inputs."""
    check_record(record)
    out = Outcome(record["name"], record["kind"], len(record["value"]))
    route = ROUTES.get(out.name)
    out.skipped = reason_to_skip(record, route, inputs)
    if out.skipped or route is None or inputs is None:
        return out
    try:
        arrays = [inputs[name] for name in route.inputs]
        check_sources(record, route, arrays)
    except Refuted as error:
        out.disagrees = out.rows
        out.note(str(error))
        return out
    for i in range(out.rows):
        judge_row(record, i, route, arrays, out)
    return out


def reason_to_skip(record: Mapping[str, Any], route: Route | None, inputs: Any) -> str:
    """Why a certificate is not redone, '' where it is."""
    if route is None:
        deterministic = record["kind"] in DETERMINISTIC
        return "no route" if deterministic else f"kind {record['kind']}: nothing to redo"
    if inputs is None:
        return "no inputs stored"
    missing = [name for name in route.inputs if name not in inputs]
    return f"inputs without {', '.join(missing)}" if missing else ""


def check_sources(record: Mapping[str, Any], route: Route, arrays: list[np.ndarray]) -> None:
    """The inputs are those that were certified, one entry per row or shared."""
    for key in ("kind", "side"):
        if record[key] != getattr(route, key):
            text = f"{key} is {record[key]!r}, this theorem proves {getattr(route, key)!r}"
            raise Refuted(text)
    if fingerprint(*arrays) != record["source"]:
        raise Refuted("the inputs are not those that were certified (source differs)")
    for (name, axes), x in zip(route.inputs.items(), arrays, strict=True):
        shared = axes is None or x.ndim == axes or x.size == 0
        if not shared and not (rowwise(x, axes) and len(x) == len(record["value"])):
            raise Refuted(f"input {name} has shape {x.shape} for {len(record['value'])} rows")


def rowwise(x: np.ndarray, axes: int | None) -> bool:
    """Whether x holds one entry per row."""
    return axes is not None and x.ndim == axes + 1


def judge_row(
    record: Mapping[str, Any], i: int, route: Route, arrays: list[np.ndarray], out: Outcome
) -> None:
    """Count row i as agreeing, disagreeing, undecided or silent."""
    word = verdict(record, i)
    if word != "holds":
        idle = word == "silent" and (not record["applies"][i]) == bool(record["reason"][i])
        out.silent += idle
        out.disagrees += not idle
        if not idle:
            out.note(f"row {i}: {word}" + " against its reason" * (word == "silent"))
        return
    axes = route.inputs.values()
    row = [x[i] if rowwise(x, a) else x for x, a in zip(arrays, axes, strict=True)]
    try:
        prove(record, i, route, row)
        out.agrees += 1
    except Refuted as error:
        out.disagrees += 1
        out.note(f"row {i}: {error}")
    except Undecided as error:
        out.undecided += 1
        out.note(f"row {i} undecided: {error}")


def prove(record: Mapping[str, Any], i: int, route: Route, row: list[np.ndarray]) -> None:
    """Judge one row at growing precision until it is decided."""
    if record["reason"][i]:
        raise Refuted(f"it applies, yet a reason for silence is given: {record['reason'][i]}")
    if not all(np.isfinite(x).all() for x in row):
        raise Refuted("an input is not finite")
    terms, before = 4 * sum(x.size for x in row) + 16, ctx.prec
    try:
        for bits in PRECISIONS:
            ctx.prec = bits
            try:
                return judge(record, i, both_sides(route, row), terms)
            except Undecided:
                if bits == PRECISIONS[-1]:
                    raise
    finally:
        ctx.prec = before


def both_sides(route: Route, row: list[np.ndarray]) -> Sides:
    """What the theorem says of these inputs; inputs that make no sense are refused."""
    try:
        with np.errstate(all="ignore"):
            return route.sides(*row)
    except np.linalg.LinAlgError as error:
        raise Undecided(f"in floats: {error}") from error
    except (ValueError, IndexError, TypeError, OverflowError, ArithmeticError) as error:
        raise Refuted(f"the inputs do not fit this theorem ({error!s:.80})") from error


def judge(record: Mapping[str, Any], i: int, sides: Sides, terms: int) -> None:
    """Nothing if row i is proved again; Refuted or Undecided with the reason otherwise."""
    value, bound, rounding = (arb(number(record[k][i])) for k in ("value", "bound", "rounding"))
    if record["kind"] == "identity":
        _identity(value, bound, sides, terms)
    elif record["side"] == "lower":
        _lower(value, bound, rounding, sides)
    else:
        _upper(value, bound, rounding, sides)


def _identity(value: arb, bound: arb, sides: Sides, terms: int) -> None:
    gap, scale = abs(sides.left - sides.right), arb(sides.scale)
    at_most(gap, bound, "exact gap", "the stored cost of rounding")
    noise = gap + terms * arb(2) ** -53 * scale + TINY
    at_most(abs(value), noise, "stored gap", "what rounding explains")
    at_most(bound, gap + VACUOUS * scale + TINY, "stored cost of rounding", "2^-20 of the scale")


def _upper(value: arb, bound: arb, rounding: arb, sides: Sides) -> None:
    slack = sides.slack
    limit = arb(math.nextafter(float(bound) + float(rounding), math.inf))
    at_most(rounding, VACUOUS * arb(sides.scale) + TINY, "stored rounding", "2^-20 of the scale")
    at_most(abs(value - sides.left), rounding + slack, "stored value off by", "its rounding")
    at_most(sides.left, limit, "left side", "the stored limit")
    at_most(sides.right, limit + slack, "right side", "the stored limit")
    most = sides.right * (1 + arb(VACUOUS)) if sides.most is None else sides.most
    at_most(bound, most + rounding + slack, "stored bound", "the right side")


def _lower(value: arb, bound: arb, rounding: arb, sides: Sides) -> None:
    limit = arb(math.nextafter(float(bound) - float(rounding), -math.inf))
    at_most(rounding, VACUOUS * arb(sides.scale) + TINY, "stored rounding", "2^-20 of the scale")
    at_most(abs(value - sides.left), rounding, "stored value off by", "its rounding")
    at_most(abs(bound - sides.right), rounding, "stored bound off by", "its rounding")
    at_most(limit, sides.left, "stored limit", "the left side")


def disagreements(outcomes: list[Outcome]) -> list[str]:
    """One line per certificate that does not stand."""
    return [
        f"{o.study + ': ' if o.study else ''}{o.name}: {o.disagrees} of {o.rows} rows disagree; "
        + "; ".join(o.notes)
        for o in outcomes
        if o.disagrees
    ]
