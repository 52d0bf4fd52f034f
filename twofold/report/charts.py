"""Declarative figures to Vega-Lite: role colours, bands, and labels written at the curves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from twofold.findings import Axis, Figure, Panel, Series

WIDTH, HEIGHT, LABEL_GAP, LABEL_ROOM = 330, 220, 13, 150
_MARKS: dict[str, dict[str, Any]] = {
    "line": {"type": "line", "strokeWidth": 2},
    "rule": {"type": "line", "strokeWidth": 1.5, "strokeDash": [5, 4]},
    "points": {"type": "point", "filled": True, "size": 26, "opacity": 0.9},
    "bars": {"type": "bar", "opacity": 0.85},
}


def spec(figure: Figure) -> dict[str, Any]:
    """The Vega-Lite object of a figure: its panels two by two."""
    panels = [_panel(panel) for panel in figure.panels]
    rows = [alt.hconcat(*panels[i : i + 2], spacing=24) for i in range(0, len(panels), 2)]
    chart = alt.vconcat(*rows, spacing=28).properties(background="$paper", padding=6)
    return json.loads(chart.configure(**_config()).to_json())


def _panel(panel: Panel) -> alt.LayerChart:
    x_domain, y_domain = _domain(panel, "x"), _domain(panel, "y")
    x = alt.X("x:Q", axis=_axis(panel.x), scale=_scale(panel.x, x_domain))
    y = alt.Y("y:Q", axis=_axis(panel.y), scale=_scale(panel.y, y_domain))
    layers: list[alt.Chart] = []
    for series in panel.series:
        layers += _layers(series, panel, x, y)
    layers += _labels(panel, x, y, y_domain)
    title = alt.TitleParams(panel.title, anchor="start", fontSize=12.5, fontWeight=600)
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title)


def _layers(series: Series, panel: Panel, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    colour = f"${series.role}"
    rows = _rows(series, panel)
    if not rows:
        return []
    out = []
    if series.low is not None:
        band = alt.Chart(alt.Data(values=[r for r in rows if "low" in r]))
        out.append(
            band.mark_area(color=colour, opacity=0.18).encode(
                x=x, y=alt.Y("low:Q", scale=y.scale, axis=y.axis), y2="high:Q"
            )
        )
    mark = {**_MARKS[series.mark], "color": colour}
    tooltip = [alt.Tooltip("series:N"), alt.Tooltip("x:Q", format=".6g"), "y:Q"]
    chart = alt.Chart(alt.Data(values=rows), mark=mark)
    y2 = {"y2": alt.datum(0)} if series.mark == "bars" and not panel.y.log else {}
    out.append(chart.encode(x=x, y=y, tooltip=tooltip, **y2))
    return out


def _labels(
    panel: Panel, x: alt.X, y: alt.Y, domain: tuple[float, float]
) -> list[alt.Chart]:
    """One label at the right end of each series, pushed apart where ends are close."""
    ends = [(s, rows[-1]) for s in panel.series if (rows := _rows(s, panel))]
    right = _domain(panel, "x")[1]
    placed = _spread([_pixel(end["y"], domain, panel.y.log) for _, end in ends])
    out = []
    for (series, end), (wanted, got) in zip(ends, placed, strict=True):
        text = {
            "type": "text", "align": "left", "dx": 7, "dy": got - wanted, "fontSize": 10.5,
            "color": f"${series.role}", "clip": False, "limit": LABEL_ROOM, "baseline": "middle",
        }  # fmt: skip
        row = {"x": right, "y": end["y"], "label": series.label}
        chart = alt.Chart(alt.Data(values=[row]), mark=text)
        out.append(chart.encode(x=x, y=y, text="label:N"))
    return out


def _spread(wanted: Sequence[float]) -> list[tuple[float, float]]:
    """Each wanted height with the nearest one that keeps all of them ``LABEL_GAP`` apart."""
    order = np.argsort(wanted, kind="stable")
    got = np.array(wanted, dtype=float)
    for above, here in zip(order, order[1:], strict=False):
        got[here] = max(got[here], got[above] + LABEL_GAP)
    overflow = max(0.0, float(got.max(initial=0.0)) - HEIGHT)
    floor = HEIGHT - overflow if overflow else np.inf
    for here in order[::-1]:
        if overflow:
            got[here] = min(got[here], floor + overflow)
            floor = got[here] - overflow - LABEL_GAP
    return list(zip(wanted, got.tolist(), strict=True))


def _pixel(value: float, domain: tuple[float, float], log: bool) -> float:
    low, high = domain
    if log:
        value, low, high = np.log10(value), np.log10(low), np.log10(high)
    return float(HEIGHT * (1 - (value - low) / (high - low)))


def _rows(series: Series, panel: Panel) -> list[dict[str, Any]]:
    """The drawable points: finite, and positive where the axis is logarithmic."""
    x, y = (np.asarray(v, dtype=float).ravel() for v in (series.x, series.y))
    keep = np.isfinite(x) & np.isfinite(y)
    keep &= (x > 0) if panel.x.log else True
    keep &= (y > 0) if panel.y.log else True
    rows = [
        {"series": series.label, "x": a, "y": b}
        for a, b in zip(x[keep].tolist(), y[keep].tolist(), strict=True)
    ]
    if series.low is not None:
        low, high = (np.asarray(v, dtype=float).ravel()[keep] for v in (series.low, series.high))
        for row, a, b in zip(rows, low.tolist(), high.tolist(), strict=True):
            if np.isfinite(a + b) and b > 0:
                row |= {"low": a if a > 0 or not panel.y.log else b * 1e-3, "high": b}
    return rows


def _domain(panel: Panel, key: str) -> tuple[float, float]:
    values = [row[key] for s in panel.series for row in _rows(s, panel)]
    log = (panel.x if key == "x" else panel.y).log
    if key == "y" and not log and any(s.mark == "bars" for s in panel.series):
        values.append(0.0)
    if not values:
        return (0.1, 1.0) if log else (0.0, 1.0)
    low, high = min(values), max(values)
    if log:
        pad = (high / low) ** 0.04 if high > low else 2.0
        return low / pad, high * pad
    pad = 0.04 * (high - low) or abs(high) * 0.1 or 1.0
    if key == "x":
        return (low, high) if high > low else (low - pad, high + pad)
    return (low if low == 0 else low - pad), high + pad


def _axis(axis: Axis) -> alt.Axis:
    title = f"{axis.label} [{axis.unit}]" if axis.unit else axis.label
    count = 5 if axis.log else 6
    return alt.Axis(title=title, format=".0e" if axis.log else "~g", tickCount=count, labelFlush=True)


def _scale(axis: Axis, domain: tuple[float, float]) -> alt.Scale:
    kind = "log" if axis.log else "linear"
    return alt.Scale(type=kind, domain=list(domain), nice=False, zero=False)


def _config() -> dict[str, Any]:
    font = "system-ui, 'DejaVu Sans', sans-serif"
    axis = {
        "labelColor": "$muted", "titleColor": "$ink", "gridColor": "$grid", "domainColor": "$line",
        "tickColor": "$line", "titleFontWeight": 400, "titleFontSize": 11, "labelFontSize": 10,
        "labelFont": font, "titleFont": font,
    }  # fmt: skip
    return {
        "axis": axis,
        "view": {"stroke": None},
        "title": {"color": "$ink", "font": font},
        "text": {"font": font},
    }
