"""Printing the sweeps of a model: what ``spn solve`` does with a file that has some."""

from __future__ import annotations

import argparse
from typing import Any

from spn.cli.answers import interrupted, json_text, print_json
from spn.cli.codes import Code
from spn.cli.terminal import Progress, prose, say, show, terminal_width
from spn.model import Model
from spn.report.draw import write
from spn.show.grid import width
from spn.show.sweep import sweep_grid, sweep_list, sweep_notes


def run(model: Model, arguments: argparse.Namespace, progress: Progress, options: dict[str, Any]) -> int:
    """Solve all points and print a table a sweep; the exit code that they deserve."""
    from spn.solvers.sweep import sweep

    tables = sweep(model, arguments.method, watch=progress.show, **options)
    data = {"sweeps": [t.to_dict() for t in tables]}
    if arguments.output:
        write((json_text(data) + "\n").encode(), arguments.output)
    if arguments.json:
        print_json(data)
    else:
        for k, table in enumerate(tables):
            if k:
                say()
            wide = sweep_grid(table)
            show(wide if width(wide) <= terminal_width() else sweep_list(table))
            for line in sweep_notes(table):
                prose(f"note: {line}")
    results = [r.result for t in tables for r in t.rows]
    if any(interrupted(r) for r in results):
        return Code.INTERRUPTED
    return Code.OK if all(r.converged for r in results) else Code.FAILED
