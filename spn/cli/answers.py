"""Loading a model and printing what was found out about it: shared by the commands that answer measures."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spn.cli.calibration import parameters
from spn.cli.codes import Code
from spn.cli.inputs import model_file
from spn.cli.terminal import note, prose, say, show
from spn.expr.dims import NUMBER, RATE, base_unit
from spn.expr.nodes import Tokens
from spn.expr.text import name
from spn.measure import Average, Measure, Throughput
from spn.model import Model
from spn.report.draw import writable, write
from spn.result import Result
from spn.show.table import classes_grid, counterexamples, figures, headline, measures_grid, parameters_text, properties_grid, warnings_of
from spn.show.text import count


def loaded(arguments: argparse.Namespace) -> Model:
    """The model of the file named, with its parameters set; warnings are counted on stderr."""
    from spn.loading import load

    path = model_file(arguments.file)
    if (output := getattr(arguments, "output", None)) and output != "-":
        writable(output)
    given, calibration = parameters(arguments, path)
    model = load(path, params=given)
    for line in calibration:
        note(f"calibrated: {line}")
    if model.warnings:
        note(f"{path}: {count(len(model.warnings), 'warning')}; `spn check {path}` shows {'it' if len(model.warnings) == 1 else 'them'}")
    return model


def with_questions(model: Model, *, claims: bool = False) -> Model:
    """The model, and where it asks nothing the usual questions: the mean tokens of places and the throughput of transitions. With
    ``claims`` its properties count as questions."""
    if model.measures or (claims and model.properties):
        return model
    note(f"{model.name} has no measures: here are the mean tokens of its places and the throughput of its transitions")
    rate = NUMBER if model.unitless else RATE
    tokens = tuple(Measure(name=f"E(#{name(p.name)})", body=Average(Tokens(p.name))) for p in model.net.places)

    flows = tuple(
        Measure(name=f"throughput({name(t.name)})", body=Throughput(t.name), dimension=rate, unit=base_unit(rate))
        for t in model.net.transitions
    )
    return replace(model, measures=tokens + flows)


def print_json(data: Any) -> None:
    say(json_text(data))


def json_text(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def answer(result: Result, model: Model, arguments: argparse.Namespace, more: Mapping[str, Any] | None = None) -> int:
    """Print a result as asked for and return the exit code that it deserves; ``more`` goes into its JSON."""
    data = {**result.to_dict(), **(more or {})}
    if arguments.json:
        print_json(data)
    else:
        print_result(result, model)
    if arguments.output:  # last, so that nothing is lost where it cannot be written
        write((json_text(data) + "\n").encode(), arguments.output)
    if interrupted(result):
        return Code.INTERRUPTED
    return Code.OK if result.converged else Code.FAILED


def interrupted(result: Result) -> bool:
    """Whether the run was stopped by Ctrl-C; what it holds is what was estimated until then."""
    return bool(result.details.get("interrupted"))


def print_result(result: Result, model: Model) -> None:
    prose(headline(result))
    if model.parameters:
        prose(parameters_text(model.parameters, model.unitless))
    say()
    properties = properties_grid(result)
    grids = [measures_grid(result) if result.measures or not properties else None, classes_grid(result), properties]
    for k, grid in enumerate(g for g in grids if g is not None):
        if k:
            say()
        show(grid)
    say()
    for line in (*counterexamples(result.properties), *model.fits, *warnings_of(result)):
        prose(f"note: {line}")
    prose(figures(result))
