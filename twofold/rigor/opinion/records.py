r"""Certificates as plain records: the JSON that ``to_json`` wrote, read without the package."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

CERTIFICATE = "twofold.certificate/1"
FIELDS = (
    "schema name statement kind side about value bound rounding applies reason reference source "
    "delta premise"
).split()
DETERMINISTIC = ("identity", "bound")


class Unreadable(ValueError):
    """What was given is no proof file, or only part of one."""


def check_record(record: Any) -> None:
    """A certificate record with the right fields, types and lengths."""
    if not isinstance(record, dict) or record.get("schema") != CERTIFICATE:
        raise Unreadable(f"a record is not a {CERTIFICATE}")
    if set(record) != set(FIELDS):
        raise Unreadable(f"a certificate has other fields: {sorted(set(record) ^ set(FIELDS))}")
    texts = ("name", "statement", "kind", "side", "about", "reference", "source", "premise")
    if not all(isinstance(record[k], str) for k in texts):
        raise Unreadable(f"a certificate needs text in {', '.join(texts)}")
    numbers, name = ("value", "bound", "rounding"), record["name"]
    for key in (*numbers, "applies", "reason"):
        if not isinstance(record[key], list) or len(record[key]) != len(record["value"]):
            raise Unreadable(f"certificate {name!r}: {key} is not one entry per row")
    floats = all(_is_number(x) for key in numbers for x in record[key])
    flags = all(isinstance(x, bool) for x in record["applies"])
    if not (floats and flags and all(isinstance(x, str) for x in record["reason"])):
        raise Unreadable(f"certificate {name!r}: an entry of a row has the wrong type")


def _is_number(x: Any) -> bool:
    return (type(x) is float or type(x) is int and abs(x) <= 2**1023) or (
        isinstance(x, str) and x in ("nan", "inf", "-inf")
    )


def little_endian(array: np.ndarray) -> np.ndarray:
    """The array, contiguous, as int64 or float64; nothing else is ever hashed or stored."""
    kind = "<i8" if np.asarray(array).dtype.kind == "i" else "<f8"
    return np.ascontiguousarray(array).astype(kind, copy=False)


def number(x: Any) -> float:
    """A stored float; the non-finite ones are stored by name."""
    return float(x)


def verdict(record: Mapping[str, Any], i: int) -> str:
    """``holds``, ``violated`` or ``silent``, from the stored numbers alone."""
    value, bound, rounding = (number(record[k][i]) for k in ("value", "bound", "rounding"))
    if record["kind"] == "identity":
        limit = bound
    elif record["side"] == "lower":
        limit = math.nextafter(bound - rounding, -math.inf)
    else:
        limit = math.nextafter(bound + rounding, math.inf)
    if not (record["applies"][i] and math.isfinite(value)) or math.isnan(limit):
        return "silent"
    measured = abs(value) if record["side"] == "both" else value
    meets = measured >= limit if record["side"] == "lower" else measured <= limit
    return "holds" if meets else "violated"


def fingerprint(*arrays: np.ndarray) -> str:
    """The sha256 of arrays with their shapes and types: the ``source`` of a certificate."""
    digest = hashlib.sha256()
    for array in arrays:
        x = little_endian(array)
        digest.update(f"{x.dtype.str}{x.shape}".encode() + x.tobytes())
    return digest.hexdigest()
