"""The command line's grammar: commands, options and their help. Nothing heavy is imported here, so that ``--help`` is instant."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from spn import __version__
from spn.cli.codes import Code
from spn.cli.inputs import positive, seconds, share
from spn.cli.terminal import complain
from spn.errors import nearest

METHODS: Final = (  # the keys of spn.solvers.methods.METHODS, which is not loaded for `--help`
    "ctmc",
    "product-form",
    "fork-join",
    "max-plus",
    "mrp",
    "semi-markov",
    "conditioning",
    "schedule",
    "phase-type",
    "meanfield",
    "simulate",
)

_DESCRIPTION: Final = "Stochastic Petri nets: check, solve, simulate and draw models; fit laws to traces; compare mechanisms."
_EPILOGUE: Final = """\
exit codes:
  0    done, and the answer is good
  1    the answer is negative: an expectation failed, check found errors
  2    the command line or the input is wrong
  3    the analysis refused, failed or did not converge
  130  interrupted; what was estimated so far has been printed

`spn COMMAND --help` explains a command. Parameters are set with -p, in the units of the model language:
  spn solve models/sgd/async_ps.spn -p workers=8 -p 'bandwidth=25 Gbit/s'
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors look like all others, with the nearest word that exists."""

    def error(self, message: str) -> NoReturn:
        complain(message, f"see `{self.prog} --help`")
        raise SystemExit(int(Code.USAGE))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(c) for c in action.choices]
            near = nearest(str(value), choices)
            hint = f"did you mean {near}?" if near else f"it is one of {', '.join(choices)}"
            what = "command" if isinstance(action, argparse._SubParsersAction) else f"value of {'/'.join(action.option_strings)}"
            raise argparse.ArgumentError(None, f"there is no {what} {value!r}; {hint}")


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help with the names of commands and what they do in two columns; argparse does not count their indent."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        self._action_max_length = max(self._action_max_length, 15)


def _typed(read: Callable[[str], float]) -> Callable[[str], float]:
    """A reader of numbers whose complaints argparse passes on."""

    def parse(text: str) -> float:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse


def _whole(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.strip().isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} on")
        return int(text)

    return parse


def _names(text: str) -> tuple[str, ...]:
    """Names between commas; those of components may have commas in brackets: ``busy[1,2]``."""
    return tuple(name.strip() for name in re.split(r",(?![^\[]*\])", text) if name.strip())


def _numbers(text: str) -> tuple[float, ...]:
    """Numbers between commas."""
    try:
        return tuple(float(x) for x in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers between commas") from None


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = _Parser(prog="spn", description=_DESCRIPTION, epilog=_EPILOGUE, formatter_class=_Help)
    top.add_argument("--version", action="version", version=f"spn {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for add in (
        _check,
        _solve,
        _methods,
        _sensitivity,
        _simulate,
        _structure,
        _states,
        _bounds,
        _draw,
        _records,
        _fit,
        _calibrate,
        _compare,
        _test,
        _format,
        _lsp,
    ):
        add(commands)
    return top


def _with_negatives(arguments: Sequence[str]) -> list[str]:
    """The arguments with ``--levels -6,-4`` as one word, which argparse would take for two options."""
    found: list[str] = []
    for word in arguments:
        if found and found[-1] == "--levels" and re.fullmatch(r"-[\d.].*", word):
            found[-1] = f"--levels={word}"
        else:
            found.append(word)
    return found


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    found, unknown = parser().parse_known_args(_with_negatives(sys.argv[1:] if arguments is None else arguments))
    if unknown:
        complain(f"unrecognized arguments: {' '.join(unknown)}", f"see `spn {found.command} --help`")
        raise SystemExit(int(Code.USAGE))
    return found


def _command(commands: Any, name: str, summary: str, examples: str) -> argparse.ArgumentParser:
    made = commands.add_parser(
        name,
        help=summary[0].lower() + summary[1:].rstrip("."),
        description=summary,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    assert isinstance(made, argparse.ArgumentParser)
    return made


def _check(commands: Any) -> None:
    p = _command(
        commands,
        "check",
        "Find what is wrong with model files.",
        "  spn check models/sgd/*.spn\n  spn check net.spn -p workers=8\n  spn check --explain E0108",
    )
    p.add_argument("files", nargs="*", metavar="FILE", help="model files, or folders of them")
    p.add_argument("--explain", metavar="CODE", help="what the code of an error or a warning means, with an example, and how to mend it")
    _parameters(p)
    _json(p)


def _solve(commands: Any) -> None:
    examples = "  spn solve net.spn -p workers=8 --json\n  spn solve net.spn --method ctmc\n  spn solve net.spn --method meanfield"
    p = _command(commands, "solve", "Answer a model's measures, exactly where a method can, else by simulation.", examples)
    _model(p)
    p.add_argument(
        "--method",
        choices=("auto", *METHODS),
        metavar="M",
        default="auto",
        help=f"how to answer: auto (the default: exactly where that is quick, else by simulation), {', '.join(METHODS)}; "
        "`spn methods FILE` says what each is and whether it applies",
    )
    p.add_argument(
        "--solver",
        choices=("auto", "gth", "lu", "sparse-gth", "aggregation", "idr", "sor", "power"),
        default="auto",
        help="of the stationary vector, with an exact method (default: auto, by size and structure)",
    )
    p.add_argument(
        "--phases",
        choices=("converging", "moments2", "moments3", "cdf"),
        help="of phase-type: how laws become phases (default: converging, mixtures of Erlangs extrapolated to the limit)",
    )
    p.add_argument("--order", type=_whole(1), metavar="K", help="of phase-type: stages a mean, or phases (default: raised until stable)")
    p.add_argument("--accuracy", type=_typed(share), metavar="R", help="of phase-type: relative error to reach (default: 1e-6)")
    p.add_argument("--verify", action="store_true", help="ask a second, independent method too; exit code 1 where they disagree")
    p.add_argument("--lump", choices=("auto", "off"), help="of the exact method: lump interchangeable replicas (default: auto)")
    _sampling(p)
    _json(p)
    _result_file(p)


def _methods(commands: Any) -> None:
    p = _command(
        commands,
        "methods",
        "List all methods: which may answer a model, what they would cost, and what refuses the others.",
        "  spn methods net.spn\n  spn methods net.spn -p workers=8 --json",
    )
    _model(p)
    _json(p)


def _sensitivity(commands: Any) -> None:
    examples = "  spn sensitivity net.spn\n  spn sensitivity net.spn --measure steps -p workers=8 --json"
    p = _command(commands, "sensitivity", "Rank what a model's long-run measures depend on, and name the bottleneck.", examples)
    _model(p)
    p.add_argument("--measure", metavar="NAME", help="the measure (default: all long-run measures)")
    p.add_argument("--method", choices=("exact", "simulate"), default="exact", help="exactly (default), or by simulation, with intervals")
    group = p.add_argument_group("simulation")
    group.add_argument(
        "--estimator",
        choices=("auto", "likelihood", "perturbation"),
        help="likelihood ratios or perturbation analysis (default: auto, the first that is valid)",
    )
    group.add_argument("--seed", type=_whole(0), metavar="N", help="of the random numbers (default: fresh, and reported)")
    group.add_argument("--precision", type=_typed(share), metavar="R", help="half-width of elasticities to reach (default: 5%%)")
    group.add_argument("--confidence", type=_typed(share), metavar="C", help="confidence level (default: 95%%)")
    group.add_argument("--max-seconds", type=_typed(seconds), metavar="T", help="stop after this much computing time")
    _json(p)


def _simulate(commands: Any) -> None:
    examples = "  spn simulate net.spn --seed 1 --precision 0.5%\n  spn simulate net.spn --horizon '10 min' --replications 20"
    p = _command(commands, "simulate", "Estimate a model's measures by simulation, with confidence intervals.", examples)
    _model(p)
    _trace(p)
    _sampling(p)
    p.add_argument("--max-seconds", type=_typed(seconds), metavar="T", help="stop after this much computing time")
    p.add_argument("--checkpoint", metavar="FILE", help="keep what is done in a file, every few seconds; if it is there, go on from it")
    p.add_argument("--histogram", metavar="EXPR", help="how an expression is distributed, instead of the measures: '#q', '#q | serve'")
    p.add_argument("--path", metavar="OUT", help="write every firing up to --horizon to a .csv or .parquet file, instead of the measures")
    p.add_argument(
        "--splitting",
        nargs="?",
        const="",
        metavar="EXPR",
        help="rare events: split runs where EXPR, over markings, grows; without EXPR the nearness to the condition asked for",
    )
    p.add_argument("--levels", type=_numbers, metavar="L,…", help="values of EXPR at which to split (default: found by a pilot run)")
    p.add_argument("--max-firings", type=_whole(1), metavar="N", help="stop after so many firings (default: 1e9)")
    less = p.add_argument_group("less variance, over --horizon")
    less.add_argument(
        "--control",
        nargs="?",
        const="auto",
        choices=("auto", "twin", "works", "none"),
        help="correct by control variates: the exactly solved exponential twin, the works drawn, or (auto) what a pilot finds worth it",
    )
    less.add_argument("--antithetic", action="store_true", help="pairs of runs from opposite random numbers")
    less.add_argument("--warmup", type=_typed(seconds), metavar="T", help="of the horizon: so much is left out (default: nothing)")
    _json(p)
    _result_file(p)


def _states(commands: Any) -> None:
    examples = "  spn states net.spn -p workers=3\n  spn states net.spn --list 50\n  spn states net.spn --max-states 1000000 --json"
    p = _command(commands, "states", "Count a model's reachable markings: dead ones, sets never left, tokens of each place.", examples)
    _model(p)
    p.add_argument("--list", type=_whole(0), nargs="?", const=100, metavar="N", help="list the first N markings too (100)")
    p.add_argument("--max-states", type=_whole(1), metavar="N", help="stop with an error at more markings (default: 20 million)")
    _json(p)


def _draw(commands: Any) -> None:
    examples = "  spn draw net.spn                 # net.svg\n  spn draw net.spn -o net.pdf\n  spn draw net.spn -o - --format dot"
    p = _command(commands, "draw", "Draw a net as SVG, PNG, PDF or DOT.", examples)
    _model(p)
    p.add_argument(
        "-o", "--output", metavar="OUT", help="the picture; its suffix says the format (default: the model's name .svg); - is stdout"
    )
    p.add_argument("--format", choices=("svg", "png", "pdf", "dot"), help="the format, whatever the suffix")


def _records(commands: Any) -> None:
    examples = "  spn trace trace.json.gz\n  spn trace rank*.json --strict\n  spn trace step.pb -o records.parquet"
    p = _command(commands, "trace", "Show what profiling traces hold: steps, phases, bytes and what is wrong with them.", examples)
    formats = "Chrome, Kineto, TensorFlow, Horovod, BytePS, Execution Trace, Chakra, Nsight, CSV, Parquet or a log, recognised by content"
    p.add_argument("files", metavar="FILE", nargs="+", help=f"{formats}; also gzipped, several files, or a tar archive of them")
    p.add_argument("--mark", metavar="OP", help="the operation that begins every training step, where the trace marks none")
    p.add_argument("--column", metavar="COLUMN", help="of a CSV or Parquet file: the column of durations")
    p.add_argument("--unit", metavar="UNIT", help="of a CSV or Parquet file: the unit of the durations")
    p.add_argument("--strict", action="store_true", help="refuse a trace with anything wrong in it, instead of going on")
    p.add_argument("-o", "--output", metavar="OUT", help="write the records, as CSV or (OUT.parquet) Parquet")
    _json(p)


def _fit(commands: Any) -> None:
    examples = "  spn fit trace.json.gz            # lists the operations\n  spn fit trace.json.gz --name compute --plot fit.svg"
    p = _command(commands, "fit", "Fit a law to the durations in a trace or a CSV file.", examples)
    p.add_argument("file", metavar="FILE", help="a Chrome (Kineto) trace or a CSV file of durations, also gzipped")
    p.add_argument("--name", metavar="OP", help="the operation or column; without it those found are listed")
    p.add_argument("--family", default="auto", help="the family of laws (default: auto, the best by the criterion)")
    p.add_argument("--criterion", choices=("aicc", "bic"), default="aicc", help="how families are ranked (default: aicc)")
    p.add_argument("--mark", metavar="OP", help="the operation that begins every training step, where the trace marks none")
    p.add_argument("--column", metavar="COLUMN", help="of a CSV file: the column of durations")
    p.add_argument("--unit", metavar="UNIT", help="of a CSV file: the unit of the durations")
    p.add_argument("--plot", metavar="OUT", help="write how the law follows the data, as SVG, PNG or PDF")
    _json(p)


def _calibrate(commands: Any) -> None:
    examples = "  spn calibrate trace.json.gz -o params.spn\n  spn compare a.spn b.spn --params params.spn --over workers=1..8"
    p = _command(commands, "calibrate", "Write the parameters of the training models that a profiling trace tells.", examples)
    p.add_argument("file", metavar="TRACE", help="a trace of any format that `spn trace` reads")
    p.add_argument("-o", "--output", metavar="OUT", help="the parameter file (default: print it)")


def _compare(commands: Any) -> None:
    examples = (
        "  spn compare models/sgd/async_ps.spn models/sgd/ring.spn --over workers=1..16 -o scaling.svg\n"
        "  spn compare a.spn b.spn --over 'bandwidth=1 Gbit/s,10 Gbit/s' --measure examples --csv\n"
        "  spn compare a.spn b.spn --crossing 'bandwidth=1 Gbit/s..10 Gbit/s' --horizon '10 min'\n"
        "  spn compare a.spn b.spn c.spn --best max --indifference 0.5 --horizon '10 min'"
    )
    p = _command(commands, "compare", "Compare one measure of several models over the values of a parameter.", examples)
    p.add_argument("files", nargs="+", metavar="FILE", help="model files")
    p.add_argument("--over", metavar="NAME=VALUES", help="the parameter and its values: workers=1..16 or workers=1,2,4,8")
    p.add_argument("--measure", default="steps", metavar="NAME", help="the measure to compare (default: steps)")
    _parameters(p)
    _trace(p)
    p.add_argument(
        "--method", choices=("auto", *METHODS), metavar="M", default="auto", help="how to answer (default: auto; see `spn methods`)"
    )
    p.add_argument("--seed", type=_whole(0), metavar="N", help="of the simulations (default: fresh, and reported)")
    p.add_argument(
        "--precision", type=_typed(share), default=0.01, metavar="R", help="relative half-width of simulated points (default: 1%%)"
    )
    p.add_argument("--confidence", type=_typed(share), default=0.95, metavar="C", help="confidence level (default: 95%%)")
    _cluster(p)
    p.add_argument("-o", "--output", metavar="OUT", help="write the plot, as SVG, PNG or PDF")
    pairs = p.add_argument_group("by common random numbers")
    what = pairs.add_mutually_exclusive_group()
    what.add_argument("--difference", action="store_true", help="by how much each differs from the first")
    what.add_argument("--crossing", metavar="NAME=LO..HI", help="at which value of a parameter the curves of two models cross")
    what.add_argument("--best", choices=("max", "min"), help="which model (at which value of --over) has the largest, or smallest, measure")
    pairs.add_argument("--indifference", type=_typed(positive), metavar="X", help="of --best: a difference that would not matter")
    pairs.add_argument("--horizon", type=_typed(seconds), metavar="T", help="model time of each run")
    pairs.add_argument("--warmup", type=_typed(seconds), default=0.0, metavar="T", help="of which so much is left out (default: nothing)")
    pairs.add_argument(
        "--replications", type=_whole(2), metavar="N", help="runs of each model (default: 32; of --best: 16 before any leaves)"
    )
    pairs.add_argument("--max-seconds", type=_typed(seconds), default=60.0, metavar="T", help="computing time (default: 60 s)")
    form = p.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--csv", action="store_true", help="print CSV")


def _structure(commands: Any) -> None:
    examples = "  spn structure net.spn\n  spn structure net.pnml --json"
    p = _command(commands, "structure", "Print what the arcs of a net say: invariants, bounds, siphons, conflicts, classes.", examples)
    _model(p)
    p.add_argument("--all", action="store_true", help="print whole lists")
    p.add_argument("--most", type=_whole(1), default=2_000, metavar="N", help="stop a search at this many sets (default: 2000)")
    p.add_argument("--seconds", type=_typed(seconds), default=5.0, metavar="T", help="stop a search after this time (default: 5 s)")
    _json(p)


def _bounds(commands: Any) -> None:
    examples = "  spn bounds net.spn\n  spn bounds net.spn -t serve"
    p = _command(commands, "bounds", "Bound throughputs by linear programming on mean times and arcs, without a state space.", examples)
    _model(p)
    p.add_argument("-t", "--transition", action="append", metavar="NAME", help="of this transition only; may be given several times")
    _json(p)


def _test(commands: Any) -> None:
    p = _command(commands, "test", "Check what model files expect of themselves.", "  spn test models\n  spn test net.spn --seed 7")
    p.add_argument("files", nargs="+", metavar="FILE", help="model files, or folders of them")
    _parameters(p)
    p.add_argument(
        "--method", choices=("auto", *METHODS), metavar="M", default="auto", help="how to answer (default: auto; see `spn methods`)"
    )
    p.add_argument("--seed", type=_whole(0), default=1, metavar="N", help="of the simulations (default: 1)")
    p.add_argument("--max-seconds", type=_typed(seconds), default=120.0, metavar="T", help="computing time for one file (default: 2 min)")
    p.add_argument("-v", "--verbose", action="store_true", help="list every expectation, also of many files")
    _json(p)


def _format(commands: Any) -> None:
    examples = "  spn format models\n  spn format --check net.spn      # 1 and a diff where it is not canonical\n  spn format - < net.spn"
    p = _command(commands, "format", "Write model files in their canonical form.", examples)
    p.add_argument("files", nargs="+", metavar="FILE", help="model files, or folders of them; - reads stdin and writes stdout")
    p.add_argument("--check", action="store_true", help="write nothing; show what would change, and exit with 1 if anything would")
    p.add_argument("--stdout", action="store_true", help="print the text instead of writing the file")
    p.add_argument("--freeze", action="store_true", help="replace every fit(…) by the law it gives, with a comment on the fit")
    p.add_argument("--unroll", action="store_true", help="print the flat net: components, loops and parameters written out")
    _parameters(p)


def _lsp(commands: Any) -> None:
    p = _command(commands, "lsp", "Serve editors: the language server, over stdin and stdout.", "  spn lsp    # see docs/editors.md")
    p.add_argument("--stdio", action="store_true", help="over stdin and stdout (the only way there is; editors pass this)")


def _model(p: argparse.ArgumentParser) -> None:
    p.add_argument("file", metavar="FILE", help="a model file")
    _parameters(p)


def _parameters(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "-p", "--parameter", action="append", default=[], metavar="NAME=VALUE", help="set a parameter; may be given several times"
    )


def _trace(p: argparse.ArgumentParser) -> None:
    p.add_argument("--params", metavar="FILE", help="take parameters from a file that `spn calibrate` wrote; -p and --trace go before it")
    p.add_argument("--trace", metavar="FILE", help="take the laws of computation and update, and the bytes sent, from a profiling trace")


def _sampling(p: argparse.ArgumentParser) -> None:
    group = p.add_argument_group("simulation")
    group.add_argument("--seed", type=_whole(0), metavar="N", help="of the random numbers (default: fresh, and reported)")
    group.add_argument("--precision", type=_typed(share), metavar="R", help="relative half-width to reach (default: 1%%)")
    group.add_argument("--absolute", type=_typed(positive), metavar="W", help="or this half-width, in the unit in which a measure is shown")
    group.add_argument("--for", dest="precise_for", type=_names, metavar="NAMES", help="the measures to be precise for (default: all)")
    group.add_argument("--confidence", type=_typed(share), metavar="C", help="confidence level (default: 95%%)")
    group.add_argument("--replications", type=_whole(2), metavar="N", help="independent runs (default: as many as are needed)")
    group.add_argument("--horizon", type=_typed(seconds), metavar="T", help="model time of each run, for instance '10 min'")
    group.add_argument("--estimator", choices=("auto", "batches", "regenerative"), help="how long runs are cut (default: auto)")
    _cluster(group)


def _cluster(group: argparse._ActionsContainer) -> None:
    group.add_argument("--cluster", metavar="ADDRESS", help="do the work on a Dask cluster, given by its scheduler: tcp://10.0.0.1:8786")


def _json(p: argparse.ArgumentParser) -> None:
    p.add_argument("--json", action="store_true", help="print JSON")


def _result_file(p: argparse.ArgumentParser) -> None:
    p.add_argument("-o", "--output", metavar="OUT", help="write the result as JSON as well")
