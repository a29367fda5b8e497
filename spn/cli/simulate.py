"""``spn simulate``: a model's measures with confidence intervals."""

from __future__ import annotations

import argparse

from spn.cli.answers import answer, loaded, with_questions
from spn.cli.sampling import options
from spn.cli.terminal import Progress, note


def run(arguments: argparse.Namespace) -> int:
    """Simulate the model and print the estimates of its measures."""
    from spn.sim import simulate

    model = with_questions(loaded(arguments))
    if model.properties:
        note(f"properties are decided by `spn solve {arguments.file}`, not by simulation")
    with Progress() as progress:
        result = simulate(model, **options(arguments, progress))
    return answer(result, model, arguments)
