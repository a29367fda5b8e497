"""Imports: the files that a file takes components from, each read once, and the cycles and clashes there can be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from spn.errors import ModelError, SpnError
from spn.lang import ast
from spn.lang.parse import parse
from spn.lang.scope import Home, Report, declare
from spn.lang.words import quoted
from spn.source import Source, Span, position

MAX_IMPORTS = 200  # files


class Reader(Protocol):
    """What reads the files of imports."""

    def library(self, file: str, importer: Source) -> Source:
        """The text of a file named as in an import; equal names mean the same file. SpnError where there is none."""


@dataclass(slots=True)
class Libraries:
    """The files read so far, by name, those that others import before them; ``way`` leads from the model to the file being read."""

    reader: Reader | None
    report: Report
    homes: dict[str, Home] = field(default_factory=dict)
    way: list[tuple[str, Span | None]] = field(default_factory=list)

    def home(self, file: ast.File, importing: Span | None = None) -> Home:
        """A file with its names, the files that it imports read first."""
        self.way.append((file.source.name, importing))
        found: dict[str, Home] = {}
        places: dict[str, ast.Import] = {}
        for statement in file.statements:
            if isinstance(statement, ast.Import) and self._is_new(statement, places):
                library = self._read(statement)
                if library is not None:
                    found[statement.name.text] = library
        self.way.pop()
        scope = declare(file, self.report, found)
        for alias, library in found.items():
            self._units(places[alias], scope.unitless, library)
        assert scope.file is not None
        return scope.file

    def _is_new(self, statement: ast.Import, places: dict[str, ast.Import]) -> bool:
        earlier = places.setdefault(statement.name.text, statement)
        if earlier is statement:
            return True
        notes = [f'{_place(earlier.span)} imports "{earlier.file.value}" under that name']
        name = quoted(statement.name.text)
        self.report.error("E0234", f"two imports are called {name}", statement.name.span, help="choose another name", notes=notes)
        return False

    def _read(self, statement: ast.Import) -> Home | None:
        source = self._source(statement)
        if source is None:
            return None
        if any(name == source.name for name, _ in self.way):
            self._cycle(statement, source)
            return None
        if source.name not in self.homes:
            try:
                file = parse(source)
            except ModelError as e:
                self.report.errors.extend(e.diagnostics)
                return None
            self.homes[source.name] = self.home(file, statement.span)
        return self.homes[source.name]

    def _source(self, statement: ast.Import) -> Source | None:
        span = statement.file.span
        if self.reader is None:
            self.report.error("E0234", "this text has no folder to import from", span, help="load it from a file")
            return None
        if len(self.homes) + len(self.way) > MAX_IMPORTS:
            self.report.error("E0234", f"more than {MAX_IMPORTS} files are imported", span)
            return None
        try:
            return self.reader.library(statement.file.value, statement.span.source)
        except SpnError as e:
            for d in e.diagnostics:
                self.report.error(d.code, d.message, span, help=d.help, notes=d.notes)
            return None

    def _cycle(self, statement: ast.Import, source: Source) -> None:
        start = next(i for i, (name, _) in enumerate(self.way) if name == source.name)
        round_ = [name for name, _ in self.way[start:]] + [source.name]
        spans = [span for _, span in self.way[start + 1 :] if span is not None]
        notes = [f"{_place(span)} imports {into}" for span, into in zip(spans, round_[1:], strict=False)]
        message = f"{source.name} imports itself: {' -> '.join(round_)}"
        self.report.error("E0234", message, statement.span, help="move what both need into a third file", notes=notes)

    def _units(self, statement: ast.Import, unitless: bool, library: Home) -> None:
        if library.scope.unitless != unitless:
            one, other = ("this file", library.file.source.name) if unitless else (library.file.source.name, "this file")
            message = f"{one} has `units none`, {other} has units"
            self.report.error("E0234", message, statement.span, help="components and their users agree on units")


def _place(span: Span) -> str:
    return f"{span.source.name}:{position(span.source, span.start).line}"


def inner_homes(home: Home) -> Iterator[Home]:
    """The files that a file imports, directly or not, those that others import before them."""
    seen: set[int] = set()
    stack: list[tuple[Home, bool]] = [(home, False)]
    while stack:
        top, ready = stack.pop()
        if ready:
            if top is not home:
                yield top
        elif id(top) not in seen:
            seen.add(id(top))
            stack.append((top, True))
            stack.extend((library, False) for library in top.libraries.values())
