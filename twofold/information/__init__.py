"""What an encoder loses: exact where it can be, certified where it can be, else an estimate."""

from __future__ import annotations

from twofold.information import exact as exact

__all__ = ["exact"]
