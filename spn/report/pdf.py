"""A laid-out drawing (Graphviz's JSON with drawing operations) as PDF, by matplotlib: Graphviz engines without Cairo write none.

The JSON holds, for every node and arc, the operations of the xdot format (https://graphviz.org/docs/outputs/canon/#xdot): pens, fills,
ellipses, polygons, cubic splines and texts, in points with the origin at the lower left. They map one to one onto patches.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DRAWN: Final = ("_draw_", "_tdraw_", "_hdraw_", "_ldraw_")
_DASHES: Final[Mapping[str, Any]] = {"dashed": (0, (5, 2)), "dotted": (0, (1, 3)), "solid": "solid"}
_MARGIN: Final = 7.2  # points

Point = Sequence[float]


@dataclass(frozen=True, slots=True)
class _Pen:
    stroke: str = "#000000"
    fill: str = "#000000"
    style: str = "solid"
    width: float = 1.0
    size: float = 10.0


def to_pdf(layout: bytes) -> bytes:
    """The PDF of a drawing from Graphviz's ``-Tjson`` output. The same layout gives the same bytes."""
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.figure import Figure

    data = json.loads(layout)
    left, bottom, right, top = (float(x) for x in data["bb"].split(","))
    width, height = right - left + 2 * _MARGIN, top - bottom + 2 * _MARGIN
    figure = Figure(figsize=(width / 72, height / 72))
    FigureCanvasPdf(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(left - _MARGIN, right + _MARGIN)
    axes.set_ylim(bottom - _MARGIN, top + _MARGIN)
    for item in (*data.get("edges", ()), *data.get("objects", ())):  # arcs first, as in the other formats
        _draw_item(axes, item)
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a character that the font lacks is drawn as a box
        figure.savefig(buffer, format="pdf", metadata={"CreationDate": None, "Producer": None, "Creator": None})
    return buffer.getvalue()


def _draw_item(axes: Axes, item: Mapping[str, Any]) -> None:
    for part in _DRAWN:
        pen = _Pen()
        for operation in item.get(part, ()):
            pen = _step(axes, pen, operation)


def _step(axes: Axes, pen: _Pen, operation: Mapping[str, Any]) -> _Pen:
    """One operation: it changes the pen or leaves a mark."""
    match operation["op"]:
        case "c":
            return replace(pen, stroke=operation["color"])
        case "C":
            return replace(pen, fill=operation["color"])
        case "S":
            return _styled(pen, operation["style"])
        case "F":
            return replace(pen, size=operation["size"])
        case "T":
            _text(axes, pen, operation)
        case mark:
            _shape(axes, pen, mark, operation)
    return pen


def _styled(pen: _Pen, style: str) -> _Pen:
    if style.startswith("setlinewidth("):
        return replace(pen, width=float(style[len("setlinewidth(") : -1]))
    if style == "solid":  # also ends a change of width
        return replace(pen, style="solid", width=1.0)
    return replace(pen, style=style) if style in _DASHES else pen


def _shape(axes: Axes, pen: _Pen, mark: str, operation: Mapping[str, Any]) -> None:
    from matplotlib.patches import Ellipse, PathPatch
    from matplotlib.path import Path

    filled = mark in "EP" or (
        mark in "bB" and operation["points"][0] == operation["points"][-1]
    )  # engines differ in b and B; arcs stay open
    look: dict[str, Any] = {
        "facecolor": pen.fill if filled else "none",
        "edgecolor": pen.stroke,
        "linewidth": pen.width,
        "linestyle": _DASHES[pen.style],
    }
    if mark in "eE":
        x, y, rx, ry = operation["rect"]
        axes.add_patch(Ellipse((x, y), 2 * rx, 2 * ry, **look))
    elif mark in "pPLbB":
        axes.add_patch(PathPatch(Path(*_path(mark, operation["points"])), capstyle="butt", **look))


def _path(mark: str, points: Sequence[Point]) -> tuple[list[Point], list[Any]]:
    """Vertices and codes of a polygon, polyline or cubic spline."""
    from matplotlib.path import Path

    vertices = [(p[0], p[1]) for p in points]
    if mark in "bB":
        return [*vertices], [Path.MOVETO, *[Path.CURVE4] * (len(vertices) - 1)]
    lines: list[Any] = [Path.MOVETO, *[Path.LINETO] * (len(vertices) - 1)]
    return ([*vertices, vertices[0]], [*lines, Path.CLOSEPOLY]) if mark in "pP" else ([*vertices], lines)


def _text(axes: Axes, pen: _Pen, operation: Mapping[str, Any]) -> None:
    """A text in the width that the layout reserved for it, whatever font is at hand."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(family=["DejaVu Sans"])
    text = operation["text"].replace("$", r"\$")
    natural = TextPath((0, 0), text, size=pen.size, prop=font).get_extents().width if text.strip() else 0.0
    squeeze = min(1.0, operation["width"] / natural) if natural else 1.0
    x, y = operation["pt"]
    alignment = {"l": "left", "c": "center", "r": "right"}[operation["align"]]
    if operation["align"] == "l":  # keep it centred in its room
        x, alignment = x + operation["width"] / 2, "center"
    axes.text(x, y, text, size=pen.size * squeeze, color=pen.stroke, ha=alignment, va="baseline", family="DejaVu Sans")
