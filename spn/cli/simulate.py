"""``spn simulate``: a model's measures with confidence intervals."""

from __future__ import annotations

import argparse

from spn.cli.answers import answer, json_text, loaded, print_json, with_questions
from spn.cli.codes import Code
from spn.cli.sampling import options
from spn.cli.terminal import Progress, note, prose, say, show
from spn.report.draw import write


def run(arguments: argparse.Namespace) -> int:
    """Simulate the model and print the estimates of its measures."""
    from spn.sim import simulate

    if arguments.histogram is not None:
        return _histogram(arguments)
    model = with_questions(loaded(arguments))
    if model.properties:
        note(f"properties are decided by `spn solve {arguments.file}`, not by simulation")
    with Progress() as progress:
        result = simulate(model, **options(arguments, progress))
    return answer(result, model, arguments)


def _histogram(arguments: argparse.Namespace) -> int:
    from spn.show.histogram import histogram_grid, histogram_lines
    from spn.sim.histogram import histogram

    model = loaded(arguments)
    with Progress() as progress:
        given = options(arguments, progress)
        precision = {"precision": width} if (width := given.pop("absolute", None) or given.pop("precision", None)) else {}
        found = histogram(model, arguments.histogram, **precision, **given)
    if arguments.json:
        print_json(found.to_dict())
    else:
        prose(f"{model.name}, simulate: {found.reason}")
        say()
        show(histogram_grid(found))
        say()
        for line in histogram_lines(found):
            prose(line)
    if arguments.output:
        write((json_text(found.to_dict()) + "\n").encode(), arguments.output)
    if found.details.get("interrupted"):
        return Code.INTERRUPTED
    return Code.OK if found.converged else Code.FAILED
