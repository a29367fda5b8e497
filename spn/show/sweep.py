"""Sweeps as tables: a row a point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from spn.expr.dims import NUMBER, Dimension
from spn.show.grid import Align, Column, Grid, plain
from spn.show.table import holds_text, unit_text
from spn.show.text import estimate, quantity

if TYPE_CHECKING:
    from spn.model import Model
    from spn.result import Finding, Result, Value


MOST_NOTES = 6


class Point(Protocol):
    """One point: what this module reads of it."""

    @property
    def parameters(self) -> Mapping[str, Any]: ...
    @property
    def result(self) -> Result: ...


class Table(Protocol):
    """A sweep and its points."""

    @property
    def model(self) -> Model: ...
    @property
    def names(self) -> Sequence[str]: ...
    @property
    def rows(self) -> Sequence[Point]: ...
    @property
    def complete(self) -> bool: ...


def sweep_grid(table: Table) -> Grid:
    """The parameters, then every measure with its half-width where it is estimated, then every property."""
    measures = dict.fromkeys(n for r in table.rows for n in r.result.measures)
    properties = dict.fromkeys(n for r in table.rows for n in r.result.properties)
    columns = [Column(name, Align.RIGHT) for name in table.names]
    for name in measures:
        unit = next(unit_text(r.result.measures[name].unit) for r in table.rows if name in r.result.measures)
        columns += [Column(f"{name} [{unit}]" if unit else name, Align.POINT), Column("", gap=1)]
    columns += [Column(name) for name in properties]
    dimensions = _dimensions(table.model)
    rows = tuple(
        (
            *(quantity(r.parameters[n], dimensions[n]) for n in table.names),
            *(cell for n in measures for cell in _cells(r.result.measures.get(n), r.result.converged)),
            *(_found(r.result.properties.get(n)) for n in properties),
        )
        for r in table.rows
    )
    return Grid(tuple(columns), rows)


def sweep_list(table: Table) -> Grid:
    """The same figures, a row a point and a measure or property: for narrow terminals."""
    dimensions = _dimensions(table.model)
    columns = (*(Column(n, Align.RIGHT) for n in table.names), Column("question"), Column("value", Align.POINT), Column("", gap=1))
    rows: list[tuple[str, ...]] = []
    for r in table.rows:
        point = tuple(quantity(r.parameters[n], dimensions[n]) for n in table.names)
        for name, value in r.result.measures.items():
            rows.append((*point, name, *_cells(value, r.result.converged), unit_text(value.unit)))
        rows.extend((*point, name, holds_text(found.holds), "", "") for name, found in r.result.properties.items())
    return Grid((*columns, Column("unit")), tuple(rows))


def _dimensions(model: Model) -> dict[str, Dimension]:
    return {p.name: NUMBER if model.unitless else p.dimension for p in model.parameters}


def _cells(value: Value | None, converged: bool) -> tuple[str, str]:
    if value is None:
        return "", ""
    half = None if value.half_width is None else value.half_width / value.unit_factor
    shown, width = estimate(value.value / value.unit_factor, half)
    mark = "" if converged else " !"
    return shown, (f"± {width}" if width else "") + mark


def _found(finding: Finding | None) -> str:
    return "" if finding is None else holds_text(finding.holds)


def sweep_notes(table: Table) -> Iterable[str]:
    """How the points were answered, and what must be known of them."""
    methods = dict.fromkeys(r.result.method for r in table.rows)
    yield f"{len(table.rows)} points, method {', '.join(methods)}"
    if any(not r.result.converged for r in table.rows):
        yield "where there is a ! the accuracy asked for was not reached"
    yield from _notes_of_points(table)
    if not table.complete:
        yield "interrupted: the rows are those that were done"


def _notes_of_points(table: Table) -> Iterable[str]:
    """What is said of some points only, the first few."""
    dimensions = _dimensions(table.model)
    said = [(r, note) for r in table.rows for note in r.result.notes]
    everywhere = {note for _, note in said if all(note in r.result.notes for r in table.rows)}
    told = [(r, note) for r, note in said if note not in everywhere]
    for r, note in told[:MOST_NOTES]:
        point = ", ".join(f"{n} = {quantity(r.parameters[n], dimensions[n])}" for n in table.names)
        yield f"at {point}: {note}"
    if len(told) > MOST_NOTES:
        yield f"{len(told) - MOST_NOTES} more notes on single points, with --json"
    yield from sorted(everywhere)


def sweep_text(table: Table) -> str:
    """The whole sweep as plain text."""
    return "\n".join([plain(sweep_grid(table)), "", *(f"note: {line}" for line in sweep_notes(table))])
