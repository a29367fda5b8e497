"""``spn simulate``: a model's measures with confidence intervals."""

from __future__ import annotations

import argparse

from spn.cli.answers import answer, json_text, loaded, print_json, with_questions
from spn.cli.codes import Code
from spn.cli.sampling import forbid, options
from spn.cli.terminal import Progress, note, prose, say, show
from spn.errors import AnalysisError, refuse
from spn.report.draw import write
from spn.result import plain
from spn.show.text import count, duration, number

_ALONE = ("splitting", "levels", "control", "antithetic", "warmup")  # what answers measures otherwise than by plain runs
_OF_SAMPLES = ("precision", "absolute", "precise_for", "confidence", "replications", "estimator", "checkpoint", "cluster")


def run(arguments: argparse.Namespace) -> int:
    """Simulate the model and print the estimates of its measures."""
    from spn.sim import simulate

    if arguments.path is not None:
        return _path(arguments)
    if arguments.histogram is not None:
        return _histogram(arguments)
    if arguments.control or arguments.antithetic:
        return _reduced(arguments)
    if arguments.warmup is not None:
        help = "add --control or --antithetic; what is left out of a long run is found by itself"
        raise refuse(AnalysisError, "E0705", "--warmup goes with --control and --antithetic", help=help)
    if arguments.splitting is not None or arguments.levels is not None:
        from spn.cli.splitting import run as split

        return split(arguments)
    model = with_questions(loaded(arguments))
    if model.properties:
        note(f"properties are decided by `spn solve {arguments.file}`, not by simulation")
    with Progress() as progress:
        result = simulate(model, **options(arguments, progress))
    return answer(result, model, arguments)


def _histogram(arguments: argparse.Namespace) -> int:
    from spn.show.histogram import histogram_grid, histogram_lines
    from spn.sim.histogram import histogram

    forbid(arguments, _ALONE, "a histogram", "leave it out, or --histogram")
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


def _reduced(arguments: argparse.Namespace) -> int:
    from spn.show.reduced import reduced_grid, reduced_lines
    from spn.solvers.reduced import variance_reduced

    if arguments.horizon is None:
        help = "say how long with --horizon, for instance '10 min'"
        raise refuse(AnalysisError, "E0705", "--control and --antithetic are for averages over a time", help=help)
    for name in ("precision", "absolute", "precise_for", "max_firings"):
        if getattr(arguments, name) is not None:
            message = "--control and --antithetic take a fixed number of replications, and no precision"
            raise refuse(AnalysisError, "E0705", message, help="give --replications; the interval is half as wide with four times as many")
    forbid(arguments, ("estimator", "checkpoint", "cluster", "splitting", "levels"), "--control and --antithetic", "leave it out")
    names = ("horizon", "warmup", "control", "seed", "replications", "confidence", "max_seconds")
    given = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    found = variance_reduced(with_questions(loaded(arguments)), **{"control": "none", **given}, antithetic=arguments.antithetic)
    if arguments.json:
        print_json(found.to_dict())
    else:
        show(reduced_grid(found))
        say()
        for line in reduced_lines(found):
            prose(line)
        say(duration(found.seconds))
    if arguments.output:
        write((json_text(found.to_dict()) + "\n").encode(), arguments.output)
    if found.interrupted:
        return Code.INTERRUPTED
    return Code.FAILED if found.rows < found.planned else Code.OK


def _path(arguments: argparse.Namespace) -> int:
    from spn.report.draw import writable
    from spn.sim.history import write_path

    forbid(arguments, ("histogram", *_ALONE, *_OF_SAMPLES), "--path, which writes one run", "leave it out, or --path")
    writable(arguments.path)
    limits = {name: value for name in ("max_seconds", "max_firings") if (value := getattr(arguments, name)) is not None}
    written = write_path(loaded(arguments), arguments.path, arguments.horizon, seed=arguments.seed, **limits)
    if arguments.json:
        print_json(plain(written))
    else:
        ends = {"still": "nothing happens after that", "horizon": "the horizon", "firings": "before the horizon"}
        reached = f"{number(written.time)} s ({ends[written.ending]})"
        say(f"{written.path}: {count(written.firings, 'firing')} up to {reached}, seed {written.seed}")
        for line in written.notes:
            say(f"note: {line}")
    if written.interrupted:
        return Code.INTERRUPTED
    return Code.FAILED if written.notes else Code.OK
