"""``spn sensitivity``: what the measures of a model depend on, strongest first."""

from __future__ import annotations

import argparse

from spn.cli.answers import loaded, print_json, with_questions
from spn.cli.codes import Code
from spn.cli.sampling import forbid
from spn.cli.terminal import prose, say, show
from spn.model import Model

_OF_SIMULATION = ("estimator", "seed", "precision", "confidence", "max_seconds")


def run(arguments: argparse.Namespace) -> int:
    """Differentiate the measures, print the ranking, name the bottleneck."""
    model = with_questions(loaded(arguments))
    if arguments.method == "simulate":
        return _simulated(model, arguments)
    from spn.show.sensitivity import sensitivity_grid, sensitivity_notes
    from spn.solvers.sensitivity import sensitivity

    forbid(arguments, _OF_SIMULATION, "exact derivatives", "leave it out, or add --method simulate")
    found = sensitivity(model, [arguments.measure] if arguments.measure else None)
    if arguments.json:
        print_json(found.to_dict())
    else:
        show(sensitivity_grid(found))
        say()
        for line in sensitivity_notes(found):
            prose(line)
    return Code.OK if found.converged else Code.FAILED


def _simulated(model: Model, arguments: argparse.Namespace) -> int:
    """By simulation."""
    from spn.show.slopes import slopes_grid, slopes_notes
    from spn.sim.derivatives.run import slopes

    given = {name: value for name in _OF_SIMULATION if (value := getattr(arguments, name)) is not None}
    found = slopes(model, [arguments.measure] if arguments.measure else None, **given)
    if arguments.json:
        print_json(found.to_dict())
    else:
        show(slopes_grid(found))
        say()
        for line in slopes_notes(found):
            prose(line)
    return Code.OK if found.converged else Code.FAILED
