"""A user's saved activations: arrays of an npz, or columns of a Parquet file.

In Parquet an array is a column of numbers, a column of lists of one length, or the columns
``name_0``, ``name_1``, and so on. Nothing is ever unpickled.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from twofold.information.gap import decompose
from twofold.information.records import Decomposition


def decompose_file(
    path: str | Path, codes: str, labels: str, *, layers: Sequence[str] = (), given: str = "",
    decoder: str = "", reference: str = "", method: str = "auto", delta: float = 0.05,
) -> Decomposition:  # fmt: skip
    """The decomposition of arrays by their names; ``given`` is X, else the first layer, else U."""
    first = given or (layers[0] if layers else codes)
    wanted = [codes, labels, first, *layers, *filter(None, (decoder, reference))]
    found = arrays(Path(path), list(dict.fromkeys(wanted)))
    result = decompose(
        found[codes], found.get(decoder), found[first], _whole(labels, found[labels]),
        reference=found.get(reference), layers=[found[name] for name in layers],
        method=method, delta=delta,
    )  # fmt: skip
    if given:
        return result
    note = f"no inputs named: {first!r} stands for X, and every loss is measured from there"
    return Decomposition(result.values, (note, *result.notes))


def arrays(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """The named arrays, or a ValueError that says what the file has."""
    if path.suffix == ".npz":
        return _npz(path, names)
    if path.suffix in (".parquet", ".pq"):
        return _parquet(path, names)
    raise ValueError(f"{path}: expected .npz or .parquet, got {path.suffix or 'no suffix'!r}")


def _npz(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as file:
            _require(path, names, file.files)
            return {name: file[name] for name in names}
    except (zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{path}: not a whole npz file ({error}); was it cut off?") from error


def _parquet(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path}: not a whole Parquet file ({error!s:.80})") from error
    columns = {name: _spread(table.column_names, name) for name in names}
    _require(path, names, [name for name, own in columns.items() if own] + table.column_names)
    return {name: np.stack([_column(table[c]) for c in own], axis=-1)[..., 0]
            if own == [name] else np.stack([_column(table[c]) for c in own], axis=-1)
            for name, own in columns.items()}  # fmt: skip


def _spread(have: Sequence[str], name: str) -> list[str]:
    """The column itself, or ``name_0`` ... in order."""
    if name in have:
        return [name]
    own = [c for c in have if c.startswith(f"{name}_") and c[len(name) + 1 :].isdigit()]
    return sorted(own, key=lambda c: int(c[len(name) + 1 :]))


def _column(column: Any) -> np.ndarray:
    if column.null_count:
        raise ValueError(f"a column has {column.null_count} missing values; drop those rows")
    values = column.to_pylist() if str(column.type).startswith(("list", "fixed")) else column
    return np.array(values) if isinstance(values, list) else np.asarray(column.to_numpy())


def _require(path: Path, names: Sequence[str], have: Sequence[str]) -> None:
    lost = [name for name in names if name not in have]
    if lost:
        raise ValueError(f"{path}: no array {lost[0]!r}; it has {', '.join(sorted(set(have)))}")


def _whole(name: str, y: np.ndarray) -> np.ndarray:
    """Labels of any kind, numbered in order; real numbers are refused."""
    if y.dtype.kind == "f" and not np.array_equal(y, np.round(y)):
        raise ValueError(
            f"{name}: real numbers, not labels; cut them (information.probes.quantised)"
        )
    if y.dtype.kind == "O":
        y = y.astype(str)
    return np.unique(y, return_inverse=True)[1].reshape(-1)
