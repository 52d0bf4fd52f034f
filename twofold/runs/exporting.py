"""Certificates and their inputs as one file that anybody can redo without this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from twofold.certificate import Certificate
from twofold.rigor.opinion import proofs, standalone
from twofold.runs import folder as run_folder
from twofold.store import files

Evidence = Mapping[str, Mapping[str, np.ndarray]]


def export(certificates: Sequence[Certificate], evidence: Evidence, path: Path) -> None:
    """Write a proof file, and ``recheck.py`` beside it, which needs NumPy and python-flint alone.

    ``evidence`` maps the ``source`` of certificates to their named inputs, as in ``Findings``.
    """
    arrays: dict[str, dict[str, Any]] = {}
    names = {source: _stored(arrays, inputs) for source, inputs in evidence.items()}
    proof = {
        "schema": proofs.PROOF,
        "certificates": [c.to_json() for c in certificates],
        "inputs": [names.get(c.source) for c in certificates],
        "arrays": {k: v for k, v in arrays.items() if _used(k, certificates, names)},
    }
    files.write_json(Path(path), proof | {"sha256": proofs.seal(proof)})
    files.write_bytes(Path(path).parent / "recheck.py", standalone.program().encode())


def export_run(folder: Path, path: Path) -> None:
    """Every certificate of a run and all its evidence as one proof file."""
    findings = [run_folder.load(folder, s) for s in run_folder.read_manifest(folder)["studies"]]
    evidence = {source: inputs for f in findings for source, inputs in f.evidence.items()}
    export([c for f in findings for c in f.certificates], evidence, path)


def _stored(arrays: dict[str, Any], inputs: Mapping[str, np.ndarray]) -> dict[str, str]:
    """The names of the inputs, each array kept once whoever uses it."""
    names = {}
    for name, array in inputs.items():
        item = proofs.pack(np.asarray(array))
        key = next((k for k, known in arrays.items() if known == item), f"a{len(arrays)}")
        arrays[key], names[name] = item, key
    return names


def _used(key: str, certificates: Sequence[Certificate], names: Mapping[str, Any]) -> bool:
    return any(key in names.get(c.source, {}).values() for c in certificates)
