"""Results as tables: one row a measure with value, half-width and unit; recurrent classes; comparisons of mechanisms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from spn.expr.dims import NUMBER
from spn.show.grid import Align, Column, Grid, plain
from spn.show.text import count, duration, estimate, number, percent, quantity, with_unit

if TYPE_CHECKING:
    from spn.model import Parameter
    from spn.result import Finding, RecurrentClass, Result, Value

_MAX_CLASSES: Final = 12


class Point(Protocol):
    """One point of a comparison: what this module reads of it. Values in base units, shown as ``value / unit_factor`` in ``unit``."""

    @property
    def mechanism(self) -> str: ...
    @property
    def at(self) -> float: ...
    @property
    def value(self) -> float: ...
    @property
    def half_width(self) -> float | None: ...
    @property
    def unit(self) -> str: ...
    @property
    def unit_factor(self) -> float: ...
    @property
    def method(self) -> str: ...
    @property
    def efficiency(self) -> float | None: ...
    @property
    def converged(self) -> bool: ...
    @property
    def seconds(self) -> float: ...


class Comparison(Protocol):
    """A measure of several mechanisms over one parameter."""

    @property
    def over(self) -> str: ...
    @property
    def measure(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def rows(self) -> Sequence[Point]: ...
    @property
    def saturation(self) -> Mapping[str, float | None]: ...
    @property
    def over_unit(self) -> str: ...
    @property
    def over_factor(self) -> float: ...
    @property
    def scaling(self) -> bool: ...
    @property
    def notes(self) -> Sequence[str]: ...
    @property
    def complete(self) -> bool: ...
    @property
    def seconds(self) -> float: ...


# --- units ------------------------------------------------------------------------------------------------------------------------


def unit_text(unit: str) -> str:
    """A unit as it stands after a number: ``1/s`` becomes ``/s``."""
    return unit.removeprefix("1") if unit.startswith("1/") else unit


# --- one result -------------------------------------------------------------------------------------------------------------------


def measures_grid(result: Result) -> Grid:
    """One row a measure: name, value, half-width of the interval, unit, note."""
    rows = tuple(_measure_row(name, value) for name, value in result.measures.items())
    head = _interval_head(result.measures.values())
    return Grid((Column("measure"), Column("value", Align.POINT), Column(head, Align.POINT), Column("unit"), Column("note")), rows)


def _measure_row(name: str, value: Value) -> tuple[str, ...]:
    shown, half_width = _estimate(value.value, value.half_width, value.unit_factor)
    return name, shown, half_width and f"± {half_width}", unit_text(value.unit), value.note


def _estimate(value: float, half_width: float | None, factor: float) -> tuple[str, str]:
    return estimate(value / factor, None if half_width is None else half_width / factor)


def _interval_head(values: Iterable[Value]) -> str:
    """The head of the column of half-widths: their common confidence level."""
    levels = {v.confidence for v in values if v.half_width is not None and v.confidence is not None}
    if not levels:
        return "estimated error"
    return f"{percent(levels.pop())} interval" if len(levels) == 1 else "half-width"


def classes_grid(result: Result) -> Grid | None:
    """The recurrent classes, the most probable first, or None where there is nothing to tell apart."""
    if not result.classes:
        return None
    names = list(result.measures)
    heads = [f"{n} [{u}]" if (u := unit_text(result.measures[n].unit)) else n for n in names]
    columns = (Column("class"), Column("probability", Align.POINT), Column("markings", Align.RIGHT), Column("a marking"))
    ordered = sorted(result.classes, key=lambda c: -c.probability)
    rows = tuple(_class_row(c, names, result.measures) for c in ordered[:_MAX_CLASSES])
    more = len(ordered) - _MAX_CLASSES
    title = "ends in one class:" if len(ordered) == 1 else f"ends in one of {len(ordered):,} classes:"
    if more > 0:
        title = f"ends in one of {len(ordered):,} classes, the {_MAX_CLASSES} most probable of which are:"
    return Grid(columns + tuple(Column(h, Align.POINT) for h in heads), rows, title)


def _class_row(c: RecurrentClass, names: Sequence[str], values: Mapping[str, Value]) -> tuple[str, ...]:
    inside = tuple(number(c.measures[n] / values[n].unit_factor) if n in c.measures else "" for n in names)
    return (c.kind, number(c.probability), f"{c.size:,}", marking_text(c.marking), *inside)


def marking_text(marking: Mapping[str, int], limit: int = 5) -> str:
    """The non-empty places of a marking: ``2*idle + busy``; ``(empty)`` where there are none."""
    terms = [name if n == 1 else f"{n}*{name}" for name, n in marking.items() if n]
    more = [f"{len(terms) - limit} more"] if len(terms) > limit else []
    return " + ".join(terms[:limit] + more) or "(empty)"


def properties_grid(result: Result) -> Grid | None:
    """One row a property: name, whether it holds, why; None where the model claims nothing."""
    if not result.properties:
        return None
    rows = tuple((name, f.claim, holds_text(f.holds), f.reason) for name, f in result.properties.items())
    return Grid((Column("property"), Column("claim"), Column("found"), Column("because")), rows)


def holds_text(holds: bool | None) -> str:
    """Whether a property holds, in a word."""
    return "undecided" if holds is None else "holds" if holds else "FAILS"


def counterexamples(properties: Mapping[str, Finding]) -> tuple[str, ...]:
    """For each property that fails, the shortest way there."""
    return tuple(
        f"{name} fails in marking {marking_text(f.marking, 12)}, {_way(f.firings)}"
        for name, f in properties.items()
        if f.holds is False and f.marking is not None
    )


def _way(firings: Sequence[str], limit: int = 24) -> str:
    if not firings:
        return "the initial one"
    shown = list(firings)
    if len(shown) > limit:
        shown = [*shown[: limit // 2], f"… ({len(shown) - limit} more) …", *shown[-limit // 2 :]]
    return f"reached by {', '.join(shown)}"


def headline(result: Result) -> str:
    """The model and how it was answered: ``async_ps, simulated: the law of train is not phase-type``."""
    name = result.provenance.model if result.provenance else ""
    how = f"{name}, {result.method}" if name else result.method
    return f"{how}: {result.reason}" if result.reason else how


def figures(result: Result) -> str:
    """The figures of the method in one line: ``1,771 states, 5,620 arcs, GTH, residual 3.1e-16, seed 1, 42 ms``."""
    parts = [text for k, v in result.details.items() if (text := _figure(k, v))]
    if result.residual is not None:
        parts.append(f"residual {number(result.residual, 2)}")
    if result.provenance is not None and result.provenance.seed is not None:
        parts.append(f"seed {result.provenance.seed}")
    return ", ".join([*parts, duration(result.seconds)])


def _figure(key: str, value: Any) -> str:
    """A figure worth a reader's while, else an empty text: counts but not noughts, numbers, and words as they are."""
    name = key.replace("_", " ")
    match value:
        case bool():
            return name if value else ""
        case int():
            return _counted(name, value) if value else ""
        case float():
            return f"{name} {number(value, 4)}"
        case str():
            return value
    return ""


