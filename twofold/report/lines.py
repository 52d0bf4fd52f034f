"""Certificates for a terminal: one line each, and why any row is silent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from twofold.certificate import Certificate


def sheet(proofs: Sequence[Certificate]) -> Table:
    """Name, kind, verdicts, tightness and rounding of each certificate."""
    out = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("certificate", "kind", "holds", "violated", "silent", "tightness", "rounding"):
        out.add_column(name, no_wrap=True, overflow="fold", min_width=len(name))
    for c in proofs:
        counts = ["–"] * 3 if c.kind == "estimate" else [str(n) for n in c.counts.values()]
        kind = c.kind if c.delta is None else f"{c.kind} δ={c.delta:.2g}"
        out.add_row(c.name, kind, *counts, _median(c.tightness), _largest(c.rounding))
    return out


def silences(proofs: Sequence[Certificate]) -> list[str]:
    """One line for each reason that silenced rows."""
    return [
        f"{c.name}: {count} of {len(c)} rows silent: {why}"
        for c in proofs
        for why, count in c.why_silent().items()
    ]


def _median(x: np.ndarray) -> str:
    finite = x[np.isfinite(x)]
    return f"{np.median(finite):.3g}" if len(finite) else "–"


def _largest(x: np.ndarray) -> str:
    finite = x[np.isfinite(x)]
    return f"{np.max(finite):.1e}" if len(finite) else "–"
