"""``spn structure``: what the arcs of a net alone say about it."""

from __future__ import annotations

import argparse

from spn.cli.answers import loaded, print_json
from spn.cli.codes import Code
from spn.cli.terminal import prose, say, show
from spn.show.structure import bounds_grid, heading, sections


def run(arguments: argparse.Namespace) -> int:
    """Print invariants, bounds, siphons and traps, conflicts and classes."""
    from spn.structural.analysis import structure

    found = structure(loaded(arguments), most=arguments.most, seconds=arguments.seconds)
    if arguments.json:
        print_json(found.to_dict())
        return Code.OK
    everything = arguments.all
    prose(heading(found))
    show(bounds_grid(found, everything))
    for title, lines in sections(found, everything):
        say()
        say(title)
        for line in lines:
            prose(f"  {line}")
    return Code.OK