def _counted(name: str, value: int) -> str:
    if name == "vanishing":
        return count(value, "vanishing marking")
    return count(value, name.removesuffix("s"), name) if name.endswith("s") else f"{name} {value:,}"


def parameters_text(parameters: Sequence[Parameter], unitless: bool = False) -> str:
    """``workers = 4, size = 97.5 MiB``."""
    return ", ".join(f"{p.name} = {quantity(p.value, NUMBER if unitless else p.dimension)}" for p in parameters)


def warnings_of(result: Result) -> tuple[str, ...]:
    """What a reader must know before using the figures."""
    unsure = () if result.converged else (f"NOT CONVERGED: {_loose(result)} did not reach the accuracy asked for",)
    return (*unsure, *result.notes)


def _loose(result: Result) -> str:
    """The measures whose intervals are wider than was asked for, by name where the precision is known and it is not all of them."""
    asked = result.provenance.options if result.provenance is not None else {}
    relative, absolute = asked.get("precision") or 0.0, asked.get("absolute") or 0.0

    def loose(v: Value) -> bool:
        return v.half_width is not None and not v.half_width <= max(relative * abs(v.value), absolute * v.unit_factor)

    chosen = asked.get("precise_for") or tuple(result.measures)
    wide = [n for n, v in result.measures.items() if (relative or absolute) and n in chosen and loose(v)]
    return ", ".join(wide) if 0 < len(wide) < len(result.measures) else "these figures"


def result_text(result: Result) -> str:
    """The whole result as plain text."""
    classes = classes_grid(result)
    properties = properties_grid(result)
    grids = [measures_grid(result) if result.measures or not properties else None, classes, properties]
    blocks = [headline(result), *(plain(g) for g in grids if g is not None)]
    tail = [f"note: {line}" for line in (*counterexamples(result.properties), *warnings_of(result))] + [f"({figures(result)})"]
    return "\n\n".join([*blocks, "\n".join(tail)])


