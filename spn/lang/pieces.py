"""A model text as nested statements of tokens and comments, for the formatter: nothing is dropped but white space.

The statements come from the syntax tree, since only the grammar knows where one begins (``if`` opens a statement or an expression);
what stands between their first characters comes from the text, so that no number, pair of parentheses or comment is spelt anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, is_dataclass
from typing import Any

from spn.lang import ast

_PIECE = re.compile(
    r"""(?P<skip>\s+)
    |(?P<comment>//[^\n]*|/\*[\s\S]*?\*/)
    |(?P<name>`[^`\n]+`)
    |(?P<text>"[^"\n]*")
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<word>[^\W\d]\w*)
    |(?P<mark>->|\.\.|==|!=|<=|>=|[\s\S])""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A token or a comment; ``breaks`` counts the line breaks between it and the piece before it."""

    kind: str
    text: str
    start: int
    breaks: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def line_comment(self) -> bool:
        return self.text.startswith("//")


@dataclass(slots=True)
class Statement:
    """A statement: pieces and the blocks among them. ``lead`` are comments before it on its line, ``trail`` those after it;
    ``blank`` says that an empty line stands above it."""

    parts: list[Piece | Block] = field(default_factory=list)
    lead: list[Piece] = field(default_factory=list)
    trail: list[Piece] = field(default_factory=list)
    blank: bool = False

    @property
    def keyword(self) -> str:
        first = self.parts[0]
        return first.text if isinstance(first, Piece) else ""


@dataclass(slots=True)
class Remark:
    """Comments on a line of their own, between statements."""

    comments: list[Piece]
    blank: bool = False


@dataclass(slots=True)
class Block:
    """What stands in braces; ``open`` are the comments after the brace on its line, ``folded`` says that it was written on one line."""

    items: list[Statement | Remark] = field(default_factory=list)
    open: list[Piece] = field(default_factory=list)
    folded: bool = False


def pieces(text: str) -> list[Piece]:
    """The tokens and comments of a text, in order."""
    found: list[Piece] = []
    breaks = 0
    for match in _PIECE.finditer(text):
        kind = match.lastgroup or "mark"
        if kind == "skip":
            breaks += match.group().count("\n")
            continue
        shown = match.group().rstrip() if kind == "comment" else match.group()
        found.append(Piece(kind, shown, match.start(), breaks))
        breaks = 0
    return found


def nodes(node: object) -> Iterator[object]:
    """A node of the syntax tree and all below it, statements, names and parts of them too, whatever kinds there are."""
    stack: list[object] = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            stack.extend(top)
        elif type(top).__module__ == ast.__name__ and is_dataclass(top):
            yield top
            stack.extend(getattr(top, name) for name in _parts(top))


def _parts(node: Any) -> list[str]:
    """The fields of a node that may hold nodes."""
    return [name for name in node.__dataclass_fields__ if name not in ("span", "source", "doc", "text")]


def statements(node: object) -> Iterator[ast.Statement]:
    """All statements of a file, those in blocks too."""
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            stack.extend(top)
        elif isinstance(top, ast.Statement | ast.File):
            if isinstance(top, ast.Statement):
                yield top
            stack.extend(v for name in _parts(top) if isinstance(v := getattr(top, name), tuple))


def structure(file: ast.File) -> Block:
    """The statements and comments of a file, nested as written."""
    starts = frozenset(s.span.start for s in statements(file))
    found = pieces(file.source.text)
    block, at = _Reader(found, starts).block(0)
    assert at == len(found), "braces match in a text that parses"
    return block


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads nested statements; each method takes the index of a piece and gives the index of the first one it leaves."""

    found: Sequence[Piece]
    starts: frozenset[int]

    def block(self, at: int) -> tuple[Block, int]:
        """The items up to a closing brace or the end of the text."""
        block, lead = Block(), list[Piece]()
        while at < len(self.found) and not self._closes(at):
            if self.found[at].kind == "comment":
                end = self._run(at)
                self._comments(block, list(self.found[at:end]), lead, self._goes_on(end))
            else:
                statement, end = self.statement(at)
                statement.lead, lead = lead, []
                statement.blank = self.found[at - len(statement.lead)].breaks > 1
                block.items.append(statement)
            at = end
        return block, at

    def statement(self, at: int) -> tuple[Statement, int]:
        """A statement from its first token to its last one."""
        made, begin, last = Statement(), at, at
        while at < len(self.found) and not self._closes(at) and (at == begin or not self._begins(at)):
            piece = self.found[at]
            if piece.kind == "mark" and piece.text == "{":
                block, end = self.block(at + 1)
                block.folded = not any(p.breaks for p in self.found[at + 1 : end + 1])
                made.parts.append(block)
                at = end
            else:
                made.parts.append(piece)
            last = last if piece.kind == "comment" else at
            at += 1
        while isinstance(tail := made.parts[-1], Piece) and tail.kind == "comment":
            made.parts.pop()
        return made, last + 1

    def _comments(self, block: Block, run: list[Piece], lead: list[Piece], goes_on: bool) -> None:
        """File the comments of one line: with what comes before them on it, or after them, or by themselves."""
        if goes_on:
            lead.extend(run)
        elif run[0].breaks or run[0].start == self.found[0].start:
            block.items.append(Remark(run, run[0].breaks > 1))
        elif block.items and isinstance(last := block.items[-1], Statement):
            last.trail.extend(run)
        else:
            block.open.extend(run)

    def _run(self, at: int) -> int:
        """The end of the comments that stand side by side from here."""
        end = at + 1
        while end < len(self.found) and self.found[end].kind == "comment" and not self.found[end].breaks:
            end += 1
        return end

    def _goes_on(self, at: int) -> bool:
        """Does the line before this piece go on with it?"""
        return at < len(self.found) and not self.found[at].breaks and not self._closes(at)

    def _closes(self, at: int) -> bool:
        return self.found[at].kind == "mark" and self.found[at].text == "}"

    def _begins(self, at: int) -> bool:
        """Does a statement begin here? The `if` of an `else if` goes on with the one before."""
        if self.found[at].start not in self.starts:
            return False
        before = at - 1
        while self.found[before].kind == "comment":
            before -= 1
        return not (self.found[before].kind == "word" and self.found[before].text == "else")
