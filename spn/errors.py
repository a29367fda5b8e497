"""Diagnostics with a caret, and the tree of errors that the package raises.

Every error a user can cause is a :class:`SpnError` that carries one or more :class:`Diagnostic`; the command line prints
them and picks the exit code. Anything else that escapes is a bug of ours.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from spn.source import Span, line_at, position

LONGEST_LINE = 400  # characters of a source line that a message shows


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One finding: what is wrong, where, and what to do.

    ``code`` is stable and documented (``E0101``, ``W0203``); ``message`` is one line; ``label`` is written under the caret;
    ``help`` proposes a fix.
    """

    code: str
    message: str
    span: Span | None = None
    label: str = ""
    help: str = ""
    notes: tuple[str, ...] = ()
    severity: Severity = Severity.ERROR


class SpnError(Exception):
    """Base of all errors that this package raises for bad input or an impossible request."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics = diagnostics
        super().__init__("\n".join(render(d) for d in diagnostics))

    def __reduce__(self) -> tuple[type[SpnError], tuple[Diagnostic, ...]]:
        """Pickled by its diagnostics, which it is made from."""
        return type(self), self.diagnostics


class ModelError(SpnError):
    """The model text or the net is wrong: syntax, names, dimensions, values."""


class SemanticsError(SpnError):
    """The net is well formed, but in some marking it means nothing: a negative rate, weights that sum to 0, a timeless trap."""


class AnalysisError(SpnError):
    """A method refuses or fails: unbounded net, law it cannot take, limit reached, no convergence."""


class DataError(SpnError):
    """A trace or data file is missing, broken, or does not hold what was asked for."""


def refuse(
    kind: type[SpnError], code: str, message: str, *, span: Span | None = None, label: str = "", help: str = "", notes: Sequence[str] = ()
) -> SpnError:
    """An error with a single diagnostic, to be raised by the caller."""
    return kind(Diagnostic(code=code, message=message, span=span, label=label, help=help, notes=tuple(notes)))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The declared name most like ``name``, or None where none is near."""
    candidates = list(known)
    folded = [k for k in candidates if k.casefold() == name.casefold()]
    if folded:
        return folded[0]
    found = difflib.get_close_matches(name, candidates, n=1, cutoff=0.6)
    return found[0] if found else None


def render(diagnostic: Diagnostic) -> str:
    """The diagnostic as plain text: ``file:line:column``, the line, a caret under the span, help and notes."""
    head = f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"
    lines = [head] if diagnostic.span is None else _located(head, diagnostic.span, diagnostic.label)
    if diagnostic.help:
        lines.append(f"  help: {diagnostic.help}")
    lines.extend(f"  note: {note}" for note in diagnostic.notes)
    return "\n".join(lines)


def _located(head: str, span: Span, label: str) -> list[str]:
    at = position(span.source, span.start)
    text = line_at(span.source, span.start)
    shown = text.replace("\t", " ")
    first_line_end = span.start - (at.column - 1) + len(text)
    width = max(1, min(span.end, first_line_end) - span.start)
    number = str(at.line)
    gutter = " " * len(number)
    shown, column, width = _window(shown, at.column - 1, width)
    caret = " " * column + "^" * width
    return [
        f"{span.source.name}:{at.line}:{at.column}: {head}",
        f" {gutter} |",
        f" {number} | {shown}",
        f" {gutter} | {caret}{' ' + label if label else ''}",
    ]


def _window(line: str, column: int, width: int) -> tuple[str, int, int]:
    """A line and the place of its caret; of a line that is very long (a file without line breaks), the part around the caret."""
    if len(line) <= LONGEST_LINE:
        return line, column, width
    start = max(0, column - 20)
    part = line[start : start + LONGEST_LINE]
    left, right = "…" * (start > 0), "…" * (start + LONGEST_LINE < len(line))
    return left + part + right, column - start + len(left), min(width, start + LONGEST_LINE - column)