# --- comparisons ------------------------------------------------------------------------------------------------------------------


def comparison_grid(comparison: Comparison) -> Grid:
    """One row a value of the swept parameter; for each mechanism its value (± half-width where simulated) and its efficiency."""
    mechanisms = tuple(dict.fromkeys(r.mechanism for r in comparison.rows))
    table = {(r.mechanism, r.at): r for r in comparison.rows}
    columns = [Column(over_text(comparison), Align.RIGHT)]
    for m in mechanisms:
        columns += [Column(m, Align.POINT), Column("", gap=1), Column("eff.", Align.RIGHT, gap=1)]
    ats = sorted({r.at for r in comparison.rows})
    rows = tuple((_at(at, comparison), *(cell for m in mechanisms for cell in _point_cells(table.get((m, at))))) for at in ats)
    unit = unit_text(comparison.unit)
    return Grid(tuple(columns), rows, f"{comparison.measure}{f' [{unit}]' if unit else ''} over {comparison.over}")


def over_text(comparison: Comparison) -> str:
    """The swept parameter and its unit: ``bandwidth [Gbit/s]``."""
    return f"{comparison.over} [{comparison.over_unit}]" if comparison.over_unit else comparison.over


def _at(at: float, comparison: Comparison) -> str:
    return number(at / comparison.over_factor)


def _point_cells(row: Point | None) -> tuple[str, str, str]:
    if row is None:
        return "", "", ""
    shown, half_width = _estimate(row.value, row.half_width, row.unit_factor)
    mark = "" if row.converged else " !"
    how = f"± {half_width}{mark}" if half_width else f"exact{mark}"
    return shown, how, _efficiency(row)


def _efficiency(row: Point) -> str:
    return "" if row.efficiency is None else percent(row.efficiency, 2)


def comparison_list(comparison: Comparison) -> Grid:
    """The same figures, one row a point: for many mechanisms, or few columns."""
    columns = (
        Column("mechanism"),
        Column(over_text(comparison), Align.RIGHT),
        Column(comparison.measure, Align.POINT),
        Column(""),
        Column("unit"),
    )
    rows = tuple(_point_row(r, comparison) for r in comparison.rows)
    return Grid((*columns, Column("efficiency", Align.RIGHT), Column("method")), rows)


def _point_row(row: Point, comparison: Comparison) -> tuple[str, ...]:
    shown, how, efficiency = _point_cells(row)
    return row.mechanism, _at(row.at, comparison), shown, how, unit_text(row.unit), efficiency, row.method


def saturation_lines(comparison: Comparison) -> tuple[str, ...]:
    """Where each mechanism has its largest value and, where the comparison is one of scaling, stops gaining: one line a mechanism."""
    mechanisms = tuple(dict.fromkeys(r.mechanism for r in comparison.rows))
    return tuple(f"{m}: {_saturates(m, comparison)}" for m in mechanisms)


def _saturates(mechanism: str, comparison: Comparison) -> str:
    rows = [r for r in comparison.rows if r.mechanism == mechanism]
    best = max(rows, key=lambda r: r.value if math.isfinite(r.value) else -math.inf)
    peak = f"most at {_where(best.at, comparison)}: {_shown_value(best)}"
    if not comparison.scaling:
        return peak
    at = comparison.saturation.get(mechanism)
    return f"saturates at {_where(at, comparison)}; {peak}" if at is not None else f"does not saturate in this range; {peak}"


def _where(at: float, comparison: Comparison) -> str:
    return f"{comparison.over} = {with_unit(_at(at, comparison), comparison.over_unit)}"


def _shown_value(row: Point) -> str:
    shown, half_width = _estimate(row.value, row.half_width, row.unit_factor)
    return with_unit(f"{shown} ± {half_width}" if half_width else shown, row.unit)


def comparison_text(comparison: Comparison) -> str:
    """The whole comparison as plain text."""
    blocks = [plain(comparison_grid(comparison)), "\n".join(saturation_lines(comparison))]
    tail = [] if comparison.complete else ["note: interrupted, the rows are those that were done"]
    tail += [f"note: {n}" for n in comparison.notes]
    return "\n\n".join([*blocks, *(["\n".join(tail)] if tail else [])])
