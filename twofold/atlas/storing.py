"""An atlas in a folder: ``atlas.safetensors`` with the arrays, ``manifest.json`` with the rest.

The charts are stored for other readers. Loading builds them again: nothing that is proved is
taken from a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from twofold.atlas.atlas import Atlas, build
from twofold.atlas.families import Affine, Cylinder, Patch, Periodic, Sphere, Tensor, Torus
from twofold.atlas.families.tensor import Line
from twofold.atlas.objective import Atom, Priors
from twofold.rigor import inputs
from twofold.store import files, tensors

FORMAT = "twofold.atlas/1"
ARRAYS, MANIFEST = "atlas.safetensors", "manifest.json"
MAKERS = {"periodic": Periodic, "torus": Torus, "sphere": Sphere, "affine": Affine, "patch": Patch,
          "cylinder": Cylinder}  # fmt: skip


def save(atlas: Atlas, folder: Path) -> None:
    """Write the atlas; each file is the old one or the new one, never half of either."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {f"atom.{k}.B": atom.B for k, atom in enumerate(atlas.atoms)}
    for k, charts in enumerate(atlas.charts):
        for name in ("centres", "beta", "lipschitz", "radius"):
            arrays[f"atom.{k}.{name}"] = np.ascontiguousarray(getattr(charts, name))
    record = {
        "format": FORMAT, "charts": atlas.count,
        "priors": {"flat": atlas.priors.flat, "periodic": atlas.priors.periodic},
        "families": [described(atom.family) for atom in atlas.atoms],
    }  # fmt: skip
    tensors.write(folder / ARRAYS, arrays)
    record["sha256"] = files.sha256(folder / ARRAYS)
    files.write_json(folder / MANIFEST, record)


def load(folder: Path) -> Atlas:
    """The atlas of a folder; a changed, truncated or foreign file is an error that names it."""
    folder = Path(folder)
    record = files.read_json(folder / MANIFEST)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ValueError(f"{folder / MANIFEST} is no manifest of {FORMAT}")
    if files.sha256(folder / ARRAYS) != record.get("sha256"):
        raise ValueError(f"{folder / ARRAYS} is not the file its manifest was written for")
    arrays = tensors.read(folder / ARRAYS)
    try:
        kinds = [recalled(spec) for spec in record["families"]]
        atoms = [Atom(kind, arrays[f"atom.{k}.B"]) for k, kind in enumerate(kinds)]
        return build(atoms, charts=record["charts"], priors=Priors(**record["priors"]))
    except (KeyError, TypeError) as error:
        raise ValueError(f"{folder / MANIFEST}: missing or malformed entry {error}") from error


def described(family: Any) -> dict[str, Any]:
    """A family as JSON; one of the user's own cannot be written."""
    if isinstance(family, Sphere):
        return {"kind": "sphere", "degree": family.degree}
    if not isinstance(family, Tensor):
        raise ValueError(f"family {type(family).__name__}: only families of twofold can be saved")
    lines = [[line.degree, line.radius] for line in family.lines]
    return {"kind": family.name, "lines": lines, "columns": [list(c) for c in family.columns]}


def recalled(spec: dict[str, Any]) -> Any:
    """The family that ``described`` wrote, every number checked."""
    if spec["kind"] == "sphere":
        return Sphere(inputs.whole("degree", spec["degree"], low=1))
    if spec["kind"] not in MAKERS:
        raise ValueError(f"manifest: unknown family {spec['kind']!r:.40}")
    lines = tuple(Line(inputs.whole("degree", d, low=1), r) for d, r in spec["lines"])
    for line in lines:
        if line.radius is not None and not 0 < line.radius < np.inf:
            raise ValueError(f"manifest: a flat axis cannot have radius {line.radius!r}")
    columns = tuple(tuple(inputs.whole("column", m) for m in column) for column in spec["columns"])
    good = all(len(c) == len(lines) and all(m < line.count for m, line in
               zip(c, lines, strict=True)) for c in columns)  # fmt: skip
    if not columns or not good:
        raise ValueError("manifest: the columns do not fit the axes")
    return Tensor(spec["kind"], lines, columns)


def family(text: str) -> Any:
    """A family by name and numbers, as in ``periodic:4``, ``torus:2:1``, ``patch:2:3:1.5``."""
    name, *numbers = text.split(":")
    try:
        given = [float(x) if "." in x else int(x) for x in numbers]
        return MAKERS[name](*given)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"family: {text!r} is none of periodic:H, torus:Q:H, sphere:DEGREE, affine:Q, "
            f"patch:Q:DEGREE[:RADIUS], cylinder:H:DEGREE[:RADIUS] ({error})"
        ) from error


def dictionary(path: Path, kind: Any) -> list[Atom]:
    """Every array (M, p) or (K, M, p) of a safetensors or npz file as atoms of one family."""
    arrays = _npz(Path(path)) if Path(path).suffix == ".npz" else tensors.read(path)
    blocks = [block for name in sorted(arrays) for block in _blocks(name, arrays[name])]
    if not blocks:
        raise ValueError(f"{path}: the dictionary is empty")
    return [Atom(kind, block) for block in blocks]


def _blocks(name: str, array: np.ndarray) -> list[np.ndarray]:
    if array.ndim not in (2, 3):
        raise ValueError(f"array {name!r}: expected (M, p) or (K, M, p), got shape {array.shape}")
    return [array] if array.ndim == 2 else list(array)


def _npz(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(files.regular(path), allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except (OSError, ValueError, EOFError, KeyError) as error:
        raise ValueError(f"{path} is not a readable npz file of plain arrays: {error}") from error
