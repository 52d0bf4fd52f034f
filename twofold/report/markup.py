"""Small pieces of HTML: escaped text, numbers, formulas, tables. Nothing unescaped gets through."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element, tostring

# Neither href nor style nor a handler: what a formula may say about its looks.
_ATTRIBUTES = {
    "xmlns", "display", "displaystyle", "scriptlevel", "mathvariant", "stretchy", "fence", "form",
    "separator", "largeop", "movablelimits", "accent", "accentunder", "linethickness", "width",
    "height", "depth", "minsize", "maxsize", "lspace", "rspace", "columnalign", "columnspacing",
    "rowspacing", "columnlines", "rowlines", "notation",
}  # fmt: skip


def text(item: Any) -> str:
    """Any object as escaped text."""
    return html.escape(str(item), quote=True)


def number(x: Any, digits: int = 4) -> str:
    """A number as people read it; anything else as escaped text."""
    if isinstance(x, bool) or not isinstance(x, (int, float)):
        return text(x)
    if isinstance(x, int) or (float(x).is_integer() and abs(x) < 1e6):
        return f"{int(x)}"
    if not math.isfinite(x):
        return {"nan": "–", "inf": "∞", "-inf": "−∞"}[repr(float(x))]
    if 1e-3 <= abs(x) < 1e5:
        return f"{x:.{digits}g}"
    mantissa, exponent = f"{x:.{digits - 1}e}".split("e")
    return f"{mantissa}·10<sup>{int(exponent)}</sup>".replace("-", "−")


def formula(latex: str) -> str:
    """LaTeX as MathML; what the converter does not know stays readable source."""
    from latex2mathml.converter import convert_to_element

    plain = re.sub(r"\\(?:[bB]igg?[lrm]?)(?![a-zA-Z])", "", latex)
    plain = plain.replace(r"\{", r"\lbrace ").replace(r"\}", r"\rbrace ")
    try:
        return _mathml(convert_to_element(plain))
    except Exception:  # the converter raises its own types; the source itself is still true
        return f"<code>{text(latex)}</code>"


def _mathml(tree: Element) -> str:
    r"""The tree as text, escaped anew: the converter's own output lets \text{<img>} through."""
    for node in tree.iter():
        node.text, node.tail = (part and html.unescape(part) for part in (node.text, node.tail))
        for name in set(node.attrib) - _ATTRIBUTES:
            del node.attrib[name]
    return tostring(tree, encoding="unicode")


def printed(number: str) -> str:
    """A number as a seed prints it, with its power of ten raised."""
    plain = text(number).replace(r" \times ", "·").replace(r" \cdot ", "·").replace("×", "·")
    return re.sub(r"10\^\{(-?\d+)\}", r"10<sup>\1</sup>", plain).replace("-", "−")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """A table of ready-made cells under escaped headers."""
    head = "".join(f"<th scope=col>{text(c)}</th>" for c in columns)
    body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
    return (
        f'<div class=scroll><table class="{kind}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def badge(word: str) -> str:
    """A verdict as a coloured word; the word itself carries the meaning."""
    tone = {
        "holds": "good", "reproduced": "good", "violated": "bad", "failed": "bad",
        "silent": "warn", "differs-explained": "warn",
    }.get(word, "muted")  # fmt: skip
    return f'<span class="badge {tone}">{text(word)}</span>'


def details(summary: str, body: str) -> str:
    """A closed drawer."""
    return f"<details><summary>{text(summary)}</summary>{body}</details>"
