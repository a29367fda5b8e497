"""``spn fit``: a law from the durations in a trace, or what a trace holds."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from spn.cli.answers import print_json
from spn.cli.codes import Code
from spn.cli.inputs import existing_file
from spn.cli.terminal import note, prose, say, show
from spn.dist.law import Style
from spn.errors import SpnError
from spn.expr.dims import TIME
from spn.fitting import Alternative, Fit, durations, fit_file
from spn.report.draw import chosen_format
from spn.show.grid import Align, Column, Grid
from spn.show.text import count, number, quantity
from spn.trace.readers import read
from spn.trace.records import Kind, Trace
from spn.trace.steps import PHASES, steps

_STYLE = Style(unit="s")
_LISTED = 25  # operations
_LITERAL = 160  # characters


def run(arguments: argparse.Namespace) -> int:
    """Fit the operation named, or list what there is."""
    path = existing_file(arguments.file)
    options: dict[str, Any] = {k: v for k in ("column", "unit") if (v := getattr(arguments, k)) is not None}
    if arguments.name is None:
        return _list(read(path, **options), arguments)
    return _fit(path, options, arguments)


# --- what a trace holds -----------------------------------------------------------------------------------------------------------


def _list(trace: Trace, arguments: argparse.Namespace) -> int:
    phases, operations = _phases(trace, arguments.mark), _operations(trace)
    if arguments.json:
        print_json({"file": trace.origin.path, "format": trace.origin.format, "phases": phases, "operations": operations})
        return Code.OK
    say(f"{trace.origin.path}: {trace.origin.format}, {count(len(trace), 'record')} of {count(len(operations), 'operation')}")
    for problem in trace.problems:
        note(str(problem))
    _show(phases, "per training step", "phase")
    _show(operations[:_LISTED], _operations_title(len(operations)), "operation")
    say()
    say(f"`spn fit {trace.origin.path} --name NAME` fits one of them")
    return Code.OK


def _operations_title(n: int) -> str:
    return f"the {_LISTED} operations, of {n:,}, with the longest total time" if n > _LISTED else "operations by total time"


def _phases(trace: Trace, mark: str | None) -> list[dict[str, Any]]:
    """The phases of the training steps, if the trace marks any."""
    if mark is None and not len(trace.mark_number):
        return []
    try:
        found = steps(trace, mark)
    except SpnError:
        if mark is not None:
            raise
        return []
    return [_row(name, found.phase(name)) for name in PHASES if len(found) and found.phase(name).any()]


def _operations(trace: Trace) -> list[dict[str, Any]]:
    """Every operation, the longest total time first."""
    rows = []
    for name in trace.operations:
        chosen = trace.select(name)
        kind = Kind(int(trace.kind[chosen][0])).name.lower() if chosen.any() else ""
        rows.append({**_row(name, trace.duration_ns[chosen]), "kind": kind})
    return sorted(rows, key=lambda r: (-r["total"], r["name"]))


def _row(name: str, nanoseconds: Any) -> dict[str, Any]:
    """Count, total and mean in seconds, and the coefficient of variation (0 for a single one)."""
    n = len(nanoseconds)
    mean = float(nanoseconds.mean()) if n else 0.0
    cv = float(nanoseconds.std()) / mean if mean else 0.0
    return {"name": name, "count": n, "total": n * mean / 1e9, "mean": mean / 1e9, "cv": cv}


def _show(rows: list[dict[str, Any]], title: str, what: str) -> None:
    if not rows:
        return
    say()
    columns = (
        Column(what),
        Column("count", Align.RIGHT),
        Column("total", Align.RIGHT),
        Column("mean", Align.RIGHT),
        Column("cv", Align.POINT),
    )
    cells = tuple(
        (_short(r["name"]), f"{r['count']:,}", _time(r["total"]), _time(r["mean"]), number(r["cv"], 3), r.get("kind", "")) for r in rows
    )
    show(Grid((*columns, Column("kind")), cells, f"{title}:"))


def _short(name: str, limit: int = 44) -> str:
    """The name, cut in the middle where it is too long to read: kernels end in what tells them apart."""
    return name if len(name) <= limit else f"{name[: limit // 2 - 1]}…{name[-(limit // 2) :]}"


def _time(seconds: float) -> str:
    return quantity(seconds, TIME, 4)


# --- one fit ----------------------------------------------------------------------------------------------------------------------


def _fit(path: Path, options: dict[str, Any], arguments: argparse.Namespace) -> int:
    from spn.report.plot import FORMATS

    if arguments.plot:
        chosen_format(arguments.plot, None, FORMATS)
    found = fit_file(path, arguments.name, arguments.family, arguments.criterion, mark=arguments.mark, **options)
    if arguments.json:
        print_json(found.to_dict())
    else:
        _print(found, path, arguments)
    if arguments.plot:
        _plot(found, path, options, arguments)
    return Code.OK


def _print(found: Fit, path: Path, arguments: argparse.Namespace) -> None:
    say(f"{found.source}: {count(found.n, 'duration')}, mean {_time(found.mean)}, cv {number(found.cv, 4)}")
    say()
    say(f"  {_usable(found, path, arguments)}")
    say()
    if found.alternatives:
        show(_alternatives(found))
        say()
    prose(f"{next((w for w in found.warnings if found.reason in w), found.reason)}; {_quality(found)}")
    for warning in found.warnings:
        if found.reason not in warning:
            prose(f"warning: {warning}")


def _usable(found: Fit, path: Path, arguments: argparse.Namespace) -> str:
    """The law as a model may hold it: written out, or where that is long (the data themselves) as a reference to the file."""
    literal = found.literal()
    if len(literal) <= _LITERAL:
        return literal
    family = f", family = {found.family}" if arguments.family != "auto" else ""
    return f'fit("{path}", name = "{arguments.name}"{family})'


def _quality(found: Fit) -> str:
    distance = f"Kolmogorov-Smirnov distance {number(found.ks, 3)}"
    return distance if found.p_value is None else f"{distance}, p = {number(found.p_value, 3)} by parametric bootstrap"


def _alternatives(found: Fit) -> Grid:
    columns = (Column("family"), Column("AICc", Align.POINT), Column("BIC", Align.POINT), Column("KS", Align.POINT), Column("law"))
    return Grid(columns, tuple(_alternative(a) for a in found.alternatives), "families, the best first:")


def _alternative(a: Alternative) -> tuple[str, ...]:
    if a.law is None:
        return a.family, "", "", "", f"({a.note})"
    return a.family, f"{a.aicc:.1f}", f"{a.bic:.1f}", f"{a.ks:.3f}", a.law.spelling(_STYLE)


def _plot(found: Fit, path: Path, options: dict[str, Any], arguments: argparse.Namespace) -> None:
    from spn.report.labels import law_text
    from spn.report.plot import plot_fit

    values, label = durations(read(path, **options), arguments.name, arguments.mark)
    plot_fit(values.tolist(), found.law.cdf, found.law.quantile, arguments.plot, title=f"{label}: {law_text(found.law)}")
    note(f"wrote {arguments.plot}")
