"""``spn test``: what model files expect of themselves."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from spn.cli.answers import print_json
from spn.cli.codes import Code, is_interruption
from spn.cli.expectations import Interrupted, Outcome, Verdict, by_method, judge
from spn.cli.inputs import model_files, settings
from spn.cli.sampling import progress_line
from spn.cli.terminal import Progress, complain, report, say, show
from spn.errors import Diagnostic, SpnError
from spn.model import Model
from spn.result import Finding, plain, plain_value
from spn.show.grid import Align, Column, Grid
from spn.show.table import counterexamples, holds_text
from spn.show.text import count, estimate, number, with_unit

Found = tuple[Path, list[Verdict], Mapping[str, Finding], tuple[Diagnostic, ...]]
Claims = Mapping[str, Finding]


def run(arguments: argparse.Namespace) -> int:
    """Judge every expectation and every property of every file.

    Exit code 1 where one fails, 3 where one stays undecided or a file cannot be answered."""
    chosen = settings(arguments.parameter)
    found: list[Found] = []
    files = model_files(arguments.files)
    interrupted = False
    try:
        with Progress() as progress:
            for i, path in enumerate(files):
                progress.show(str(path), i / len(files))
                found.append((path, *_judged(path, chosen, arguments, progress)))
    except KeyboardInterrupt as stop:
        interrupted = True
        if isinstance(stop, Interrupted):
            found.append((files[len(found)], stop.verdicts, {}, ()))
    if arguments.json:
        print_json([_record(*entry) for entry in found])
    else:
        _print(found, arguments.verbose)
    if interrupted:
        complain(f"interrupted: {len(found)} of {count(len(files), 'file')} looked at")
    return Code.INTERRUPTED if interrupted else _code(found)


def _judged(
    path: Path, chosen: dict[str, str], arguments: argparse.Namespace, progress: Progress
) -> tuple[list[Verdict], Claims, tuple[Diagnostic, ...]]:
    """The verdicts and what was found of the properties, or the diagnostics that stood in the way."""
    from spn.loading import load

    answer = by_method(arguments.method, arguments.seed, arguments.max_seconds, progress_line(progress))
    try:
        model = load(path, params=chosen)
        return judge(model, answer), _claims(model), ()
    except SpnError as error:
        if is_interruption(error):
            raise KeyboardInterrupt from None
        return [], {}, error.diagnostics


def _claims(model: Model) -> Claims:
    if not model.properties:
        return {}
    from spn.solvers import solve

    return solve(replace(model, measures=())).properties


def _outcome(found: Finding) -> Outcome:
    return Outcome.UNDECIDED if found.holds is None else Outcome.PASS if found.holds else Outcome.FAIL


def _outcomes(verdicts: list[Verdict], claims: Claims) -> list[Outcome]:
    return [*(v.outcome for v in verdicts), *(_outcome(f) for f in claims.values())]


def _code(found: list[Found]) -> int:
    outcomes = {o for _, verdicts, claims, _ in found for o in _outcomes(verdicts, claims)}
    if Outcome.FAIL in outcomes:
        return Code.NEGATIVE
    return Code.FAILED if Outcome.UNDECIDED in outcomes or any(errors for *_, errors in found) else Code.OK


def _print(found: list[Found], verbose: bool) -> None:
    """A line a file, and the expectations that did not pass; all of them for a single file."""
    for path, verdicts, claims, errors in found:
        report(*errors)
        say(f"{path}: {_tally(_outcomes(verdicts, claims), errors)}")
        everything = verbose or len(found) == 1
        rows = tuple(_row(v) for v in verdicts if everything or v.outcome is not Outcome.PASS)
        rows += tuple(_claim_row(n, f) for n, f in claims.items() if everything or not f.holds)
        if rows:
            show(Grid((Column("  result"), Column("method"), Column("found", Align.POINT), Column("expectation")), rows))
        ways = counterexamples(claims)
        open_ones = (f"{n} is undecided: {f.reason}" for n, f in claims.items() if f.holds is None)
        others = (f"{n} fails: {f.reason}" for n, f in claims.items() if f.holds is False and f.marking is None)
        for line in (*ways, *others, *open_ones):
            say(f"note: {line}")
    if len(found) > 1:
        outcomes = [o for _, verdicts, claims, _ in found for o in _outcomes(verdicts, claims)]
        say(f"{count(len(found), 'file')}: {_tally(outcomes, sum((e for *_, e in found), ()))}")


def _row(verdict: Verdict) -> tuple[str, ...]:
    return f"  {verdict.outcome.value}", verdict.method, _found(verdict), text_of(verdict)


def _claim_row(name: str, found: Finding) -> tuple[str, ...]:
    return f"  {_outcome(found).value}", "states", holds_text(found.holds), f"{name} : {found.claim}"


def text_of(verdict: Verdict) -> str:
    """The expectation as the file writes it, on one line, without its keyword."""
    e = verdict.expectation
    if e.span is None:
        return f"… {e.op} {number(verdict.right)}"
    return " ".join(e.span.text.split()).removeprefix("expect ")


def _found(verdict: Verdict) -> str:
    e, factor = verdict.expectation, float(verdict.expectation.unit_factor)
    shown, half = estimate(verdict.left / factor, None if verdict.half_width is None else verdict.half_width / factor)
    side = with_unit(f"{shown} ± {half}" if half else shown, e.unit)
    return f"{side} {e.op} {with_unit(number(verdict.right / factor), e.unit)}" if verdict.outcome is not Outcome.PASS else side


def _tally(outcomes: list[Outcome], errors: tuple[Diagnostic, ...]) -> str:
    words = ((Outcome.PASS, "passed"), (Outcome.FAIL, "FAILED"), (Outcome.UNDECIDED, "undecided"))
    parts = [f"{n} {word}" for o, word in words if (n := outcomes.count(o))] + [count(len(errors), "error")] * bool(errors)
    return ", ".join(parts) or "expects nothing"


def _record(path: Path, verdicts: list[Verdict], claims: Claims, errors: tuple[Diagnostic, ...]) -> dict[str, Any]:
    from spn.cli.check import diagnostic_record

    return {
        "file": str(path),
        "expectations": [
            {
                "text": text_of(v),
                "outcome": v.outcome.value.lower(),
                "left": plain_value(v.left),
                "right": plain_value(v.right),
                "half_width": plain_value(v.half_width),
                "method": v.method,
            }
            for v in verdicts
        ],
        "properties": [{"name": n, "outcome": _outcome(f).value.lower(), **plain(f)} for n, f in claims.items()],
        "diagnostics": [diagnostic_record(d) for d in errors],
    }
