"""Rows from a file in chunks, codes to a Parquet file: memory holds one chunk; resumable.

Every chunk becomes a part beside the output; parts that are there are not computed again. At the
end the parts are joined, group by group, and removed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from twofold.atlas.atlas import Atlas
from twofold.atlas.encoding import METHODS, VERDICTS, Codes
from twofold.rigor import inputs
from twofold.store import files, frames

COLUMNS = ("residual", "beta", "eta", "L", "h", "radius", "unique", "start_h", "gap")


@dataclass(frozen=True)
class Summary:
    """How many rows came to which verdict, by which method; both add up to ``rows``."""

    rows: int
    verdicts: dict[str, int]
    methods: dict[str, int]
    refuted: int
    resumed: int


def chunks(path: Path, size: int) -> Iterator[np.ndarray]:
    """The rows of a npy, safetensors, Parquet or Arrow file, ``size`` at a time."""
    path, kind = Path(path), Path(path).suffix
    files.regular(path)
    readers = {".npy": _npy, ".safetensors": _safetensors, ".parquet": _parquet, ".arrow": _arrow}
    if kind not in readers:
        raise ValueError(f"{path}: rows come from {', '.join(readers)}; pickles are never read")
    for chunk in readers[kind](path, size):
        if chunk.ndim != 2:
            raise ValueError(f"{path}: expected rows (N, p), got shape {chunk.shape}")
        yield chunk


def encode(
    atlas: Atlas, rows: Path, out: Path, *, amplitude: float | None = None,
    budget: int | None = None, chunk: int = 65_536, listen: Callable[[int], None] = lambda n: None,
) -> Summary:  # fmt: skip
    """Encode a file of rows into a Parquet file; ``listen`` hears how many rows are done."""
    out, inputs_ok = Path(out), inputs.whole("chunk", chunk, low=1)
    parts = out.with_name(f".{out.name}.parts")
    _claim(parts, atlas, Path(rows), amplitude, budget, inputs_ok)
    names, resumed, done = [], 0, 0
    verdicts, methods, refuted = Counter(), Counter(), 0
    for n, X in enumerate(chunks(Path(rows), chunk)):
        part = parts / f"{n:08d}.parquet"
        names.append(part)
        if part.exists():
            resumed += len(X)
        else:
            codes = atlas.encode(X, amplitudes=amplitude, budget=budget)
            frames.write(part, columns(codes))
        seen = frames.read(part)
        verdicts.update(seen["verdict"])
        methods.update(seen["method"])
        refuted += sum(k > 0 for k in seen["refuted"])
        done += len(X)
        listen(done)
    if not done:
        raise ValueError(f"{rows}: there are no rows")
    _join(names, out)
    shutil.rmtree(parts)
    return Summary(done, {v: verdicts[v] for v in VERDICTS}, {m: methods[m] for m in METHODS},
                   refuted, resumed)  # fmt: skip


def columns(codes: Codes) -> dict[str, Any]:
    """Codes as named columns."""
    out: dict[str, Any] = {f"coord_{i}": codes.coords[:, i] for i in range(codes.coords.shape[1])}
    for j in range(codes.atom.shape[1]):
        out[f"atom_{j}"], out[f"amplitude_{j}"] = codes.atom[:, j], codes.amplitude[:, j]
    out |= {name: getattr(codes, name) for name in COLUMNS}
    out |= {"refuted": codes.refuted, "verdict": codes.verdict.tolist()}
    return out | {"method": codes.method.tolist(), "reason": codes.reason.tolist()}


def _claim(parts: Path, atlas: Atlas, rows: Path, amplitude: Any, budget: Any, chunk: int) -> None:
    """The folder of parts, of this very task; of another one, it is begun anew."""
    stat = files.regular(rows).stat()
    digest = hashlib.sha256()
    for atom in atlas.atoms:
        digest.update(repr(atom.family).encode() + atom.B.tobytes())
    task = {"rows": str(rows.resolve()), "size": stat.st_size, "time": stat.st_mtime_ns,
            "dictionary": digest.hexdigest(), "charts": atlas.count, "priors": repr(atlas.priors),
            "amplitude": repr(amplitude), "budget": budget, "chunk": chunk}  # fmt: skip
    note = parts / "task.json"
    if parts.is_symlink():
        raise ValueError(f"{parts} is a link; remove it")
    if note.exists() and json.dumps(files.read_json(note), sort_keys=True) == json.dumps(
        task, sort_keys=True
    ):
        return
    if parts.exists():
        shutil.rmtree(parts)
    try:
        parts.mkdir(parents=True)
    except OSError as error:
        raise OSError(error.errno, f"cannot write beside {parts}: {error.strerror}") from error
    files.write_json(note, task)


def _join(parts: list[Path], out: Path) -> None:
    import pyarrow.parquet as pq

    if out.is_symlink() or (out.exists() and not out.is_file()):
        raise ValueError(f"{out} exists and is no regular file; choose another output path")
    whole = out.with_name(f".{out.name}.new")
    schema = pq.read_schema(parts[0])
    with pq.ParquetWriter(
        whole, schema, compression="zstd", write_page_checksum=True, version="2.6"
    ) as sink:
        for part in parts:
            sink.write_table(pq.read_table(part, schema=schema))
    whole.replace(out)


def _npy(path: Path, size: int) -> Iterator[np.ndarray]:
    try:
        whole = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path} is not a readable npy file of plain numbers: {error}") from error
    for first in range(0, len(whole) if whole.ndim else 0, size):
        yield np.asarray(whole[first : first + size])


def _safetensors(path: Path, size: int) -> Iterator[np.ndarray]:
    from safetensors import safe_open

    try:
        with safe_open(path, framework="numpy") as source:
            names = list(source.keys())
            name = "rows" if "rows" in names else names[0] if len(names) == 1 else None
            if name is None:
                raise ValueError(f"it has {names}; name one of them 'rows'")
            whole = source.get_slice(name)
            count = whole.get_shape()[0]
            for first in range(0, count, size):
                yield np.asarray(whole[first : min(first + size, count)])
    except Exception as error:  # the reader raises its own type for each defect
        raise ValueError(f"{path} is not a readable safetensors file: {error}") from error


def _parquet(path: Path, size: int) -> Iterator[np.ndarray]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as source:
            for batch in source.iter_batches(batch_size=size):
                yield _numbers(batch)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} is not a readable Parquet file: {error}") from error


def _arrow(path: Path, size: int) -> Iterator[np.ndarray]:
    import pyarrow as pa

    try:
        with pa.memory_map(str(path)) as memory, pa.ipc.open_file(memory) as source:
            for i in range(source.num_record_batches):
                batch = source.get_batch(i)
                for first in range(0, batch.num_rows, size):
                    yield _numbers(batch.slice(first, size))
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} is not a readable Arrow file: {error}") from error


def _numbers(batch: Any) -> np.ndarray:
    """One list column of equal lengths, or several columns of numbers."""
    if batch.num_columns == 1 and hasattr(batch.column(0), "flatten"):
        flat = np.asarray(batch.column(0).flatten(), dtype=np.float64)
        return flat.reshape(batch.num_rows, -1)
    columns = [np.asarray(column, dtype=np.float64) for column in batch.columns]
    return np.stack(columns, axis=1)
