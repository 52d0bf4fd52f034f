"""What an atlas and an encoded file say of themselves, as lines and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from twofold.atlas.atlas import Atlas
from twofold.atlas.streaming import Summary

SHOWN = 20


def summary(result: Summary) -> list[str]:
    """The counts by verdict and by method, in per cent too; both add up to the rows."""
    lines = [f"{result.rows} rows" + f", {result.resumed} of them resumed" * bool(result.resumed)]
    for title, counts in (("verdict", result.verdicts), ("certified by", result.methods)):
        for word, count in counts.items():
            lines.append(f"{title:<13}{word:<12}{count:>12}{100 * count / result.rows:>9.3f} %")
    lines.append(f"{'refuted':<25}{result.refuted:>12}   first minimum was not the global one")
    return lines


def record(result: Summary) -> dict[str, Any]:
    """The same as one JSON object."""
    return asdict(result)


def atlas(made: Atlas) -> list[str]:
    """One line per atom: family, charts, cells, certified radii, coverage."""
    heads = ("charts", 7), ("cell", 11), ("least R_c", 12), ("median R_c", 12), ("covered", 9)
    lines = [f"{'atom':>6} {'family':<12}" + "".join(f"{head:>{w}}" for head, w in heads)]
    for row in atlas_record(made)["atoms"][:SHOWN]:
        lines.append(
            f"{row['atom']:>6} {row['family']:<12}{row['charts']:>7}{row['cell']:>11.3g}"
            f"{row['least']:>12.3g}{row['median']:>12.3g}{100 * row['covered']:>7.1f} %"
        )
    hidden = len(made.atoms) - SHOWN
    return lines + [f"... and {hidden} more"] * (hidden > 0)


def atlas_record(made: Atlas) -> dict[str, Any]:
    """The same as one JSON object."""
    rows = [
        {"atom": k, "family": getattr(atom.family, "name", type(atom.family).__name__),
         "charts": len(charts.centres), "cell": charts.cell,
         "least": float(np.min(charts.radius)), "median": float(np.median(charts.radius)),
         "covered": charts.covered}
        for k, (atom, charts) in enumerate(zip(made.atoms, made.charts, strict=True))
    ]  # fmt: skip
    return {"atoms": rows, "width": made.width}
