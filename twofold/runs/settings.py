"""The settings of a run: defaults, ``--full``, ``--seed`` and ``--set``, resolved and hashed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from twofold.findings import Study


def resolve(
    studies: Sequence[Study], *, seed: int = 0, full: bool = False, assignments: Iterable[str] = ()
) -> dict[str, Any]:
    """Settings by study name. An assignment is ``key=value`` or ``study.key=value``."""
    settings = {s.name: replace(s.settings, seed=seed, **(s.full if full else {})) for s in studies}
    for text in assignments:
        settings = _assign(settings, text)
    return settings


def config_hash(settings: Mapping[str, Any]) -> str:
    """A digest of the settings and of the code that reads them: equal hash, equal results."""
    record = {name: asdict(value) for name, value in settings.items()}
    text = json.dumps({"settings": record, "code": code_hash()}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def code_hash() -> str:
    """The digest of the package's own sources."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.toml"), *root.rglob("*.bib")]):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _assign(settings: dict[str, Any], text: str) -> dict[str, Any]:
    key, eq, value = text.partition("=")
    if not eq or not key:
        raise ValueError(f"--set takes key=value or study.key=value, got {text!r}")
    study, _, name = key.rpartition(".")
    if study and study not in settings:
        raise ValueError(
            f"--set {text!r}: no study {study!r} here; there are {', '.join(settings)}"
        )
    chosen = [study] if study else [s for s, v in settings.items() if name in _names(v)]
    if not chosen or any(name not in _names(settings[s]) for s in chosen):
        known = sorted({n for s in chosen or settings for n in _names(settings[s])})
        raise ValueError(f"--set {text!r}: no setting {name!r}; there are {', '.join(known)}")
    return {
        s: replace(v, **{name: _parse(getattr(v, name), value, text)}) if s in chosen else v
        for s, v in settings.items()
    }


def _names(value: Any) -> set[str]:
    return {field.name for field in fields(value)}


def _parse(old: Any, value: str, text: str) -> Any:
    try:
        if isinstance(old, bool):
            return {"true": True, "false": False}[value.lower()]
        if isinstance(old, tuple):
            return tuple(type(old[0])(item) for item in value.split(","))
        return type(old)(value)
    except (KeyError, ValueError) as error:
        kind = f"tuple of {type(old[0]).__name__}" if isinstance(old, tuple) else type(old).__name__
        raise ValueError(f"--set {text!r}: {value!r} is not a {kind}") from error
