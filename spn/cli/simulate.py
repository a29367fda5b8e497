"""``spn simulate``: a model's measures with confidence intervals."""

from __future__ import annotations

import argparse

from spn.cli.answers import answer, json_text, loaded, print_json, with_questions
from spn.cli.codes import Code
from spn.cli.sampling import options
from spn.cli.terminal import Progress, note, prose, say, show
from spn.report.draw import write
from spn.result import plain
from spn.show.text import count, number


def run(arguments: argparse.Namespace) -> int:
    """Simulate the model and print the estimates of its measures."""
    from spn.sim import simulate

    if arguments.path is not None:
        return _path(arguments)
    if arguments.histogram is not None:
        return _histogram(arguments)
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


def _path(arguments: argparse.Namespace) -> int:
    from spn.report.draw import writable
    from spn.sim.history import write_path

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
