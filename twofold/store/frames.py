"""Long tables on disk as Parquet, with page checksums written and verified."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twofold.store import files


def write(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write named columns of equal length."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(
        pa.table(dict(columns)), sink, compression="zstd", write_page_checksum=True, version="2.6"
    )
    files.write_bytes(path, sink.getvalue())


def read(path: Path) -> dict[str, list[Any]]:
    """The columns of a Parquet file whose every page passes its checksum."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(files.regular(Path(path)), page_checksum_verification=True) as source:
            return source.read().to_pydict()
    except OSError as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    except Exception as error:  # pyarrow has a type of its own for each defect
        raise ValueError(f"{path} is not a readable Parquet file: {error}") from error
