"""Tables as data, and their rendering as text of fixed columns. No cell is wrapped or cut: figures must stay whole."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Align(StrEnum):
    LEFT = "left"
    RIGHT = "right"
    POINT = "point"  # decimal points below each other


@dataclass(frozen=True, slots=True)
class Column:
    """``gap``: blanks before the column; less than two ties it to the one on its left."""

    name: str
    align: Align = Align.LEFT
    gap: int = 2


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: columns and rows of texts, with an optional title. Columns that are empty throughout are left out when shown."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""


def cells_wide(text: str) -> int:
    """How many terminal cells a text takes: two for a wide East Asian character, none for a combining mark."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def plain(grid: Grid, heading: Callable[[str], str] = str) -> str:
    """The table as lines of text: a head, a rule, the rows. No line ends in blanks. ``heading`` may colour title and head."""
    shown = _without_empty(grid)
    columns = [_column(c, [row[i] for row in shown.rows]) for i, c in enumerate(shown.columns)]
    gaps = [" " * c.gap if i else "" for i, c in enumerate(shown.columns)]
    lines = ["".join(gap + cell for gap, cell in zip(gaps, cells, strict=True)).rstrip() for cells in zip(*columns, strict=True)]
    return "\n".join([*([heading(shown.title)] if shown.title else []), heading(lines[0]), *lines[1:]])


def width(grid: Grid) -> int:
    """How many terminal cells the widest line takes."""
    return max(cells_wide(line) for line in plain(grid).splitlines())


def _without_empty(grid: Grid) -> Grid:
    kept = [i for i in range(len(grid.columns)) if not grid.rows or any(row[i] for row in grid.rows)]
    return Grid(tuple(grid.columns[i] for i in kept), tuple(tuple(row[i] for i in kept) for row in grid.rows), grid.title)


def _column(column: Column, texts: Sequence[str]) -> list[str]:
    aligned = _on_point(texts) if column.align is Align.POINT else list(texts)
    width = max(cells_wide(t) for t in (*aligned, column.name))
    left = column.align is Align.LEFT
    return [_padded(column.name, width, left), "-" * width, *(_padded(t, width, left) for t in aligned)]


def _padded(text: str, width: int, left: bool) -> str:
    blanks = " " * (width - cells_wide(text))
    return text + blanks if left else blanks + text


def _on_point(texts: Sequence[str]) -> list[str]:
    """The texts filled on the right so that, set flush right, their decimal points meet."""
    tails = [_tail(t) for t in texts]
    longest = max(tails, default=0)
    return [t + " " * (longest - tail) if t else "" for t, tail in zip(texts, tails, strict=True)]


def _tail(text: str) -> int:
    point = text.find(".")
    return len(text) - point if point >= 0 else 0
