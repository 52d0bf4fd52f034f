"""Findings to strict JSON and back; every float survives the round trip."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from twofold.certificate import Certificate
from twofold.claims import Measured
from twofold.findings import Axis, Figure, Findings, Panel, Series, Table
from twofold.store.files import encode


def dump(findings: Findings) -> dict[str, Any]:
    """All of ``findings`` but its arrays (evidence, checkpoints), which go to safetensors."""
    return {
        "tables": [_plain(table) for table in findings.tables],
        "figures": [_plain(figure) for figure in findings.figures],
        "certificates": [c.to_json() for c in findings.certificates],
        "measured": {name: _plain(m) for name, m in findings.measured.items()},
        "notes": list(findings.notes),
    }


def load(record: dict[str, Any], arrays: dict[str, np.ndarray]) -> Findings:
    """The findings that ``dump`` and ``arrays_of`` took apart."""
    evidence: dict[str, dict[str, np.ndarray]] = {}
    checkpoints: dict[str, np.ndarray] = {}
    for key, array in arrays.items():
        room, _, name = key.partition("/")
        if room == "evidence":
            certificate, _, inner = name.partition("/")
            evidence.setdefault(certificate, {})[inner] = array
        else:
            checkpoints[name] = array
    return Findings(
        tables=[Table(**{**t, "rows": [_floats(r) for r in t["rows"]]}) for t in record["tables"]],
        figures=[_figure(f) for f in record["figures"]],
        certificates=[Certificate.from_json(c) for c in record["certificates"]],
        measured={name: Measured(**_values(m)) for name, m in record["measured"].items()},
        evidence=evidence,
        checkpoints=checkpoints,
        notes=record["notes"],
    )


def arrays_of(findings: Findings) -> dict[str, np.ndarray]:
    """Evidence and checkpoints under one flat set of names."""
    out = {f"checkpoint/{name}": np.asarray(a) for name, a in findings.checkpoints.items()}
    for certificate, inputs in findings.evidence.items():
        out |= {f"evidence/{certificate}/{name}": np.asarray(a) for name, a in inputs.items()}
    return out


def _plain(item: Any) -> Any:
    if hasattr(item, "__dataclass_fields__"):
        return {f.name: _plain(getattr(item, f.name)) for f in fields(item)}
    if isinstance(item, (list, tuple, np.ndarray)):
        return [_plain(x) for x in item]
    if isinstance(item, np.generic):
        item = item.item()
    return encode(item) if isinstance(item, float) else item


def _figure(record: dict[str, Any]) -> Figure:
    panels = [
        Panel(p["title"], Axis(**p["x"]), Axis(**p["y"]), [_series(s) for s in p["series"]])
        for p in record["panels"]
    ]
    return Figure(record["name"], record["title"], record["caption"], panels)


def _series(record: dict[str, Any]) -> Series:
    arrays = {
        key: None if record[key] is None else np.array(_floats(record[key]))
        for key in ("x", "y", "low", "high")
    }
    return Series(**{**record, **arrays})


def _values(record: dict[str, Any]) -> dict[str, Any]:
    return dict(zip(record, _floats(list(record.values())), strict=True))


def _floats(items: list[Any]) -> list[Any]:
    return [float(x) if x in ("nan", "inf", "-inf") else x for x in items]
