"""One run on disk: a manifest with the digest of each artifact, and the artifacts.

A study is finished when the manifest names its files. The manifest is written last and whole, so a
process killed at any moment leaves finished studies and nothing half-done.
"""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from twofold.findings import Findings, Study
from twofold.runs import codec, settings
from twofold.store import files, frames, tensors

SCHEMA = "twofold.run/1"
_KEYS = {"hash", "code", "settings", "versions", "studies", "summaries"}
_LIBRARIES = ("numpy", "scipy", "numba", "python-flint", "pyarrow", "safetensors", "altair")


def place(out: Path, chosen: Mapping[str, Any]) -> Path:
    """Where the run with these settings is kept."""
    return Path(out) / settings.config_hash(chosen)


def create(out: Path, chosen: Mapping[str, Any]) -> Path:
    """The folder of the run with these settings: a new one, or the one to be resumed.

    Whoever writes there holds its lock, or two new runs would begin the manifest one after another.
    """
    folder = place(out, chosen)
    digest = folder.name
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "manifest.json").exists():
        if read_manifest(folder)["hash"] != digest:
            raise ValueError(f"{folder} holds another run: its manifest's hash is not {digest}")
        return folder
    files.write_json(folder / "manifest.json", _new_manifest(digest, chosen))
    return folder


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a run folder; a folder without one is refused."""
    path = Path(folder) / "manifest.json"
    if not path.exists():
        raise ValueError(f"{folder} is not a run folder: it has no manifest.json")
    manifest = files.read_json(path)
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        raise ValueError(f"{path} is not a {SCHEMA} manifest")
    if missing := _KEYS - set(manifest):
        raise ValueError(f"{path} has no {', '.join(sorted(missing))}; it is not one of ours")
    for shelf in (manifest["studies"], manifest["summaries"]):
        if not (isinstance(shelf, dict) and all(isinstance(x, dict) for x in shelf.values())):
            raise ValueError(f"{path} does not name its artifacts with their digests")
    return manifest


def finished(folder: Path, study: str) -> bool:
    """Whether the study's artifacts are there and have the digests that the manifest names."""
    artifacts = read_manifest(folder)["studies"].get(study)
    return artifacts is not None and not tampered(folder, artifacts)


def tampered(folder: Path, artifacts: Mapping[str, str]) -> list[str]:
    """The names of artifacts that are missing or have another digest."""
    bad = []
    for name, digest in artifacts.items():
        path = files.inside(folder, name)
        if not path.exists() or files.sha256(path) != digest:
            bad.append(name)
    return bad


def save(folder: Path, study: Study, findings: Findings) -> None:
    """Write a study's artifacts, then enter them in the manifest."""
    names = [f"{study.name}.json"]
    heading = {key: getattr(study, key) for key in ("name", "title", "part", "about")}
    files.write_json(folder / names[0], {"heading": heading, **codec.dump(findings)})
    if arrays := codec.arrays_of(findings):
        names.append(f"{study.name}.safetensors")
        tensors.write(folder / names[1], arrays)
    _enter(folder, "studies", study.name, names)


def heading(folder: Path, study: str) -> dict[str, str]:
    """A finished study's name, title, part of the report, and what it is about."""
    return files.read_json(files.inside(folder, f"{study}.json"))["heading"]


def load(folder: Path, study: str) -> Findings:
    """A finished study's findings; a changed artifact is refused by name."""
    artifacts = read_manifest(folder)["studies"].get(study)
    if artifacts is None:
        raise ValueError(f"{folder} has no finished study {study!r}")
    if bad := tampered(folder, artifacts):
        raise ValueError(f"{folder}: {', '.join(bad)} missing or changed since it was written")
    record = files.read_json(files.inside(folder, f"{study}.json"))
    arrays: dict[str, np.ndarray] = {}
    if f"{study}.safetensors" in artifacts:
        arrays = tensors.read(folder / f"{study}.safetensors")
    return codec.load(record, arrays)


def write_metrics(folder: Path) -> None:
    """Every curve of the run in one long table, `metrics.parquet`."""
    columns: dict[str, list[Any]] = {
        k: [] for k in ("study", "figure", "panel", "series", "x", "y", "low", "high")
    }
    for study in read_manifest(folder)["studies"]:
        for figure in load(folder, study).figures:
            for panel in figure.panels:
                for s in panel.series:
                    count = len(s.x)
                    blank = np.full(count, np.nan)
                    for key, text in zip(
                        ("study", "figure", "panel", "series"),
                        (study, figure.name, panel.title, s.label),
                        strict=True,
                    ):
                        columns[key] += [text] * count
                    columns["x"] += [float(v) for v in s.x]
                    columns["y"] += [float(v) for v in s.y]
                    columns["low"] += [float(v) for v in (blank if s.low is None else s.low)]
                    columns["high"] += [float(v) for v in (blank if s.high is None else s.high)]
    frames.write(folder / "metrics.parquet", columns)
    _enter(folder, "summaries", "metrics", ["metrics.parquet"])


def _enter(folder: Path, shelf: str, key: str, names: list[str]) -> None:
    manifest = read_manifest(folder)
    manifest[shelf][key] = {name: files.sha256(folder / name) for name in names}
    files.write_json(folder / "manifest.json", manifest)


def _new_manifest(digest: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "hash": digest,
        "code": settings.code_hash(),
        "settings": {name: asdict(value) for name, value in chosen.items()},
        "versions": {
            "twofold": importlib.metadata.version("twofold"),
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in _LIBRARIES},
        },
        "studies": {},
        "summaries": {},
    }
