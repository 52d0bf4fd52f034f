"""The one record that every proof returns: what was measured, what is proved, and why not.

A bare ``value <= bound`` in float64 is wrong: where the bound is attained it fails on half of all
rows, by some 1e-15. So every certificate carries ``rounding``, a proved number, and its verdict per
row is ``holds``, ``violated`` or ``silent``; NaN never compares its way to "no violation".
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float

Kind = Literal["identity", "bound", "confidence", "assumption", "estimate"]
Side = Literal["upper", "lower", "both"]
About = Literal["exact", "computed"]
SCHEMA = "twofold.certificate/1"
DETERMINISTIC: tuple[Kind, ...] = ("identity", "bound")


@dataclass(frozen=True, eq=False)
class Certificate:
    r"""One theorem, checked on N rows.

    ``kind``
        ``identity`` exact algebra: ``value`` is the gap, ``bound`` what rounding may cost;
        ``bound`` a theorem, hypotheses checked; ``confidence`` holds with probability 1 - delta;
        ``assumption`` a theorem under a printed premise; ``estimate`` asymptotic or sampled, never
        rendered as proved.
    ``about``
        ``exact``: the iteration with these weights in real arithmetic; ``computed``: this output.
    ``delta``
        the error probability spent by *this* certificate, None where nothing is left to chance.
    """

    name: str
    statement: str
    kind: Kind
    side: Side
    about: About
    value: Float[np.ndarray, " N"]
    bound: Float[np.ndarray, " N"]
    rounding: Float[np.ndarray, " N"]
    applies: Bool[np.ndarray, " N"]
    reason: tuple[str, ...]
    reference: str = ""
    source: str = ""
    delta: float | None = None
    premise: str = ""

    def __post_init__(self) -> None:
        for field, allowed in (("kind", Kind), ("side", Side), ("about", About)):
            if getattr(self, field) not in get_args(allowed):
                raise ValueError(
                    f"certificate {self.name!r}: {field} must be one of {get_args(allowed)}, "
                    f"got {getattr(self, field)!r}"
                )
        if self.value.ndim != 1:
            raise ValueError(
                f"certificate {self.name!r}: value has one number per row, not "
                f"shape {self.value.shape}"
            )
        if self.kind == "confidence" and not (self.delta is not None and 0 < self.delta < 1):
            raise ValueError(f"certificate {self.name!r}: a confidence claim needs 0 < delta < 1")
        if self.kind == "assumption" and not self.premise:
            raise ValueError(f"certificate {self.name!r}: an assumption must print its premise")
        shape = self.value.shape
        for field in ("bound", "rounding", "applies"):
            if getattr(self, field).shape != shape:
                raise ValueError(
                    f"certificate {self.name!r}: {field} has shape {getattr(self, field).shape}, "
                    f"value has {shape}"
                )
        if len(self.reason) != len(self.value):
            raise ValueError(f"certificate {self.name!r}: one reason per row, '' where it applies")

    def __len__(self) -> int:
        return len(self.value)

    @property
    def limit(self) -> Float[np.ndarray, " N"]:
        """What ``value`` is compared with: bound and rounding together, rounded outwards."""
        if self.kind == "identity":
            return self.bound
        with np.errstate(over="ignore", invalid="ignore"):
            if self.side == "lower":
                return np.nextafter(self.bound - self.rounding, -np.inf)
            return np.nextafter(self.bound + self.rounding, np.inf)

    @property
    def verdict(self) -> np.ndarray:
        """``holds``, ``violated`` or ``silent`` for each row."""
        with np.errstate(invalid="ignore"):
            measured = np.abs(self.value) if self.side == "both" else self.value
            meets = measured >= self.limit if self.side == "lower" else measured <= self.limit
        numbers = np.isfinite(self.value) & ~np.isnan(self.limit)
        spoken = self.applies & numbers
        return np.where(~spoken, "silent", np.where(meets, "holds", "violated"))

    @property
    def tightness(self) -> Float[np.ndarray, " N"]:
        """``value / bound`` (``bound / value`` from below): 1 is sharp, 0 vacuous, NaN silent."""
        small, large = self.value, self.bound
        if self.side == "lower":
            small, large = large, small
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = np.where((small == 0) & (large == 0), 1.0, small / large)
        return np.where(self.verdict == "silent", np.nan, ratio)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows hold, are violated, are silent; they add up to the rows."""
        verdict = self.verdict
        return {word: int(np.sum(verdict == word)) for word in ("holds", "violated", "silent")}

    @property
    def condemned(self) -> bool:
        """Whether the verdicts prove a defect of ours.

        One violated row condemns a deterministic certificate. A confidence certificate may fail on
        a share delta of its rows: it is condemned by an exact binomial test at level 1e-3. A
        violated assumption refutes its premise, an estimate proves nothing either way.
        """
        violated = self.counts["violated"]
        if self.kind in DETERMINISTIC:
            return violated > 0
        if self.kind == "confidence" and violated:
            assert self.delta is not None
            return binomial_tail(violated, len(self), self.delta) < 1e-3
        return False

    def why_silent(self) -> dict[str, int]:
        """Each reason for silence, with the number of rows it silenced."""
        out: dict[str, int] = {}
        for word, reason in zip(self.verdict, self.reason, strict=True):
            if word == "silent":
                text = reason or "a number of the certificate is not finite"
                out[text] = out.get(text, 0) + 1
        return out

    def to_json(self) -> dict[str, Any]:
        """A versioned, strictly valid JSON object; every float survives the round trip."""
        out: dict[str, Any] = {"schema": SCHEMA}
        for field in fields(self):
            item = getattr(self, field.name)
            if isinstance(item, np.ndarray):
                item = [bool(x) if item.dtype == bool else _encode(float(x)) for x in item]
            out[field.name] = list(item) if isinstance(item, tuple) else item
        return out

    @classmethod
    def from_json(cls, record: Mapping[str, Any] | str) -> Certificate:
        """The certificate that ``to_json`` wrote; an unknown schema or field is refused."""
        body = dict(json.loads(record) if isinstance(record, str) else record)
        if body.pop("schema", None) != SCHEMA:
            raise ValueError(f"not a {SCHEMA} record: schema is {record!r:.80}")
        expected = {field.name for field in fields(cls)}
        if set(body) != expected:
            raise ValueError(
                f"certificate record: missing {sorted(expected - set(body))}, "
                f"unknown {sorted(set(body) - expected)}"
            )
        for name, decode in _COLUMNS.items():
            if not isinstance(body[name], list):
                raise ValueError(f"certificate record: {name} is no list, but {body[name]!r:.40}")
            body[name] = [decode(x) for x in body[name]]
        for name in ("value", "bound", "rounding"):
            body[name] = np.array(body[name], dtype=np.float64)
        body["applies"] = np.array(body["applies"], dtype=bool)
        body["reason"] = tuple(body["reason"])
        if body["delta"] is not None:
            body["delta"] = _decode(body["delta"])
        for name in ("name", "statement", "reference", "source", "premise"):
            body[name] = _exactly(str, body[name])
        return cls(**body)


