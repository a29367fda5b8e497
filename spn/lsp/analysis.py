"""What is known about a text while it is typed: its errors, its names, and the model if it is one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from spn.errors import Diagnostic, ModelError, SpnError
from spn.lang import ast
from spn.lang.parse import parse
from spn.lang.scan import begins_statement, depth_after, tokens
from spn.loading import Files, elaborated
from spn.lsp.names import Names, names_of
from spn.model import Model
from spn.source import Source, Span

MAX_REPAIRS = 8  # how often broken statements are taken out to read the rest
MAX_LIBRARIES = 8  # files that import files


@dataclass(frozen=True, slots=True)
class Analysis:
    """``names`` are those of the statements that could be read; ``model`` is None where the text is none."""

    source: Source
    names: Names
    diagnostics: tuple[Diagnostic, ...]
    model: Model | None = None


def analyse(source: Source, base: Path) -> Analysis:
    """Everything about a text; ``base`` is the folder of the files it reads."""
    files = Files(base)
    try:
        file = parse(source)
    except ModelError as error:
        return Analysis(source, _names(readable(source, error.diagnostics), files), error.diagnostics)
    names = _names(file, files)
    try:
        model = elaborated(file, base)
    except SpnError as error:
        return Analysis(source, names, tuple(_here(d, source) for d in error.diagnostics))
    return Analysis(source, names, tuple(_here(d, source) for d in model.warnings), model)


def readable(source: Source, problems: tuple[Diagnostic, ...]) -> ast.File:
    """The statements of a text that can be read, those with syntax errors blanked out; all spans are those of the text."""
    text = source.text
    for _ in range(MAX_REPAIRS):
        starts = _starts(text)
        for d in problems:
            if d.span is not None:
                begin = max((s for s in starts if s <= d.span.start), default=0)
                end = min((s for s in starts if s > max(d.span.start, begin)), default=len(text))
                text = text[:begin] + "".join(c if c in "\n{}" else " " for c in text[begin:end]) + text[end:]
        try:
            return parse(Source(source.name, text))
        except ModelError as error:
            problems = error.diagnostics
    return ast.File(source=source, statements=())


def _starts(text: str) -> list[int]:
    """Where statements begin, as far as their first words tell."""
    found, depth = [], 0
    for token in tokens(text, 0):
        if begins_statement(token, depth):
            found.append(token.start)
        depth = depth_after(token, depth)
    return found


def _here(d: Diagnostic, source: Source) -> Diagnostic:
    """The finding, at the top of this text where it lies in another one."""
    if d.span is None or d.span.source.name == source.name:
        return d
    note = f"in {d.span.source.name}: {' '.join(d.span.text.split())[:80]}"
    return Diagnostic(code=d.code, message=d.message, span=Span(source, 0, 0), help=d.help, notes=(note, *d.notes), severity=d.severity)


def _names(file: ast.File, files: Files, depth: int = 0) -> Names:
    def imported(statement: ast.Import) -> Names | None:
        if depth >= MAX_LIBRARIES:
            return None
        try:
            return _names(parse(files.library(statement.file.value, statement.span.source)), files, depth + 1)
        except SpnError:
            return None

    return names_of(file, imported)
