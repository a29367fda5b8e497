"""Every name in a model text: what declares it and where it is used.

Names are resolved as the language does, but without values and with patience: what is wrong elsewhere does not matter, an array is one
symbol whatever the index, and a name that nothing declares is no symbol.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from spn.lang import ast
from spn.lang.compose import kind_of_formal
from spn.lang.expand import TARGETS
from spn.lang.scope import Kind
from spn.lang.units import is_unit
from spn.source import Span


class Space(StrEnum):
    """The name spaces: two names in one of them clash."""

    VALUE = "value"
    PLACE = "place"
    TRANSITION = "transition"
    LINK = "link"
    INSTANCE = "instance"
    COMPONENT = "component"
    LIBRARY = "library"
    PROPERTY = "property"


_SPACES = {Kind.PLACE: Space.PLACE, Kind.TRANSITION: Space.TRANSITION, Kind.LINK: Space.LINK}
_ANY = (Space.VALUE, Space.PLACE, Space.TRANSITION, Space.LINK)
_NAME = re.compile(r"`[^`\n]+`|[^\W\d]\w*")


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """A declared name. ``kind`` is the word for it (parameter, law, place …), ``node`` what declares it, ``of`` the component that it
    belongs to, "" for the file."""

    kind: str
    space: Space
    name: str
    span: Span
    node: object
    doc: str = ""
    of: str = ""


@dataclass(frozen=True, slots=True)
class Occurrence:
    symbol: Symbol
    span: Span
    declares: bool = False


@dataclass(slots=True)
class Region:
    """What can be seen in a file, a component or under an index: its own names, then those of the region around it. In a component
    only ``param``s, components and libraries of the file are seen."""

    of: str = ""
    around: Region | None = None
    names: dict[tuple[Space, str], Symbol] = field(default_factory=dict)

    def find(self, space: Space, name: str) -> Symbol | None:
        found = self.names.get((space, name))
        if found is not None or self.around is None:
            return found
        found = self.around.find(space, name)
        closed = found is not None and self.of != self.around.of and not _open(found)
        return None if closed else found

    def visible(self) -> Iterator[Symbol]:
        """All symbols seen from here, the nearest first."""
        yield from self.names.values()
        if self.around is not None:
            yield from (s for s in self.around.visible() if self.of == self.around.of or _open(s))


def _open(symbol: Symbol) -> bool:
    return symbol.kind == "parameter" or symbol.space in (Space.COMPONENT, Space.LIBRARY)


@dataclass(frozen=True, slots=True)
class Names:
    """The symbols of a file and their uses, in the order of the text; ``inside`` has the region of each component."""

    file: ast.File
    region: Region
    occurrences: tuple[Occurrence, ...]
    inside: Mapping[str, Region]
    libraries: Mapping[str, Names]

    def at(self, offset: int) -> Occurrence | None:
        """The name that a place in the text lies in, or touches."""
        k = bisect_right(self.occurrences, offset, key=lambda o: o.span.start) - 1
        return self.occurrences[k] if k >= 0 and offset <= self.occurrences[k].span.end else None

    def of(self, symbol: Symbol) -> tuple[Occurrence, ...]:
        return tuple(o for o in self.occurrences if o.symbol is symbol)

    def symbols(self) -> tuple[Symbol, ...]:
        """What this file declares, in the order of the text."""
        return tuple(dict.fromkeys(o.symbol for o in self.occurrences if o.declares))

    def region_at(self, offset: int) -> Region:
        """The region of the component that a place in the text lies in, or of the file."""
        for s in self.file.statements:
            if isinstance(s, ast.Component) and s.span.start <= offset <= s.span.end:
                return self.inside[s.name.text]
        return self.region


Importer = Callable[[ast.Import], "Names | None"]


def names_of(file: ast.File, importer: Importer = lambda _: None) -> Names:
    """The names of a file; ``importer`` gives those of an imported one."""
    reader = _Reader(importer)
    reader.declare(file.statements, reader.region)
    reader.resolve(file.statements, reader.region)
    found = sorted(reader.found, key=lambda o: (o.span.start, -o.span.end))
    return Names(file, reader.region, tuple(found), reader.inside, reader.libraries)


@dataclass(slots=True)
class _Reader:
    importer: Importer
    region: Region = field(default_factory=Region)
    found: list[Occurrence] = field(default_factory=list)
    inside: dict[str, Region] = field(default_factory=dict)
    libraries: dict[str, Names] = field(default_factory=dict)

    # --- declarations

    def declare(self, statements: Iterable[ast.Statement], region: Region) -> None:
        for s in statements:
            match s:
                case ast.Param(name=name):
                    self.add("parameter", Space.VALUE, name, s, region, s.doc)
                case ast.Dist(name=name):
                    self.add("law", Space.VALUE, name, s, region, s.doc)
                case ast.Measure(name=name):
                    self.add("measure", Space.VALUE, name, s, region, s.doc)
                case ast.Link(name=name):
                    self.add("link", Space.LINK, name, s, region, s.doc)
                case ast.Places(items=items):
                    for item in items:
                        self.add("place", Space.PLACE, item.name, item, region, s.doc)
                case ast.Transition(name=name, law=law):
                    kind = "immediate transition" if law is None else "timed transition"
                    self.add(kind, Space.TRANSITION, name, s, region, s.doc)
                case ast.Property(name=name):
                    self.add("property", Space.PROPERTY, name, s, region, s.doc)
                case ast.Use(name=name):
                    self.add("instance", Space.INSTANCE, name, s, region, s.doc)
                case ast.Import(name=name):
                    self.add("library", Space.LIBRARY, name, s, region, s.doc)
                    imported = self.importer(s)
                    if imported is not None:
                        self.libraries.setdefault(name.text, imported)
                case ast.Component(name=name, formals=formals, body=body):
                    self.add("component", Space.COMPONENT, name, s, region, s.doc)
                    inner = self.inside.setdefault(name.text, Region(of=name.text, around=region))
                    for formal in formals:
                        self.add("component parameter", _space_of(formal), formal.name, formal, inner)
                    self.declare(body, inner)
                case ast.For() | ast.If():
                    self.declare(ast.nested(s), region)

    def add(self, kind: str, space: Space, name: ast.Name, node: object, region: Region, doc: str = "") -> None:
        symbol = Symbol(kind, space, name.text, name.span, node, doc, region.of)
        symbol = region.names.setdefault((space, name.text), symbol)
        self.found.append(Occurrence(symbol, name.span, declares=True))

    # --- uses

    def resolve(self, statements: Iterable[ast.Statement], region: Region) -> None:
        for s in statements:
            self.statement(s, region)

    def statement(self, s: ast.Statement, region: Region) -> None:
        match s:
            case ast.Component(name=name, formals=formals, body=body):
                inner = self.inside[name.text]
                for formal in formals:
                    self.expressions((formal.default,), inner)
                self.resolve(body, inner)
            case ast.For(range=each, body=body):
                self.resolve(body, self.under((each,), region))
            case ast.If(test=test):
                self.expression(test, region)
                self.resolve(ast.nested(s), region)
            case ast.Places(items=items):
                for item in items:
                    self.expressions((item.initial, item.capacity), self.under(item.index, region))
            case ast.Link(index=index, arguments=arguments):
                self.arguments(arguments, self.under(index, region))
            case ast.Transition(index=index, law=law, over=over):
                inner = self.under(index, region)
                self.arcs(s, inner)
                self.expressions((law,), inner)
                self.each(over, (Space.LINK,), inner)
            case ast.Join(transition=transition):
                self.name(transition, (Space.TRANSITION,), region)
                self.arcs(s, region)
            case ast.Use():
                self.use(s, region)
            case ast.Sweep(axes=axes):
                for axis in axes:
                    self.name(axis.name, (Space.VALUE,), region)
                    self.expressions((axis.low, axis.high), region)
            case ast.Expect(where=where):
                self.expressions((s.left, s.right, s.tolerance), region)
                for setting in where:
                    self.name(setting.name, (Space.VALUE,), region)
                    self.expression(setting.value, region)
            case _:
                self.expressions(ast.expressions(s), region)

    def arcs(self, s: ast.Transition | ast.Join, region: Region) -> None:
        for arc in s.arcs:
            self.expressions(arc.factors, region)
            self.name(arc.place, (Space.PLACE,), region)
        for clause in s.clauses:
            self.expressions((clause.value,), region)
            if clause.word == "resets":
                self.each(clause.names, (Space.TRANSITION,), region)

    def use(self, s: ast.Use, region: Region) -> None:
        component, _ = self.component(s, region, note=True)
        inner = self.under(s.index, region)
        formals = component.node.formals if component is not None and isinstance(component.node, ast.Component) else ()
        by_name = {f.name.text: f for f in formals}
        for place, argument in enumerate(s.arguments):
            formal = by_name.get(argument.name.text) if argument.name else formals[place] if place < len(formals) else None
            if argument.name is not None and component is not None:
                self.found_in(self.region_of(s, region), _space_of(formal) if formal else Space.VALUE, argument.name)
            if isinstance(argument.value, ast.Name):
                self.name(argument.value, (_space_of(formal),) if formal else _ANY, inner)
            else:
                self.expression(argument.value, inner)

    def component(self, s: ast.Use, region: Region, *, note: bool = False) -> tuple[Symbol | None, Region | None]:
        """The component that an instance is of, and the region inside it."""
        if s.library is None:
            symbol, inside = region.find(Space.COMPONENT, s.component.text), self.inside.get(s.component.text)
        else:
            library = self.libraries.get(s.library.text)
            symbol = library.region.find(Space.COMPONENT, s.component.text) if library is not None else None
            inside = library.inside.get(s.component.text) if library is not None else None
            of = region.find(Space.LIBRARY, s.library.text)
            if note and of is not None:
                self.found.append(Occurrence(of, s.library.span))
        if note and symbol is not None:
            self.found.append(Occurrence(symbol, s.component.span))
        return symbol, inside

    def region_of(self, s: ast.Use, region: Region) -> Region | None:
        return self.component(s, region)[1]

    def found_in(self, region: Region | None, space: Space, name: ast.Name) -> None:
        symbol = region.names.get((space, name.text)) if region is not None else None
        if symbol is not None:
            self.found.append(Occurrence(symbol, name.span))

    def under(self, index: Iterable[object], region: Region) -> Region:
        """The region with the indices of an array or a loop; what their ends use is seen from outside."""
        inner = region
        for slot in index:
            if isinstance(slot, ast.Range):
                self.expressions((slot.low, slot.high), inner)
                inner = Region(of=region.of, around=inner)
                self.add("index", Space.VALUE, slot.variable, slot, inner)
            elif isinstance(slot, ast.Expr):
                self.expression(slot, inner)
        return inner

    def each(self, names: Iterable[ast.Name], spaces: tuple[Space, ...], region: Region) -> None:
        for name in names:
            self.name(name, spaces, region)

    def name(self, name: ast.Name, spaces: tuple[Space, ...], region: Region) -> None:
        """A use of a name in one of some name spaces."""
        if not name.path:
            symbol = next((found for space in spaces if (found := region.find(space, name.text))), None)
            if symbol is not None:
                self.found.append(Occurrence(symbol, name.span))
            return
        where: Region | None = region
        for number, step in enumerate(name.path):
            self.expressions(step.indices, region)
            if where is None:
                continue
            last = number == len(name.path) - 1
            symbol = next((found for space in (spaces if last else (Space.INSTANCE,)) if (found := where.find(space, step.text))), None)
            if symbol is None:
                where = None
                continue
            match = _NAME.match(step.span.source.text, step.span.start)
            self.found.append(Occurrence(symbol, Span(step.span.source, step.span.start, match.end() if match else step.span.end)))
            if not last:
                where = self.region_of(symbol.node, where) if isinstance(symbol.node, ast.Use) else None

    # --- expressions

    def expressions(self, nodes: Iterable[ast.Expr | None], region: Region) -> None:
        for node in nodes:
            if node is not None:
                self.expression(node, region)

    def expression(self, node: ast.Expr, region: Region) -> None:
        match node:
            case ast.Name():
                if node.path or node.in_quotes or not is_unit(node.text):
                    self.name(node, (Space.VALUE,) if not node.path else _ANY, region)
            case ast.Marking(place=place):
                self.name(place, (Space.PLACE,), region)
            case ast.FromTo(first=first, second=second, bound=bound):
                self.each((first, second), (Space.TRANSITION,), region)
                if bound is not None:
                    self.expression(bound, region)
            case ast.Reduction(body=body, ranges=ranges):
                self.expression(body, self.under(ranges, region))
            case ast.Call(function=function, arguments=arguments):
                self.arguments(arguments, region, tuple(_SPACES[k] for k in TARGETS.get(function.text, ())))
            case _:
                self.expressions(ast.children(node), region)

    def arguments(self, arguments: Iterable[ast.Argument], region: Region, targets: tuple[Space, ...] = ()) -> None:
        for a in arguments:
            if targets and isinstance(a.value, ast.Name):
                self.name(a.value, targets, region)
            else:
                self.expressions((a.weight, a.value), region)
            if a.given is not None:
                self.name(a.given, (Space.TRANSITION,), region)


def _space_of(formal: ast.Formal) -> Space:
    return _SPACES.get(kind_of_formal(formal), Space.VALUE)
