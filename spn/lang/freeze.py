"""Laws that are read from files, as text that needs no file."""

from __future__ import annotations

import textwrap
from dataclasses import fields

from spn.lang import ast
from spn.lang.format import WIDTH, formatted
from spn.lang.laws import Resolver, file_arguments
from spn.lang.parse import parse
from spn.lang.pieces import nodes, statements
from spn.source import Source


def frozen(source: Source, resolver: Resolver) -> str:
    """The canonical text of a model with every ``fit("file", …)`` replaced by the law it gives, to the last digit, and a comment above the
    statement that says what it was fitted to. DataError where a file cannot be read, ModelError for syntax errors."""
    file = parse(source)
    unit = "" if any(isinstance(s, ast.UnitsNone) for s in file.statements) else "s"
    text = source.text
    for statement in sorted(statements(file), key=lambda s: s.span.start, reverse=True):
        calls = [n for part in _own_parts(statement) for n in nodes(part) if isinstance(n, ast.Call) and _is_fit(n)]
        notes: list[str] = []
        for call in sorted(calls, key=lambda c: c.span.start, reverse=True):
            found = resolver.fit(*file_arguments(call))
            notes.insert(0, f"{' '.join(call.span.text.split())}: {found.description}")
            text = text[: call.span.start] + found.law.literal(unit) + text[call.span.end :]
        if notes:
            at = _above(text, statement.span.start)
            text = text[:at] + _comment(notes, at > 0 and text[at - 1] != "\n") + text[at:]
    return formatted(Source(source.name, text))


def _own_parts(statement: ast.Statement) -> list[object]:
    """The parts of a statement that are not statements in its braces."""
    parts = [getattr(statement, f.name) for f in fields(statement)]
    return [p for p in parts if not (isinstance(p, tuple) and p and isinstance(p[0], ast.Statement))]


def _above(text: str, start: int) -> int:
    """Where a comment about a statement goes: above it and its documentation, or right before it where others share its line."""
    at = text.rfind("\n", 0, start) + 1
    if text[at:start].strip():
        return start
    while at and text[text.rfind("\n", 0, at - 1) + 1 : at].lstrip().startswith("///"):
        at = text.rfind("\n", 0, at - 1) + 1
    return at


def _comment(notes: list[str], inside: bool) -> str:
    lines = [line for note in notes for line in textwrap.wrap(note, WIDTH - 6, break_long_words=False, break_on_hyphens=False)]
    return ("\n" if inside else "") + "".join(f"// {line}\n" for line in lines)


def _is_fit(call: ast.Call) -> bool:
    return call.function.text == "fit" and bool(call.arguments) and isinstance(call.arguments[0].value, ast.Text)
