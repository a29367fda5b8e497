"""Expansion: components, replicas, loops and branches written out, with the values of parameters put in.

The result is a list of plain statements whose names are flat, ``w[2].idle``, in the order of the text. Spans stay those of the text, so
that all replicas of a statement share one; a note names the replica. All bounds are checked before anything is written out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

from spn.expr.dims import NUMBER, Dimension
from spn.expr.nodes import BinaryOp, Exact
from spn.lang import ast
from spn.lang.check import kind_of
from spn.lang.compose import arguments_of, kind_of_formal
from spn.lang.lower import Missing, Values, constant
from spn.lang.parameters import unfit
from spn.lang.parse import LONG_CHAIN
from spn.lang.scope import Component, Home, Kind, Report, Scope
from spn.lang.units import UNITS
from spn.lang.words import quoted
from spn.net.model import ArcKind, Member, Replicas
from spn.source import Span, position

MAX_STATEMENTS = 200_000  # written out, empty rounds of loops counted
MAX_WHOLE = 2**53
MAX_TERMS = 200_000  # of all sums over an index

Index = tuple[int, ...]
TARGETS = {"throughput": (Kind.TRANSITION,), "sojourn": (Kind.PLACE,), "utilisation": (Kind.LINK, Kind.TRANSITION)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Where a statement is written out: the names and values that it sees, and what goes before its own names.

    ``numbers`` holds values in base units with their dimensions, ``given`` the flat names of what a component was given.
    """

    scope: Scope
    prefix: str = ""
    numbers: dict[str, tuple[Exact, Dimension] | None] = field(default_factory=dict)
    given: dict[tuple[Kind, str], str] = field(default_factory=dict)
    note: str = ""

    def at(self, variable: str, value: int) -> Frame:
        """The same place for one value of an index."""
        return replace(self, numbers={**self.numbers, variable: (Fraction(value), NUMBER)})


