"""Plots in one style: a measure of several mechanisms over a parameter, and how a fitted law follows its data.

Colours are Okabe and Ito's (told apart by every kind of colour vision), each with a marker of its own. A filled marker is an exact
value, a hollow one a simulated one with its confidence interval. The same data give the same file.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from spn.report.draw import chosen_format, write
from spn.show.table import Comparison, Point, over_text, unit_text
from spn.show.text import number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS: Final = ("svg", "png", "pdf")
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
_STYLE: Final[dict[str, Any]] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e0e0e0",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "white",
    "legend.fancybox": False,
    "lines.linewidth": 1.5,
    "lines.markersize": 5,
    "svg.hashsalt": "spn",
    "figure.facecolor": "white",
}


@contextmanager
def _figure(width: float = 6.4, height: float = 4.2) -> Iterator[Figure]:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(cast(Any, _STYLE)):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def _saved(figure: Figure, form: str) -> bytes:
    """The bytes of the figure, without the date that most formats would hold."""
    buffer = io.BytesIO()
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    figure.savefig(buffer, format=form, dpi=160, metadata=dates.get(form))
    return buffer.getvalue()


def plot_comparison(comparison: Comparison, path: str | os.PathLike[str], *, form: str | None = None) -> None:
    """Write the plot of a comparison: one line a mechanism, the ideal of its first point grey and dashed, saturation marked.

    The format is ``form`` or the suffix of the path: svg, png or pdf.
    """
    chosen = chosen_format(path, form, FORMATS)
    with _figure() as figure:
        _draw_comparison(figure.add_subplot(), comparison)
        write(_saved(figure, chosen), path)


def _draw_comparison(axes: Axes, comparison: Comparison) -> None:
    mechanisms = tuple(dict.fromkeys(r.mechanism for r in comparison.rows))
    for i, mechanism in enumerate(mechanisms):
        rows = [r for r in comparison.rows if r.mechanism == mechanism]
        _mechanism(axes, rows, comparison.over_factor, COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)])
        _saturation(axes, rows, comparison.saturation.get(mechanism), comparison.over_factor, COLOURS[i % len(COLOURS)])
    if comparison.scaling:
        _ideal(axes, comparison.rows, comparison.over_factor)
    axes.set_xlabel(over_text(comparison))
    unit = unit_text(comparison.unit)
    axes.set_ylabel(f"{comparison.measure} [{'1' + unit if unit.startswith('/') else unit}]" if unit else comparison.measure)
    axes.set_ylim(0, _top(comparison.rows))
    _whole_ticks(axes, [r.at / comparison.over_factor for r in comparison.rows])
    _legend(axes, comparison)


def _shown(row: Point) -> float:
    return row.value / row.unit_factor


def _mechanism(axes: Axes, rows: Sequence[Point], factor: float, colour: str, marker: str) -> None:
    axes.plot([r.at / factor for r in rows], [_shown(r) for r in rows], color=colour, label=rows[0].mechanism, zorder=2)
    exact = [r for r in rows if r.half_width is None]
    simulated = [r for r in rows if r.half_width is not None]
    axes.plot([r.at / factor for r in exact], [_shown(r) for r in exact], marker, color=colour, zorder=3)
    if simulated:
        axes.errorbar(
            [r.at / factor for r in simulated],
            [_shown(r) for r in simulated],
            yerr=[_bar(r) for r in simulated],
            fmt=marker,
            color=colour,
            markerfacecolor="white",
            elinewidth=1,
            capsize=2,
            zorder=3,
        )


def _bar(row: Point) -> float:
    half = row.half_width or 0.0
    return half / row.unit_factor if math.isfinite(half) else 0.0


def _saturation(axes: Axes, rows: Sequence[Point], at: float | None, factor: float, colour: str) -> None:
    """A ring round the point of saturation and a drop line to the axis."""
    found = [r for r in rows if r.at == at]
    if found:
        x, y = found[0].at / factor, _shown(found[0])
        axes.plot([x], [y], "o", markersize=12, markerfacecolor="none", markeredgecolor=colour, zorder=4)
        axes.vlines(x, 0, y, color=colour, linewidth=0.8, linestyles=(0, (1, 2)), zorder=1)


def _ideal(axes: Axes, rows: Sequence[Point], factor: float) -> None:
    """Scaling in proportion from the best of the first points."""
    ats = sorted({r.at for r in rows})
    firsts = [r for r in rows if r.at == ats[0] and math.isfinite(r.value)]
    if not firsts or ats[0] <= 0:
        return
    slope = max(_shown(r) for r in firsts) / ats[0]
    axes.plot(
        [0, ats[-1] / factor], [0, slope * ats[-1]], color="#999999", linestyle=(0, (4, 3)), linewidth=1, zorder=1, label="ideal scaling"
    )


def _top(rows: Sequence[Point]) -> float:
    """Room for the intervals, and for the start of the ideal line without letting it flatten the rest."""
    ends = [_shown(r) + (r.half_width or 0.0) / r.unit_factor for r in rows]
    highest = max((e for e in ends if math.isfinite(e)), default=1.0)
    return 1.25 * highest if highest > 0 else 1.0


def _whole_ticks(axes: Axes, ats: Sequence[float]) -> None:
    from matplotlib.ticker import MaxNLocator

    if all(at == round(at) for at in ats):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=9))
    axes.set_xlim(left=0 if min(ats) >= 0 else None)


def _legend(axes: Axes, comparison: Comparison) -> None:
    from matplotlib.lines import Line2D

    handles, labels = axes.get_legend_handles_labels()
    look: dict[str, Any] = {"color": "#555555", "linestyle": "none", "marker": "o"}
    methods = {r.half_width is None for r in comparison.rows}
    if methods == {True, False}:
        handles.append(Line2D([], [], **look))
        labels.append("exact")
    if False in methods:
        handles.append(Line2D([], [], markerfacecolor="white", **look))
        labels.append(_interval_label(comparison.rows))
    if any(at is not None for at in comparison.saturation.values()):
        handles.append(Line2D([], [], markersize=12, markerfacecolor="none", **look))
        labels.append("saturation")
    axes.legend(handles, labels, loc="best", fontsize=9)


def _interval_label(rows: Sequence[Point]) -> str:
    levels = {c for r in rows if (c := getattr(r, "confidence", None)) is not None}
    return f"simulated, {percent(levels.pop())} interval" if len(levels) == 1 else "simulated, with interval"


def plot_fit(
    durations: Sequence[float],
    cdf: Callable[[Any], Any],
    quantile: Callable[[Any], Any],
    path: str | os.PathLike[str],
    *,
    title: str,
    unit: str = "s",
    form: str | None = None,
) -> None:
    """Write how a fitted law follows its data: the distribution functions, and quantiles against quantiles.

    ``durations`` in base units, at least one; ``cdf`` and ``quantile`` those of the law, elementwise.
    """
    import numpy as np

    chosen = chosen_format(path, form, FORMATS)
    data = np.sort(np.asarray(durations, dtype=float))
    steps = (np.arange(len(data)) + 0.5) / len(data)
    factor, name = _time_scale(float(np.median(data))) if unit == "s" else (1.0, unit)
    with _figure(8.4, 3.8) as figure:
        left, right = figure.subplots(1, 2)
        _cdf_panel(left, data / factor, lambda x: cdf(x * factor), name)
        _quantile_panel(right, data / factor, np.asarray(quantile(steps)) / factor, name)
        figure.suptitle(title, fontsize=10)
        write(_saved(figure, chosen), path)


def _time_scale(typical: float) -> tuple[float, str]:
    return next(((f, u) for f, u in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")) if typical >= f), (1e-9, "ns"))


def _cdf_panel(axes: Axes, data: Any, cdf: Callable[[Any], Any], unit: str) -> None:
    import numpy as np

    grid = np.linspace(data[0] - 0.05 * (data[-1] - data[0]), data[-1] + 0.05 * (data[-1] - data[0]), 400)
    grid = grid[grid >= 0]
    axes.step(data, np.arange(1, len(data) + 1) / len(data), where="post", color=COLOURS[0], label=f"data, n = {number(len(data))}")
    axes.plot(grid, np.asarray(cdf(grid)), color=COLOURS[1], linestyle=(0, (5, 2)), label="fitted")
    axes.set_xlabel(f"duration [{unit}]")
    axes.set_ylabel("P(X ≤ x)")
    axes.set_ylim(0, 1.02)
    axes.legend(loc="lower right", fontsize=9)


def _quantile_panel(axes: Axes, data: Any, fitted: Any, unit: str) -> None:
    low, high = min(data[0], fitted[0]), max(data[-1], fitted[-1])
    axes.plot([low, high], [low, high], color="#999999", linestyle=(0, (4, 3)), linewidth=1)
    axes.plot(fitted, data, "o", color=COLOURS[0], markersize=3)
    axes.set_xlabel(f"fitted quantile [{unit}]")
    axes.set_ylabel(f"quantile of the data [{unit}]")
