"""The points of a model's sweeps, each solved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from spn.errors import AnalysisError, SpnError, refuse
from spn.expr.nodes import Exact
from spn.model import Model, Sweep
from spn.result import Result, plain_value
from spn.solvers.choose import solve


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A point: the values of the parameters swept, in base units, and the result there."""

    parameters: dict[str, Exact]
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


def sweep(model: Model, method: str = "auto", *, watch: Callable[[str, float], None] | None = None, **options: Any) -> tuple[Table, ...]:
    """Solve a model at every point of every ``sweep`` it has; ``method`` and ``options`` are those of :func:`spn.solve`.

    A parameter that was given a value is not swept. ``watch`` is told which point comes next, and which part of all is done."""
    chosen = tuple(open_sweeps(model))
    total, done = sum(len(s.points) for s in chosen), 0
    tables: list[Table] = []
    for s in chosen:
        rows: list[Row] = []
        for point in s.points:
            values = dict(zip(s.names, point, strict=True))
            if watch is not None:
                watch(_shown(values), done / total)
            rows.append(Row(parameters=values, result=_solved(model, values, method, options)))
            done += 1
            if rows[-1].result.details.get("interrupted"):
                return (*tables, Table(model=model, names=s.names, rows=tuple(rows), complete=False))
        tables.append(Table(model=model, names=s.names, rows=tuple(rows)))
    return tuple(tables)


def _solved(model: Model, values: dict[str, Exact], method: str, options: Mapping[str, Any]) -> Result:
    """The answer at one point; an error says at which."""
    try:
        return solve(at(model, values), method, **options)
    except SpnError as error:
        first, *others = error.diagnostics
        raise type(error)(replace(first, notes=(*first.notes, f"at {_shown(values)} of the sweep")), *others) from None


def _shown(values: Mapping[str, Exact]) -> str:
    return ", ".join(f"{n} = {float(v):g}" for n, v in values.items())


def at(model: Model, values: dict[str, Exact]) -> Model:
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
