"""Questions beyond long-run averages, checked for names and dimensions: values at a time, first passage, quantiles, properties, sweeps."""

from __future__ import annotations

from dataclasses import dataclass

from spn.errors import nearest
from spn.expr.dims import NUMBER, TIME
from spn.expr.nodes import COMPARISONS, BinaryOp
from spn.lang import ast
from spn.lang.infer import USAGE, Context, Inference, Type, as_number, short
from spn.lang.scope import Kind, Symbol
from spn.lang.words import CLAIMS, PLAIN_CLAIMS, quoted

BOUNDS = (BinaryOp.LE, BinaryOp.GT)
CLAIM_USAGE = {
    "always": "always #a + #b <= 3",
    "invariant": "invariant #a + #b == 3",
    "home": "home(#idle == 3)",
    "leads": "leads(#sent > 0, #received > 0)",
}
WAITING = "E(time until #up < 2), P(time until #up < 2 <= 5 s) or quantile(0.99, time until #up < 2)"


@dataclass(slots=True)
class Questions(Inference):
    """Inference that knows the questions of measures and expectations, and checks `property` and `sweep`."""

    # --- measures

    def question(self, node: ast.Timed | ast.Until | ast.FromTo, where: Context) -> Type | None:
        if where.measures and isinstance(node, ast.Timed):
            return self._timed(node, where)
        if where.measures:
            word = "time until" if isinstance(node, ast.Until) else "time from"
            self.report.error("E0220", f"`{word}` stands inside E(…), P(…) and quantile(…) only", node.span, help=WAITING)
            return None
        return Inference.question(self, node, where)

    def _timed(self, node: ast.Timed, where: Context) -> Type | None:
        """``P(…) at 10 s``, ``E(…) over 0 s..10 s``, ``throughput(t) total over 0 s..10 s``."""
        argument = node.measure.arguments[0] if len(node.measure.arguments) == 1 else None
        if argument is not None and (argument.given or isinstance(argument.value, ast.Until | ast.FromTo)):
            what = "an average over firings" if argument.given else "a time until"
            self.report.error("E0220", f"{what} is not asked at a time", node.span, help="leave `at` or `over` out")
            return None
        found = self._measure_call(node.measure, where)
        ends = [e for e in (node.start, node.end) if e is not None]
        good = [self.quantity(e, TIME, Context(f"the time of {short(node.measure)}")) for e in ends]
        if found is None or not all(good):
            return None
        return Type(found.dimension * self.dimension(TIME)) if node.total else found

    def _measure_call(self, node: ast.Call, where: Context) -> Type | None:
        first = node.arguments[0].value if node.arguments else None
        if where.measures and node.function.text == "quantile":
            return self._quantile(node)
        if where.measures and node.function.text in ("P", "E") and isinstance(first, ast.Until | ast.FromTo) and len(node.arguments) == 1:
            return self._waiting(node, first)
        return Inference._measure_call(self, node, where)

    def _waiting(self, node: ast.Call, time: ast.Until | ast.FromTo) -> Type | None:
        good = self._time(node, time)
        if node.function.text == "E":
            if time.bound is not None:
                self.report.error("E0220", "a mean time has no bound", time.bound.span, help="P(time … <= …) is the probability")
                return None
            return Type(self.dimension(TIME)) if good else None
        if time.bound is None:
            help = "compare it: P(time until … <= 5 s); a condition that holds `and` or `or` goes in parentheses"
            self.report.error("E0220", "a probability needs a bound on the time", time.span, help=help)
            return None
        if time.op not in BOUNDS:
            self.report.error("E0220", "such a time is compared with <= or >", time.span, help=f"write {BOUNDS[time.op is BinaryOp.GE]}")
            return None
        return Type() if good and self.quantity(time.bound, TIME, Context("the bound on the time")) else None

    def _time(self, node: ast.Call, time: ast.Until | ast.FromTo) -> bool:
        """Are the names and the condition of a time right?"""
        if isinstance(time, ast.FromTo):
            known = [self.scope.use(Kind.TRANSITION, t, self.report) for t in (time.first, time.second)]
            return all(known)
        return self.condition(time.condition, Context(f"the inside of {node.function.text}(…)", markings=True))

    def _quantile(self, node: ast.Call) -> Type | None:
        if len(node.arguments) != 2 or any(a.name or a.weight for a in node.arguments) or node.arguments[0].given:
            self.report.error("E0207", f"quantile(…) takes a level and what it is of: {USAGE['quantile']}", node.span)
            return None
        level, of = node.arguments
        good = self.quantity(level.value, NUMBER, Context("the level of a quantile"))
        if isinstance(of.value, ast.Until | ast.FromTo):
            if of.value.bound is not None:
                self.report.error("E0220", "the time of a quantile has no bound", of.value.bound.span, help="leave the comparison out")
                return None
            return Type(self.dimension(TIME)) if self._time(node, of.value) and good else None
        known = of.given is None or self.scope.use(Kind.TRANSITION, of.given, self.report)
        found = self.infer(of.value, Context("the inside of quantile(…)", markings=True))
        return as_number(found) if good and known else None

    # --- properties

    def check_property(self, p: ast.Property) -> None:
        """A claim has the arguments it takes, all of them about markings."""
        word = p.claim.text
        if word not in CLAIMS or (word in ("always", "invariant") and p.called):
            near = nearest(word, CLAIMS)
            help = f"did you mean {CLAIM_USAGE.get(near, near)}?" if near else f"claims are {', '.join(CLAIMS)}"
            self.report.error("E0221", f"{quoted(word)} is no claim", p.claim.span, help=help)
            return
        due = 0 if word in PLAIN_CLAIMS else 2 if word == "leads" else 1
        if len(p.arguments) != due or (p.called and due == 0):
            usage = CLAIM_USAGE.get(word, word)
            takes = ("nothing", "one condition", "two conditions")[due]
            self.report.error("E0221", f"`{word}` takes {takes}", p.span, help=f"write {usage}")
            return
        where = Context(f"property {quoted(p.name.text)}", markings=True)
        if word == "invariant":
            self._invariant(p.arguments[0], where)
        else:
            for condition in p.arguments:
                self.condition(condition, where)

    def _invariant(self, node: ast.Expr, where: Context) -> None:
        if not isinstance(node, ast.Binary) or node.op is not BinaryOp.EQ:
            compared = isinstance(node, ast.Binary) and node.op in COMPARISONS
            help = f"write always {short(node)}" if compared else f"write invariant {short(node)} == 3"
            self.report.error("E0221", "an invariant is an equation of markings", node.span, help=help)
            return
        for side in (node.left, node.right):
            self.quantity(side, NUMBER, where)

    # --- sweeps and settings

    def check_sweep(self, s: ast.Sweep) -> None:
        """Every axis is a parameter, once, with values of its kind."""
        seen: set[str] = set()
        for axis in s.axes:
            if axis.name.text in seen:
                self.report.error("E0222", f"{quoted(axis.name.text)} is swept twice", axis.name.span)
            seen.add(axis.name.text)
            kind = self._swept(axis.name, "a sweep goes over parameters")
            for value in self._values(axis):
                self._setting(axis.name, kind, value)

    def _values(self, axis: ast.Axis) -> tuple[ast.Expr, ...]:
        kind = self.types.get(axis.name.text)
        if axis.high is not None and kind is not None and (kind.condition or kind.dimension != NUMBER):
            help = f"list the values: {quoted(axis.name.text)} in [{short(axis.low)}, {short(axis.high)}]"
            self.report.error("E0222", "a range counts in steps of 1, so it is one of plain numbers", axis.span, help=help)
            return ()
        if axis.high is not None:
            return (axis.low, axis.high)
        if isinstance(axis.low, ast.ListOf) and axis.low.items:
            return axis.low.items
        name = quoted(axis.name.text)
        self.report.error("E0222", f"values to go through are a range or a list: {name} in 1..8, or {name} in [1, 2, 4]", axis.low.span)
        return ()

    def check_settings(self, settings: tuple[ast.Setting, ...]) -> None:
        """``where``: every name is a parameter, once, with a value of its kind."""
        seen: set[str] = set()
        for s in settings:
            if s.name.text in seen:
                self.report.error("E0222", f"{quoted(s.name.text)} is set twice", s.name.span)
            seen.add(s.name.text)
            self._setting(s.name, self._swept(s.name, "`where` sets parameters"), s.value)

    def _swept(self, name: ast.Name, what: str) -> Symbol | None:
        """The parameter of that name; to be swept is no use of it."""
        symbol = self.scope.values.get(name.text)
        if symbol is not None and symbol.kind is Kind.PARAM:
            return symbol
        known = [s.name.text for s in self.scope.values.values() if s.kind is Kind.PARAM]
        near = self.report.nearest(name.text, known)
        help = f"did you mean {quoted(near)}?" if near else f"parameters are {', '.join(map(quoted, known))}" if known else ""
        found = f"{quoted(name.text)} is a {symbol.kind}" if symbol is not None else f"there is no parameter {quoted(name.text)}"
        self.report.error("E0222", f"{what}: {found}", name.span, help=help)
        return None

    def _setting(self, name: ast.Name, symbol: Symbol | None, value: ast.Expr) -> None:
        where = Context(f"a value of {quoted(name.text)}")
        kind = self.types.get(name.text) if symbol is not None else None
        if kind is None:
            self.infer(value, where)
        elif kind.condition:
            self.condition(value, where)
        else:
            self.quantity(value, kind.dimension, where)
