"""From the syntax tree to the model: checks, then values, then the net and its measures.

All errors of the passes are collected and raised together; a statement that depends on a value that could not be computed is left out
in silence, since the reason is reported where it lies.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction

from spn.dist.families import Exponential
from spn.dist.law import Law
from spn.errors import Diagnostic, ModelError, Severity
from spn.expr.dims import NUMBER, base_unit
from spn.expr.nodes import ONE, Binary, BinaryOp, Exact, Node, Number
from spn.lang import ast, parameters
from spn.lang.check import Checker, kind_of, shown_unit
from spn.lang.compose import Composition, inner_first, kind_of_formal
from spn.lang.expand import Expansion, TooLarge
from spn.lang.given import Setting, Settings, apply
from spn.lang.infer import Type
from spn.lang.laws import Laws, Resolver
from spn.lang.libraries import Libraries, Reader, inner_homes
from spn.lang.lower import Missing, Values, constant, folded
from spn.lang.parameters import Declared
from spn.lang.scope import Home, Kind, Report, Scope, declare
from spn.lang.studies import Study, check_question
from spn.lang.words import TRANSFER_ONLY, quoted
from spn.measure import Delay, Expectation, Horizon, Measure, Passage, Quantile, Sojourn, Utilisation, atoms
from spn.model import Model, Parameter, Property, Sweep
from spn.net.check import check as check_net
from spn.net.model import INFINITE, Arc, ArcKind, Immediate, Link, Memory, Net, Place, Servers, Timed, Transfer, Transition
from spn.source import Span
from spn.structural.advice import Said, advise

MAX_TOKENS = 2**53
MAX_NODES = 10_000  # of a measure, with the measures it uses written out
MAX_DEPTH = 150


def elaborate(file: ast.File, *, name: str, given: Mapping[str, Setting], resolver: Resolver, reader: Reader | None = None) -> Model:
    """The model that a file means with these values of parameters and laws; one ModelError holds all that is wrong.
    ``reader`` reads the files of imports."""
    work = _Elaboration(apply(file, given), resolver, reader)
    work.run()
    return work.model(name)


def flat(
    file: ast.File, *, name: str, given: Mapping[str, Setting], resolver: Resolver, reader: Reader | None = None
) -> tuple[list[ast.Statement], Model]:
    """The statements of a file written out, with flat names and the values of parameters in them, and the model they make."""
    work = _Keeping(apply(file, given), resolver, reader)
    work.run()
    return work.kept, work.model(name)


def declarations(file: ast.File) -> tuple[Declared, ...]:
    """The parameters that a file declares, with defaults and ranges; nothing else of the file is looked at."""
    report = Report()
    scope = declare(file, report)
    assert scope.file is not None
    checker, values, found = Checker(scope, report), Values(), []
    expansion = Expansion(values, report)
    for p in file.statements:
        if isinstance(p, ast.Param) and checker.statement(p):
            try:
                dimension = checker.dimension((kind_of(p.type) or Type()).dimension)
                d = parameters.declared(expansion.param(p, scope.file), values, report, dimension)
            except (Missing, TooLarge):
                continue
            found.append(d)
            if d.default is not None:
                values.numbers[d.name] = d.default
    own = [s.span for s in file.statements if isinstance(s, ast.Param)]
    errors = [e for e in report.errors if e.span is None or any(p.start <= e.span.start < p.end for p in own)]
    if errors:
        raise ModelError(*errors)
    return tuple(found)


class _Elaboration:
    """The state of one run: what was computed so far, in base units."""

    def __init__(self, settings: Settings, resolver: Resolver, reader: Reader | None) -> None:
        self.file, self.given, self.given_laws, self.report = settings.file, settings.numbers, settings.laws, Report()
        self.home = Libraries(reader, self.report).home(self.file)
        self.scope: Scope = self.home.scope
        self.checker = Composition(self.scope, self.report)
        self.values = Values()
        self.expansion = Expansion(self.values, self.report)
        self.laws = Laws(self.values, self.report, resolver)
        self.parameters: list[Parameter] = []
        self.places: list[Place] = []
        self.links: list[Link] = []
        self.transitions: list[Transition] = []
        self.measures: list[Measure] = []
        self.expectations: list[Expectation] = []
        self.properties: list[Property] = []
        self.sweeps: list[Sweep] = []
        self.sizes: dict[str, tuple[int, int]] = {}
        self.said: set[str] = set()  # transitions that say how many servers they have
        self.varying: set[str] = set()  # places whose initial tokens are computed

    def run(self) -> None:
        """Check every statement as it stands, components before what uses them; then write them out and compute them."""
        for library in inner_homes(self.home):
            self.library(library)
        good = self.check(self.checker, self.home)
        for p in self.file.statements:
            if isinstance(p, ast.Param):
                self.home.numbers[p.name.text] = None
                if id(p) in good:
                    with suppress(Missing, TooLarge):
                        self.statement(self.expansion.param(p, self.home))
        dimensions = {name: kind.dimension for name, kind in self.checker.types.items() if kind is not None}
        self.home.numbers.update({n: (v, dimensions.get(n, NUMBER)) for n, v in self.values.numbers.items()})
        statements = [s for s in self.file.statements if id(s) in good]
        self.expansion.complete = not self.report.errors
        try:
            for statement, note in self.expansion.statements(statements, self.home):
                self.report.instance = note
                self.statement(statement)
        except TooLarge:
            self.expansion.complete = False
        self.report.instance = ""

    def check(self, checker: Composition, home: Home) -> set[int]:
        """The ids of the statements of a file that are right as far as names and dimensions go."""
        components = [c.statement for c in inner_first(home, self.report)]
        others = [s for s in home.file.statements if not isinstance(s, ast.Param | ast.Component)]
        params = [s for s in home.file.statements if isinstance(s, ast.Param)]
        return {id(s) for s in [*params, *components, *others] if checker.statement(s)}

    def library(self, home: Home) -> None:
        """Check the parameters and components of an imported file; its parameters have their defaults."""
        checker, values = Composition(home.scope, self.report), Values()
        params = [s for s in home.file.statements if isinstance(s, ast.Param)]
        for p in params:
            home.numbers[p.name.text] = None
            if checker.statement(p):
                dimension = checker.dimension((kind_of(p.type) or Type()).dimension)
                with suppress(Missing, TooLarge):
                    flat = Expansion(values, self.report).param(p, home)
                    d = parameters.declared(flat, values, self.report, dimension)
                    value = parameters.valued(d, flat, None, self.report, home.scope.unitless).value
                    values.numbers[d.name], home.numbers[d.name] = value, (value, dimension)
        for component in inner_first(home, self.report):
            checker.statement(component.statement)

    def statement(self, statement: ast.Statement) -> None:
        """Compute a statement that passed its checks."""
        try:
            match statement:
                case ast.Param():
                    self.param(statement)
                case ast.Dist(name=name, law=law):
                    self.laws.sizes[name.text] = self.laws.size(law)
                    self.laws.known[name.text] = self.given_laws.get(name.text) or self.laws.build(law, quoted(name.text))
                case ast.Link():
                    self.link(statement)
                case ast.Places(items=items, doc=doc):
                    for item in items:
                        self.place(item, doc)
                case ast.Transition(law=None):
                    self.immediate(statement)
                case ast.Transition():
                    self.timed(statement)
                case ast.Measure():
                    self.measure(statement)
                case ast.Expect():
                    self.expect(statement)
                case ast.Property():
                    self.property(statement)
                case ast.Sweep():
                    self.sweep(statement)
        except Missing:
            pass

    # --- values

    def number(self, node: ast.Expr, what: str) -> Exact:
        return constant(node, self.values, self.report, what)

    def expression(self, node: ast.Expr, what: str) -> Node:
        return folded(node, self.values, self.report, what)

    def positive(self, node: ast.Expr, what: str, *, zero: bool = False) -> Exact:
        value = self.number(node, what)
        if value < 0 or (value == 0 and not zero):
            self.report.error("E0404", f"{what} is {float(value):g}; it must {'not be negative' if zero else 'be positive'}", node.span)
            raise Missing
        return value

    def whole(self, node: ast.Expr, what: str, *, least: int | None = None) -> int:
        value = self.number(node, what)
        whole = value == math.floor(value)
        if not whole or not -MAX_TOKENS <= value <= MAX_TOKENS:
            problem = "is out of range" if whole else "is not a whole number"
            self.report.error("E0402", f"{what} {problem}: {float(value):g}", node.span)
            raise Missing
        if least is not None and value < least:
            self.report.error("E0402", f"{what} is {int(value)}; it must be at least {least}", node.span)
            raise Missing
        return int(value)

    # --- statements

    def param(self, p: ast.Param) -> None:
        dimension = self.checker.dimension((kind_of(p.type) or Type()).dimension)
        d = parameters.declared(p, self.values, self.report, dimension)
        parameter = parameters.valued(d, p, self.given.get(d.name), self.report, self.scope.unitless)
        self.values.numbers[d.name] = parameter.value
        self.parameters.append(parameter)

    def link(self, statement: ast.Link) -> None:
        name = statement.name.text
        capacity = self.positive(statement.arguments[0].value, f"the capacity of link {quoted(name)}")
        self.links.append(Link(name=name, capacity=capacity, doc=statement.doc, span=statement.span))

    def place(self, place: ast.Place, doc: str) -> None:
        name = quoted(place.name.text)
        initial = self.whole(place.initial, f"the initial marking of {name}", least=0) if place.initial is not None else 0
        capacity = self.whole(place.capacity, f"the capacity of {name}", least=1) if place.capacity is not None else None
        if place.initial is not None and not isinstance(place.initial, ast.Number):
            self.varying.add(place.name.text)
        self.places.append(Place(name=place.name.text, initial=initial, capacity=capacity, doc=doc, span=place.span))

    def measure(self, m: ast.Measure) -> None:
        body = self.result(m.body, f"measure {quoted(m.name.text)}")
        self.sizes[m.name.text] = self.extent(m.body)
        self.values.bodies[m.name.text] = body
        unit = shown_unit(m.unit) if m.unit is not None else None
        kind = self.checker.types.get(m.name.text)
        dimension = kind.dimension if kind is not None else NUMBER
        base = "" if self.scope.unitless else base_unit(dimension)
        self.measures.append(
            Measure(
                name=m.name.text,
                body=body,
                dimension=dimension,
                unit="".join(m.unit.span.text.split()) if m.unit is not None else base,
                unit_factor=unit[1] if unit is not None else Fraction(1),
                doc=m.doc,
                span=m.span,
            )
        )

    def expect(self, e: ast.Expect) -> None:
        left, right = (self.result(side, "an expectation") for side in (e.left, e.right))
        tolerance: Exact = Fraction(0)
        if e.tolerance is not None:
            tolerance = self.number(e.tolerance, "a tolerance")
            self.tolerance(e, tolerance, right)
        named = next((m for m in self.measures if isinstance(e.left, ast.Name) and m.name == e.left.text), None)
        self.expectations.append(
            Expectation(
                left=left,
                op=str(e.op),
                right=right,
                tolerance=tolerance,
                absolute=e.absolute,
                where=self.settings(e.where),
                unit=named.unit if named is not None else "",
                unit_factor=named.unit_factor if named is not None else Fraction(1),
                span=e.span,
            )
        )

    def settings(self, where: tuple[ast.Setting, ...]) -> tuple[tuple[str, Exact], ...]:
        """The values of ``where``, each fit for its parameter."""
        study = self.study()
        return tuple((s.name.text, study.value(s.name.text, s.value, self.values)) for s in where)

    def sweep(self, s: ast.Sweep) -> None:
        self.sweeps.append(
            Sweep(names=tuple(a.name.text for a in s.axes), points=self.study().points(s, self.values), doc=s.doc, span=s.span)
        )

    def study(self) -> Study:
        return Study([s for s in self.file.statements if isinstance(s, ast.Param)], {p.name: p for p in self.parameters}, self.report)

    def property(self, p: ast.Property) -> None:
        what = f"property {quoted(p.name.text)}"
        parts = p.arguments
        if p.claim.text == "invariant" and isinstance(parts[0], ast.Binary):
            parts = (parts[0].left, parts[0].right)
        conditions = tuple(self.expression(part, what) for part in parts)
        text = " ".join(p.span.text.split()).partition(":")[2].strip()
        self.properties.append(Property(name=p.name.text, claim=p.claim.text, conditions=conditions, text=text, doc=p.doc, span=p.span))

    def tolerance(self, e: ast.Expect, tolerance: Exact, right: Node) -> None:
        assert e.tolerance is not None
        if tolerance < 0:
            self.report.error("E0414", "a tolerance is not negative", e.tolerance.span)
        elif isinstance(right, Number) and right.value == 0 and not e.absolute:
            help = "give an absolute tolerance: within abs …"
            self.report.error("E0414", "a tolerance relative to 0 leaves no room", e.tolerance.span, help=help)

    def result(self, node: ast.Expr, what: str) -> Node:
        """The body of a measure; one grown too large by the measures inside it is refused."""
        nodes, depth = self.extent(node)
        if nodes > MAX_NODES or depth > MAX_DEPTH:
            self.report.error("E0409", f"{what} is too large once the measures it uses are written out", node.span)
            raise Missing
        return self.expression(node, what)

    def extent(self, node: ast.Expr) -> tuple[int, int]:
        """Nodes and depth of an expression with its measures written out."""
        if isinstance(node, ast.Name):
            return self.sizes.get(node.text, (1, 1))
        below = [self.extent(c) for c in ast.children(node)]
        return 1 + sum(n for n, _ in below), 1 + max((d for _, d in below), default=0)

    # --- transitions

    def immediate(self, t: ast.Transition) -> None:
        clauses = {c.word: c for c in t.clauses}
        self.transitions.append(
            Immediate(
                name=t.name.text,
                arcs=self.arcs(t),
                guard=self.guard(t, clauses),
                priority=self.priority(t, clauses),
                weight=self.factor(t, clauses, "weight"),
                resets=_resets(clauses),
                doc=t.doc,
                span=t.span,
            )
        )

    def timed(self, t: ast.Transition) -> None:
        assert t.law is not None
        clauses = {c.word: c for c in t.clauses}
        law, speed = self.law(t.law, t, self.factor(t, clauses, "speed"))
        self.transitions.append(
            Timed(
                name=t.name.text,
                law=law,
                arcs=self.arcs(t),
                guard=self.guard(t, clauses),
                servers=self.servers(t, clauses),
                memory=Memory(clauses["memory"].names[0].text) if "memory" in clauses else Memory.RESTART,
                speed=speed,
                scale=self.factor(t, clauses, "scaled"),
                transfer=self.transfer(t, clauses) if t.over else None,
                priority=self.priority(t, clauses),
                weight=self.factor(t, clauses, "weight"),
                resets=_resets(clauses),
                doc=t.doc,
                span=t.span,
                law_span=t.law.span,
            )
        )

    def law(self, node: ast.Expr, t: ast.Transition, speed: Node) -> tuple[Law, Node]:
        """The law and the speed: a rate that depends on the marking is Exp(1) at that speed, times any `speed` given."""
        what = quoted(t.name.text)
        rate = self.laws.rate(node, what)
        if rate is None:
            return self.laws.build(node, f"the law of {what}"), speed
        return Exponential(rate=1.0), rate if speed == ONE else Binary(BinaryOp.MUL, rate, speed, span=node.span)

    def arcs(self, t: ast.Transition) -> tuple[Arc, ...]:
        return tuple(Arc(kind=a.kind, place=a.place.text, multiplicity=self.multiplicity(a, t), span=a.span) for a in t.arcs)

    def multiplicity(self, arc: ast.ArcItem, t: ast.Transition) -> Node:
        if not arc.factors:
            return ONE
        product = arc.factors[0]
        for factor in arc.factors[1:]:
            product = ast.Binary(BinaryOp.MUL, product, factor, product.span.to(factor.span))
        return self.expression(product, f"a multiplicity of {quoted(t.name.text)}")

    def guard(self, t: ast.Transition, clauses: Clauses) -> Node | None:
        return self.expression(_value(clauses["when"]), f"the guard of {quoted(t.name.text)}") if "when" in clauses else None

    def factor(self, t: ast.Transition, clauses: Clauses, word: str) -> Node:
        """The expression of a clause, 1 where it is not given."""
        return self.expression(_value(clauses[word]), f"`{word}` of {quoted(t.name.text)}") if word in clauses else ONE

    def priority(self, t: ast.Transition, clauses: Clauses) -> int:
        return self.whole(_value(clauses["priority"]), f"the priority of {quoted(t.name.text)}", least=1) if "priority" in clauses else 1

    def servers(self, t: ast.Transition, clauses: Clauses) -> Servers:
        clause = clauses.get("servers")
        if clause is None:
            return INFINITE if t.over else 1
        self.said.add(t.name.text)
        return INFINITE if clause.value is None else self.whole(clause.value, f"the number of servers of {quoted(t.name.text)}", least=1)

    def transfer(self, t: ast.Transition, clauses: Clauses) -> Transfer:
        spans = [name.span for name in t.over] + [clauses[w].span for w in TRANSFER_ONLY if w in clauses]
        name = quoted(t.name.text)
        return Transfer(
            links=tuple(link.text for link in t.over),
            share=self.factor(t, clauses, "share"),
            cap=self.positive(_value(clauses["cap"]), f"the cap of {name}") if "cap" in clauses else None,
            latency=self.positive(_value(clauses["latency"]), f"the latency of {name}", zero=True) if "latency" in clauses else Fraction(0),
            span=Span(t.span.source, min(s.start for s in spans), max(s.end for s in spans)),
        )

    # --- the whole

    def model(self, name: str) -> Model:
        """The model, or the ModelError that holds everything found."""
        net = Net(
            name=name,
            places=tuple(self.places),
            links=tuple(self.links),
            transitions=tuple(self.transitions),
            replicas=self.expansion.replicas() if self.expansion.complete else (),
        )
        self.report.errors.extend(once(d for d in check_net(net) if d.code.startswith("E04")))
        self.atoms(net)
        if self.report.errors:
            raise ModelError(*sorted(self.report.errors, key=self.position))
        return Model(
            name=name,
            net=net,
            parameters=tuple(self.parameters),
            measures=tuple(self.measures),
            expectations=tuple(self.expectations),
            properties=tuple(self.properties),
            sweeps=tuple(self.sweeps),
            unitless=self.scope.unitless,
            doc=self.file.doc,
            fits=tuple(dict.fromkeys(self.laws.fits)),
            warnings=(
                *once(warnings(self.file, self.scope, net)),
                *once(advise(net, Said(servers=self.said, varying=self.varying))),
                *once(self.laws.warnings),
            ),
            source=self.file.source,
        )

    def position(self, d: Diagnostic) -> tuple[bool, int]:
        """Where to list a diagnostic: those of this file in the order of its text, then those of imported ones."""
        inside = d.span is None or d.span.source is self.file.source or d.span.source.name.startswith("<")
        return not inside, d.span.start if d.span else -1

    def atoms(self, net: Net) -> None:
        """Check what a measure asks of the net."""
        bodies = [m.body for m in self.measures] + [side for e in self.expectations for side in (e.left, e.right)]
        for atom in dict.fromkeys(a for body in bodies for a in atoms(body)):
            match atom:
                case Utilisation(target=target, span=span):
                    self.utilisation(target, span, net)
                case Sojourn(place=place, span=span):
                    self.sojourn(place, span, net)
                case Horizon() | Passage() | Delay() | Quantile():
                    check_question(atom, self.report)

    def utilisation(self, target: str, span: Span | None, net: Net) -> None:
        t = next((t for t in net.transitions if t.name == target), None)
        help = f"E of its tokens or throughput({quoted(target)}) may be meant"
        if isinstance(t, Immediate):
            self.report.error("E0413", f"{quoted(target)} is immediate: it has no servers to use", span, help=help)
        elif isinstance(t, Timed) and t.servers == INFINITE:
            self.report.error("E0413", f"{quoted(target)} has no finite number of servers, so no utilisation", span, help=help)

    def sojourn(self, place: str, span: Span | None, net: Net) -> None:
        into = any(a.kind is ArcKind.OUTPUT and a.place == place for t in net.transitions for a in t.arcs)
        if not into and self.expansion.complete and len(net.transitions) == len(self.expansion.transitions):
            self.report.error("E0412", f"no transition puts tokens into {quoted(place)}, so none stays there", span)


class _Keeping(_Elaboration):
    """An elaboration that keeps the statements it has computed."""

    def __init__(self, settings: Settings, resolver: Resolver, reader: Reader | None) -> None:
        super().__init__(settings, resolver, reader)
        self.kept: list[ast.Statement] = []

    def statement(self, statement: ast.Statement) -> None:
        super().statement(statement)
        self.kept.append(statement)


Clauses = Mapping[str, ast.Clause]


def _value(clause: ast.Clause) -> ast.Expr:
    assert clause.value is not None
    return clause.value


def _resets(clauses: Clauses) -> tuple[str, ...]:
    return tuple(dict.fromkeys(n.text for n in clauses["resets"].names)) if "resets" in clauses else ()


def once(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics without those that replicas of one statement repeat."""
    seen: set[tuple[str, Span | None, str]] = set()
    kept = []
    for d in found:
        key = (d.code, d.span, "" if d.span and _replicated(d.message) else d.message)
        if key not in seen:
            kept.append(d)
        seen.add(key)
    return kept


