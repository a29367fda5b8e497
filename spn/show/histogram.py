"""Histograms as tables with bars."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from spn.show.grid import Align, Column, Grid, plain
from spn.show.text import count, duration, number, percent

if TYPE_CHECKING:
    from spn.sim.histogram import Bin, Histogram

_BAR: Final = 40  # characters of the longest bar


def histogram_grid(found: Histogram) -> Grid:
    """One row a bin: its values, the share with its interval, a bar."""
    most = max((b.share for b in found.bins if b.share > 0), default=1.0)
    rows = tuple(_row(b, most) for b in found.bins)
    head = f"{percent(found.confidence)} interval"
    share = "of time" if found.given is None else "of firings"
    columns = (Column(found.expression, Align.RIGHT), Column(share, Align.POINT), Column(head, Align.POINT), Column(""))
    return Grid(columns, rows)


def _row(b: Bin, most: float) -> tuple[str, ...]:
    bar = "█" * round(_BAR * b.share / most) if b.share > 0 else ""
    return _values(b), _percent(b.share), f"± {_percent(b.half_width)}", bar


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %" if math.isfinite(share) else number(share)


def _values(b: Bin) -> str:
    if b.single:
        return number(b.low)
    if math.isinf(b.low):
        return f"< {number(b.high)}"
    return f">= {number(b.low)}" if math.isinf(b.high) else f"{number(b.low)} to < {number(b.high)}"


def histogram_lines(found: Histogram) -> tuple[str, ...]:
    """What a reader must know, then the figures of the run."""
    notes = () if found.converged else ("NOT CONVERGED: some shares did not reach the accuracy asked for",)
    seed = found.provenance.seed if found.provenance is not None else None
    run = f"{count(found.details.get('firings', 0), 'firing')}, seed {seed}, {duration(found.seconds)}"
    return (*(f"note: {n}" for n in (*notes, *found.notes)), run)


def histogram_text(found: Histogram) -> str:
    """The whole histogram as plain text."""
    return "\n\n".join([plain(histogram_grid(found)), "\n".join(histogram_lines(found))])
