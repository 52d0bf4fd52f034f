r"""The proof file: certificates with their inputs in one sealed JSON."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import os
import stat
from collections.abc import Mapping
from typing import Any

import numpy as np

from twofold.rigor.opinion.records import Unreadable, check_record, little_endian

PROOF = "twofold.proof/1"


def seal(proof: Mapping[str, Any]) -> str:
    """The sha256 of a proof without its own: of its canonical JSON."""
    body = {key: item for key, item in proof.items() if key != "sha256"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def pack(x: np.ndarray) -> dict[str, Any]:
    """An array as JSON: its type (<f8 or <i8), its shape, its bytes in base64."""
    y = little_endian(x)
    data = base64.b64encode(y.tobytes()).decode()
    return {"type": y.dtype.str, "shape": list(np.shape(x)), "data": data}


def unpack(name: str, item: Any) -> np.ndarray:
    """The array that ``pack`` wrote; anything else is refused by name."""
    try:
        kind, shape = item["type"], item["shape"]
        data = base64.b64decode(item["data"], validate=True)
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        raise Unreadable(f"array {name!r} is damaged ({type(error).__name__})") from error
    good = isinstance(shape, list) and all(type(n) is int and 0 <= n < 2**40 for n in shape)
    if kind not in ("<f8", "<i8"):
        raise Unreadable(f"array {name!r} has type {kind!r:.20}, not <f8 or <i8")
    if not good or len(shape) > 8 or 8 * math.prod(shape) != len(data):
        raise Unreadable(f"array {name!r}: {len(data)} bytes do not fill shape {shape!r:.60}")
    return np.frombuffer(data, dtype=kind).astype(kind.replace("<", "=")).reshape(shape)


def load(path: str) -> dict[str, Any]:
    """A proof file, checked as far as its form goes."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise Unreadable(f"{path} is not a regular file")
        with open(path, "rb") as handle:
            text = handle.read().decode()
        proof = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique)
    except OSError as error:
        raise Unreadable(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, Unreadable):
            raise
        raise Unreadable(f"{path} is not valid JSON ({error!s:.120}); was it cut off?") from error
    if not isinstance(proof, dict) or proof.get("schema") != PROOF:
        raise Unreadable(f"{path} is not a {PROOF} file")
    if set(proof) != {"schema", "certificates", "inputs", "arrays", "sha256"}:
        raise Unreadable(f"{path} has missing or unknown parts")
    records, inputs = proof["certificates"], proof["inputs"]
    if not (isinstance(records, list) and isinstance(inputs, list) and len(inputs) == len(records)):
        raise Unreadable(f"{path}: certificates and inputs are not two lists of one length")
    if not isinstance(proof["arrays"], dict):
        raise Unreadable(f"{path}: arrays is not an object")
    for record in records:
        check_record(record)
    return proof


def _no_constant(text: str) -> float:
    raise Unreadable(f"bare {text} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise Unreadable("duplicate keys in one object")
    return dict(pairs)


def inputs_of(proof: Mapping[str, Any], i: int) -> dict[str, np.ndarray] | None:
    """The named arrays of certificate i, None where none were stored."""
    names = proof["inputs"][i]
    if names is None:
        return None
    if not isinstance(names, dict) or not all(isinstance(k, str) for k in names.values()):
        raise Unreadable(f"inputs of certificate {i} are not names of arrays")
    lost = [key for key in names.values() if key not in proof["arrays"]]
    if lost:
        raise Unreadable(f"array {lost[0]!r} is missing")
    return {name: unpack(key, proof["arrays"][key]) for name, key in names.items()}