def _replicated(message: str) -> bool:
    return "[" in message or "." in message


def warnings(file: ast.File, scope: Scope, net: Net) -> Iterator[Diagnostic]:
    """What is declared and not used; a place that no arc touches."""
    touched = {a.place for t in net.transitions for a in t.arcs}
    for place in net.places:
        if place.name not in touched:
            yield _warning("W0201", f"no arc touches place {quoted(place.name)}", place.span)
    # A law that the caller replaced may have been the only one to use a parameter: no fault of the file's.
    replaced = any(isinstance(s, ast.Dist) and s.law.span.source is not s.span.source for s in file.statements)
    values = () if replaced else ((Kind.PARAM, scope.values), (Kind.DIST, scope.values))
    for kind, space in (*values, (Kind.LINK, scope.links)):
        for symbol in space.values():
            if symbol.kind is kind and (kind, symbol.name.text) not in scope.used:
                yield _warning("W0202", f"{kind} {quoted(symbol.name.text)} is not used", symbol.name.span)
    yield from _unused_parts(file, scope)


def _unused_parts(file: ast.File, scope: Scope) -> Iterator[Diagnostic]:
    """Parameters that a component does not use; components and imports that nothing uses, in a file that uses any."""
    used = scope.used_components.union(*(c.scope.used_components for c in scope.components.values()))
    for component in scope.components.values():
        if used and component.name not in used:
            yield _warning("W0202", f"component {quoted(component.name)} is not used", component.statement.name.span)
        for formal in component.statement.formals:
            if (kind_of_formal(formal), formal.name.text) not in component.scope.used:
                message = f"parameter {quoted(formal.name.text)} of component {quoted(component.name)} is not used"
                yield _warning("W0202", message, formal.name.span)
    for s in file.statements:
        if isinstance(s, ast.Import) and not any(u.partition(".")[0] == s.name.text for u in used if "." in u):
            yield _warning("W0202", f"import {quoted(s.name.text)} is not used", s.name.span)


def _warning(code: str, message: str, span: Span | None) -> Diagnostic:
    return Diagnostic(code=code, message=message, span=span, severity=Severity.WARNING)
