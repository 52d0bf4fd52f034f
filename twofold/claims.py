"""Every number that a seed prints, and the verdict on ours.

``forced`` a formula decides it: ours must agree to the printed digits; ``identified`` our
configuration reproduces it within sampling error; ``order`` same order; ``rounding`` below a limit.
"""

from __future__ import annotations

import math
import re
import statistics
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

Kind = Literal["forced", "identified", "order", "rounding"]
Word = Literal["reproduced", "differs-explained", "pending", "failed"]
_TEN = r"(?: \\times | \\cdot |×)10\^\{(-?[0-9]+)\}"
_NUMBER = re.compile(rf"([0-9]+(?:\.[0-9]+)?)(?:{_TEN}|e ([+-]) ([0-9]{{2}}))?")
_LIST = re.compile(r"\[[0-9]+(?:, [0-9]+)+\]")
_WORDS = {"zero": Decimal(0), "½": Decimal("0.5"), "10^{-2}": Decimal("0.01")}
_TYPES = {"tolerance": (int, float, type(None)), "relative": (bool,), "pending": (bool,)}
_TOLERANCES = {
    "forced": lambda t, seed: t is None,
    "identified": lambda t, seed: t is not None and 0 < t < math.inf,
    "order": lambda t, seed: t is not None and 1 < t < math.inf and seed > 0,
    "rounding": lambda t, seed: t is not None and 0 < t < math.inf and seed <= t,
}


def numbers(printed: str) -> tuple[tuple[Decimal, ...], Decimal]:
    """What a printed string stands for, and half a unit of its last digit.

    Counts, fractions and zeros are exact: there the half is 1e-12 of the number, for a count that
    was computed in float64.
    """
    if printed in _WORDS:
        values = (_WORDS[printed],)
    elif _LIST.fullmatch(printed):
        values = tuple(map(Decimal, printed[1:-1].split(", ")))
    elif not (parts := _NUMBER.fullmatch(printed)):
        raise ValueError(f"printed: {printed!r} is not in a form that a seed prints; copy it")
    else:
        mantissa, ten, sign, digits = parts.groups()
        values = (Decimal(mantissa).scaleb(int(ten or (sign or "") + (digits or "0"))),)
        if values[0] and ("." in printed or ten or sign):
            return values, Decimal(f"5e{values[0].as_tuple().exponent}") / 10
    return values, min(values) / 10**12


@dataclass(frozen=True)
class Claim:
    """One printed number; ``relative`` reads ``tolerance`` as a share, not in standard errors."""

    id: str
    seed: str
    place: str
    text: str
    printed: str
    kind: Kind
    study: str
    tolerance: float | None = None
    relative: bool = False
    pending: bool = False
    configuration: str = ""
    note: str = ""
    explanation: str = ""

    def __post_init__(self) -> None:
        for field in fields(self):
            item = getattr(self, field.name)
            empty = field.default is MISSING and not item
            if empty or type(item) not in _TYPES.get(field.name, (str,)):
                raise ValueError(f"claim {self.id!r}: {field.name} cannot be {item!r}")
        seed, *rest = numbers(self.printed)[0]
        if self.kind not in _TOLERANCES or (rest and self.kind != "forced"):
            raise ValueError(f"claim {self.id!r}: kind cannot be {self.kind!r}")
        share = self.kind == "identified" and seed > 0 and (self.tolerance or 1) < 1
        if not _TOLERANCES[self.kind](self.tolerance, float(seed)) or self.relative > share:
            raise ValueError(
                f"claim {self.id!r}: {self.kind} cannot have tolerance {self.tolerance!r}, "
                f"relative {self.relative}"
            )
        if not self.id.startswith(f"{self.seed}-") or self.configuration not in ("", "post-hoc"):
            raise ValueError(f"claim {self.id!r}: seed {self.seed!r}, {self.configuration!r}")


@dataclass(frozen=True)
class Measured:
    """Our number. ``standard_error`` is that of the distance between it and the seed's."""

    value: float | Sequence[float]
    standard_error: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Verdict:
    """The word on one claim, and why."""

    claim: Claim
    word: Word
    why: str
    measured: Measured | None = None


def over_seeds(draws: Iterable[float], note: str = "") -> Measured:
    """The mean of n runs. The seed's number is one more run with their scatter s: its distance
    to the mean has the standard error s * sqrt(1 + 1/n).
    """
    runs = [float(x) for x in draws]
    if len(runs) < 2 or not all(map(math.isfinite, runs)):
        raise ValueError(f"draws: at least two finite runs are needed, got {runs}")
    error = statistics.stdev(runs) * math.sqrt(1 + 1 / len(runs))
    return Measured(statistics.fmean(runs), error, note)


