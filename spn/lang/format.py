"""Canonical text of a model: the same tokens and comments in the same order, with white space that shows their structure.

What follows from the text alone: statements begin a line, blocks are indented by two columns, statements of one kind that follow each
other are lined up in columns, at most one empty line is kept, lines are broken at WIDTH where they can be, and line breaks are ``\\n``. A
block of one statement that was written on one line stays there. Comments stand where they stood: on lines of their own, or after what they
follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from spn.lang.parse import parse
from spn.lang.pieces import Block, Piece, Remark, Statement, pieces, structure
from spn.lang.spacing import TRANSITIONS, Word, words
from spn.source import Source

WIDTH = 120
INDENT = "  "
HANGING = 24  # columns: a continued line begins below the first value, but not further right than this
_OPEN, _SHUT = Piece("mark", "{", -1, 0), Piece("mark", "}", -1, 0)


def formatted(source: Source) -> str:
    """The canonical text of a model; ModelError where it has syntax errors."""
    text = "".join(line.rstrip() + "\n" for line in _lines(structure(parse(source)), ""))
    if _signature(text) != _signature(source.text):
        raise AssertionError("the formatter changed more than white space")
    return text


def _signature(text: str) -> list[tuple[str, str]]:
    return [(p.kind, p.text) for p in pieces(text)]


# --- blocks -----------------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Row:
    """An item as lines of text, or as the cells of one line that is to be lined up: text and the column where each begins."""

    lines: list[str]
    cells: list[tuple[int, str]] = field(default_factory=list)
    broken: Statement | None = None  # the statement, where it takes several lines: then its head alone is lined up
    group: str = ""
    trail: str = ""
    blank: bool = False
    remark: bool = False


def _lines(block: Block, indent: str) -> list[str]:
    rows = [_row(item, indent) for item in block.items]
    for run in _runs(rows):
        _line_up(run, indent)
    _trails(rows)
    found: list[str] = []
    for row in rows:
        if row.blank and found:
            found.append("")
        found.extend(row.lines)
    return found


def _row(item: Statement | Remark, indent: str) -> _Row:
    if isinstance(item, Remark):
        return _Row([indent + " ".join(c.text for c in item.comments)], blank=item.blank, remark=True)
    trail = " ".join(c.text for c in item.trail)
    flat = None if item.lead else _flat(item)
    cells = [] if item.lead else _cells(item)
    group = "transition" if item.keyword in TRANSITIONS else item.keyword
    if flat is None or len(indent + flat) > WIDTH:
        head = cells[:1] if len(cells) > 1 and cells[1][0] == 1 else []
        return _Row(_broken(item, indent), head, item, group, trail, item.blank)
    return _Row([indent + flat], cells, None, group, trail, item.blank)


def _flat(statement: Statement) -> str | None:
    """A statement on one line, however long; None where comments or blocks take several."""
    found: list[str] = []
    for run, block in _runs_of(statement):
        spaced = words(run, statement.keyword)
        if any(w.hard or "\n" in w.text for w in spaced):
            return None
        found.append(_joined(spaced))
        if block is not None and block.items:
            inside = _folded(block)
            if inside is None:
                return None
            found.append(f" {inside} ")
    return "".join(found)


def _folded(block: Block) -> str | None:
    """The only statement of a block that was written on one line, if it can stay there."""
    if not block.folded or block.open or len(block.items) != 1:
        return None
    (item,) = block.items
    return None if isinstance(item, Remark) or item.lead or item.trail else _flat(item)


def _runs_of(statement: Statement) -> Iterator[tuple[list[Piece], Block | None]]:
    """The tokens of a statement up to each block, with their braces, and the block."""
    run: list[Piece] = []
    for part in statement.parts:
        if isinstance(part, Block):
            yield [*run, _OPEN], part
            run = [_SHUT]
        else:
            run.append(part)
    yield run, None


def _joined(run: Sequence[Word]) -> str:
    return run[0].text + "".join(w.space + w.text for w in run[1:])


# --- columns ----------------------------------------------------------------------------------------------------------------------


def _cells(statement: Statement) -> list[tuple[int, str]]:
    if any(isinstance(p, Block) for p in statement.parts):
        return []
    cells: list[tuple[int, list[Word]]] = [(0, [])]
    for word in words([p for p in statement.parts if isinstance(p, Piece)], statement.keyword):
        if word.column is not None:
            cells.append((word.column, []))
        cells[-1][1].append(word)
    return [(column, _joined(run)) for column, run in cells] if len(cells) > 1 else []


def _runs(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    """The rows of one kind that follow each other with nothing but comments between."""
    run: list[_Row] = []
    for row in rows:
        if run and (row.blank or (not row.remark and (not row.cells or row.group != run[0].group))):
            yield run
            run = []
        if row.cells:
            run.append(row)
    if run:
        yield run


def _line_up(run: Sequence[_Row], indent: str) -> None:
    """Line the cells of rows up, as many columns from the left as fit the width."""
    whole = [row for row in run if row.broken is None]
    last = max((column for row in whole for column, _ in row.cells), default=1)
    for columns in range(last, -1, -1):
        lines = _columns([row.cells for row in run], columns)
        if columns == 0 or all(len(indent + line) <= WIDTH for line in lines):
            break
    heads = [row for row in run if row.broken is not None or row.cells[1][0] == 1]
    head = max((len(row.cells[0][1]) for row in heads), default=0) if columns else 0
    for row, line in zip(run, lines, strict=True):
        row.lines = [indent + line] if row.broken is None else _broken(row.broken, indent, head)


def _columns(rows: Sequence[Sequence[tuple[int, str]]], columns: int) -> list[str]:
    """The rows as text with the first columns lined up. Clauses are lined up after all laws, other columns after what precedes them."""
    lines = [cells[0][1] for cells in rows]
    by_column = [dict(cells) for cells in rows]
    for column in range(1, 5):
        here = [i for i, cells in enumerate(by_column) if column in cells]
        headed = [i for i, cells in enumerate(rows) if len(cells) == 1 or cells[1][0] == 1]
        beside = {1: headed, 4: [i for i, cells in enumerate(by_column) if 3 in cells]}.get(column, here)
        edge = max((len(lines[i]) for i in beside), default=0)
        for i in here:
            gap = "  " if column == 4 or (column == 3 and not by_column[i][3].startswith("~")) else " "
            lines[i] = (lines[i].ljust(edge) if column <= columns else lines[i]) + gap + by_column[i][column]
    return lines


def _trails(rows: Sequence[_Row]) -> None:
    """Add the comments after statements, those on adjacent lines one below the other."""
    run: list[_Row] = []
    for row in [*rows, _Row([])]:
        if run and (not row.trail or row.blank or len(row.lines) > 1 or row.remark):
            edge = max(len(r.lines[0]) for r in run)
            for r in run:
                r.lines[0] = f"{r.lines[0].ljust(edge)}  {r.trail}"
            run = []
        if row.trail and len(row.lines) == 1:
            run.append(row)
        elif row.trail:
            row.lines[-1] += f"  {row.trail}"


# --- several lines ----------------------------------------------------------------------------------------------------------------


def _broken(statement: Statement, indent: str, head: int = 0) -> list[str]:
    """A statement on as many lines as it takes; ``head``: how wide what stands before its first column is made."""
    lines = [indent]
    for piece in statement.lead:
        lines[-1] += piece.text + " "
    for number, (run, block) in enumerate(_runs_of(statement)):
        spaced = _padded(words(run, statement.keyword), head)
        hanging = indent if number else indent + " " * _hanging(spaced, block is not None)
        _fill(spaced, lines, hanging, fresh=True)
        if block is not None:
            if block.open:
                lines[-1] += "  " + " ".join(c.text for c in block.open)
            lines.extend(_lines(block, indent + INDENT))
            if not block.items and not block.open:
                continue
            lines.append(indent)
    return lines


def _padded(run: list[Word], head: int) -> list[Word]:
    at = next((i for i, w in enumerate(run) if w.column == 1), 0)
    if at == 0:
        return run
    space = " " * max(1, head - len(_joined(run[:at])) + 1)
    return [*run[:at], replace(run[at], space=space), *run[at + 1 :]]


def _hanging(run: Sequence[Word], braces: bool) -> int:
    """How far continued lines are indented: to the first value, unless that is far to the right."""
    at = 0
    for word, after in pairwise(run):
        at += len(word.space if at else "") + len(word.text)
        if word.text in (":", "=") and not braces and word.space:
            start = at + len(after.space)
            return start if start <= HANGING else 4
    return 4


def _fill(run: Sequence[Word], lines: list[str], hanging: str, *, fresh: bool) -> None:
    """Write words at the end of the last line, breaking where it is due; ``fresh``: nothing needs a space before them."""
    hard = [i for i, w in enumerate(run) if w.hard and i > 0]
    if hard:
        for number, (start, end) in enumerate(zip([0, *hard], [*hard, len(run)], strict=True)):
            if number:
                lines.append(hanging)
            _fill(run[start:end], lines, hanging, fresh=fresh or number > 0)
        return
    space = "" if fresh else run[0].space
    flat = space + _joined(run)
    ranks = [w.rank for w in run[1:] if w.rank is not None]
    if not ranks or _fits(lines[-1], flat):
        lines[-1] += flat
        return
    best = min(ranks)
    cuts = [0, *(i for i, w in enumerate(run) if i and w.rank == best), len(run)]
    for start, end in pairwise(cuts):
        chunk = run[start:end]
        if start and not _fits(lines[-1], chunk[0].space + _joined(chunk)):
            lines.append(hanging)
            _fill(chunk, lines, hanging, fresh=True)
        else:
            _fill(chunk, lines, hanging, fresh=fresh and not start)


def _fits(line: str, more: str) -> bool:
    text = line + more
    return len(text) - text.rfind("\n") - 1 <= WIDTH
