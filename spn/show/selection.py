"""The selection of the best model as a table and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spn.show.grid import Align, Column, Grid, plain
from spn.show.text import count, number, percent, with_unit

if TYPE_CHECKING:
    from spn.sim.selection import Candidate, Selection


def selection_grid(found: Selection) -> Grid:
    """The candidates, best first, then the longer they stayed."""
    unit = f", {found.unit}" if found.unit else ""
    columns = (Column("candidate"), Column(f"{found.measure}{unit}", Align.POINT), Column("runs", Align.RIGHT), Column(""))
    sign = 1 if found.goal == "min" else -1
    order = sorted(found.candidates, key=lambda c: (c.left is not None, -c.replications, sign * c.value))
    return Grid(columns, tuple(_row(c, found) for c in order))


def _row(c: Candidate, found: Selection) -> tuple[str, ...]:
    state = "best" if c.name == found.best else "undecided" if c.left is None else f"left after {c.left}"
    return c.name, number(c.value / found.unit_factor, 5), str(c.replications), state


def selection_lines(found: Selection) -> tuple[str, ...]:
    """What is guaranteed, and how it was found out."""
    least = with_unit(number(found.indifference), found.unit)
    word = "largest" if found.goal == "max" else "smallest"
    if found.best is None:
        verdict = f"undecided: the {word} {found.measure} is that of one of {', '.join(found.remaining)}"
    else:
        verdict = (
            f"{found.best} has the {word} {found.measure}; this is right with a probability of at least {percent(found.confidence)} "
            f"if the best is better than every other by {least} or more (closer ones count as equally good)"
        )
    runs = count(found.replications, "run")
    over = f"{number(found.warmup)} s to {number(found.horizon)} s"
    how = f"{runs} over {over} with common random numbers (Kim and Nelson's sequential procedure), seed {found.seed}"
    return (verdict, how, *(f"note: {n}" for n in found.notes))


def selection_text(found: Selection) -> str:
    """The whole answer as plain text."""
    return "\n\n".join([plain(selection_grid(found)), "\n".join(selection_lines(found))])