@dataclass(slots=True)
class Family:
    """The elements of an array so far: for each index, from where to where its names lie in the lists of all names."""

    name: str
    shifted: bool
    members: dict[Index, tuple[tuple[int, int, int], tuple[int, int, int]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Later:
    """A statement to be written out when all names are known; ``name`` is the flat name of a transition."""

    statement: ast.Statement
    frame: Frame
    name: ast.Name | None = None


@dataclass(slots=True)
class Expansion:
    """Writes out the checked statements of a file. ``complete`` turns False where something was left out because of an error."""

    values: Values
    report: Report
    complete: bool = True
    left: int = MAX_STATEMENTS
    terms: int = MAX_TERMS
    flat: list[tuple[ast.Statement | Later, str]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    transitions: list[str] = field(default_factory=list)
    declared: dict[tuple[Kind, str], bool] = field(default_factory=dict)  # and whether it is an immediate transition
    families: dict[tuple[Kind, str], Family] = field(default_factory=dict)
    joins: dict[str, list[Later]] = field(default_factory=dict)
    asked: dict[tuple[Kind, Span, bool], tuple[str, str]] = field(default_factory=dict)
    laws: dict[int, tuple[ast.Expr, str]] = field(default_factory=dict)
    least: dict[int, int] = field(default_factory=dict)

    # --- the whole

    def statements(self, statements: Sequence[ast.Statement], home: Home) -> Iterator[tuple[ast.Statement, str]]:
        """The statements written out, each with the note that names its replica."""
        frame = Frame(scope=home.scope)
        self._walk(statements, frame)
        for item, note in self.flat:
            self.report.instance = note
            try:
                yield (self._written(item) if isinstance(item, Later) else item), note
            except Missing:
                self.complete = False
        self.report.instance = ""
        if self.complete:
            self._verify()

    def param(self, p: ast.Param, home: Home) -> ast.Param:
        """The statement of a parameter with its sums over an index written out."""
        frame = Frame(scope=home.scope)
        written: ast.Param = _rebuilt(p, lambda e: self.expr(e, frame))
        return written

    def replicas(self) -> tuple[Replicas, ...]:
        """The arrays of the file, as candidates for symmetry."""
        return tuple(self._replicas(f) for f in self.families.values() if len(f.members) > 1)

    def _replicas(self, family: Family) -> Replicas:
        everything = (self.places, self.links, self.transitions)
        members = []
        for index, (start, end) in family.members.items():
            places, links, transitions = (tuple(names[a:b]) for names, a, b in zip(everything, start, end, strict=True))
            members.append(Member(index=index, places=places, links=links, transitions=transitions))
        return Replicas(name=family.name, members=tuple(members), shifted=family.shifted)

    # --- names first

    def _walk(self, statements: Iterable[ast.Statement], frame: Frame) -> None:
        for statement in statements:
            self.report.instance = frame.note
            try:
                self._declare(statement, frame)
            except Missing:
                self.complete = False

    def _declare(self, s: ast.Statement, frame: Frame) -> None:
        match s:
            case ast.Component() | ast.Import() | ast.Param() | ast.UnitsNone():
                return
            case ast.Places(items=items):
                self._places(s, items, frame)
            case ast.Link():
                for name, inner in self._elements(Kind.LINK, s.name, s.index, s, frame):
                    arguments = tuple(self._argument(a, inner) for a in s.arguments)
                    self._put(replace(s, name=name, index=(), arguments=arguments), inner)
            case ast.Dist():
                name = self._own(s.name, frame)
                self._new(Kind.DIST, name, frame)
                self._put(replace(s, name=name, law=self.expr(s.law, frame)), frame)
            case ast.Transition():
                for name, inner in self._elements(Kind.TRANSITION, s.name, s.index, s, frame, immediate=s.law is None):
                    self._put(Later(s, inner, name), inner)
            case ast.Use():
                self._use(s, frame)
            case ast.For(range=each, body=body):
                for i in self._round(each, frame, self._least_of(body, frame)):
                    self._walk(body, _noted(frame.at(each.variable.text, i), f"for {each.variable.text} = {i}"))
            case ast.If(test=test, then=then, otherwise=otherwise):
                self._walk(then if self._number(test, frame, "the condition of `if`") else otherwise, frame)
            case ast.Join(transition=transition):
                for name in self._refs(Kind.TRANSITION, transition, frame):
                    self.joins.setdefault(name.text, []).append(Later(s, frame))
            case _:
                self._put(Later(s, frame), frame)

    def _put(self, item: ast.Statement | Later, frame: Frame) -> None:
        self.flat.append((item, frame.note))

    def _places(self, s: ast.Places, items: Iterable[ast.Place], frame: Frame) -> None:
        for item in items:
            for name, inner in self._elements(Kind.PLACE, item.name, item.index, item, frame):
                initial, capacity = (None if e is None else self.expr(e, inner) for e in (item.initial, item.capacity))
                flat = replace(item, name=name, index=(), initial=initial, capacity=capacity)
                self._put(ast.Places(items=(flat,), span=s.span, doc=s.doc), inner)

    def _own(self, name: ast.Name, frame: Frame, index: Index = ()) -> ast.Name:
        """The flat name of what is declared here."""
        if not frame.prefix and not index:
            return name
        return ast.Name(f"{frame.prefix}{name.text}{_indices(index)}", name.span)

    def _new(self, kind: Kind, name: ast.Name, frame: Frame, immediate: bool = False) -> None:
        """Enter a flat name."""
        self._charge(1, name.span)
        if (kind, name.text) in self.declared:
            if self.complete:  # else that may be reported
                message = f"{kind} {quoted(name.text)} is declared twice"
                self.report.error("E0202", message, name.span, help="every one needs an index of its own")
            raise Missing
        self.declared[kind, name.text] = immediate
        names = {Kind.PLACE: self.places, Kind.LINK: self.links, Kind.TRANSITION: self.transitions}.get(kind)
        if names is not None:
            names.append(name.text)

    def _elements(
        self, kind: Kind, name: ast.Name, index: ast.Index, node: Any, frame: Frame, immediate: bool = False
    ) -> Iterator[tuple[ast.Name, Frame]]:
        """The flat names of a declaration, one for each index, each with the frame that knows the index."""
        if not index:
            flat = self._own(name, frame)
            self._new(kind, flat, frame, immediate)
            yield flat, frame
            return
        for place, inner in self._frames(index, frame, 1):
            flat = self._own(name, frame, place)
            before = self._sizes()
            self._new(kind, flat, inner, immediate)
            self._family(kind, name, index, node, frame).members[place] = (before, self._sizes())
            yield flat, inner

    def _sizes(self) -> tuple[int, int, int]:
        return len(self.places), len(self.links), len(self.transitions)

    def _family(self, kind: Kind, name: ast.Name, index: ast.Index, node: Any, frame: Frame) -> Family:
        key = (kind, frame.prefix + name.text)
        family = self.families.get(key)
        if family is None:
            variables = {n.text for slot in index for n in ((slot.variable,) if isinstance(slot, ast.Range) else _names_in(slot))}
            family = self.families[key] = Family(key[1], _shifts(node, frozenset(variables)))
        return family

    def _frames(self, index: ast.Index, frame: Frame, each: int) -> Iterator[tuple[Index, Frame]]:
        """Every value of an index, with the frame in which its variables have that value."""
        ranges = [
            self._round(slot, frame, each) if isinstance(slot, ast.Range) else (self._whole(slot, frame, "an index"),) for slot in index
        ]
        variables = [slot.variable.text if isinstance(slot, ast.Range) else "" for slot in index]
        many = math.prod(len(r) for r in ranges)
        if len(ranges) > 1 and many * max(1, each) > self.left:
            self._too_many(many, index[0].span)
        for place in product(*ranges):
            inner = frame
            notes = []
            for variable, value in zip(variables, place, strict=True):
                if variable:
                    inner = inner.at(variable, value)
                    notes.append(f"for {variable} = {value}")
            yield place, _noted(inner, ", ".join(notes)) if notes else inner

    # --- components

    def _use(self, use: ast.Use, frame: Frame) -> None:
        component = frame.scope.component(use)
        if component is None or component.broken:
            raise Missing
        given = arguments_of(use, component, self.report)
        line = position(use.span.source, use.span.start).line
        if not use.index:
            name = self._own(use.name, frame)
            self._new(Kind.INSTANCE, name, frame)
            self._instance(component, name.text, given, frame, line)
            return
        for place, inner in self._frames(use.index, frame, self._least(component)):
            name = self._own(use.name, frame, place)
            self._new(Kind.INSTANCE, name, inner)
            before = self._sizes()
            family = self._family(Kind.INSTANCE, use.name, use.index, use, frame)
            self._instance(component, name.text, given, inner, line)
            family.members[place] = (before, self._sizes())

    def _instance(
        self, component: Component, name: str, given: list[tuple[ast.Formal, ast.Argument | None]], caller: Frame, line: int
    ) -> None:
        inner = Frame(
            scope=component.scope,
            prefix=f"{name}.",
            numbers=dict(component.home.numbers),
            note=f"in {quoted(name)}, used in line {line}",
        )
        for formal, argument in given:
            self.report.instance = inner.note
            node, where = (argument.value, caller) if argument is not None else (formal.default, inner)
            assert node is not None
            kind, key = kind_of_formal(formal), formal.name.text
            if kind is Kind.PARAM:
                inner.numbers[key] = None
                inner.numbers[key] = self._value_for(formal, node, where, inner)
            elif kind is Kind.DIST:
                inner.given[kind, key] = self._law(node, where, f"{name}.{key}", formal)
            else:
                assert isinstance(node, ast.Name)
                inner.given[kind, key] = self._refs(kind, node, where)[0].text
        self._walk(component.statement.body, inner)

    def _value_for(self, formal: ast.Formal, node: ast.Expr, where: Frame, inner: Frame) -> tuple[Exact, Dimension]:
        what = f"{quoted(formal.name.text)} of {quoted(inner.prefix.rstrip('.'))}"
        value = self._number(node, where, what)
        type_ = kind_of(formal.type)
        problem = unfit(value, "".join(formal.type.span.text.split()))
        if problem:
            shown = f"{float(value):g}"
            self.report.error("E0401", f"{what} = {shown} is {problem}", node.span)
            raise Missing
        return value, type_.dimension if type_ is not None and not inner.scope.unitless else NUMBER

    def _law(self, node: ast.Expr, where: Frame, name: str, formal: ast.Formal) -> str:
        """The flat name of a law that a component is given; a law without name gets one, shared by the replicas that it is the same for."""
        law = self.expr(node, where)
        if isinstance(law, ast.Name) and law.text not in UNITS:
            return law.text
        known = self.laws.get(id(law))
        if known is None:
            known = self.laws[id(law)] = (law, name)  # the law is kept, so that no other gets its id
            self._put(ast.Dist(name=ast.Name(name, formal.name.span), law=law, span=law.span), where)
        return known[1]

    # --- bounds

    def _charge(self, many: int, span: Span) -> None:
        self.left -= many
        if self.left < 0:
            self._too_many(many, span)

    def _too_many(self, many: int, span: Span) -> None:
        self.left = -1
        help = "are the ends of the range meant so? tokens in one place are replicas too, at no cost"
        message = f"written out, this model has more than {MAX_STATEMENTS:,} statements"
        self.report.error("E0431", message, span, help=help, notes=[f"here are {many:,}"] if many > 1 else [])
        raise TooLarge

    def _round(self, each: ast.Range, frame: Frame, least: int) -> range:
        """The values of an index; those of an empty range are none. ``least``: the statements that every one brings at least."""
        what = f"the range of {quoted(each.variable.text)}"
        low, high = (self._whole(end, frame, what) for end in (each.low, each.high))
        many = max(0, high - low + 1)
        if many * max(1, least) > self.left:
            self._too_many(many * max(1, least), each.span)
        self.left -= many
        return range(low, high + 1)

    def _least(self, component: Component) -> int:
        """How many statements an instance brings at least; where a range depends on what it is given, that counts as none."""
        key = id(component)
        if key not in self.least:
            self.least[key] = 1
            frame = Frame(scope=component.scope, numbers=dict(component.home.numbers))
            own = {f.name.text for f in component.statement.formals}
            for name in own:
                frame.numbers[name] = None
            self.least[key] = 1 + self._least_of(component.statement.body, frame)
        return self.least[key]

    def _least_of(self, body: Iterable[ast.Statement], frame: Frame) -> int:
        return min(sum(self._least_in(s, frame) for s in body), 10**30)

    def _least_in(self, s: ast.Statement, frame: Frame) -> int:
        match s:
            case ast.Places(items=items):
                return sum(self._many(item.index, frame) for item in items)
            case ast.Link(index=index) | ast.Transition(index=index):
                return self._many(index, frame)
            case ast.Use(index=index):
                component = frame.scope.component(s)
                return 0 if component is None or component.broken else self._many(index, frame) * self._least(component)
            case ast.For(range=each, body=body):
                inner = replace(frame, numbers={**frame.numbers, each.variable.text: None})
                return self._many((each,), frame) * max(1, self._least_of(body, inner))
            case ast.If(then=then, otherwise=otherwise):
                return min(self._least_of(then, frame), self._least_of(otherwise, frame))
            case ast.Measure() | ast.Expect() | ast.Dist() | ast.Property():
                return 1
        return 0

    def _many(self, index: ast.Index, frame: Frame) -> int:
        """How many elements an index has; 0 where that depends on what is not known yet."""
        many = 1
        silent = Expansion(self.values, Report())
        for slot in index:
            if isinstance(slot, ast.Range):
                try:
                    low, high = (silent._whole(end, frame, "") for end in (slot.low, slot.high))
                except Missing:
                    return 0
                many *= max(0, high - low + 1)
        return many

    # --- values

    def _number(self, node: ast.Expr, frame: Frame, what: str) -> Exact:
        flat = self.expr(node, frame)
        if isinstance(flat, ast.Number | ast.Value) and -MAX_WHOLE <= flat.value <= MAX_WHOLE:
            return flat.value
        return constant(flat, self.values, self.report, what)

    def _whole(self, node: ast.Expr, frame: Frame, what: str) -> int:
        value = self._number(node, frame, what)
        if value != math.floor(value) or not -MAX_WHOLE <= value <= MAX_WHOLE:
            self.report.error("E0402", f"{what} is not a whole number: {float(value):g}", node.span)
            raise Missing
        return int(value)

    # --- names

    def _refs(self, kind: Kind, name: ast.Name, frame: Frame) -> list[ast.Name]:
        """The plain names that a name or path stands for: several only where it has ``*``."""
        if not name.path:
            return [self._plain(kind, name, frame)]
        found = [""]
        scope: Scope | None = frame.scope
        for number, step in enumerate(name.path):
            last = number == len(name.path) - 1
            found = [f + e for f in found for e in self._step(kind if last else Kind.INSTANCE, step, frame, frame.prefix + f)]
            if not last:
                found = [f"{f}." for f in found]
                symbol = scope.instances.get(step.text) if scope is not None else None
                component = scope.component(symbol.use) if scope is not None and symbol is not None and symbol.use is not None else None
                scope = component.scope if component is not None else None
        if len(found) > 1:
            self._charge(len(found), name.span)
        names = [ast.Name(frame.prefix + f, name.span) for f in found]
        for flat in names:
            self._ask(kind, flat, frame)
        return names

    def _plain(self, kind: Kind, name: ast.Name, frame: Frame) -> ast.Name:
        given = frame.given.get((kind, name.text)) if frame.prefix else None
        flat = name if not frame.prefix else ast.Name(given or frame.prefix + name.text, name.span)
        symbol = frame.scope.space(kind).get(name.text)
        if symbol is not None and symbol.branches:
            self._ask(kind, flat, frame)
        return flat

    def _step(self, kind: Kind, step: ast.Step, frame: Frame, before: str) -> list[str]:
        """A step of a path with its indices written out; ``*`` gives all there are."""
        if not step.indices:
            return [step.text]
        if not any(isinstance(i, ast.Star) for i in step.indices):
            return [step.text + _indices(tuple(self._whole(i, frame, "an index") for i in step.indices))]
        wanted = [None if isinstance(i, ast.Star) else self._whole(i, frame, "an index") for i in step.indices]
        family = self.families.get((kind, before + step.text))
        members = family.members if family is not None else {}
        return [step.text + _indices(m) for m in members if all(w in (None, v) for w, v in zip(wanted, m, strict=True))]

    def _ask(self, kind: Kind, name: ast.Name, frame: Frame, clock: bool = False) -> None:
        """Remember that a flat name must exist, and be a timed transition if it has a ``clock``."""
        if (self.declared.get((kind, name.text), True) and (kind, name.text) not in self.declared) or clock:
            self.asked.setdefault((kind, name.span, clock), (name.text, frame.note))

    def _verify(self) -> None:
        for (kind, span, clock), (name, note) in self.asked.items():
            self.report.instance = note
            if (kind, name) not in self.declared:
                self._missing(kind, name, span)
            elif clock and self.declared[kind, name]:
                self.report.error("E0207", f"{quoted(name)} is immediate: it has no clock to reset", span)
        self.report.instance = ""

    def _missing(self, kind: Kind, name: str, span: Span) -> None:
        stem, bracket, _ = name.rpartition("[")
        family = self.families.get((kind, stem)) if bracket else None
        head = name.rpartition(".")[0]
        owner = self.families.get((Kind.INSTANCE, head.rpartition("[")[0])) if head else None
        if family is not None:
            self.report.error("E0430", f"there is no {kind} {quoted(name)}", span, help=f"{quoted(stem)} has {_listed(family)}")
        elif head and (Kind.INSTANCE, head) not in self.declared and owner is not None:
            self.report.error("E0430", f"there is no instance {quoted(head)}", span, help=f"{quoted(owner.name)} has {_listed(owner)}")
        else:
            help = "with these values of the parameters its range is empty, or its `if` takes the other branch"
            self.report.error("E0430", f"there is no {kind} {quoted(name)}", span, help=help)

    # --- expressions

    def expr(self, node: ast.Expr, frame: Frame) -> ast.Expr:
        """An expression with flat names, the values of this frame, and sums over an index written out; itself where nothing changes."""
        match node:
            case ast.Number() | ast.Quantity() | ast.Truth() | ast.Text() | ast.Value():
                return node
            case ast.Name():
                return self._name(node, frame)
            case ast.Marking(place=place):
                flat = self._refs(Kind.PLACE, place, frame)[0]
                return node if flat is place else ast.Marking(flat, node.span)
            case ast.Binary(op=op, left=left, right=right):
                new = self.expr(left, frame), self.expr(right, frame)
                return node if new[0] is left and new[1] is right else ast.Binary(op, *new, node.span)
            case ast.Reduction():
                return self._reduction(node, frame)
            case ast.Call(function=function, arguments=arguments):
                kinds = TARGETS.get(function.text, ())
                given = tuple(self._argument(a, frame, kinds) for a in arguments)
                return node if all(a is b for a, b in zip(given, arguments, strict=True)) else ast.Call(function, given, node.span)
            case ast.FromTo(first=first, second=second, bound=bound):
                ends = [self._refs(Kind.TRANSITION, t, frame)[0] for t in (first, second)]
                return ast.FromTo(ends[0], ends[1], node.op, None if bound is None else self.expr(bound, frame), node.span)
        rebuilt: ast.Expr = _rebuilt(node, lambda e: self.expr(e, frame))
        return rebuilt

    def _name(self, name: ast.Name, frame: Frame) -> ast.Expr:
        if name.text in frame.numbers and not (name.text in UNITS and not name.in_quotes):
            known = frame.numbers[name.text]
            if known is None:
                raise Missing
            return ast.Value(known[0], known[1], name.span)
        symbol = frame.scope.values.get(name.text)
        if symbol is None or (name.text in UNITS and not name.in_quotes):
            return name
        if symbol.kind is Kind.DIST:
            return self._plain(Kind.DIST, name, frame)
        if symbol.kind is Kind.MEASURE and symbol.branches:
            self._ask(Kind.MEASURE, name, frame)
        return name

    def _argument(self, argument: ast.Argument, frame: Frame, kinds: tuple[Kind, ...] = ()) -> ast.Argument:
        value, target = argument.value, argument.value
        if kinds and isinstance(target, ast.Name):
            kind = next((k for k in kinds if frame.scope.leads_to(k, target)), kinds[-1])
            value = self._refs(kind, target, frame)[0]
        else:
            value = self.expr(value, frame)
        weight = None if argument.weight is None else self.expr(argument.weight, frame)
        given = None if argument.given is None else self._refs(Kind.TRANSITION, argument.given, frame)[0]
        if value is argument.value and weight is argument.weight and given is argument.given:
            return argument
        return replace(argument, value=value, weight=weight, given=given)

    def _reduction(self, node: ast.Reduction, frame: Frame) -> ast.Expr:
        terms = [self.expr(node.body, inner) for inner in self._rounds(node, frame)]
        name, span = node.function.text, node.span
        match name:
            case "sum":
                return chain(BinaryOp.ADD, terms, span) if terms else ast.Value(Fraction(0), NUMBER, span)
            case "all" | "any":
                op = BinaryOp.AND if name == "all" else BinaryOp.OR
                return chain(op, terms, span) if terms else ast.Truth(name == "all", span)
        if not terms:
            self.report.error("E0432", f"{name} over an empty range is no number", span, help="if(n > 0, …, 0) chooses another value")
            raise Missing
        if len(terms) == 1:
            return terms[0]
        return ast.Call(node.function, tuple(ast.Argument(t, t.span) for t in terms), span)

    def _rounds(self, node: ast.Reduction, frame: Frame) -> list[Frame]:
        frames = [frame]
        for r in node.ranges:
            what, grown = f"the range of {quoted(r.variable.text)}", []
            for f in frames:
                low, high = (self._whole(end, f, what) for end in (r.low, r.high))
                self.terms -= max(1, high - low + 1)
                if self.terms < 0:
                    help = "are the ends of the range meant so?"
                    self.report.error("E0431", f"written out, sums over an index have more than {MAX_TERMS:,} terms", r.span, help=help)
                    raise TooLarge
                grown += [f.at(r.variable.text, i) for i in range(low, high + 1)]
            frames = grown
        return frames

    # --- statements, when all names are known

    def _written(self, later: Later) -> ast.Statement:
        s, frame = later.statement, later.frame
        if isinstance(s, ast.Transition) and later.name is not None:
            return self._transition(s, later.name, frame)
        if isinstance(s, ast.Measure):
            self.declared.setdefault((Kind.MEASURE, s.name.text), False)
        written: ast.Statement = _rebuilt(s, lambda e: self.expr(e, frame))
        return written

    def _transition(self, s: ast.Transition, name: ast.Name, frame: Frame) -> ast.Transition:
        arcs, clauses = self._arcs(s.arcs, frame), self._clauses(s.clauses, frame)
        for later in self.joins.get(name.text, ()):
            join = later.statement
            assert isinstance(join, ast.Join)
            note, self.report.instance = self.report.instance, later.frame.note
            arcs += self._arcs(join.arcs, later.frame)
            clauses = _joined(clauses, self._clauses(join.clauses, later.frame))
            self.report.instance = note
        if name.text in self.joins:
            arcs.sort(key=lambda a: a.kind is ArcKind.OUTPUT)  # inputs first, as they are written
        law = None if s.law is None else self.expr(s.law, frame)
        over = tuple(n for link in s.over for n in self._refs(Kind.LINK, link, frame))
        return replace(s, name=name, index=(), arcs=tuple(arcs), law=law, over=over, clauses=tuple(clauses))

    def _arcs(self, arcs: Iterable[ast.ArcItem], frame: Frame) -> list[ast.ArcItem]:
        flat: list[ast.ArcItem] = []
        for arc in arcs:
            factors = tuple(self.expr(f, frame) for f in arc.factors)
            flat += [replace(arc, factors=factors, place=place) for place in self._refs(Kind.PLACE, arc.place, frame)]
        return flat

    def _clauses(self, clauses: Iterable[ast.Clause], frame: Frame) -> list[ast.Clause]:
        return [self._clause(c, frame) for c in clauses]

    def _clause(self, c: ast.Clause, frame: Frame) -> ast.Clause:
        if c.word == "resets":
            names = tuple(n for name in c.names for n in self._refs(Kind.TRANSITION, name, frame))
            for n in names:
                if n is not c.names[0]:
                    self._ask(Kind.TRANSITION, n, frame, clock=True)
            return replace(c, names=names)
        return c if c.value is None else replace(c, value=self.expr(c.value, frame))


class TooLarge(Exception):
    """The model is too large to be written out; the reason is reported."""


def _noted(frame: Frame, note: str) -> Frame:
    return replace(frame, note=f"{frame.note}, {note}" if frame.note else note)


def _indices(index: Index) -> str:
    return f"[{','.join(map(str, index))}]" if index else ""


def _listed(family: Family) -> str:
    """The indices of a family, for a message."""
    found = sorted(family.members)
    if len(found) == 1:
        return f"the index {_indices(found[0])[1:-1]} alone"
    if all(len(i) == 1 for i in found) and found[-1][0] - found[0][0] == len(found) - 1:
        return f"the indices {found[0][0]} to {found[-1][0]}"
    return f"the indices {', '.join(_indices(i)[1:-1] for i in found[:8])}{', …' if len(found) > 8 else ''}"


def _joined(clauses: list[ast.Clause], more: Iterable[ast.Clause]) -> list[ast.Clause]:
    """The clauses of a transition and of a ``join`` to it: guards must all hold, resets add up."""
    found = {c.word: c for c in clauses}
    for c in more:
        own = found.get(c.word)
        if own is None:
            found[c.word] = c
        elif own.value is not None and c.value is not None:
            found[c.word] = replace(own, value=ast.Binary(BinaryOp.AND, own.value, c.value, own.value.span))
        else:
            found[c.word] = replace(own, names=own.names + c.names)
    return list(found.values())


def chain(op: BinaryOp, nodes: Sequence[ast.Expr], span: Span) -> ast.Expr:
    """``a op b op c …`` as the parser makes it: to the left, long ones balanced, so that they are not deep."""
    if len(nodes) > LONG_CHAIN:
        half = len(nodes) // 2
        return ast.Binary(op, _balanced(op, nodes[:half], span), _balanced(op, nodes[half:], span), span)
    node = nodes[0]
    for right in nodes[1:]:
        node = ast.Binary(op, node, right, span)
    return node


def _balanced(op: BinaryOp, nodes: Sequence[ast.Expr], span: Span) -> ast.Expr:
    if len(nodes) == 1:
        return nodes[0]
    half = len(nodes) // 2
    return ast.Binary(op, _balanced(op, nodes[:half], span), _balanced(op, nodes[half:], span), span)


# --- any node -----------------------------------------------------------------------------------------------------------------------

_NO_EXPRESSIONS = frozenset({"span", "name", "unit", "function", "claim", "doc", "op", "index"})


_PARTS: dict[type, tuple[str, ...]] = {}


def _parts(node: Any) -> tuple[str, ...]:
    """The fields of a node in which expressions may lie; names in `name`, `unit`, `claim` are no values."""
    known = _PARTS.get(type(node))
    if known is None:
        known = _PARTS[type(node)] = tuple(f.name for f in fields(node) if f.name not in _NO_EXPRESSIONS)
    return known


def _rebuilt(node: Any, change: Callable[[ast.Expr], ast.Expr]) -> Any:
    """The node with ``change`` applied to the expressions right below it; itself where nothing changes."""
    changed = {}
    for name in _parts(node):
        before = getattr(node, name)
        after = _changed(before, change)
        if after is not before:
            changed[name] = after
    return replace(node, **changed) if changed else node


def _changed(part: Any, change: Callable[[ast.Expr], ast.Expr]) -> Any:
    if isinstance(part, tuple):
        new = tuple(_changed(p, change) for p in part)
        return part if all(a is b for a, b in zip(new, part, strict=True)) else new
    if isinstance(part, ast.Expr):
        return change(part)
    return _rebuilt(part, change) if is_dataclass(part) and not isinstance(part, type) else part


def _names_in(node: ast.Expr) -> Iterator[ast.Name]:
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, ast.Name):
            yield top
        stack.extend(ast.children(top))


def _shifts(node: Any, variables: frozenset[str]) -> bool:
    """Does a declaration reach other indices than its own: ``i mod n + 1`` or ``1`` where the index is i?"""
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, ast.Step):
            for index in top.indices:
                bare = isinstance(index, ast.Name | ast.Star)
                if not bare and any(n.text in variables for n in _names_in(index)):
                    return True
        elif isinstance(top, tuple):
            stack.extend(top)
        elif is_dataclass(top) and not isinstance(top, type | Span):
            stack.extend(getattr(top, f.name) for f in fields(top) if f.name != "span")
    return False