def parse(text: str) -> tuple[Claim, ...]:
    """The claims of a TOML text; an unknown key, a wrong type or a repeated id is refused."""
    table = tomllib.loads(text)
    if set(table) != {"claim"}:
        raise ValueError(f"claims: only [[claim]] tables are read, found {sorted(table)}")
    try:
        claims = tuple(Claim(**row) for row in table["claim"])
    except TypeError as error:
        raise ValueError(f"claims: a key is unknown or missing: {error}") from error
    if len({claim.id for claim in claims}) < len(claims):
        raise ValueError("claims: an id occurs twice")
    return claims


@cache
def load() -> tuple[Claim, ...]:
    """The claims that ship with the package."""
    return parse((files("twofold") / "claims.toml").read_text(encoding="utf-8"))


def value(name: str) -> float:
    """The number that a seed prints, by the claim's id."""
    found = [numbers(claim.printed)[0] for claim in load() if claim.id == name]
    if len(found) != 1 or len(found[0]) != 1:
        raise ValueError(f"name: no claim {name!r} with one number; claims.load() has them all")
    return float(found[0][0])


def beside(measured: Mapping[str, Measured]) -> list[list[Any]]:
    """A row for each number: what it is, what the seed prints, ours, and its standard error."""
    known = {claim.id: claim for claim in load()}

    def seed(name: str) -> Any:
        first, *rest = map(float, numbers(known[name].printed)[0])
        return str([first, *rest]) if rest else first

    return [[known[n].text, seed(n), m.value, m.standard_error or ""] for n, m in measured.items()]


def judge(claim: Claim, measured: Measured | None, *, ran: bool = False) -> Verdict:
    """The verdict on one claim; without a number it fails if its study ``ran``."""
    if claim.pending:
        return Verdict(claim, "pending", f"{claim.study} is yet to be built", measured)
    if measured is None:
        why = f"{claim.study} ran and measured nothing for it" if ran else "study not run"
        return Verdict(claim, "failed" if ran else "pending", why)
    ours = measured.value if isinstance(measured.value, Sequence) else (measured.value,)
    ours = tuple(map(float, ours))
    if not all(map(math.isfinite, ours)) or len(ours) != len(numbers(claim.printed)[0]):
        return Verdict(claim, "failed", f"no number to compare: {measured.value}", measured)
    agrees, why = _compare(claim, ours, measured.standard_error)
    if not agrees and claim.explanation:
        return Verdict(claim, "differs-explained", f"{why}; {claim.explanation}", measured)
    return Verdict(claim, "reproduced" if agrees else "failed", why, measured)


def summary(judged: Iterable[Verdict]) -> dict[str, dict[str, int]]:
    """How many claims of each kind got each word."""
    out = {kind: dict.fromkeys(get_args(Word), 0) for kind in get_args(Kind)}
    for verdict in judged:
        out[verdict.claim.kind][verdict.word] += 1
    return out


def _compare(claim: Claim, ours: tuple[float, ...], error: float | None) -> tuple[bool, str]:
    seed, half = numbers(claim.printed)
    exact = tuple(map(Decimal, ours))
    if claim.kind == "forced":
        agrees = all(abs(x - p) <= half for x, p in zip(exact, seed, strict=True))
        return agrees, f"{'agrees' if agrees else 'differs'} at the printed digits"
    tolerance, size = claim.tolerance or 0.0, abs(ours[0])
    if claim.kind == "rounding":
        return size < tolerance, f"{size:.3g} against the limit {tolerance:g}"
    if claim.kind == "order":
        factor = ours[0] / float(seed[0])
        return 1 / tolerance <= factor <= tolerance, f"{factor:.3g} times, allowed {tolerance:g}"
    gap = max(0.0, float(abs(exact[0] - seed[0]) - half))
    if claim.relative:
        share = gap / float(seed[0])
        return share <= tolerance, f"off by {share:.2g} of it, allowed {tolerance:g}"
    if error is None or not 0 <= error < math.inf:
        return False, f"the standard error is {error}"
    if 0 < seed[0] <= tolerance * error:
        return False, f"a standard error of {error:.2g} decides nothing"
    return gap <= tolerance * error, f"off by {gap:.2g}, allowed {tolerance:g} x {error:.2g}"
