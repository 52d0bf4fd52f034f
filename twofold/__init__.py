"""twofold takes an encoder-decoder apart: what was measured and what is proved, for each half."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twofold import atlas as atlas
    from twofold import choose as choose
    from twofold import decoder as decoder
    from twofold import encoder as encoder
    from twofold import information as information
    from twofold import learned as learned
    from twofold import measures as measures
    from twofold import rigor as rigor
    from twofold import tasks as tasks
    from twofold import theorems as theorems
    from twofold import training as training
    from twofold.anatomy import Anatomy as Anatomy
    from twofold.anatomy import take_apart as take_apart
    from twofold.certificate import Certificate as Certificate
    from twofold.protocol import EncoderDecoder as EncoderDecoder
    from twofold.protocol import Law as Law
    from twofold.protocol import System as System
    from twofold.protocol import Tasks as Tasks
    from twofold.proving import certify as certify
    from twofold.report import write_report as write_report

__version__ = "0.1.0"

# Names are imported when first used: `twofold --help` must answer before NumPy has loaded.
_ROOMS = (
    "choose",
    "rigor",
    "tasks",
    "measures",
    "encoder",
    "decoder",
    "learned",
    "training",
    "theorems",
    "atlas",
    "information",
)
_NAMES = {
    "Anatomy": "anatomy",
    "Certificate": "certificate",
    "EncoderDecoder": "protocol",
    "Law": "protocol",
    "System": "protocol",
    "Tasks": "protocol",
    "certify": "proving",
    "take_apart": "anatomy",
    "write_report": "report",
}
__all__ = [
    "Anatomy",
    "Certificate",
    "EncoderDecoder",
    "Law",
    "System",
    "Tasks",
    "atlas",
    "certify",
    "choose",
    "decoder",
    "encoder",
    "information",
    "learned",
    "measures",
    "rigor",
    "take_apart",
    "tasks",
    "theorems",
    "training",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"twofold.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(f"twofold.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'twofold' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return __all__
