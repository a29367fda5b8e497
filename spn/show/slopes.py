"""Derivatives by simulation as a table: what each measure depends on, strongest first, with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from spn.expr.dims import NUMBER
from spn.show.grid import Align, Column, Grid, plain
from spn.show.text import count, duration, number, quantity

if TYPE_CHECKING:
    from spn.sim.derivatives.run import Slope, Slopes


def slopes_grid(found: Slopes) -> Grid:
    """A row a measure and a parameter or transition, strongest first."""
    dimensions = {p.name: (p.value, NUMBER if found.model.unitless else p.dimension) for p in found.model.parameters}
    rows = []
    for s in found.rows:
        value, dimension = dimensions.get(s.parameter, (1, NUMBER))
        at = "" if s.kind == "speed" else quantity(value, dimension)
        what = s.note or ("speed of the transition" if s.kind == "speed" else "")
        rows.append((s.measure, s.parameter, at, _number(s.elasticity), _width(s), what))
    columns = (
        Column("measure"),
        Column("depends on"),
        Column("at", Align.RIGHT),
        Column("elasticity", Align.POINT),
        Column(f"{100 * found.confidence:g} % interval"),
        Column("of what"),
    )
    return Grid(columns, tuple(rows))


def _number(x: float) -> str:
    return "-" if math.isnan(x) else number(x, 4)


def _width(s: Slope) -> str:
    return "" if math.isnan(s.elasticity_half_width) else f"± {number(s.elasticity_half_width, 2)}"


def slopes_notes(found: Slopes) -> Iterator[str]:
    """How it was done, and what must be known of the figures."""
    yield f"{found.method}: {found.reason}"
    if not found.converged:
        yield "NOT CONVERGED: the intervals are wider than was asked for"
    yield from found.notes
    seed = "" if found.provenance is None else f", seed {found.provenance.seed}"
    what = count(found.samples, "cycle") if found.method.startswith("likelihood") else count(found.samples, "batch", "batches")
    yield f"{what}, {count(found.firings, 'firing')}{seed}, {duration(found.seconds)}"


def slopes_text(found: Slopes) -> str:
    """The whole as plain text."""
    return "\n".join([plain(slopes_grid(found)), "", *slopes_notes(found)])
