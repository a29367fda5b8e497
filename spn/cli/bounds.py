"""``spn bounds``: bounds on throughput from mean times and the structure, without a state space."""

from __future__ import annotations

import argparse
from typing import Any

from spn.cli.answers import loaded, print_json
from spn.cli.codes import Code
from spn.cli.terminal import prose, show
from spn.result import plain_value
from spn.show.structure import throughput_grid
from spn.structural.throughput import ThroughputBound


def run(arguments: argparse.Namespace) -> int:
    """Print a lower and an upper bound for every transition, and what the upper one rests on."""
    from spn.structural.analysis import bounds

    model = loaded(arguments)
    found = bounds(model, *(arguments.transition or ()))
    if arguments.json:
        rows = [_record(b) for b in found]
        print_json({"model": model.name, "unit": "1/s", "bounds": rows})
        return Code.OK
    show(throughput_grid(found, "" if model.unitless else "/s"))
    prose("long-run means lie between these, whatever the laws beyond their means (see `spn bounds --help`)")
    return Code.OK


def _record(b: ThroughputBound) -> dict[str, Any]:
    return {"transition": b.transition, "lower": plain_value(b.lower), "upper": plain_value(b.upper), "limits": list(b.limits)}
