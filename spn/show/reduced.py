"""Estimates with less variance as a table and in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from spn.show.grid import Align, Column, Grid, plain
from spn.show.text import count, estimate, number, percent

if TYPE_CHECKING:
    from spn.solvers.reduced import Reduced, VarianceReduced


def reduced_grid(found: VarianceReduced) -> Grid:
    """A row a measure: the estimate, what independent runs would give, the gain, and what it was corrected by."""
    columns = (
        Column("measure"),
        Column("value", Align.POINT),
        Column(f"{percent(found.confidence)} interval", Align.POINT),
        Column("unit"),
        Column("independent", Align.POINT),
        Column("gain", Align.RIGHT),
        Column("corrected by"),
    )
    return Grid(columns, tuple(_row(m) for m in found.measures))


def _row(m: Reduced) -> tuple[str, ...]:
    value, width = estimate(m.value / m.unit_factor, m.half_width / m.unit_factor)
    alone = number(m.independent / m.unit_factor, 2)
    gained = f"{number(m.gain, 3)}x" if math.isfinite(m.gain) else ("all" if m.gain > 0 else "")
    return m.name, value, f"± {width}", m.unit, f"± {alone}", gained, ", ".join(m.controls)


def reduced_lines(found: VarianceReduced) -> tuple[str, ...]:
    """What was done, what the gain is, and what it cost."""
    runs = f"{count(found.rows, 'antithetic pair')} of runs" if found.antithetic else count(found.rows, "replication")
    over = f"{number(found.warmup)} s to {number(found.horizon)} s"
    lines = [f"averages over {over}, {runs}, seed {found.seed}"]
    what = {
        "twin": "controls: the exponential twin, simulated beside and solved exactly, and the works drawn",
        "works": "controls: the works drawn, whose means are known",
        "none": "no controls",
    }[found.control]
    lines.append(f"{what} ({found.reason})")
    lines.append("gain: how many times smaller the variance is than that of as many independent runs; so many fewer runs are needed")
    if found.cost > 1:
        lines.append(f"the twin made the runs {number(found.cost, 3)} times the work, which the gain has to be divided by")
    worse = [m.name for m in found.measures if m.gain < 1]
    if worse:
        lines.append(f"note: no gain for {', '.join(worse)}: independent runs do as well or better")
    return (*lines, *(f"note: {n}" for n in found.notes))


def reduced_text(found: VarianceReduced) -> str:
    """The whole answer as plain text."""
    return "\n\n".join([plain(reduced_grid(found)), "\n".join(reduced_lines(found))])
