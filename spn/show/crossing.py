"""The crossings of two curves as a table and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spn.show.grid import Align, Column, Grid, plain
from spn.show.text import estimate, number, percent, with_unit

if TYPE_CHECKING:
    from spn.solvers.crossing import Crossing, Crossings, Point


def crossing_grid(found: Crossings) -> Grid:
    """The points of the scan: both values, their difference, and which is larger."""
    unit = f", {found.unit}" if found.unit else ""
    columns = (
        Column(f"{found.over}{f', {found.over_unit}' if found.over_unit else ''}", Align.POINT),
        Column(f"{found.first}{unit}", Align.POINT),
        Column(f"{found.second}{unit}", Align.POINT),
        Column("difference", Align.POINT),
        Column("", Align.POINT, 1),
        Column("larger"),
    )
    return Grid(columns, tuple(_row(p, found) for p in found.points))


def _row(p: Point, found: Crossings) -> tuple[str, ...]:
    factor = found.unit_factor
    exact = found.confidence is None
    apart, width = estimate((p.second - p.first) / factor, None if exact else p.half_width / factor)
    return (
        number(p.at / found.over_factor),
        number(p.first / factor, 6 if exact else 5),
        number(p.second / factor, 6 if exact else 5),
        apart,
        f"± {width}" if width else "",
        p.larger or ("equal" if p.first == p.second or exact else "not told"),
    )


def crossing_lines(found: Crossings) -> tuple[str, ...]:
    """The crossings in words, what is guaranteed, and how it was found out."""
    lines = [_count(found), *(_described(c, found) for c in found.crossings)]
    if found.confidence is not None:
        sure = f"all of this holds together with {percent(found.confidence)}"
        lines.append(f"{sure}, if nothing happens twice between two points of the scan" if not found.whole else sure)
    lines.append(_how(found))
    return (*lines, *(f"note: {n}" for n in found.notes))


def _count(found: Crossings) -> str:
    span = f"{_at(found.low, found)} to {_at(found.high, found)}"
    n = len(found.crossings)
    if n:
        times = "once" if n == 1 else f"{n} times"
        return f"the curves of {found.measure} cross {times} for {found.over} from {span}"
    told = {p.larger for p in found.points if p.larger}
    if len(told) == 1:
        return f"no crossing is seen for {found.over} from {span}: {found.measure} of {told.pop()} is larger at every point that is told"
    return f"no crossing is seen for {found.over} from {span}: which is larger is told nowhere"


def _described(c: Crossing, found: Crossings) -> str:
    low, high = _at(c.low, found, 10 if found.confidence is None else 6), _at(c.high, found)
    sides = f"{c.below} is larger before, {c.above} after"
    if c.low == c.high:
        return f"  at {found.over} = {low}{' (exact)' if found.confidence is None else ''}: {sides}"
    if c.at is None:
        return f"  between {found.over} = {_at(c.low, found)} and {high}: {sides}"
    where, _ = estimate(c.at / found.over_factor, (c.high - c.low) / 2 / found.over_factor)
    return f"  at {found.over} = {with_unit(where, found.over_unit)}, between {low} and {high}: {sides}"


def _how(found: Crossings) -> str:
    over = "in the long run" if found.horizon is None else f"over {number(found.warmup)} s to {number(found.horizon)} s"
    if found.confidence is None:
        return f"{found.measure} {over}, exactly ({found.reason})"
    drawn = f"{found.replications} replications at each value with common random numbers, seed {found.seed}"
    return f"{found.measure} {over}, {drawn} ({found.reason})"


def _at(x: float, found: Crossings, digits: int = 6) -> str:
    return with_unit(number(x / found.over_factor, digits), found.over_unit)


def crossing_text(found: Crossings) -> str:
    """The whole answer as plain text."""
    return "\n\n".join([plain(crossing_grid(found)), "\n".join(crossing_lines(found))])
