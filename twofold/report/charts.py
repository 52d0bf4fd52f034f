"""Declarative figures to Vega-Lite: role colours, bands, and labels written at the curves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from twofold.findings import Axis, Figure, Panel, Series

WIDTH, HEIGHT, LABEL_GAP, LABEL_ROOM = 330, 220, 13, 150
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MARKS: dict[str, dict[str, Any]] = {
    "line": {"type": "line", "strokeWidth": 2},
    "rule": {"type": "line", "strokeWidth": 1.5, "strokeDash": [5, 4]},
    "points": {"type": "point", "filled": True, "size": 26, "opacity": 0.9},
    "bars": {"type": "bar", "opacity": 0.85},
}


def spec(figure: Figure) -> dict[str, Any]:
    """The Vega-Lite object of a figure: its panels two by two."""
    width = WIDTH if len(figure.panels) > 1 else 2 * WIDTH
    panels = [_panel(panel, width) for panel in figure.panels]
    rows = [alt.hconcat(*panels[i : i + 2], spacing=24) for i in range(0, len(panels), 2)]
    chart = alt.vconcat(*rows, spacing=28).properties(background="$paper", padding=6)
    return json.loads(chart.configure(**_config()).to_json())


@dataclass(frozen=True)
class _Frame:
    """The axes that all layers of a panel share."""

    panel: Panel
    x_domain: tuple[float, float]
    y_domain: tuple[float, float]

    def x(self) -> alt.X:
        axis, scale = _axis(self.panel.x, self.x_domain), _scale(self.panel.x, self.x_domain)
        return alt.X("x:Q", axis=axis, scale=scale)

    def y(self, field: str = "y") -> alt.Y:
        axis, scale = _axis(self.panel.y, self.y_domain), _scale(self.panel.y, self.y_domain)
        return alt.Y(f"{field}:Q", axis=axis, scale=scale)


def _panel(panel: Panel, width: int) -> Any:
    frame = _Frame(panel, _domain(panel, "x"), _domain(panel, "y"))
    layers = [layer for series in panel.series for layer in _layers(series, frame)]
    title = alt.TitleParams(panel.title, anchor="start", fontSize=12.5, fontWeight=600)
    chart = alt.layer(*layers, *_labels(frame))
    return chart.properties(width=width, height=HEIGHT, title=title)


def _layers(series: Series, frame: _Frame) -> list[alt.Chart]:
    colour = f"${series.role}"
    rows = _rows(series, frame.panel)
    if not rows:
        return []
    out = []
    if series.low is not None:
        band = alt.Chart(alt.Data(values=[r for r in rows if "low" in r]))
        band = band.mark_area(color=colour, opacity=0.18)
        out.append(band.encode(x=frame.x(), y=frame.y("low"), y2="high:Q"))
    tooltip = [alt.Tooltip("series:N"), alt.Tooltip("x:Q", format=".6g"), "y:Q"]
    mark = alt.MarkDef(**_MARKS[series.mark], color=colour)
    chart = alt.Chart(alt.Data(values=rows), mark=mark)
    y2 = {"y2": alt.datum(0)} if series.mark == "bars" and not frame.panel.y.log else {}
    out.append(chart.encode(x=frame.x(), y=frame.y(), tooltip=tooltip, **y2))
    return out


def _labels(frame: _Frame) -> list[alt.Chart]:
    """One label at the right end of each series, pushed apart where ends are close."""
    panel = frame.panel
    ends = [(s, rows[-1]) for s in panel.series if (rows := _rows(s, panel))]
    placed = _spread([_pixel(end["y"], frame.y_domain, panel.y.log) for _, end in ends])
    out = []
    for (series, end), (wanted, got) in zip(ends, placed, strict=True):
        mark = alt.MarkDef(
            type="text", align="left", dx=7, dy=got - wanted, fontSize=10.5,
            color=f"${series.role}", clip=False, limit=LABEL_ROOM, baseline="middle",
        )  # fmt: skip
        row = {"x": frame.x_domain[1], "y": end["y"], "label": series.label}
        chart = alt.Chart(alt.Data(values=[row]), mark=mark)
        out.append(chart.encode(x=frame.x(), y=frame.y(), text="label:N"))
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
    for values, axis in ((x, panel.x), (y, panel.y)):
        keep &= True if axis.low is None else values >= axis.low
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


def _axis(axis: Axis, domain: tuple[float, float]) -> alt.Axis:
    title = f"{axis.label} [{axis.unit}]" if axis.unit else axis.label
    if not axis.log:
        return alt.Axis(title=title, tickCount=6)
    ticks = _log_ticks(*domain)
    words = " : ".join(f"datum.value == {v!r} ? '{word}'" for v, word in ticks.items())
    label = f"{words} : ''" if ticks else "''"
    return alt.Axis(title=title, values=list(ticks), labelExpr=label)


def _log_ticks(low: float, high: float) -> dict[float, str]:
    """At most seven powers of ten; with fewer than three, as many mantissas as make two ticks."""
    powers = range(int(np.ceil(np.log10(low))), int(np.floor(np.log10(high))) + 1)
    every = -(-len(powers) // 7) or 1
    if len(powers) > 2:
        values = [(1, e) for e in powers if e % every == 0]
    else:
        values = _mantissas(low, high, range(powers.start - 1, powers.stop + 1))
    return {float(f"{m}e{e}"): _power(m, e) for m, e in values}


def _mantissas(low: float, high: float, powers: range) -> list[tuple[float, int]]:
    """The coarsest of three sets of mantissas that puts two ticks or more into the domain."""
    values: list[tuple[float, int]] = []
    for steps in ((1, 2, 5), range(1, 10), [i / 10 for i in range(10, 100)]):
        inside = ((m, e) for e in powers for m in steps)
        values = [(m, e) for m, e in inside if low <= float(f"{m}e{e}") <= high]
        if len(values) > 1:
            break
    return values[:: -(-len(values) // 7) or 1]


def _power(m: float, e: int) -> str:
    if -3 <= e <= 4:
        return f"{m * 10.0**e:g}"
    return ("" if m == 1 else f"{m}·") + "10" + str(e).translate(_RAISED)


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
