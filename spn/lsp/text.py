"""Places in a text as editors count them: lines from 0, columns in UTF-16 units."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lines:
    """A text, and where its lines begin."""

    text: str
    starts: tuple[int, ...]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset."""
        line = bisect_right(self.starts, min(offset, len(self.text))) - 1
        return line, units(self.text[self.starts[line] : offset])

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column; past the end of a line it is the end."""
        if line >= len(self.starts):
            return len(self.text)
        start = self.starts[line]
        end = self.starts[line + 1] - 1 if line + 1 < len(self.starts) else len(self.text)
        row = self.text[start:end]
        if row.isascii():
            return start + min(column, len(row))
        at = 0
        for k, c in enumerate(row):
            if at >= column:
                return start + k
            at += units(c)
        return end


def units(text: str) -> int:
    """The length of a text in UTF-16 units."""
    return len(text) if text.isascii() else len(text) + sum(ord(c) > 0xFFFF for c in text)


def lines(text: str) -> Lines:
    starts = [0, *(k + 1 for k, c in enumerate(text) if c == "\n")]
    return Lines(text, tuple(starts))
