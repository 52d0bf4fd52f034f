"""What a study returns: tables, curves, certificates and declarative figures. No formula, no I/O.

The report renders findings and knows no study; the runs room stores them and knows neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from twofold.certificate import Certificate
from twofold.claims import Measured

Part = Literal[
    "encoder floor",
    "decoder error",
    "cross term",
    "generalisation",
    "spectra",
    "decoders",
    "GP",
    "PDE",
    "attention",
    "training",
    "information",
    "atlas",
    "open questions",
]
Mark = Literal["line", "points", "rule", "bars"]
Role = Literal["observed", "predicted", "bound", "reference", "other"]


@dataclass(frozen=True)
class Axis:
    """A label, its unit and its scale; what lies below ``low`` is not drawn."""

    label: str
    unit: str = ""
    log: bool = False
    low: float | None = None


@dataclass(frozen=True, eq=False)
class Series:
    """One curve or cloud; ``low`` and ``high`` draw a band around it. ``role`` sets its colour."""

    label: str
    x: Any
    y: Any
    mark: Mark = "line"
    role: Role = "other"
    low: Any = None
    high: Any = None


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes."""

    title: str
    x: Axis
    y: Axis
    series: Sequence[Series]


@dataclass(frozen=True, eq=False)
class Figure:
    """Panels under one caption that says what to see."""

    name: str
    title: str
    caption: str
    panels: Sequence[Panel]


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of text and numbers; ``columns`` are the printed headers with their units."""

    name: str
    title: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Findings:
    """All that one study has to say.

    ``measured`` maps ids of `claims.toml` to what came out; ``evidence`` maps the ``source`` of
    certificates to the inputs from which `twofold recheck` proves them again; ``checkpoints`` are
    arrays worth keeping; ``notes`` are printed: fallbacks taken, conventions, what falls short.
    """

    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    certificates: Sequence[Certificate] = ()
    measured: Mapping[str, Measured] = field(default_factory=dict)
    evidence: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    checkpoints: Mapping[str, np.ndarray] = field(default_factory=dict)
    notes: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Study:
    """A table or a figure of the seeds: what it shows, its settings, and how to make it.

    ``settings`` is a frozen dataclass instance with the defaults; every field may be set from the
    command line. ``full`` holds the fields that differ under ``--full``. ``cost`` is the
    forecast in seconds. A study that ``reads`` others is run after them, as
    ``run(settings, findings)`` with the findings of those that the run has, by name.
    """

    name: str
    title: str
    part: Part
    about: str
    settings: Any
    run: Callable[..., Findings]
    cost: float = 1.0
    full: Mapping[str, Any] = field(default_factory=dict)
    reads: Sequence[str] = ()
