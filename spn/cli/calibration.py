"""Parameters from the command line: ``-p``, and ``--trace`` for what a profiling trace tells."""

from __future__ import annotations

import argparse
from pathlib import Path

from spn.cli.inputs import existing_file, settings
from spn.cli.terminal import prose, say
from spn.loading import Setting


def parameters(arguments: argparse.Namespace, model: Path | None = None) -> tuple[dict[str, Setting], tuple[str, ...]]:
    """The values to load a model with, those of ``-p`` before those of the trace, and what was found in the trace, a line each.

    Of the trace's values only those count that ``model`` has a use for, if one is given.
    """
    chosen: dict[str, Setting] = {**_from_file(arguments, model), **settings(arguments.parameter)}
    if getattr(arguments, "trace", None) is None:
        return chosen, ()
    from spn.loading import settable
    from spn.sgd.calibrate import calibrate

    found = calibrate(existing_file(arguments.trace))
    known = None if model is None else settable(model)
    traced = {k: v for k, v in found.settings().items() if known is None or k in known}
    return {**chosen, **traced, **settings(arguments.parameter)}, found.lines()


def _from_file(arguments: argparse.Namespace, model: Path | None) -> dict[str, Setting]:
    """The values of ``--params`` that the model has a use for."""
    if getattr(arguments, "params", None) is None:
        return {}
    from spn.loading import settable
    from spn.sgd.parameters import settings as values

    known = None if model is None else settable(model)
    return {k: v for k, v in values(existing_file(arguments.params)).items() if known is None or k in known}


def print_calibration(lines: tuple[str, ...]) -> None:
    if lines:
        say("from the trace:")
        for line in lines:
            prose(f"  {line}")
        say()
