"""``spn check``: all that is wrong or doubtful in model files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from spn.cli.answers import print_json
from spn.cli.codes import Code
from spn.cli.explain import explain
from spn.cli.inputs import model_files, settings
from spn.cli.terminal import complain, report, say
from spn.errors import DataError, Diagnostic, ModelError, Severity, SpnError
from spn.model import Model
from spn.net.model import immediates, timed
from spn.show.text import count


def run(arguments: argparse.Namespace) -> int:
    """Check each file; exit code 1 where one has an error. With ``--explain`` print what a code means."""
    if arguments.explain:
        explain(arguments.explain, json=arguments.json)
        return Code.OK
    if not arguments.files:
        complain("check what?", "name model files, or a code with --explain; see `spn check --help`")
        return Code.USAGE
    chosen = settings(arguments.parameter)
    checked = [(path, *_check(path, chosen)) for path in model_files(arguments.files)]
    if arguments.json:
        print_json([_record(*entry) for entry in checked])
    else:
        for path, model, found in checked:
            _print(path, model, found)
    return Code.OK if all(model is not None for _, model, _ in checked) else Code.NEGATIVE


def _check(path: Path, chosen: dict[str, str]) -> tuple[Model | None, tuple[Diagnostic, ...]]:
    from spn.loading import load

    try:
        model = load(path, params=chosen)
    except (ModelError, DataError) as error:
        return None, error.diagnostics
    return model, model.warnings


def _print(path: Path, model: Model | None, found: tuple[Diagnostic, ...]) -> None:
    report(*found)
    errors = sum(d.severity is Severity.ERROR for d in found)
    warnings = len(found) - errors
    verdict = ", ".join([count(errors, "error")] * bool(errors) + [count(warnings, "warning")] * bool(warnings) if found else ["ok"])
    say(f"{path}: {verdict}" + (f" ({summary(model)})" if model else ""))


def summary(model: Model) -> str:
    """What the model holds: ``4 places, 4 transitions (all timed), 2 links, 7 parameters, 3 measures, 1 expectation``."""
    net = model.net
    held = [
        (count(len(net.places), "place"), True),
        (_transitions(model), True),
        (count(len(net.links), "link"), bool(net.links)),
        (count(len(model.parameters), "parameter"), bool(model.parameters)),
        (count(len(model.measures), "measure"), True),
        (count(len(model.expectations), "expectation"), bool(model.expectations)),
    ]
    return ", ".join(text for text, worth in held if worth)


def _transitions(model: Model) -> str:
    slow, fast = len(timed(model.net)), len(immediates(model.net))
    total = count(slow + fast, "transition")
    return f"{total}, {fast} of them immediate" if fast else total


def _record(path: Path, model: Model | None, found: tuple[Diagnostic, ...]) -> dict[str, Any]:
    counts = {} if model is None else {"places": len(model.net.places), "transitions": len(model.net.transitions)}
    held = {} if model is None else {"parameters": len(model.parameters), "measures": [m.name for m in model.measures]}
    return {"file": str(path), "ok": model is not None, **counts, **held, "diagnostics": [diagnostic_record(d) for d in found]}


def diagnostic_record(d: Diagnostic) -> dict[str, Any]:
    """A diagnostic as plain data, with the file, line and column (from 1) of its span."""
    from spn.source import position

    record: dict[str, Any] = {"severity": d.severity.value, "code": d.code, "message": d.message, "help": d.help, "notes": list(d.notes)}
    if d.span is not None:
        at = position(d.span.source, d.span.start)
        record |= {"file": d.span.source.name, "line": at.line, "column": at.column}
    return record


def problems(error: SpnError) -> str:
    """The first message of an error, for a table."""
    return error.diagnostics[0].message if error.diagnostics else str(error)
