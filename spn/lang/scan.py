"""A plain scanner of model texts, for messages about syntax errors and for finding the statement to go on with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from spn.lang.words import LATER, STATEMENTS

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*[\s\S]*?\*/)
    |(?P<name>`[^`\n]+`)
    |(?P<text>"[^"\n]*")
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<word>[^\W\d]\w*)
    |(?P<open>/\*[\s\S]*|"[^\n]*|`[^\n]*)
    |(?P<mark>->|\.\.|==|!=|<=|>=|[\s\S])""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Tok:
    """A token: ``kind`` is name, text, number, word, mark, open (a text, name or comment without its end) or end."""

    kind: str
    text: str
    start: int
    first: bool = False  # on its line

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def tokens(text: str, start: int) -> Iterator[Tok]:
    """The tokens from an offset on; a last one of kind ``end`` lies at the end of the text."""
    fresh = start == 0 or text.rfind("\n", 0, start) + 1 == start or not text[text.rfind("\n", 0, start) + 1 : start].strip()
    for match in _TOKEN.finditer(text, start):
        kind = match.lastgroup or "mark"
        if kind == "skip":
            fresh = fresh or "\n" in match.group()
            continue
        yield Tok(kind, match.group(), match.start(), fresh)
        fresh = False
    yield Tok("end", "", len(text), True)


def begins_statement(token: Tok, depth: int) -> bool:
    """Is this the keyword of a statement? Inside brackets only where it comes first on its line."""
    return token.kind == "word" and token.text in STATEMENTS | LATER and (depth == 0 or token.first)


def depth_after(token: Tok, depth: int) -> int:
    """How many brackets are open after a token."""
    if token.kind == "mark" and token.text in "([":
        return depth + 1
    return max(0, depth - 1) if token.kind == "mark" and token.text in ")]" else depth


def next_statement(text: str, start: int) -> int | None:
    """The offset of the next statement that begins after ``start``; braces on the way are skipped whole."""
    depth, braces = 0, 0
    for token in tokens(text, start):
        if token.kind == "mark" and token.text in "{}":
            braces = max(0, braces + (1 if token.text == "{" else -1))
        if not braces and token.start > start and begins_statement(token, depth):
            return token.start
        depth = depth_after(token, depth)
    return None
