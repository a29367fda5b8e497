"""``spn methods``: which methods may answer a model, what they would cost, and what refuses the others."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from spn.cli.answers import loaded, print_json
from spn.cli.check import diagnostic_record
from spn.cli.codes import Code
from spn.cli.terminal import say, show
from spn.errors import Diagnostic
from spn.show.grid import Column, Grid
from spn.source import position

if TYPE_CHECKING:
    from spn.solvers.survey import Offer

SHOWN = 3  # refusals of a method in full; the others are counted


def run(arguments: argparse.Namespace) -> int:
    """Print a line a method, then what refuses those that do not apply."""
    from spn.solvers.survey import methods

    model = loaded(arguments)
    offers = methods(model)
    if arguments.json:
        print_json({"model": model.name, "methods": [_record(o) for o in offers]})
        return Code.OK
    columns = (Column("method"), Column("applies"), Column("exact"), Column("what it takes"), Column("cost"))
    show(Grid(columns, tuple((o.name, _word(o.applies), _word(o.exact), o.title, o.cost) for o in offers)))
    for o in offers:
        if not o.applies:
            say()
            say(f"{o.name} does not apply:")
            for line in _refusals(o.refusals):
                say(f"  {line}")
    return Code.OK


def _word(yes: bool) -> str:
    return "yes" if yes else "no"


def _refusals(found: tuple[Diagnostic, ...]) -> Iterator[str]:
    for d in found[:SHOWN]:
        yield f"{_place(d)}{d.message} [{d.code}]"
    if len(found) > SHOWN:
        yield f"and {len(found) - SHOWN} more; `--json` lists all"


def _place(d: Diagnostic) -> str:
    if d.span is None:
        return ""
    at = position(d.span.source, d.span.start)
    return f"{d.span.source.name}:{at.line}:{at.column}: "


def _record(o: Offer) -> dict[str, Any]:
    refusals = [diagnostic_record(d) for d in o.refusals]
    return {"method": o.name, "applies": o.applies, "exact": o.exact, "takes": o.title, "cost": o.cost, "refusals": refusals}
