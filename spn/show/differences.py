"""Differences between models as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from spn.show.grid import Align, Column, Grid, plain
from spn.show.text import estimate, number, percent

if TYPE_CHECKING:
    from spn.sim.paired import Difference, Differences


def differences_grid(found: Differences) -> Grid:
    """One row an alternative: the difference and the ratio with their intervals, and the gain in variance."""
    unit = f", {found.unit}" if found.unit else ""
    head = f"{percent(found.each)} interval"
    columns = (
        Column("alternative"),
        Column(f"minus {found.rows[0].base}{unit}", Align.POINT),
        Column(head, Align.POINT),
        Column(f"over {found.rows[0].base}", Align.POINT),
        Column(head, Align.POINT),
        Column("gain", Align.RIGHT),
    )
    return Grid(columns, tuple(_row(d, found.unit_factor) for d in found.rows))


def contrast_grid(over: str, points: Sequence[tuple[str, Differences]]) -> Grid:
    """The same at several values of a parameter, which stand in the first column."""
    columns = (Column(over, Align.RIGHT), *differences_grid(points[0][1]).columns)
    return Grid(columns, tuple((at, *row) for at, found in points for row in differences_grid(found).rows))


def _row(d: Difference, factor: float) -> tuple[str, ...]:
    apart, width = estimate(d.difference / factor, d.half_width / factor)
    ratio, ratio_width = estimate(d.ratio, d.ratio_half_width)
    return d.alternative, apart, f"± {width}", ratio, f"± {ratio_width}", f"{number(d.gain, 3)}x" if math.isfinite(d.gain) else ""


def differences_lines(found: Differences) -> tuple[str, ...]:
    """How it was done, and what a reader must know."""
    how = "common random numbers" if found.synchronised else "independent random numbers"
    span = f"{number(found.warmup)} s to {number(found.horizon)} s"
    lines = [f"{found.measure} over {span}, {found.replications} replications with {how}, seed {found.seed}"]
    if len(found.rows) > 1:
        lines.append(f"all differences together hold with {percent(found.confidence)}")
    return (*lines, *(f"note: {n}" for n in found.notes))


def differences_text(found: Differences) -> str:
    """The whole answer as plain text."""
    return "\n\n".join([plain(differences_grid(found)), "\n".join(differences_lines(found))])
