"""Statements, checked for names and dimensions before any value is known.

:meth:`Checker.statement` reports all that is wrong with a statement whatever the values of the parameters; :mod:`spn.lang.elaborate`
computes the values of statements that pass.
"""

from __future__ import annotations

from dataclasses import dataclass

from spn.errors import nearest
from spn.expr.dims import BANDWIDTH, DATA, NUMBER, TIME
from spn.expr.nodes import BinaryOp
from spn.lang import ast
from spn.lang.infer import CONDITION, Context, Type, as_number, spell
from spn.lang.laws import check_law
from spn.lang.questions import Questions
from spn.lang.scope import Kind
from spn.lang.units import UNITS, Unit, unit_of
from spn.lang.words import TRANSFER_ONLY, quoted
from spn.net.model import Memory

KINDS = {
    "count": Type(),
    "number": Type(),
    "probability": Type(),
    "bool": CONDITION,
    "time": Type(TIME),
    "bytes": Type(DATA),
}


READS_MARKINGS = frozenset({"when", "speed", "scaled", "weight", "share"})
DIMENSIONS = {"cap": BANDWIDTH, "latency": TIME}


def kind_of(node: ast.Expr) -> Type | None:
    """The type that a parameter's type expression names, or None."""
    if isinstance(node, ast.Name) and node.text in KINDS:
        return KINDS[node.text]
    unit = unit_of(_with_seconds(node))
    return Type(unit[0]) if unit is not None and unit[1] == 1 else None


def _with_seconds(node: ast.Expr) -> ast.Expr:
    """``time`` in a product of types stands for s."""
    match node:
        case ast.Name(text="time"):
            return ast.Name("s", node.span)
        case ast.Binary(op=op, left=left, right=right):
            return ast.Binary(op, _with_seconds(left), _with_seconds(right), node.span)
    return node


def shown_unit(node: ast.Expr) -> Unit | None:
    """The unit in which a measure is shown."""
    if isinstance(node, ast.Name) and node.text == "%":
        return UNITS["%"]
    return unit_of(node)


