"""``spn compare``: one measure of several mechanisms over the values of a parameter, where it crosses, and which is best."""

from __future__ import annotations

import argparse
import csv
import io
from typing import Any

from spn.cli.answers import print_json
from spn.cli.calibration import parameters, print_calibration
from spn.cli.codes import Code
from spn.cli.inputs import interval, model_file, sweep
from spn.cli.sampling import executor, forbid
from spn.cli.terminal import Progress, note, prose, say, show, terminal_width
from spn.errors import AnalysisError, ModelError, refuse
from spn.report.draw import chosen_format, writable
from spn.report.plot import FORMATS
from spn.show.crossing import crossing_grid, crossing_lines
from spn.show.differences import contrast_grid, differences_lines
from spn.show.grid import width
from spn.show.selection import selection_grid, selection_lines
from spn.show.table import Comparison, comparison_grid, comparison_list, saturation_lines
from spn.show.text import duration, number


def run(arguments: argparse.Namespace) -> int:
    """Compare the models, print the table, write the plot."""
    if arguments.cluster and any(getattr(arguments, name, None) for name in ("difference", "crossing", "best")):
        message = "what is compared by common random numbers is computed in this process"
        raise refuse(AnalysisError, "E0705", message, help="leave out --cluster")
    if arguments.crossing:
        return _crossing(arguments)
    if arguments.best:
        return _best(arguments)
    if not arguments.over:
        help = "name one with its values, for instance --over workers=1..8; or ask for a --crossing or for the --best"
        raise refuse(ModelError, "E0904", "there is no parameter to compare over", help=help)
    if arguments.difference:
        return _difference(arguments)
    help = "add --difference, --crossing or --best, or leave it out: each model is answered for the long run"
    forbid(arguments, ("horizon", "replications", "indifference"), "a plain comparison", help)
    over = sweep(arguments.over)
    paths = [model_file(f) for f in arguments.files]
    if arguments.output:
        chosen_format(arguments.output, None, FORMATS)  # before the work, not after it
        writable(arguments.output)
    given, calibration = parameters(arguments)
    from spn.sgd.compare import compare

    sampling = {"method": arguments.method, "seed": arguments.seed, "precision": arguments.precision, "confidence": arguments.confidence}
    with Progress() as progress:
        found = compare(
            paths,
            over,
            measure=arguments.measure,
            parameters=given,
            progress=lambda done, total, what: progress.show(what, done / total),
            **sampling,
            **executor(arguments),
        )
    _print(found, calibration, arguments)
    if arguments.output:
        from spn.report.plot import plot_comparison

        plot_comparison(found, arguments.output)
        note(f"wrote {arguments.output}")
    if not found.complete:
        return Code.INTERRUPTED
    return Code.OK if all(r.converged for r in found.rows) else Code.FAILED


def _spanned(arguments: argparse.Namespace, what: str, *, horizon: bool = True) -> dict[str, Any]:
    """The options of comparisons by common random numbers; what does not go with them is refused."""
    if horizon and arguments.method not in ("auto", "simulate"):
        raise refuse(AnalysisError, "E0705", f"{what} is simulated, with common random numbers", help="leave out --method")
    if horizon and arguments.horizon is None:
        raise refuse(
            AnalysisError, "E0705", f"{what} is of averages over a time", help="say how long with --horizon, for instance '10 min'"
        )
    if arguments.output or arguments.csv:
        raise refuse(AnalysisError, "E0705", f"{what} is printed as a table or as JSON", help="leave out -o and --csv")
    names = ("horizon", "warmup", "seed", "confidence", "max_seconds")
    return {"measure": arguments.measure, **{name: getattr(arguments, name) for name in names}}


def _counted(arguments: argparse.Namespace, name: str = "replications") -> dict[str, Any]:
    return {} if arguments.replications is None else {name: arguments.replications}


def _difference(arguments: argparse.Namespace) -> int:
    sampling = _spanned(arguments, "a difference")
    over, paths = sweep(arguments.over), [model_file(f) for f in arguments.files]
    given, calibration = parameters(arguments)
    from spn.sgd.compare import contrast

    with Progress() as progress:
        found = contrast(
            paths,
            over,
            parameters=given,
            progress=lambda done, total, what: progress.show(what, done / total),
            **_counted(arguments),
            **sampling,
        )
    if arguments.json:
        print_json({**found.to_dict(), "calibration": list(calibration)})
    else:
        print_calibration(calibration)
        head = f"{found.over}{f', {found.over_unit}' if found.over_unit else ''}"
        show(contrast_grid(head, [(number(at / found.over_factor), d) for at, d in found.points]))
        say()
        for line in dict.fromkeys(line for _, d in found.points for line in differences_lines(d)):
            prose(line)
        say(duration(found.seconds))
    return _code(any(d.interrupted for _, d in found.points), not all(d.complete for _, d in found.points))


