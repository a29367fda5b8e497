"""``spn solve``: a model's measures, by the best method that may answer them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from spn.cli import sweep
from spn.cli.answers import answer, loaded, with_questions
from spn.cli.codes import Code
from spn.cli.sampling import options
from spn.cli.terminal import Progress, note, say, show
from spn.show.grid import Align, Column, Grid
from spn.show.text import number

if TYPE_CHECKING:
    from spn.result import Result
    from spn.solvers.survey import Verification


def run(arguments: argparse.Namespace) -> int:
    """Solve the model and print its measures; where it has sweeps, a table for each."""
    from spn.solvers import solve
    from spn.solvers.survey import verify
    from spn.solvers.sweep import open_sweeps

    model = with_questions(loaded(arguments), claims=True)
    exact = {} if arguments.solver == "auto" else {"solver": arguments.solver}
    exact |= {"lump": arguments.lump} if arguments.lump else {}
    exact |= {name: v for name in ("phases", "order", "accuracy") if (v := getattr(arguments, name)) is not None}
    with Progress() as progress:
        if any(True for _ in open_sweeps(model)):
            return sweep.run(model, arguments, progress, {**options(arguments, progress, simulating=False), **exact})
        sampling = options(arguments, progress, simulating=arguments.method in ("auto", "simulate"))
        result = solve(model, method=arguments.method, **sampling, **exact)
        second = verify(model, result, seed=arguments.seed) if arguments.verify else None
    if second is None:
        return answer(result, model, arguments)
    code = answer(result, model, arguments, {"verification": second.to_dict()})
    if not arguments.json:
        _print(second, result)
    return code or (Code.NEGATIVE if second.agrees is False else Code.OK)


def _print(second: Verification, result: Result) -> None:
    """What the second method gave beside the first."""
    if second.agrees is None:
        note(f"not verified: {second.reason}")
        return
    columns = (
        Column("measure"),
        Column("value", Align.POINT),
        Column(second.method, Align.POINT),
        Column("may differ by", Align.POINT),
        Column(""),
    )
    rows = []
    for name, c in second.checks.items():
        factor = result.measures[name].unit_factor
        figures = (number(c.first / factor, 9), number(c.second / factor, 9), number(c.allowed / factor, 2))
        rows.append((name, *figures, "" if c.agrees else "differs"))
    say()
    show(Grid(columns, tuple(rows)))
    say()
    say(f"verified by {second.method}: " + ("all agree within their errors" if second.agrees else "not all agree within their errors"))
