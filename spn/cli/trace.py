"""``spn trace``: what profiling traces hold, and their records as a table."""

from __future__ import annotations

import argparse
from typing import Any

from spn.cli.answers import print_json
from spn.cli.codes import Code
from spn.cli.inputs import existing_file
from spn.cli.terminal import note, say, show
from spn.expr.dims import TIME
from spn.report.draw import writable
from spn.show.grid import Align, Column, Grid
from spn.show.text import count, number, quantity
from spn.trace.export import write_records
from spn.trace.readers import read, sound
from spn.trace.summary import summary

_LISTED = 12  # rows of nodes and links


def run(arguments: argparse.Namespace) -> int:
    """Read the files into one table, and show, refuse or write it."""
    if arguments.output:
        writable(arguments.output)
    paths = [existing_file(name) for name in arguments.files]
    options: dict[str, Any] = {k: v for k in ("column", "unit") if (v := getattr(arguments, k)) is not None}
    trace = read(paths[0] if len(paths) == 1 else paths, **options)
    if arguments.strict:
        sound(trace)
    if arguments.output:
        note(f"{count(write_records(trace, arguments.output), 'record')} written to {arguments.output}")
    found = summary(trace, arguments.mark)
    if arguments.json:
        print_json(found)
    else:
        _print(found)
    return Code.OK


def _print(found: dict[str, Any]) -> None:
    files, steps = found["files"], found["steps"]
    events = sum(f["events"] for f in files)
    say(f"{files[0]['path'] if len(files) == 1 else count(len(files), 'file')}: {found['format']}")
    say(
        f"{count(found['records'], 'record')} of {count(found['operations'], 'operation')} from {count(events, 'entry', 'entries')}, "
        f"{_time(found['span']) if found['span'] else 'no times'}, {count(found['dependencies'], 'dependency', 'dependencies')}"
    )
    _places(found)
    for problem in (*found["problems"], *steps["left_out"], *found["collectives"]["problems"]):
        example = problem.get("example")
        note(f"{problem['count']:,} x {problem['what']}" + (f", for instance {example}" if example else ""))
    _kinds(found["kinds"])
    _steps(steps)
    _collectives(found["collectives"])
    _links(found["links"])


def _places(found: dict[str, Any]) -> None:
    nodes = [n for n in found["nodes"] if n]
    if nodes:
        more = f" and {len(nodes) - _LISTED} more" if len(nodes) > _LISTED else ""
        say(f"{count(len(nodes), 'node')}: {', '.join(nodes[:_LISTED])}{more}")
    if found["ranks"]:
        more = " …" if len(found["ranks"]) > _LISTED else ""
        say(f"{count(len(found['ranks']), 'rank')}: {', '.join(map(str, found['ranks'][:_LISTED]))}{more}")


def _kinds(rows: list[dict[str, Any]]) -> None:
    say()
    columns = (Column("kind"), Column("records", Align.RIGHT), Column("total", Align.RIGHT), Column("bytes", Align.RIGHT), Column(""))
    cells = tuple((r["kind"], f"{r['records']:,}", _time(r["total"]) if r["total"] else "", *_size(r)) for r in rows)
    show(Grid(columns, cells, "records by kind (totals of durations, which may overlap):"))


def _size(row: dict[str, Any]) -> tuple[str, str]:
    """Bytes of the records that tell them, and how many do not, where some do."""
    if row["bytes"] is None:
        return "", ""
    return f"{row['bytes']:,}", f"{row['without_size']:,} unknown" if row["without_size"] else ""


def _steps(steps: dict[str, Any]) -> None:
    say()
    if not steps["count"]:
        say(f"no steps: {steps['why']}" if "why" in steps else "no complete step")
        return
    columns = (Column("phase"), *(Column(c, Align.RIGHT) for c in ("mean", "cv", "least", "most")))
    rows = tuple((p["name"], _time(p["mean"]), number(p["cv"], 3), _time(p["least"]), _time(p["most"])) for p in steps["phases"])
    where = "on the device" if steps["on_device"] else "on the host"
    show(Grid(columns, rows, f"{count(steps['count'], 'step')}, told by {steps['marked_by']}; compute and communication {where}:"))
    if steps["device_period"] is not None:
        say(f"  from one step's end on the device to the next one's: {_time(steps['device_period'])} in the mean")
    if steps["bytes"]:
        size = steps["bytes"]
        spread = "" if size["least"] == size["most"] else f" (from {size['least']:,} to {size['most']:,})"
        say(f"  bytes a step: {number(size['mean'], 12)}{spread}")


def _collectives(found: dict[str, Any]) -> None:
    if not found["matched"]:
        return
    say()
    worst = max(found["wait"])
    say(
        f"{count(found['matched'], 'collective')} of all {len(found['ranks'])} ranks: {_time(found['service'])} of service (the least over "
        f"ranks), and waiting inside them up to {_time(worst)} on rank {found['ranks'][found['wait'].index(worst)]}"
    )


def _links(rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    say()
    columns = (Column("from"), Column("to"), *(Column(c, Align.RIGHT) for c in ("phases", "messages", "bytes", "rate")))
    cells = tuple(
        (
            r["source"] or "?",
            r["target"] or "?",
            f"{r['phases']:,}",
            f"{r['messages']:,}",
            "" if r["bytes"] is None else f"{r['bytes']:,}",
            "" if r["rate"] is None else f"{number(r['rate'] / 1e6, 4)} MB/s",
        )
        for r in rows[:_LISTED]
    )
    show(Grid(columns, cells, "links (a phase: from the first to the last of transfers that overlap):"))


def _time(seconds: float) -> str:
    return quantity(seconds, TIME, 4)
