"""Names: what a file declares, the name spaces, and looking a name up.

There are four name spaces: parameters, laws and measures share one (they stand in the same expressions); places, transitions and
links have one each. So a place and a transition may have the same name, and either may be called as a unit word is; a parameter, law or
measure may not. A link and a transition must differ, since both stand in ``utilisation(…)``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from spn.errors import Diagnostic, nearest
from spn.expr.dims import Dimension
from spn.expr.nodes import Exact
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
    PROPERTY = "property"
    INSTANCE = "instance"
    INDEX = "index"


VALUES = (Kind.PARAM, Kind.DIST, Kind.MEASURE)


@dataclass(slots=True)
class Report:
    """The errors found so far; ``patience`` bounds the search for nearest names in a file with very many errors."""

    errors: list[Diagnostic] = field(default_factory=list)
    patience: int = 200_000
    instance: str = ""  # the note of errors in a replica; of each such error the first replica is reported
    _seen: set[tuple[str, Span]] = field(default_factory=set)

    def nearest(self, name: str, known: Collection[str]) -> str | None:
        """The known name most like ``name``."""
        self.patience -= len(known)
        return nearest(name, known) if self.patience > 0 else None

    def error(self, code: str, message: str, span: Span | None, *, label: str = "", help: str = "", notes: Iterable[str] = ()) -> None:
        if self.instance and span is not None:
            notes = [*notes, self.instance]
            if (code, span) in self._seen:
                return
            self._seen.add((code, span))
        self.errors.append(Diagnostic(code=code, message=message, span=span, label=label, help=help, notes=tuple(notes)))


@dataclass(frozen=True, slots=True)
class Symbol:
    """A declared name; ``position`` is where its declaration begins, since values may use earlier ones only."""

    kind: Kind
    name: ast.Name
    position: int
    immediate: bool = False
    rank: int = 0  # how many indices it has
    branches: tuple[tuple[int, int], ...] = ()  # the branches of `if` that it stands in
    use: ast.Use | None = None  # of an instance


@dataclass(slots=True)
class Component:
    """A component: its statement, its own names, and the file it stands in. One with an error is ``broken`` and not expanded."""

    statement: ast.Component
    scope: Scope
    home: Home
    works: dict[str, Dimension | None] = field(default_factory=dict)  # of the laws it is given, as far as its body tells
    broken: bool = False
    depth: int = 0  # of the instances nested in it

    @property
    def name(self) -> str:
        return self.statement.name.text


@dataclass(slots=True)
class Home:
    """A file: its names, the files it imports, and the values of its parameters; None where one could not be computed."""

    file: ast.File
    scope: Scope
    libraries: Mapping[str, Home] = field(default_factory=dict)
    numbers: dict[str, tuple[Exact, Dimension] | None] = field(default_factory=dict)


@dataclass(slots=True)
class Scope:
    """All names of a file, and which of them are used."""

    values: dict[str, Symbol] = field(default_factory=dict)
    places: dict[str, Symbol] = field(default_factory=dict)
    transitions: dict[str, Symbol] = field(default_factory=dict)
    links: dict[str, Symbol] = field(default_factory=dict)
    properties: dict[str, Symbol] = field(default_factory=dict)
    instances: dict[str, Symbol] = field(default_factory=dict)
    components: dict[str, Component] = field(default_factory=dict)
    file: Home | None = None
    used_components: set[str] = field(default_factory=set)
    libraries: Mapping[str, Home] = field(default_factory=dict)
    within: bool = False  # a component
    outer: Mapping[str, Symbol] = field(default_factory=dict)  # the values of the file, for a component
    check_index: Callable[[ast.Expr], object] = lambda node: None
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
            case Kind.PROPERTY:
                return self.properties
            case Kind.INSTANCE:
                return self.instances
            case _:
                return self.values

    def use(self, kind: Kind, name: ast.Name, report: Report, *, stars: bool = False) -> bool:
        """Mark a place, transition or link as used; False, with an error, where it is not declared."""
        return self.find(kind, name, report, stars=stars) is not None

    def find(self, kind: Kind, name: ast.Name, report: Report, *, stars: bool = False) -> Symbol | None:
        """The place, transition or link of that name, marked as used; None, with an error, where there is none.
        ``stars``: may ``*`` be an index?"""
        if name.path:
            return _find_path(kind, name, self, report, stars)
        symbol = self.space(kind).get(name.text)
        if symbol is None:
            undeclared(kind, name, self, report)
            return None
        self.used.add((kind, name.text))
        return symbol if _has_rank(symbol, 0, name.text, name.span, report, stars) else None

    def home_of(self, name: str) -> bool:
        """Is a value declared here, rather than seen from inside a component?"""
        symbol = self.values[name]
        return not (self.outer and symbol.kind is Kind.PARAM and self.outer.get(name) is symbol)

    def component(self, use: ast.Use) -> Component | None:
        """The component that a ``use`` names, if there is one."""
        if use.library is None:
            return self.components.get(use.component.text)
        library = self.libraries.get(use.library.text)
        return library.scope.components.get(use.component.text) if library is not None else None

    def leads_to(self, kind: Kind, name: ast.Name) -> bool:
        """Does a name, or the path of one, lead to something of this kind?"""
        scope, steps = self, name.path or (ast.Step(name.text, (), name.span),)
        for step in steps[:-1]:
            symbol = scope.instances.get(step.text)
            inner = scope.component(symbol.use) if symbol is not None and symbol.use is not None else None
            if inner is None:
                return False
            scope = inner.scope
        return steps[-1].text in scope.space(kind)

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


def _find_path(kind: Kind, name: ast.Name, scope: Scope, report: Report, stars: bool) -> Symbol | None:
    """What a path such as ``w[2].idle`` leads to."""
    inside, within = scope, ""
    for step in name.path[:-1]:
        symbol = inside.instances.get(step.text)
        if symbol is None or symbol.use is None:
            _no_instance(step, inside, within, report)
            return None
        inside.used.add((Kind.INSTANCE, step.text))
        _check_indices(step, scope)
        component = inside.component(symbol.use)
        if not _has_rank(symbol, len(step.indices), step.text, step.span, report, stars, step) or component is None:
            return None
        inside, within = component.scope, component.name
    last = name.path[-1]
    _check_indices(last, scope)
    found = inside.space(kind).get(last.text)
    if found is None or (inside is not scope and found.position < 0):
        plain = ast.Name(last.text, last.span)
        if inside is scope:
            undeclared(kind, plain, inside, report)
        else:
            _no_member(kind, plain, inside, within, report)
        return None
    inside.used.add((kind, last.text))
    return found if _has_rank(found, len(last.indices), last.text, last.span, report, stars, last) else None


def _check_indices(step: ast.Step, scope: Scope) -> None:
    for index in step.indices:
        if not isinstance(index, ast.Star):
            scope.check_index(index)


def _has_rank(symbol: Symbol, given: int, text: str, span: Span, report: Report, stars: bool = False, step: ast.Step | None = None) -> bool:
    """Does a name stand with as many indices as it was declared with, ``*`` only where it may?"""
    if given != symbol.rank:
        if not given:
            example = f"{quoted(text)}[{', '.join('1' for _ in range(symbol.rank))}]"
            also = f", or {quoted(text)}[*] for all of them" if stars and symbol.rank == 1 else ""
            report.error("E0231", f"{quoted(text)} has {_indices(symbol.rank)}", span, help=f"write {example}{also}")
        else:
            has = f"{_indices(symbol.rank)}, here are {given}" if symbol.rank else "no index"
            report.error("E0231", f"{symbol.kind} {quoted(text)} has {has}", span)
        return False
    star = next((i for i in step.indices if isinstance(i, ast.Star)), None) if step is not None else None
    if star is not None and not stars:
        help = "it stands in lists of arcs, after `resets` and after `over`; sum(… for i in 1..n) goes over an index elsewhere"
        report.error("E0231", "`*` as an index means all of them, but one is due here", star.span, help=help)
        return False
    return True


def _indices(rank: int) -> str:
    return "an index" if rank == 1 else f"{rank} indices"


def _no_instance(step: ast.Step, scope: Scope, within: str, report: Report) -> None:
    near = report.nearest(step.text, scope.instances)
    of = f" in component {quoted(within)}" if within else ""
    help = f"did you mean {quoted(near)}?" if near else "what stands before a dot is declared by `use`"
    report.error("E0201", f"there is no instance {quoted(step.text)}{of}", step.span, help=help)


def _no_member(kind: Kind, name: ast.Name, scope: Scope, within: str, report: Report) -> None:
    own = [n for n, s in scope.space(kind).items() if s.position >= 0]
    near = report.nearest(name.text, own)
    if name.text in scope.space(kind):
        help = f"{quoted(name.text)} is a parameter of it: name what it is given"
    else:
        help = f"did you mean {quoted(near)}?" if near else f"it has {', '.join(map(quoted, own))}" if own else ""
    report.error("E0201", f"component {quoted(within)} has no {kind} {quoted(name.text)}", name.span, help=help)


# --- declaring ----------------------------------------------------------------------------------------------------------------------

IN_COMPONENT = (ast.Places, ast.Link, ast.Transition, ast.Dist, ast.Use, ast.For, ast.If, ast.Join)
IN_LOOP = (ast.Places, ast.Link, ast.Transition, ast.Use, ast.For, ast.If, ast.Join, ast.Expect)
IN_BRANCH = (*IN_COMPONENT, ast.Measure, ast.Expect, ast.Property)


@dataclass(frozen=True, slots=True)
class Block:
    """Where a statement stands: in the braces of ``outer``, below the indices of the loops around it."""

    outer: str = ""
    allowed: tuple[type[ast.Statement], ...] = (ast.Statement,)
    indices: tuple[str, ...] = ()
    branches: tuple[tuple[int, int], ...] = ()

    def into(self, outer: str, allowed: tuple[type[ast.Statement], ...], index: str = "", branch: tuple[int, int] | None = None) -> Block:
        both = tuple(a for a in allowed if issubclass(a, self.allowed))
        return Block(outer, both, self.indices + ((index,) if index else ()), self.branches + ((branch,) if branch else ()))


def declare(file: ast.File, report: Report, libraries: Mapping[str, Home] | None = None) -> Scope:
    """The names of a file; duplicates and names that can be none are errors."""
    scope = Scope(libraries=libraries or {})
    scope.unitless = any(isinstance(s, ast.UnitsNone) for s in file.statements)
    scope.file = home = Home(file, scope, scope.libraries)
    _declare_all(file.statements, scope, Block(), report, home)
    _apart(scope, report)
    for component in scope.components.values():
        _declare_component(component, scope, report)
    return scope


def _declare_component(component: Component, file: Scope, report: Report) -> None:
    inner, statement = component.scope, component.statement
    inner.outer, inner.within = file.values, True
    inner.unitless, inner.libraries, inner.components = file.unitless, file.libraries, file.components
    for formal in statement.formals:
        word = formal.type.text if isinstance(formal.type, ast.Name) else ""
        kind = FORMALS.get(word, Kind.PARAM)
        position = formal.span.end if kind in VALUES else -1  # what is given from outside is no member
        _add(inner, Symbol(kind, formal.name, position), report)
    _declare_all(statement.body, inner, Block().into("a component", IN_COMPONENT), report, component.home)
    _apart(inner, report)
    for name, symbol in file.values.items():
        if symbol.kind is Kind.PARAM:
            inner.values.setdefault(name, symbol)


FORMALS = {"dist": Kind.DIST, "place": Kind.PLACE, "link": Kind.LINK, "transition": Kind.TRANSITION}


def _declare_all(statements: Iterable[ast.Statement], scope: Scope, block: Block, report: Report, home: Home) -> None:
    twice = False
    for statement in statements:
        if not isinstance(statement, block.allowed) or (isinstance(statement, ast.Join) and not block.outer):
            _misplaced(statement, block, report)
            continue
        match statement:
            case ast.UnitsNone():
                if twice:
                    report.error("E0202", "`units none` stands twice", statement.span)
                twice = True
            case ast.Component():
                _add_component(Component(statement, Scope(), home), scope, report)
            case ast.For(range=each, body=body):
                _declare_all(body, scope, block.into("`for`", IN_LOOP, index=each.variable.text), report, home)
            case ast.If(then=then, otherwise=otherwise):
                for number, body in enumerate((then, otherwise)):
                    _declare_all(body, scope, block.into("`if`", IN_BRANCH, branch=(id(statement), number)), report, home)
            case _:
                _declare_one(statement, scope, block, report)


def _declare_one(statement: ast.Statement, scope: Scope, block: Block, report: Report) -> None:
    immediate = isinstance(statement, ast.Transition) and statement.law is None
    used = statement if isinstance(statement, ast.Use) else None
    for kind, name, index in _declared(statement):
        missing = [i for i in block.indices if not any(isinstance(n, ast.Expr) and _reads(n, i) for n in index)]
        if missing:
            example = f"{quoted(name.text)}[{', '.join(block.indices)}]"
            message = f"{kind} {quoted(name.text)} would be declared once for every {missing[0]}"
            report.error("E0235", message, name.span, help=f"write {example}")
        if index and not block.indices and not any(isinstance(n, ast.Range) for n in index):
            text = " ".join(name.span.source.text[name.span.end : index[-1].span.end].split()) + "]"
            example = f"{quoted(name.text)}[i in 1..{index[0].span.text}]"
            report.error("E0235", f"{quoted(name.text)}{text} has no index that runs", name.span, help=f"an array is written {example}")
        symbol = Symbol(kind, name, statement.span.end, immediate, len(index), block.branches, used)
        _add(scope, symbol, report)


def _reads(node: ast.Expr, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.text == name) or any(_reads(c, name) for c in ast.children(node))


def _misplaced(statement: ast.Statement, block: Block, report: Report) -> None:
    word = statement.span.text.split(maxsplit=1)[0]
    if isinstance(statement, ast.Join):
        message, help = "`join` adds to a transition that a component is given", "in a file, write the arcs in the transition"
        report.error("E0236", message, statement.span, help="it stands in a component" if block.outer else help)
        return
    results = isinstance(statement, ast.Measure | ast.Expect | ast.Property)
    help = "ask of its instances, outside: throughput(w[1].t)" if results else "write it outside the braces"
    report.error("E0233", f"`{word}` cannot stand in {block.outer}", statement.span, help=help)


def _add_component(component: Component, scope: Scope, report: Report) -> None:
    earlier = scope.components.setdefault(component.name, component)
    if earlier is not component:
        name = component.statement.name
        notes = [f"first in line {_line(earlier.statement.name)}"]
        report.error("E0202", f"component {quoted(name.text)} is declared twice", name.span, notes=notes)


def _apart(scope: Scope, report: Report) -> None:
    """A link and a transition of one name are an error."""
    for shared in sorted(scope.links.keys() & scope.transitions.keys()):
        later = max(scope.links[shared], scope.transitions[shared], key=lambda s: s.name.span.start)
        message = f"a link and a transition are both called {quoted(shared)}"
        report.error("E0202", message, later.name.span, help=f"utilisation({quoted(shared)}) could mean either: rename one of them")


def _declared(statement: ast.Statement) -> list[tuple[Kind, ast.Name, ast.Index]]:
    match statement:
        case ast.Param(name=name):
            return [(Kind.PARAM, name, ())]
        case ast.Dist(name=name):
            return [(Kind.DIST, name, ())]
        case ast.Measure(name=name):
            return [(Kind.MEASURE, name, ())]
        case ast.Link(name=name, index=index):
            return [(Kind.LINK, name, index)]
        case ast.Property(name=name):
            return [(Kind.PROPERTY, name, ())]
        case ast.Transition(name=name, index=index):
            return [(Kind.TRANSITION, name, index)]
        case ast.Use(name=name, index=index):
            return [(Kind.INSTANCE, name, index)]
        case ast.Places(items=items):
            return [(Kind.PLACE, item.name, item.index) for item in items]
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
    if earlier is not symbol and not _exclusive(earlier, symbol):
        also = "" if earlier.kind is symbol.kind else f", first as a {earlier.kind}"
        notes = [f"first in line {_line(earlier.name)}"]
        report.error("E0202", f"{symbol.kind} {quoted(name.text)} is declared twice{also}", name.span, notes=notes)


def _exclusive(one: Symbol, other: Symbol) -> bool:
    """Do two declarations of like things stand in the two branches of an ``if``?"""
    apart = any(a == c and b != d for a, b in one.branches for c, d in other.branches)
    return apart and (one.kind, one.rank, one.immediate) == (other.kind, other.rank, other.immediate) and _same_component(one, other)


def _same_component(one: Symbol, other: Symbol) -> bool:
    names = [(s.use.library and s.use.library.text, s.use.component.text) if s.use else None for s in (one, other)]
    return names[0] == names[1]


def _line(name: ast.Name) -> int:
    return name.span.source.text.count("\n", 0, name.span.start) + 1


def undeclared(kind: Kind, name: ast.Name, scope: Scope, report: Report) -> None:
    """The error for a name that is not declared, with the nearest one that is."""
    near = report.nearest(name.text, scope.space(kind))
    other = _elsewhere(name.text, scope)
    if name.in_quotes and quoted(name.text) == name.text and not name.text.isidentifier():
        message = f"{kind} `{name.text}` is not declared"
        report.error("E0201", message, name.span, help=f"an element of an array, or of an instance, has no backquotes: {name.text}")
        return
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
