"""A law written down as TOML, for the command line.

sigma = [1.0, 0.5, 0.25]      # a spectrum, or a matrix as a list of rows; or instead
dim = 16                      # a named spectrum of this many coordinates
condition = 10.0              # its condition (10), and
spectrum = "log"              # its kind (log, power, spiked, isotropic)
prompt = 64
ridge = 1e-3                  # and noise, prior, rank, target, kurtosis as in Law
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from twofold.protocol import Law
from twofold.tasks import laws

PLAIN = ("prompt", "ridge", "noise", "rank", "target", "kurtosis")
NAMED = ("dim", "condition", "spectrum")


def read(path: Path) -> Law:
    """The checked law of a file; every mistake is a ValueError that names the file and the key."""
    try:
        record = tomllib.loads(Path(path).read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not TOML: {error}") from error
    try:
        return of(record)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error


def of(record: dict[str, Any]) -> Law:
    """The checked law of a record."""
    known = {"sigma", "prior", *PLAIN, *NAMED}
    strange = sorted(set(record) - known)
    if strange:
        raise ValueError(
            f"{strange[0]!r} is no field of a law; there are {', '.join(sorted(known))}"
        )
    if ("sigma" in record) == ("dim" in record) or "prompt" not in record:
        raise ValueError("expected prompt, and either sigma or dim (a named spectrum)")
    sigma = np.asarray(record["sigma"], float) if "sigma" in record else _named(record)
    prior = np.asarray(record["prior"], float) if "prior" in record else None
    return laws.checked(Law(sigma, prior=prior, **{k: record[k] for k in PLAIN if k in record}))


def _named(record: dict[str, Any]) -> np.ndarray:
    return laws.spectrum(
        record.get("spectrum", "log"), record["dim"], record.get("condition", 10.0)
    )
