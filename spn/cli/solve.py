"""``spn solve``: a model's measures, by the best method that may answer them."""

from __future__ import annotations

import argparse

from spn.cli.answers import answer, loaded, with_questions
from spn.cli.sampling import options
from spn.cli.terminal import Progress


def run(arguments: argparse.Namespace) -> int:
    """Solve the model and print its measures."""
    from spn.solvers import solve

    model = with_questions(loaded(arguments))
    with Progress() as progress:
        result = solve(model, method=arguments.method, **options(arguments, progress, simulating=arguments.method != "ctmc"))
    return answer(result, model, arguments)
