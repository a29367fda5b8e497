"""The thresholds of a run with splitting as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spn.show.grid import Align, Column, Grid
from spn.show.text import number


def levels_grid(levels: Sequence[Mapping[str, Any]]) -> Grid:
    """A row a threshold: its importance, into how many paths it splits, how often it was crossed, and from how many independent roots."""
    columns = [Column("for"), *(Column(name, Align.RIGHT) for name in ("importance", "split into", "came up", "roots"))]
    rows = tuple((x["for"], number(x["importance"]), f"{x['factor']:,}", f"{x['hits']:,}", f"{x['roots']:,}") for x in levels)
    return Grid(tuple(columns), rows)
