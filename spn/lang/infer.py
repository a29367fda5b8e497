"""Types of expressions: names are looked up and dimensions computed, before any value is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction

from spn.dist.families import FAMILIES
from spn.errors import nearest
from spn.expr.dims import DATA, NUMBER, RATE, TIME, Dimension
from spn.expr.evaluate import fold
from spn.expr.nodes import BinaryOp, Number, UnaryOp
from spn.lang import ast
from spn.lang.lower import Values, lower
from spn.lang.scope import Kind, Report, Scope, Symbol
from spn.lang.units import MAX_POWER, UNITS, proposed
from spn.lang.words import COMBINATORS, FUNCTIONS, MEASURES, REDUCTIONS, quoted
from spn.source import Span


@dataclass(frozen=True, slots=True)
class Type:
    """What an expression is: its dimension, and whether it is a condition (which counts as 0 or 1 in arithmetic)."""

    dimension: Dimension = NUMBER
    condition: bool = False


CONDITION = Type(NUMBER, True)


@dataclass(frozen=True, slots=True)
class Context:
    """Where an expression stands: may it read markings, may it hold measures, does it go over
    links? ``what`` and ``hint`` are for messages."""

    what: str
    markings: bool = False
    measures: bool = False
    transfer: bool = False
    hint: str = "only parameters and numbers can stand here"


def spell(dimension: Dimension) -> str:
    """A dimension as people say it."""
    return {NUMBER: "a plain number", TIME: "a time", DATA: "a size (bytes)", RATE: "a rate (1/s)"}.get(dimension, str(dimension))


@dataclass(slots=True)
class Inference:
    """Infers the types of expressions against a scope.

    ``types`` are those of the parameters and measures checked so far, ``works`` the dimensions of the work of laws.
    """

    scope: Scope
    report: Report
    types: dict[str, Type | None] = field(default_factory=dict)
    works: dict[str, Dimension | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scope.check_index = self.check_index

    # --- expressions

    def infer(self, node: ast.Expr, where: Context) -> Type | None:
        """The type of an expression; None where it has an error, which is then reported."""
        match node:
            case ast.Number():
                return Type()
            case ast.Truth():
                return CONDITION
            case ast.Quantity(unit=unit):
                return self._unit(unit, node.span, after_number=True)
            case ast.Name():
                return self._name(node, where)
            case ast.Marking():
                return self._marking(node, where)
            case ast.Unary(op=UnaryOp.NEGATE, operand=operand):
                return as_number(self.infer(operand, where))
            case ast.Unary(operand=operand):
                return CONDITION if self.condition(operand, where) else None
            case ast.Binary():
                return self._binary(node, where)
            case ast.Conditional():
                return self._conditional(node, where)
            case ast.Call():
                return self._call(node, where)
            case ast.Reduction():
                return self._reduction(node, where)
            case ast.Value(dimension=dimension):
                return Type(self.dimension(dimension))
            case ast.Timed() | ast.Until() | ast.FromTo():
                return self.question(node, where)
        what = "a list" if isinstance(node, ast.ListOf) else "`*`" if isinstance(node, ast.Star) else "a text"
        self.report.error("E0204", f"{what} cannot stand here: {where.what} is one value", node.span)
        return None

    def question(self, node: ast.Timed | ast.Until | ast.FromTo, where: Context) -> Type | None:
        """The type of a measure at a time, and of ``time until`` and ``time from``: :mod:`spn.lang.questions` knows them."""
        help = "it stands in `measure` and `expect` only"
        self.report.error("E0220", f"{short(node)} is a result; {where.what} cannot depend on it", node.span, help=help)
        return None

    def quantity(self, node: ast.Expr, due: Dimension, where: Context) -> bool:
        """Is this a value of the dimension that is due? Reports where it is not."""
        due = self.dimension(due)
        found = self.infer(node, where)
        if found is None:
            return False
        if found.dimension == due:
            return True
        self._mismatch(node, found.dimension, due, where)
        return False

    def condition(self, node: ast.Expr, where: Context) -> bool:
        found = self.infer(node, where)
        if found is None or found.condition:
            return found is not None
        help = f"compare it: {node.span.text} > 0" if found.dimension == NUMBER else ""
        self.report.error("E0305", f"{where.what}: a condition is due, this is {spell(found.dimension)}", node.span, help=help)
        return False

    def dimension(self, dimension: Dimension) -> Dimension:
        """The dimension as this file has it: with ``units none`` everything is a number."""
        return NUMBER if self.scope.unitless else dimension

    def _mismatch(self, node: ast.Expr, found: Dimension, due: Dimension, where: Context) -> None:
        text = node.span.text
        if found == NUMBER and not self.scope.unitless:
            example = proposed(due, text if isinstance(node, ast.Number | ast.Name) else f"({text})")
            self.report.error("E0301", f"{where.what}: the unit is missing, {spell(due)} is due", node.span, help=f"write {example}")
            return
        help = ""
        if isinstance(node, ast.Binary) and node.op is BinaryOp.DIV and found * TIME * TIME == due:
            help = "`/` binds to the left, so that a / 10 Gbit/s is (a / 10 Gbit) / s: write a / (10 Gbit/s)"
        elif found == due * TIME and due != NUMBER and not isinstance(node, ast.Binary):
            help = f"write {text}/s"
        elif found * due == NUMBER:
            help = f"write 1 / ({text})"
        label = f"this is {spell(found)}"
        self.report.error("E0303", f"{where.what}: {spell(due)} is due, found {spell(found)}", node.span, label=label, help=help)

    def _unit(self, word: ast.Name, span: Span, *, after_number: bool = False) -> Type | None:
        unit = None if word.in_quotes else UNITS.get(word.text)
        if unit is None:
            near = ALIASES.get(word.text) or nearest(word.text, UNITS)
            help = f"did you mean {near}?" if near else "between a number and a name stands an operator, or a comma"
            if after_number and (word.text in self.scope.values or word.text in self.scope.places):
                help = "between a number and a name stands an operator, as in 2 * n, or a comma"
            self.report.error("E0302", f"{quoted(word.text)} is not a unit", word.span, help=help)
            return None
        if self.scope.unitless and word.text != "%":
            help = "write the bare number, or remove `units none`"
            self.report.error("E0304", "a file with `units none` has no units", span, help=help)
            return None
        return Type(unit[0])

    def _name(self, name: ast.Name, where: Context) -> Type | None:
        if name.path:
            self._path(name, where)
            return None
        if name.text in UNITS and not name.in_quotes:
            return self._unit(name, name.span)
        symbol = self.scope.value(name, self.report)
        if symbol is None:
            return None
        if symbol.kind is Kind.DIST:
            self.report.error("E0204", f"{quoted(name.text)} is a law, but {where.what} is a value", name.span)
            return None
        if symbol.kind is Kind.MEASURE and not where.measures:
            self.report.error("E0204", f"{quoted(name.text)} is a measure, a result; {where.what} cannot depend on it", name.span)
            return None
        return self.types.get(name.text)

    def _path(self, name: ast.Name, where: Context) -> None:
        """The error for ``w[2].idle`` where a value is due."""
        help = "instances have places, transitions and links"
        for kind, how in ((Kind.PLACE, "#{0} is its marking"), (Kind.TRANSITION, "throughput({0}) is its rate")):
            if self.scope.leads_to(kind, name):
                help = how.format(name.text)
        self.report.error("E0204", f"{name.text} is no value", name.span, help=help)

    @contextmanager
    def indexed(self, ranges: Sequence[ast.Range | ast.Expr]) -> Iterator[None]:
        """Check ranges such as ``i in 1..n``; inside, their variables have values. Other indices are numbers."""
        names = [r.variable.text for r in ranges if isinstance(r, ast.Range)]
        before = {n: (self.scope.values.get(n), self.types.get(n)) for n in names}
        for r in ranges:
            if not isinstance(r, ast.Range):
                self.check_index(r)
                continue
            name = r.variable.text
            where = Context(f"the range of {quoted(name)}")
            self.quantity(r.low, NUMBER, where)
            self.quantity(r.high, NUMBER, where)
            taken = self.scope.values.get(name)
            if taken is not None and self.scope.home_of(name):
                message = f"index {quoted(name)} has the name of a{'n' if taken.kind is Kind.INDEX else ''} {taken.kind}"
                self.report.error("E0202", message, r.variable.span, help="choose another name")
            elif name in UNITS:
                message = f"an index cannot be called {quoted(name)}: in an expression that is always the unit"
                self.report.error("E0203", message, r.variable.span, help="choose another name")
            else:
                self.scope.values[name], self.types[name] = Symbol(Kind.INDEX, r.variable, -1), Type()
        yield
        for name, (symbol, kind) in before.items():
            self.scope.values.pop(name, None)
            if symbol is not None:
                self.scope.values[name], self.types[name] = symbol, kind

    def check_index(self, node: ast.Expr) -> None:
        self.quantity(node, NUMBER, Context("an index"))

    def _reduction(self, node: ast.Reduction, where: Context) -> Type | None:
        name = node.function.text
        if name not in REDUCTIONS:
            near = nearest(name, REDUCTIONS)
            help = f"did you mean {near}?" if near else f"over an index go {', '.join(REDUCTIONS)}"
            self.report.error("E0201", f"{quoted(name)}(…) does not go over an index", node.function.span, help=help)
        with self.indexed(node.ranges):
            if name in ("all", "any"):
                return CONDITION if self.condition(node.body, where) else None
            found = self.infer(node.body, where)
        return as_number(found) if name in REDUCTIONS else None

    def _marking(self, node: ast.Marking, where: Context) -> Type | None:
        if where.markings:
            return Type() if self.scope.use(Kind.PLACE, node.place, self.report) else None
        self.scope.used.add((Kind.PLACE, node.place.text))
        help = f"a measure is a number: E({node.span.text}) is the mean" if where.measures else where.hint
        self.report.error("E0206", f"{where.what} cannot depend on the marking", node.span, help=help)
        return None

    def _binary(self, node: ast.Binary, where: Context) -> Type | None:
        if node.op in (BinaryOp.AND, BinaryOp.OR):
            sides = [self.condition(side, where) for side in (node.left, node.right)]
            return CONDITION if all(sides) else None
        left, right = self.infer(node.left, where), self.infer(node.right, where)
        if left is None or right is None:
            return None
        match node.op:
            case BinaryOp.MUL:
                return Type(left.dimension * right.dimension)
            case BinaryOp.DIV:
                return Type(left.dimension / right.dimension)
            case BinaryOp.POW:
                return self._power(node, left, right, where)
        if left.dimension != right.dimension:
            self.two_sides(node, left.dimension, right.dimension)
            return None
        if node.op in (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MOD):
            return Type(left.dimension)
        return Type() if node.op is BinaryOp.IDIV else CONDITION

    def two_sides(self, node: ast.Binary, left: Dimension, right: Dimension) -> None:
        notes = [f"{short(node.left)} is {spell(left)}", f"{short(node.right)} is {spell(right)}"]
        bare = next((side for side, d in ((node.left, left), (node.right, right)) if isinstance(side, ast.Number) and d == NUMBER), None)
        due = right if bare is node.left else left
        help = f"write {proposed(due, bare.span.text)}" if bare is not None else ""
        self.report.error("E0302", f"`{node.op}` joins two dimensions", node.span, notes=notes, help=help)

    def _power(self, node: ast.Binary, base: Type, exponent: Type, where: Context) -> Type | None:
        if exponent.dimension != NUMBER:
            self.report.error("E0303", f"an exponent is a plain number, this is {spell(exponent.dimension)}", node.right.span)
            return None
        if base.dimension == NUMBER:
            return Type()
        power = _literal(node.right)
        if power is None or abs(power) > MAX_POWER:
            limits = f"a literal number from -{MAX_POWER} to {MAX_POWER}"
            message = f"{short(node.left)} is {spell(base.dimension)}; its exponent must be {limits}"
            self.report.error("E0303", message, node.right.span)
            return None
        return Type(base.dimension**power)

    def _conditional(self, node: ast.Conditional, where: Context) -> Type | None:
        good = self.condition(node.test, where)
        then, otherwise = self.infer(node.then, where), self.infer(node.otherwise, where)
        if then is None or otherwise is None or not good:
            return None
        if then.dimension != otherwise.dimension:
            notes = [f"{short(n)} is {spell(t.dimension)}" for n, t in ((node.then, then), (node.otherwise, otherwise))]
            self.report.error("E0302", "the two values of `if` have different dimensions", node.span, notes=notes)
            return None
        return Type(then.dimension, then.condition and otherwise.condition)

    # --- calls

    def _call(self, node: ast.Call, where: Context) -> Type | None:
        name = node.function.text
        if name in MEASURES:
            return self._measure_call(node, where)
        if name not in FUNCTIONS:
            self._unknown_function(node, where)
            return None
        if any(a.name or a.weight or a.given for a in node.arguments):
            what = "the law exp(rate = …) stands after `~` and in `dist`; scale(law, factor) multiplies it" if name == "exp" else ""
            self.report.error("E0207", f"{name}(…) takes plain values here", node.span, help=what)
            return None
        found = [self.infer(a.value, where) for a in node.arguments]
        most = len(found) if name in ("min", "max") else 1
        if not 1 <= len(found) <= most:
            self.report.error("E0207", f"{name}(…) takes {'at least ' if name in ('min', 'max') else ''}one value", node.span)
            return None
        types = [t for t in found if t is not None]
        return self._function(node, types) if len(types) == len(found) else None

    def _function(self, node: ast.Call, types: Sequence[Type]) -> Type | None:
        name, first = node.function.text, types[0].dimension
        if name == "sqrt":
            return Type(first ** Fraction(1, 2))
        if name in ("abs", "min", "max"):
            if all(t.dimension == first for t in types):
                return Type(first)
            notes = [f"{short(a.value)} is {spell(t.dimension)}" for a, t in zip(node.arguments, types, strict=True)]
            self.report.error("E0302", f"{name}(…) compares different dimensions", node.span, notes=notes)
            return None
        if first == NUMBER:
            return Type()
        help = f"divide by a unit: {name}(x / {proposed(first, '1')})"
        self.report.error("E0303", f"{name}(…) takes a plain number, this is {spell(first)}", node.arguments[0].span, help=help)
        return None

    def _unknown_function(self, node: ast.Call, where: Context) -> None:
        name = node.function.text
        if name in FAMILIES or name in COMBINATORS:
            help = "laws stand after `~` and in `dist`; scale(law, factor) multiplies one"
            self.report.error("E0204", f"{name}(…) is a law, but {where.what} is a value", node.span, help=help)
            return
        near = nearest(name, [*FUNCTIONS, *MEASURES])
        help = f"did you mean {near}?" if near else f"functions are {', '.join(FUNCTIONS)}; measures are {', '.join(MEASURES)}"
        if name in self.scope.places or self.scope.values.get(name):
            help = f"{quoted(name)} is no function; multiply with *"
        if name in REDUCTIONS:
            help = f"{name} goes over an index: {name}({EXAMPLES[name]} for i in 1..n)"
        self.report.error("E0201", f"there is no function {quoted(name)}", node.function.span, help=help)

    def _measure_call(self, node: ast.Call, where: Context) -> Type | None:
        name = node.function.text
        if not where.measures:
            help = "results stand in `measure` and `expect` only, and P and E cannot be nested"
            self.report.error("E0204", f"{name}(…) is a result; {where.what} cannot depend on it", node.span, help=help)
            return None
        if len(node.arguments) != 1 or node.arguments[0].name or node.arguments[0].weight:
            self.report.error("E0207", f"{name}(…) takes one argument: {USAGE[name]}", node.span)
            return None
        return self._average(node, node.arguments[0]) if name in ("P", "E") else self._of_node(node, node.arguments[0])

    def _average(self, node: ast.Call, argument: ast.Argument) -> Type | None:
        inside = Context(f"the inside of {node.function.text}(…)", markings=True)
        known = argument.given is None or self.scope.use(Kind.TRANSITION, argument.given, self.report)
        if node.function.text == "P":
            return Type() if self.condition(argument.value, inside) and known else None
        found = self.infer(argument.value, inside)
        return as_number(found) if known else None

    def _of_node(self, node: ast.Call, argument: ast.Argument) -> Type | None:
        name, target = node.function.text, argument.value
        if not isinstance(target, ast.Name) or argument.given:
            help = "P(…) and E(…) take expressions"
            if isinstance(target, ast.Marking):
                help = f"write {name}({target.place.span.text})"
            self.report.error("E0207", f"{name}(…) takes a name: {USAGE[name]}", argument.span, help=help)
            return None
        if name == "utilisation" and self.scope.leads_to(Kind.LINK, target):
            self.scope.use(Kind.LINK, target, self.report)
            return Type()
        kind = Kind.PLACE if name == "sojourn" else Kind.TRANSITION
        if not self.scope.use(kind, target, self.report):
            return None
        return {"throughput": Type(self.dimension(RATE)), "utilisation": Type(), "sojourn": Type(self.dimension(TIME))}[name]


EXAMPLES = {"sum": "#w[i].idle", "min": "#w[i].idle", "max": "#w[i].idle", "all": "#w[i].idle > 0", "any": "#w[i].idle > 0"}
USAGE = {
    "P": "P(#queue > 0)",
    "E": "E(#queue)",
    "throughput": "throughput(transition)",
    "utilisation": "utilisation(transition) or utilisation(link)",
    "sojourn": "sojourn(place)",
    "quantile": "quantile(0.99, time until #queue > 5) or quantile(0.9, #queue | transition)",
}
ALIASES = {
    "sec": "s",
    "secs": "s",
    "second": "s",
    "seconds": "s",
    "msec": "ms",
    "millis": "ms",
    "usec": "us",
    "µs": "us",
    "μs": "us",
    "minute": "min",
    "minutes": "min",
    "hour": "h",
    "hours": "h",
    "day": "d",
    "days": "d",
    "byte": "B",
    "bits": "bit",
    "Gbps": "Gbit/s",
    "Mbps": "Mbit/s",
    "kbps": "kbit/s",
    "gbps": "Gbit/s",
    "mbps": "Mbit/s",
    "Gb": "Gbit",
    "Mb": "Mbit",
    "kb": "kbit",
    "Hz": "1/s",
}


def as_number(found: Type | None) -> Type | None:
    return None if found is None else Type(found.dimension)


def short(node: ast.Expr) -> str:
    """The source text of an expression, cut where it is long."""
    text = " ".join(node.span.text.split())
    return text if len(text) <= 40 else text[:37] + "…"


def _literal(node: ast.Expr) -> Fraction | None:
    """The exact value of an expression of literal numbers, or None."""
    stack: list[ast.Expr] = [node]
    while stack:
        top = stack.pop()
        if not isinstance(top, ast.Number | ast.Unary | ast.Binary):
            return None
        stack.extend(ast.children(top))
    try:
        found = fold(lower(node, Values()))
    except ArithmeticError:
        return None
    return found.value if isinstance(found, Number) and isinstance(found.value, Fraction) else None
