"""``spn states``: the reachable markings of a model, counted."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from spn.cli.answers import loaded, print_json
from spn.cli.codes import Code
from spn.cli.terminal import prose, say, show
from spn.show.grid import Align, Column, Grid
from spn.show.table import marking_text
from spn.show.text import count

if TYPE_CHECKING:
    from spn.reach.states import States

SHOWN: Final = 12  # firings of a sequence, and transitions or places in a row, that a cell or a line lists


def run(arguments: argparse.Namespace) -> int:
    """Explore the model's markings and print what there is to say of them."""
    from spn.reach.states import states

    model = loaded(arguments)
    found = states(model, max_states=arguments.max_states)
    if arguments.json:
        data = found.to_dict()
        if arguments.list is not None:
            data["list"] = list(islice(found.markings(), arguments.list))
        print_json(data)
    else:
        _print(found, arguments.list)
    return Code.OK


def _print(found: States, listed: int | None) -> None:
    prose(_headline(found))
    for grid in (_classes(found), _bounds(found)):
        if grid.rows:
            say()
            show(grid)
    if listed is not None:
        say()
        show(_markings(found, listed))
    say()
    for line in _remarks(found, listed):
        prose(f"note: {line}")


def _headline(found: States) -> str:
    kinds = f" ({found.tangible:,} tangible, {found.vanishing:,} vanishing)" if found.vanishing else ""
    firings = f"{count(found.timed_firings, 'timed firing')}"
    if found.immediate_firings:
        firings += f", {count(found.immediate_firings, 'immediate one')}"
    return f"{found.name}: {count(len(found), 'marking')}{kinds}, {firings}"


def _classes(found: States) -> Grid:
    """The sets of markings that are never left; none where it is all markings."""
    columns = (Column("never left"), Column("markings", Align.RIGHT), Column("first marking met"), Column("reached by"))
    if found.reversible and not found.dead + found.stuck:
        return Grid(columns, ())
    return Grid(columns, tuple((c.kind, f"{c.size:,}", marking_text(c.marking), _listed(c.firings) or "(initial)") for c in found.classes))


def _bounds(found: States) -> Grid:
    columns = (Column("place"), Column("least", Align.RIGHT), Column("most", Align.RIGHT))
    return Grid(columns, tuple((name, f"{low:,}", f"{high:,}") for name, (low, high) in found.bounds.items()))


def _markings(found: States, listed: int) -> Grid:
    columns = (Column("", Align.RIGHT), Column("marking"), Column("kind"))
    shown = zip(islice(found.markings(), listed), found.graph.vanishing[:listed].tolist(), strict=False)
    rows = [(f"{i:,}", marking_text(m, limit=len(m)), "vanishing" if v else "") for i, (m, v) in enumerate(shown)]
    return Grid(columns, tuple(rows))


def _listed(names: Sequence[str]) -> str:
    if len(names) <= SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[: SHOWN // 2])}, … ({len(names) - SHOWN} more) …, {', '.join(names[-SHOWN // 2 :])}"


def _remarks(found: States, listed: int | None) -> list[str]:
    lines = [_ways_back(found)]
    if found.recurrent > len(found.classes):
        lines.append(f"of {found.recurrent:,} sets that are never left the {len(found.classes)} met first are listed")
    if found.dead:
        lines.append(f"{count(found.dead, 'dead marking')}: no transition is enabled")
    if found.stuck:
        lines.append(f"{count(found.stuck, 'stuck marking')}: transitions are enabled, but every speed is 0")
    if found.never:
        lines.append(f"never fired: {_listed(found.never)}")
    if found.net.transitions:
        lines.append("live: every transition can always fire again" if found.live else f"not live{_lost(found)}")
    if listed is not None and listed < len(found):
        lines.append(f"{count(listed, 'marking')} of {len(found):,} listed")
    if found.approximate:
        lines.append(f"times are left out of account: because of those of {found.approximate} some of these markings may never be met")
    return lines


def _ways_back(found: States) -> str:
    if found.reversible:
        return "from every marking there is a way back to the initial one"
    if found.home:
        return f"{count(found.home, 'home marking')}: reached from everywhere; the initial one is none of them"
    return f"{found.recurrent:,} sets of markings that are never left, so that no marking can be reached from everywhere"


def _lost(found: States) -> str:
    lost = next((c.lost for c in found.classes if c.lost), ())
    return f": {_listed(lost)} can cease to fire" if lost else ""
