"""The references that certificates name, read from the theorems' own .bib file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import resources

_ENTRY = re.compile(r"@(\w+)\{([^,\s]+),(.*?)\n\}", re.DOTALL)
_FIELD = re.compile(r"(\w+)\s*=\s*[{\"](.*?)[}\"]\s*(?:,|$)", re.DOTALL | re.MULTILINE)


def entries() -> dict[str, dict[str, str]]:
    """Every reference by key, with its fields and its own source under ``bibtex``."""
    text = resources.files("twofold.theorems").joinpath("references.bib").read_text("utf-8")
    out = {}
    for match in _ENTRY.finditer(text):
        fields = {k.lower(): re.sub(r"[{}]", "", v) for k, v in _FIELD.findall(match[3])}
        out[match[2]] = {**fields, "bibtex": match[0] + "\n"}
    return out


def cited(keys: Iterable[str]) -> dict[str, dict[str, str]]:
    """The entries of ``keys``, in alphabetical order; an unknown key is an error of ours."""
    known = entries()
    wanted = sorted({key for key in keys if key})
    if missing := [key for key in wanted if key not in known]:
        raise KeyError(f"references.bib has no {', '.join(missing)}")
    return {key: known[key] for key in wanted}


def sentence(entry: dict[str, str]) -> str:
    """Author, title, where and when, as one line of text."""
    where = next(
        (entry[k] for k in ("journal", "booktitle", "publisher", "note") if k in entry), ""
    )
    parts = (entry.get("author", ""), entry.get("title", ""), where, entry.get("year", ""))
    return ". ".join(part.replace("\n", " ") for part in parts if part) + "."