def _crossing(arguments: argparse.Namespace) -> int:
    if len(arguments.files) != 2 or arguments.over:
        message = "a crossing is of two models over the range of one parameter"
        raise refuse(AnalysisError, "E0705", message, help="name two files and --crossing name=first..last, without --over")
    sampling = _spanned(arguments, "a crossing", horizon=False)
    name, low, high = interval(arguments.crossing)
    paths = [model_file(f) for f in arguments.files]
    given, calibration = parameters(arguments)
    from spn.sgd.compare import crossing_of

    with Progress() as progress:
        found = crossing_of(
            paths,
            (name, low, high),
            parameters=given,
            method=_how(arguments.method),
            progress=progress.show,
            **_counted(arguments),
            **sampling,
        )
    _answer(found, calibration, arguments, crossing_grid, crossing_lines)
    return _code(found.interrupted, not found.complete)


def _how(method: str) -> str:
    """What `--method` means for a crossing: an exact method is the one that applies to each model."""
    return method if method in ("auto", "simulate") else "exact"


def _best(arguments: argparse.Namespace) -> int:
    if arguments.indifference is None:
        help = "say with --indifference X which difference in the measure would not matter; the smaller, the longer it takes"
        raise refuse(AnalysisError, "E0705", "the best is selected with a guarantee for a difference that matters", help=help)
    sampling = _spanned(arguments, "a selection")
    over, paths = sweep(arguments.over) if arguments.over else None, [model_file(f) for f in arguments.files]
    given, calibration = parameters(arguments)
    from spn.sgd.compare import best_of

    goal = {"goal": arguments.best, "indifference": arguments.indifference}
    found = best_of(paths, over, parameters=given, **goal, **_counted(arguments, "first"), **sampling)
    _answer(found, calibration, arguments, selection_grid, selection_lines)
    return _code(found.interrupted, found.best is None)


def _code(interrupted: bool, short: bool) -> int:
    return Code.INTERRUPTED if interrupted else Code.FAILED if short else Code.OK


def _answer(found: Any, calibration: tuple[str, ...], arguments: argparse.Namespace, grid: Any, lines: Any) -> None:
    if arguments.json:
        print_json({**found.to_dict(), "calibration": list(calibration)})
        return
    print_calibration(calibration)
    show(grid(found))
    say()
    for line in lines(found):
        prose(line)
    say(duration(found.seconds))


def _print(found: Any, calibration: tuple[str, ...], arguments: argparse.Namespace) -> None:
    if arguments.json:
        print_json({**found.to_dict(), "calibration": list(calibration)})
    elif arguments.csv:
        say(csv_text(found).rstrip("\n"))
    else:
        print_calibration(calibration)
        _print_table(found)


def _print_table(found: Any) -> None:
    wide = comparison_grid(found)
    show(wide if width(wide) <= terminal_width() else comparison_list(found))
    say()
    for line in saturation_lines(found):
        say(line)
    if not found.complete:
        say("note: interrupted; the rows are those that were done")
    for remark in found.notes:
        prose(f"note: {remark}")
    simulated = any(r.half_width is not None for r in found.rows)
    say(f"{f'seed {found.seed}, ' if simulated else ''}{duration(found.seconds)}")


def csv_text(found: Comparison) -> str:
    """The rows as CSV: values in the measure's unit, the swept parameter in base units; an empty half-width means exact."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["mechanism", found.over, found.measure, "half_width", "unit", "efficiency", "method", "converged"])
    for r in found.rows:
        half = "" if r.half_width is None else repr(r.half_width / float(r.unit_factor))
        efficiency = "" if r.efficiency is None else repr(r.efficiency)
        shown = repr(r.value / float(r.unit_factor))
        writer.writerow([r.mechanism, f"{r.at:.15g}", shown, half, r.unit, efficiency, r.method, str(r.converged).lower()])
    return buffer.getvalue()
