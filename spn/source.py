"""Source texts and spans: where in which text something was written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """A named text, for instance a model file: ``name`` is what messages show."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a text, as people count: line and column start at 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Span:
    """The characters ``start`` (included) to ``end`` (excluded) of a source."""

    source: Source
    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of the other."""
        return Span(self.source, self.start, max(self.end, other.end))

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]


def position(source: Source, offset: int) -> Position:
    """Line and column of a character offset; an offset past the end means the end."""
    before = source.text[:offset]
    return Position(before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)


def line_at(source: Source, offset: int) -> str:
    """The whole line that holds an offset, without its line break."""
    start = source.text.rfind("\n", 0, offset) + 1
    end = source.text.find("\n", offset)
    return source.text[start : end if end >= 0 else len(source.text)].rstrip("\r")