@dataclass(slots=True)
class Checker(Questions):
    """Checks statements against a scope, in the order of the file."""

    def statement(self, statement: ast.Statement) -> bool:
        """Is a statement right as far as names and dimensions go?"""
        before = len(self.report.errors)
        self.scope.statement = statement.span
        match statement:
            case ast.Param():
                self._param(statement)
            case ast.Dist(name=name, law=law):
                self.works.setdefault(name.text, check_law(self, law, None, Context(f"the law {quoted(name.text)}")))
            case ast.Link():
                with self.indexed(statement.index):
                    self._link(statement)
            case ast.Places(items=items):
                for item in items:
                    with self.indexed(item.index):
                        self._place(item)
            case ast.Transition():
                with self.indexed(statement.index):
                    self._transition(statement)
            case ast.Measure():
                self._measure(statement)
            case ast.Expect():
                self._expect(statement)
            case ast.Property():
                self.check_property(statement)
            case ast.Sweep():
                self.check_sweep(statement)
        return len(self.report.errors) == before

    def _param(self, p: ast.Param) -> None:
        kind = kind_of(p.type)
        if kind is None:
            self._unknown_type(p)
        else:
            kind = Type(self.dimension(kind.dimension), kind.condition)
        self.types.setdefault(p.name.text, kind)
        where = Context(f"parameter {quoted(p.name.text)}")
        for node in (p.default, p.low, p.high):
            if node is None:
                continue
            if kind is None:
                self.infer(node, where)
            elif kind.condition:
                self.condition(node, where)
            else:
                self.quantity(node, kind.dimension, where)

    def _unknown_type(self, p: ast.Param) -> None:
        text = p.type.span.text
        near = {"int": "count", "integer": "count", "float": "number", "real": "number", "rate": "1/s", "bandwidth": "bytes/s"}
        near |= {"boolean": "bool", "size": "bytes", "data": "bytes", "duration": "time", "seconds": "time", "string": "number"}
        close = near.get(text) or nearest(text, KINDS)
        unit = unit_of(p.type)
        if unit is not None:
            help = f"a type names a dimension: {'time' if unit[0] == TIME else unit[0]}; the unit goes with the value"
        else:
            help = f"did you mean {close}?" if close else ""
        types = "count, number, bool, probability, time, bytes, or a product of units such as 1/s or bytes/s"
        self.report.error("E0208", f"{text} is not a type", p.type.span, help=help, notes=[f"types are {types}"])

    def _link(self, link: ast.Link) -> None:
        for argument in link.arguments:
            if argument.name is None or argument.name.text != "capacity":
                message = f"link {quoted(link.name.text)} takes `capacity = …` alone"
                self.report.error("E0207", message, argument.span, help=f"link {quoted(link.name.text)}(capacity = 10 Gbit/s)")
        given = [a for a in link.arguments if a.name is not None and a.name.text == "capacity"]
        if len(given) != 1 and len(link.arguments) == len(given):
            self.report.error("E0207", f"link {quoted(link.name.text)} takes one `capacity = …`", link.span)
        for argument in given:
            self.quantity(argument.value, BANDWIDTH, Context(f"the capacity of link {quoted(link.name.text)}"))

    def _place(self, place: ast.Place) -> None:
        name = quoted(place.name.text)
        if place.initial is not None:
            self.quantity(place.initial, NUMBER, Context(f"the initial marking of {name}"))
        if place.capacity is not None:
            self.quantity(place.capacity, NUMBER, Context(f"the capacity of {name}"))

    def _measure(self, m: ast.Measure) -> None:
        found = self.infer(m.body, Context(f"measure {quoted(m.name.text)}", measures=True))
        self.types.setdefault(m.name.text, as_number(found))
        if m.unit is None:
            return
        unit = shown_unit(m.unit)
        if unit is None:
            near = nearest(m.unit.span.text, UNITS)
            self.report.error("E0302", f"{m.unit.span.text} is not a unit", m.unit.span, help=f"did you mean {near}?" if near else "")
        elif self.scope.unitless and unit[0] != NUMBER:
            self.report.error("E0304", "a file with `units none` has no units", m.unit.span)
        elif found is not None and found.dimension != unit[0]:
            self.report.error("E0303", f"the measure is {spell(found.dimension)}, the unit is one of {spell(unit[0])}", m.unit.span)

    def _expect(self, e: ast.Expect) -> None:
        where = Context("an expectation", measures=True)
        left, right = self.infer(e.left, where), self.infer(e.right, where)
        self.check_settings(e.where)
        if e.op is BinaryOp.NE:
            self.report.error("E0209", "an expectation compares with == < <= > or >=", e.span)
        elif (e.op is BinaryOp.EQ) != (e.tolerance is not None):
            self._wrong_tolerance(e)
        if left is None or right is None:
            return
        if left.dimension != right.dimension:
            self.two_sides(ast.Binary(e.op, e.left, e.right, e.left.span.to(e.right.span)), left.dimension, right.dimension)
        if e.tolerance is not None:
            due = left.dimension if e.absolute else NUMBER
            self.quantity(e.tolerance, due, Context("an absolute tolerance" if e.absolute else "a relative tolerance"))

    def _wrong_tolerance(self, e: ast.Expect) -> None:
        if e.tolerance is None:
            help = f"{e.span.text} within 1 %, or within abs …"
            self.report.error("E0209", "an expected value needs a tolerance", e.span, help=help)
        else:
            self.report.error("E0209", f"only == has a tolerance, `{e.op}` is exact", e.tolerance.span)

    # --- transitions

    def _transition(self, t: ast.Transition) -> None:
        name = quoted(t.name.text)
        for arc in t.arcs:
            self.scope.use(Kind.PLACE, arc.place, self.report, stars=True)
            for factor in arc.factors:
                self.quantity(factor, NUMBER, Context(f"a multiplicity of {name}", markings=True))
        for link in t.over:
            self.scope.use(Kind.LINK, link, self.report, stars=True)
        if t.law is not None:
            due = self.dimension(DATA if t.over else TIME)
            check_law(self, t.law, due, Context(f"the law of {name}", transfer=bool(t.over)), rates=True)
        self._clauses(t)

    def _clauses(self, t: ast.Transition) -> None:
        seen: set[str] = set()
        for clause in t.clauses:
            if clause.word in seen:
                self.report.error("E0207", f"`{clause.word}` stands twice", clause.span)
            seen.add(clause.word)
            if clause.word in TRANSFER_ONLY and not t.over:
                self.report.error("E0207", f"`{clause.word}` belongs to a transfer", clause.span, help="~ size over link")
            else:
                self._clause(t, clause)

    def _clause(self, t: ast.Transition, clause: ast.Clause) -> None:
        where = Context(f"`{clause.word}` of {quoted(t.name.text)}", markings=clause.word in READS_MARKINGS)
        if clause.word == "resets":
            for target in clause.names:
                symbol = self.scope.find(Kind.TRANSITION, target, self.report, stars=True)
                if symbol is not None and symbol.immediate:
                    message = f"{quoted(target.text)} is immediate: it has no clock to reset"
                    self.report.error("E0207", message, target.span)
        elif clause.word == "memory":
            word = clause.names[0]
            if word.text not in set(Memory):
                near = nearest(word.text, list(Memory))
                help = f"did you mean {near}?" if near else ""
                self.report.error("E0207", "a memory is restart, resume or repeat", word.span, help=help)
        elif clause.value is None:
            return
        elif clause.word == "when":
            self.condition(clause.value, where)
        else:
            self.quantity(clause.value, DIMENSIONS.get(clause.word, NUMBER), where)
