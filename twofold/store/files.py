"""Files that are either the old one or the new one, never half of either."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def write_bytes(path: Path, data: bytes) -> None:
    """Write ``data`` by temp file, fsync, rename; an existing target must be a regular file."""
    path = Path(path)
    _refuse_odd_target(path)
    try:
        handle, temp = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise OSError(
            error.errno, f"cannot write in folder {path.parent}: {error.strerror}"
        ) from error
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(temp, 0o666 & ~_umask())
        os.replace(temp, path)
    except OSError as error:
        _discard(temp)
        raise OSError(
            error.errno, f"could not write {path}: {error.strerror}; nothing was changed"
        ) from error
    except BaseException:
        _discard(temp)
        raise
    _sync_folder(path.parent)


def write_json(path: Path, record: Any) -> None:
    """Write strict JSON: NaN and infinities must have been encoded before."""
    text = json.dumps(record, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False)
    write_bytes(path, text.encode() + b"\n")


def read_json(path: Path) -> Any:
    """Read JSON; bare NaN, which ``json`` would let through, is refused by name of the file."""
    path = Path(path)
    try:
        return json.loads(regular(path).read_bytes(), parse_constant=_refuse_constant)
    except (ValueError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid JSON ({error}); was it truncated?") from error


def sha256(path: Path) -> str:
    """The hex digest of a file."""
    with open(regular(path), "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def regular(path: Path) -> Path:
    """``path`` if it is a regular file; FIFOs, devices and folders are refused by name."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"no such file: {path}")
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(f"{path} is not a regular file")
    return path


def inside(folder: Path, name: str) -> Path:
    """``folder / name``, refused where ``name`` leads out of the folder or through a link."""
    path, parts = Path(folder) / name, Path(name).parts
    steps = [path, *path.parents][: len(parts)]
    if Path(name).is_absolute() or ".." in parts or any(step.is_symlink() for step in steps):
        raise ValueError(f"{name!r} leads out of {folder}; a run only names files of its own")
    return path


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold ``folder`` for this process alone. The kernel drops the lock when its holder dies."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    with open(os.open(folder / ".lock", flags, 0o666), "r+b", buffering=0) as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise RuntimeError(
                f"another twofold process is writing {folder}; wait for it or choose another --out"
            ) from error
        yield


def encode(x: float) -> float | str:
    """A float as strict JSON takes it: non-finite ones by name."""
    return x if math.isfinite(x) else repr(x)


def _refuse_odd_target(path: Path) -> None:
    if path.is_symlink() or (path.exists() and not stat.S_ISREG(path.stat().st_mode)):
        raise ValueError(f"{path} exists and is no regular file; choose another output path")


def _refuse_constant(text: str) -> float:
    raise ValueError(f"bare {text} is not JSON")


def _discard(temp: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(temp)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
