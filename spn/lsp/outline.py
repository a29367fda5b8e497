"""The structure of a text: what it declares, nested as written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from spn.lang import ast
from spn.lsp.names import Names
from spn.source import Span


@dataclass(frozen=True, slots=True)
class Entry:
    """``kind`` as in :class:`spn.lsp.names.Symbol`; ``span`` is the whole declaration, ``name_span`` its name."""

    name: str
    kind: str
    span: Span
    name_span: Span
    detail: str = ""
    inside: tuple[Entry, ...] = ()


def outline(names: Names) -> tuple[Entry, ...]:
    """The declarations of a file."""
    return tuple(_entries(names.file.statements))


def _entries(statements: Iterable[ast.Statement]) -> Iterable[Entry]:
    for s in statements:
        match s:
            case ast.Places(items=items):
                for item in items:
                    yield Entry(item.name.text, "place", item.span, item.name.span)
            case ast.Component(name=name, body=body):
                yield Entry(name.text, "component", s.span, name.span, inside=tuple(_entries(body)))
            case ast.For() | ast.If():
                yield from _entries(ast.nested(s))
            case ast.Param(name=name):
                yield Entry(name.text, "parameter", s.span, name.span, s.type.span.text)
            case ast.Transition(name=name, law=law):
                yield Entry(name.text, "immediate transition" if law is None else "timed transition", s.span, name.span)
            case ast.Use(name=name, component=component):
                yield Entry(name.text, "instance", s.span, name.span, component.text)
            case ast.Dist(name=name) | ast.Link(name=name) | ast.Measure(name=name) | ast.Property(name=name) | ast.Import(name=name):
                kind = {"Dist": "law", "Import": "library"}.get(type(s).__name__, type(s).__name__.lower())
                yield Entry(name.text, kind, s.span, name.span)
