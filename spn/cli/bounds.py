"""``spn bounds``: bounds on throughput from mean times and the structure, without a state space."""

from __future__ import annotations

import argparse
from typing import Any

from spn.cli.answers import loaded, print_json
from spn.cli.codes import Code
from spn.cli.terminal import prose, show
from spn.result import plain, plain_value
from spn.show.structure import asymptotic_lines, throughput_grid
from spn.structural.throughput import ThroughputBound


def run(arguments: argparse.Namespace) -> int:
    """Print a lower and an upper bound for every transition, and what the upper one rests on."""
    from spn.structural.analysis import bounds
    from spn.structural.bottleneck import asymptotic

    model = loaded(arguments)
    found = bounds(model, *(arguments.transition or ()))
    simple = asymptotic(model.net)
    if arguments.json:
        rows = [_record(b) for b in found]
        print_json({"model": model.name, "unit": "1/s", "bounds": rows, "asymptotic": None if simple is None else plain(simple)})
        return Code.OK
    show(throughput_grid(found, "" if model.unitless else "/s"))
    for line in [] if simple is None else asymptotic_lines(simple, model.unitless):
        prose(line)
    return Code.OK


def _record(b: ThroughputBound) -> dict[str, Any]:
    return {"transition": b.transition, "lower": plain_value(b.lower), "upper": plain_value(b.upper), "limits": list(b.limits)}
