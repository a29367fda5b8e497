"""``spn solve``: a model's measures, by the best method that may answer them."""

from __future__ import annotations

import argparse

from spn.cli import sweep
from spn.cli.answers import answer, loaded, with_questions
from spn.cli.sampling import options
from spn.cli.terminal import Progress


def run(arguments: argparse.Namespace) -> int:
    """Solve the model and print its measures; where it has sweeps, a table for each."""
    from spn.solvers import solve
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
    return answer(result, model, arguments)
