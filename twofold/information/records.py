"""A number with what it rests on: its kind, its interval, the family that was fitted."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from twofold.certificate import Kind


@dataclass(frozen=True)
class Value:
    """One number of a report.

    ``kind`` speaks of the interval: ``confidence`` is certified for any law, ``estimate`` is
    asymptotic or a point, ``identity`` exact algebra. The two kinds are never mixed in one row.
    """

    name: str
    value: float
    kind: Kind
    low: float = -math.inf
    high: float = math.inf
    delta: float | None = None
    family: str = ""
    note: str = ""


@dataclass(frozen=True)
class Decomposition:
    """All rows, in nats, and what has to be said with them."""

    values: tuple[Value, ...]
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> Value:
        for value in self.values:
            if value.name == name:
                return value
        raise KeyError(f"no value {name!r}; there are {', '.join(v.name for v in self.values)}")

    def to_json(self) -> dict[str, Any]:
        """Strict JSON: an open end of an interval is null."""
        rows = [{k: None if isinstance(x, float) and not math.isfinite(x) else x
                 for k, x in asdict(value).items()} for value in self.values]  # fmt: skip
        return {"schema": "twofold.information/1", "unit": "nats", "values": rows,
                "notes": list(self.notes)}  # fmt: skip
