"""Names: what a file declares, the name spaces, and looking a name up.

There are four name spaces: parameters, laws and measures share one (they stand in the same expressions); places, transitions and
links have one each. So a place and a transition may have the same name, and either may be called as a unit word is; a parameter, law or
measure may not. A link and a transition must differ, since both stand in ``utilisation(…)``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from spn.errors import Diagnostic, nearest
from spn.lang import ast
from spn.lang.units import UNITS, is_unit
from spn.lang.words import quoted
from spn.source import Span


class Kind(StrEnum):
    PARAM = "parameter"
    DIST = "law"
    MEASURE = "measure"
    PLACE = "place"
    TRANSITION = "transition"
    LINK = "link"


VALUES = (Kind.PARAM, Kind.DIST, Kind.MEASURE)


@dataclass(slots=True)
class Report:
    """The errors found so far; ``patience`` bounds the search for nearest names in a file with very many errors."""

    errors: list[Diagnostic] = field(default_factory=list)
    patience: int = 200_000

    def nearest(self, name: str, known: Collection[str]) -> str | None:
        """The known name most like ``name``."""
        self.patience -= len(known)
        return nearest(name, known) if self.patience > 0 else None

    def error(self, code: str, message: str, span: Span | None, *, label: str = "", help: str = "", notes: Iterable[str] = ()) -> None:
        self.errors.append(Diagnostic(code=code, message=message, span=span, label=label, help=help, notes=tuple(notes)))


@dataclass(frozen=True, slots=True)
class Symbol:
    """A declared name; ``position`` is where its declaration begins, since values may use earlier ones only."""

    kind: Kind
    name: ast.Name
    position: int
    immediate: bool = False


@dataclass(slots=True)
class Scope:
    """All names of a file, and which of them are used."""

    values: dict[str, Symbol] = field(default_factory=dict)
    places: dict[str, Symbol] = field(default_factory=dict)
    transitions: dict[str, Symbol] = field(default_factory=dict)
    links: dict[str, Symbol] = field(default_factory=dict)
    unitless: bool = False
    used: set[tuple[Kind, str]] = field(default_factory=set)
    statement: Span | None = None  # the one being read

    def space(self, kind: Kind) -> dict[str, Symbol]:
        match kind:
            case Kind.PLACE:
                return self.places
            case Kind.TRANSITION:
                return self.transitions
            case Kind.LINK:
                return self.links
            case _:
                return self.values

    def use(self, kind: Kind, name: ast.Name, report: Report) -> bool:
        """Mark a place, transition or link as used; False, with an error, where it is not declared."""
        if name.text in self.space(kind):
            self.used.add((kind, name.text))
            return True
        undeclared(kind, name, self, report)
        return False

    def value(self, name: ast.Name, report: Report) -> Symbol | None:
        """The parameter, law or measure of that name, which must be declared before the place of use."""
        symbol = self.values.get(name.text)
        if symbol is None:
            _unknown_value(name, self, report)
            return None
        self.used.add((symbol.kind, name.text))
        # A law that the caller gives has a text of its own and stands where its statement stands.
        inside = self.statement is None or name.span.source is self.statement.source
        at = name.span.start if inside or self.statement is None else self.statement.start
        if symbol.position >= at:
            report.error("E0205", f"{symbol.kind} {quoted(name.text)} is used before it is declared", name.span, help="declare it above")
            return None
        return symbol


def declare(file: ast.File, report: Report) -> Scope:
    """The names of a file; duplicates and names that can be none are errors."""
    scope = Scope()
    for statement in file.statements:
        if isinstance(statement, ast.UnitsNone):
            if scope.unitless:
                report.error("E0202", "`units none` stands twice", statement.span)
            scope.unitless = True
        immediate = isinstance(statement, ast.Transition) and statement.law is None
        for kind, name in _declared(statement):
            _add(scope, Symbol(kind, name, statement.span.end, immediate), report)
    for shared in sorted(scope.links.keys() & scope.transitions.keys()):
        later = max(scope.links[shared], scope.transitions[shared], key=lambda s: s.name.span.start)
        message = f"a link and a transition are both called {quoted(shared)}"
        report.error("E0202", message, later.name.span, help=f"utilisation({quoted(shared)}) could mean either: rename one of them")
    return scope


def _declared(statement: ast.Statement) -> list[tuple[Kind, ast.Name]]:
    match statement:
        case ast.Param(name=name):
            return [(Kind.PARAM, name)]
        case ast.Dist(name=name):
            return [(Kind.DIST, name)]
        case ast.Measure(name=name):
            return [(Kind.MEASURE, name)]
        case ast.Link(name=name):
            return [(Kind.LINK, name)]
        case ast.Transition(name=name):
            return [(Kind.TRANSITION, name)]
        case ast.Places(items=items):
            return [(Kind.PLACE, item.name) for item in items]
    return []


def _add(scope: Scope, symbol: Symbol, report: Report) -> None:
    name = symbol.name
    if symbol.kind in VALUES and is_unit(name.text):
        report.error(
            "E0203",
            f"a {symbol.kind} cannot be called {quoted(name.text)}: in an expression that is always the unit",
            name.span,
            help="choose another name; places, transitions and links may be called so",
        )
    space = scope.space(symbol.kind)
    earlier = space.setdefault(name.text, symbol)
    if earlier is not symbol:
        also = "" if earlier.kind is symbol.kind else f", first as a {earlier.kind}"
        line = earlier.name.span.source.text.count("\n", 0, earlier.name.span.start) + 1
        report.error("E0202", f"{symbol.kind} {quoted(name.text)} is declared twice{also}", name.span, notes=[f"first in line {line}"])


def undeclared(kind: Kind, name: ast.Name, scope: Scope, report: Report) -> None:
    """The error for a name that is not declared, with the nearest one that is."""
    near = report.nearest(name.text, scope.space(kind))
    other = _elsewhere(name.text, scope)
    help = f"did you mean {quoted(near)}?" if near else f"there is a {other} of that name" if other else _how_to_declare(kind, name.text)
    report.error("E0201", f"{kind} {quoted(name.text)} is not declared", name.span, help=help)


def _elsewhere(name: str, scope: Scope) -> Kind | None:
    spaces = (scope.values, scope.places, scope.transitions, scope.links)
    return next((space[name].kind for space in spaces if name in space), None)


def _how_to_declare(kind: Kind, name: str) -> str:
    how = {Kind.PLACE: f"place {quoted(name)}", Kind.LINK: f"link {quoted(name)}(capacity = …)"}
    return f"declare it: `{how[kind]}`" if kind in how else ""


def _unknown_value(name: ast.Name, scope: Scope, report: Report) -> None:
    text = name.text
    if text in scope.places:
        help = f"for the marking of the place write #{quoted(text)}"
    elif text in scope.transitions:
        help = f"{quoted(text)} is a transition: throughput({quoted(text)}) is its firing rate"
    elif text in scope.links:
        help = f"{quoted(text)} is a link: utilisation({quoted(text)}) is its load"
    elif text.casefold() in ("infinite", "infinity", "infty"):
        help = "infinitely many servers are written servers inf"
    else:
        near = report.nearest(text, [*scope.values, *UNITS])
        marking = None if near else report.nearest(text, scope.places)
        help = f"did you mean {quoted(near)}?" if near else f"did you mean #{quoted(marking)}?" if marking else ""
    report.error("E0201", f"{quoted(text)} is not declared", name.span, help=help)
