"""One palette, light and dark. Charts name colours as ``$role``; they are filled in late."""

from __future__ import annotations

from collections.abc import Mapping

LIGHT = {
    "$paper": "#ffffff",
    "$ink": "#1d2327",
    "$muted": "#5d6770",
    "$line": "#d9dee2",
    "$grid": "#eceff1",
    "$panel": "#f6f8f9",
    "$observed": "#1f5fa8",
    "$predicted": "#c2570c",
    "$bound": "#8a2f6b",
    "$reference": "#6b747b",
    "$other": "#1a7f5a",
    "$good": "#1a7f5a",
    "$bad": "#b3261e",
    "$warn": "#8a6100",
}
DARK = {
    "$paper": "#14181b",
    "$ink": "#e6eaed",
    "$muted": "#9aa6af",
    "$line": "#333b41",
    "$grid": "#242b30",
    "$panel": "#1b2125",
    "$observed": "#6fb1f5",
    "$predicted": "#f59e5b",
    "$bound": "#dd8cc0",
    "$reference": "#98a3ab",
    "$other": "#5fcf9f",
    "$good": "#5fcf9f",
    "$bad": "#ff8a80",
    "$warn": "#e3b341",
}


def paint(text: str, palette: Mapping[str, str] = LIGHT) -> str:
    """``text`` with every ``$role`` replaced by its colour."""
    for role in sorted(palette, key=len, reverse=True):
        text = text.replace(role, palette[role])
    return text


def css_variables(palette: Mapping[str, str]) -> str:
    """The palette as CSS custom properties."""
    return "".join(f"--{role[1:]}:{colour};" for role, colour in palette.items())