def certificate(
    name: str,
    *,
    statement: str,
    kind: Kind,
    value: Any,
    bound: Any,
    rounding: Any = 0.0,
    side: Side = "upper",
    about: About = "exact",
    applies: Any = True,
    reason: str | Sequence[str] = "",
    reference: str = "",
    source: str = "",
    delta: float | None = None,
    premise: str = "",
) -> Certificate:
    """A certificate from scalars or arrays, broadcast to the rows of ``value``.

    ``reason`` is given once for all rows that do not apply, or once per row.
    """
    value = np.atleast_1d(np.asarray(value, dtype=np.float64))
    delta = None if delta is None else float(delta)
    shape = value.shape
    bound, rounding = (
        np.broadcast_to(np.asarray(x, dtype=np.float64), shape).copy() for x in (bound, rounding)
    )
    applies = np.broadcast_to(np.asarray(applies, dtype=bool), shape).copy()
    if isinstance(reason, str):
        reasons = tuple("" if ok else reason for ok in applies)
    else:
        reasons = tuple("" if ok else str(text) for ok, text in zip(applies, reason, strict=True))
    return Certificate(
        name, statement, kind, side, about, value, bound, rounding, applies, reasons,
        reference, source, delta, premise,
    )  # fmt: skip


def identity(name: str, *, gap: Any, rounding: Any, **rest: Any) -> Certificate:
    """An exact identity: the measured ``gap`` beside what rounding is proved to cost at most."""
    return certificate(
        name, kind="identity", side="both", value=gap, bound=rounding, rounding=rounding, **rest
    )


def violation_rate(certificates: Sequence[Certificate]) -> float:
    """The largest share of violated rows among several certificates; silence violates nothing."""
    if not certificates:
        raise ValueError("certificates: none given; a rate over nothing says nothing")
    return max(c.counts["violated"] / len(c) for c in certificates)


def fingerprint(*arrays: Any) -> str:
    """The sha256 of arrays with their shapes and types: the ``source`` of a certificate."""
    digest = hashlib.sha256()
    for array in arrays:
        canonical = np.ascontiguousarray(array)
        canonical = canonical.astype(canonical.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{canonical.dtype.str}{canonical.shape}".encode())
        digest.update(canonical.tobytes())
    return digest.hexdigest()


def binomial_tail(k: int, n: int, p: float) -> float:
    """P(X >= k) for X ~ Binomial(n, p), summed in log space."""
    if k <= 0:
        return 1.0
    logs = [
        math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1)
        + i * math.log(p) + (n - i) * math.log1p(-p)
        for i in range(k, n + 1)
    ]  # fmt: skip
    top = max(logs)
    return min(1.0, math.exp(top) * math.fsum(math.exp(x - top) for x in logs))


def _encode(x: float) -> float | str:
    return x if math.isfinite(x) else repr(x)


def _decode(x: Any) -> float:
    if isinstance(x, str) and x in ("nan", "inf", "-inf"):
        return float(x)
    if isinstance(x, bool) or not isinstance(x, (int, float)) or abs(x) > sys.float_info.max:
        raise ValueError(f"certificate record: {x!r:.40} is not a number")
    return float(x)


def _exactly(kind: type, x: Any) -> Any:
    if type(x) is not kind:
        raise ValueError(f"certificate record: {x!r:.40} is no {kind.__name__}")
    return x


_COLUMNS = {
    "value": _decode,
    "bound": _decode,
    "rounding": _decode,
    "applies": partial(_exactly, bool),
    "reason": partial(_exactly, str),
}
