"""Named arrays on disk as safetensors, read without trusting the file.

The format accepts flipped bits and duplicate keys, and its own writer replaces links and devices:
bytes are made in memory and written by `files.write_bytes`, and the header is checked here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from twofold.store import files

_PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK\x03\x04")
# A header of 0x280 .. 0x580 bytes begins like a pickle; what follows its length does not.
_SMALL = b"\0" * 6 + b"{"


def write(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write ``arrays``, C-contiguous and little-endian, in the order of their names."""
    files.write_bytes(path, save({k: _plain(k, arrays[k]) for k in sorted(arrays)}))


def read(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file; anything else is refused with what it looks like."""
    data = files.regular(Path(path)).read_bytes()
    if data.startswith(_PICKLES) and data[2:9] != _SMALL:
        raise ValueError(
            f"{path} is a pickle or an archive, which may run code when it is read; "
            "convert it with safetensors.numpy.save_file(arrays, 'new.safetensors')"
        )
    _check_header(path, data)
    try:
        return load(data)
    except Exception as error:  # the reader raises its own type for each defect
        raise ValueError(f"{path} is not a readable safetensors file: {error}") from error


def _check_header(path: Path, data: bytes) -> None:
    size = int.from_bytes(data[:8], "little") if len(data) >= 8 else -1
    if not 2 <= size <= len(data) - 8:
        raise ValueError(f"{path} is not a safetensors file, or it was truncated")
    try:
        json.loads(data[8 : 8 + size], object_pairs_hook=_unique)
    except ValueError as error:
        raise ValueError(f"{path} has a damaged safetensors header: {error}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError(f"duplicate keys in {sorted(names)}")
    return dict(pairs)


def _plain(name: str, array: np.ndarray) -> np.ndarray:
    array = np.asarray(array)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"array {name!r} has type {array.dtype}; only real numbers are stored")
    return array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
