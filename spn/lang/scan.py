"""A plain scanner of model texts, for messages about syntax errors and for finding the statement to go on with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from spn.lang.words import CONTINUED, STATEMENTS

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
    if token.text == "if":  # in an expression too
        return token.first
    return token.kind == "word" and token.text in STATEMENTS | CONTINUED and (depth == 0 or token.first)


def depth_after(token: Tok, depth: int) -> int:
    """How many brackets are open after a token."""
    if token.kind == "mark" and token.text in "([":
        return depth + 1
    return max(0, depth - 1) if token.kind == "mark" and token.text in ")]" else depth


def next_statement(text: str, start: int) -> int | None:
    """Where to go on after an error at ``start``: at the next statement, or at the brace that closes the last block around it.
    Braces that open on the way are skipped whole."""
    depth, inner, around, closing = 0, 0, len(open_braces(text, start)), None
    for token in tokens(text, start):
        if not inner and token.start > start and begins_statement(token, depth) and token.text not in CONTINUED:
            return token.start
        if token.kind == "mark" and token.text == "{":
            depth, inner = 0, inner + 1
        elif token.kind == "mark" and token.text == "}" and inner:
            depth, inner = 0, inner - 1
        elif token.kind == "mark" and token.text == "}" and around:
            depth, around = 0, around - 1
            closing = token.start if closing is None else closing
        depth = depth_after(token, depth)
    return closing


@dataclass(frozen=True, slots=True)
class Brace:
    """An open brace and where the statement begins that it belongs to (for ``else``: the `if`)."""

    header: int
    start: int


def open_braces(text: str, end: int) -> list[Brace]:
    """The braces that are open at an offset, the outermost first."""
    found: list[Brace] = []
    last, closed, otherwise, depth = 0, 0, None, 0
    for token in tokens(text, 0):
        if token.start >= end:
            break
        if token.kind == "word" and token.text in CONTINUED:
            otherwise = closed
        elif token.kind == "word" and (token.text in STATEMENTS) and (depth == 0 or token.first):
            last = token.start
            otherwise = None
        elif token.kind == "mark" and token.text == "{":
            found.append(Brace(last if otherwise is None else otherwise, token.start))
            otherwise, depth = None, 0
        elif token.kind == "mark" and token.text == "}":
            closed, depth = (found.pop().header if found else 0), 0
        depth = depth_after(token, depth)
    return found
