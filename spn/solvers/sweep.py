"""The points of a model's sweeps, each solved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Any

from spn.errors import AnalysisError, SpnError, refuse
from spn.expr.nodes import Exact
from spn.model import Model, Sweep
from spn.result import Result, plain_value
from spn.sim.executors import Patient, Unit, do_all, site_of
from spn.solvers.choose import one_thread, solve

Point = dict[str, Exact]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A point: the values of the parameters swept, in base units, and the result there."""

    parameters: Point
    result: Result


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Table:
    """The results of one sweep, in the order of its points; ``model`` is the one swept. ``complete`` is false after an interruption."""

    model: Model
    names: tuple[str, ...]
    rows: tuple[Row, ...]
    complete: bool = True

    def __repr__(self) -> str:
        from spn.show.sweep import sweep_text

        return sweep_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: a row a point, with its parameters in base units and the result as :meth:`Result.to_dict` gives it."""
        rows = [{"parameters": {n: plain_value(float(v)) for n, v in r.parameters.items()}, **r.result.to_dict()} for r in self.rows]
        return {"over": list(self.names), "complete": self.complete, "rows": rows}


def sweep(
    model: Model, method: str = "auto", *, watch: Callable[[str, float], None] | None = None, executor: object = None, **options: Any
) -> tuple[Table, ...]:
    """Solve a model at every point of every ``sweep`` it has; ``method`` and ``options`` are those of :func:`spn.solve`.

    A parameter that was given a value is not swept. ``watch`` is told which point comes next, and which part of all is done; with an
    ``executor`` (as :func:`spn.simulate` takes it), which answers many points at a time, which point was answered last."""
    chosen = tuple(open_sweeps(model))
    points = [(k, dict(zip(s.names, point, strict=True))) for k, s in enumerate(chosen) for point in s.points]
    told = watch or (lambda _text, _share: None)
    by = _one_by_one if executor is None else partial(_elsewhere, executor)
    rows, complete = by(model, [values for _, values in points], told, method, options)
    tables = [_table(model, s, [rows[i] for i, (at, _) in enumerate(points) if at == k and i in rows]) for k, s in enumerate(chosen)]
    if complete:
        return tuple(tables)
    whole = next((k for k, t in enumerate(tables) if len(t.rows) < len(chosen[k].points)), len(tables) - 1)
    return (*tables[:whole], replace(tables[whole], complete=False))


def _table(model: Model, s: Sweep, rows: Sequence[Row]) -> Table:
    return Table(model=model, names=s.names, rows=tuple(rows))


def _one_by_one(
    model: Model, points: Sequence[Point], watch: Callable[[str, float], None], method: str, options: Mapping[str, Any]
) -> tuple[dict[int, Row], bool]:
    """The rows of the points, by number, and whether that is all of them: an interrupted simulation ends it."""
    rows: dict[int, Row] = {}
    for k, values in enumerate(points):
        watch(_shown(values), k / len(points))
        rows[k] = Row(parameters=values, result=_solved(model, values, method, options))
        if rows[k].result.details.get("interrupted"):
            return rows, False
    return rows, True


def _elsewhere(
    executor: object,
    model: Model,
    points: Sequence[Point],
    watch: Callable[[str, float], None],
    method: str,
    options: Mapping[str, Any],
) -> tuple[dict[int, Row], bool]:
    """As :func:`_one_by_one`, by an executor: the points before the first that is missing after an interruption."""
    rows: dict[int, Row] = {}

    def take(k: int, found: Result) -> None:
        rows[k] = Row(parameters=points[k], result=found)
        watch(_shown(points[k]), len(rows) / len(points))

    site = site_of(executor)
    try:
        do_all(site, [Unit(_point, (portable(at(model, p)), p, method, dict(options))) for p in points], Patient(), take)
    except KeyboardInterrupt:
        return {k: rows[k] for k in takewhile(rows.__contains__, range(len(points)))}, False
    return rows, True


def _point(model: Model, values: Point, method: str, options: Mapping[str, Any]) -> Result:
    """A unit of work: the answer at one point, by one thread."""
    return _placed(values, lambda: solve(model, method, **one_thread(method, options)))


def _solved(model: Model, values: Point, method: str, options: Mapping[str, Any]) -> Result:
    """The answer at one point."""
    return _placed(values, lambda: solve(at(model, values), method, **options))


def _placed(values: Point, answer: Callable[[], Result]) -> Result:
    """An answer; an error says at which point."""
    try:
        return answer()
    except SpnError as error:
        first, *others = error.diagnostics
        raise type(error)(replace(first, notes=(*first.notes, f"at {_shown(values)} of the sweep")), *others) from None


def _shown(values: Mapping[str, Exact]) -> str:
    return ", ".join(f"{n} = {float(v):g}" for n, v in values.items())


def portable(model: Model) -> Model:
    """The model without what ties it to this process; its answers are the same."""
    return replace(model, variant=None, reader=None)


def at(model: Model, values: Point) -> Model:
    """The model with other values of parameters; AnalysisError where it was built by hand, so that nothing is known to depend on them."""
    if model.variant is None:
        help = "load it from a file or a text"
        raise refuse(AnalysisError, "E0631", f"{model.name or 'the model'} was built by hand: its parameters cannot change", help=help)
    return model.variant(values)


def open_sweeps(model: Model) -> Iterator[Sweep]:
    """The sweeps of a model over the parameters that were given no value."""
    given = {p.name: p.value for p in model.parameters if p.given}
    for s in model.sweeps:
        open_ = [k for k, name in enumerate(s.names) if name not in given]
        if open_:
            points = dict.fromkeys(tuple(p[k] for k in open_) for p in _agreeing(s, given))
            yield replace(s, names=tuple(s.names[k] for k in open_), points=tuple(points))


def _agreeing(s: Sweep, given: Mapping[str, Exact]) -> list[tuple[Exact, ...]]:
    """The points that have the values given, or all where none has."""
    fixed = [(k, given[name]) for k, name in enumerate(s.names) if name in given]
    return [p for p in s.points if all(p[k] == value for k, value in fixed)] or list(s.points)
