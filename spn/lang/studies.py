"""The values of what a file studies: the points of a sweep, the settings of `where`, the times and levels of questions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from spn.expr.nodes import Exact
from spn.lang import ast
from spn.lang.lower import LARGEST, Missing, Values, constant
from spn.lang.parameters import suits
from spn.lang.scope import Report
from spn.lang.words import quoted
from spn.measure import Delay, Horizon, Passage, Quantile, Special
from spn.model import Parameter

MAX_POINTS = 10_000  # of a sweep

Point = tuple[Exact, ...]


@dataclass(frozen=True, slots=True)
class Study:
    """What is needed to give parameters other values: their statements, what they are now, and where to report."""

    statements: Sequence[ast.Param]
    parameters: Mapping[str, Parameter]
    report: Report

    def value(self, name: str, node: ast.Expr, values: Values) -> Exact:
        """The value of an expression, fit for a parameter; :class:`Missing` where it is not, which is then reported."""
        value = constant(node, values, self.report, f"a value of {quoted(name)}")
        self._fits(name, value, node)
        return value

    def _fits(self, name: str, value: Exact, node: ast.Expr) -> None:
        statement = next((p for p in self.statements if p.name.text == name), None)
        known = self.parameters.get(name)
        if statement is None or known is None:
            raise Missing
        suits(value, statement, known.low, known.high, self.report, node.span)

    def points(self, sweep: ast.Sweep, values: Values) -> tuple[Point, ...]:
        """All points of a sweep, the last axis changing fastest. An axis may depend on those before it, and on what depends on them."""
        found: list[Point] = [()]
        for k, axis in enumerate(sweep.axes):
            found = self._product(sweep, axis, found, [a.name.text for a in sweep.axes[:k]], values)
        if not found:
            self.report.error("E0421", "the sweep has no points: a range is empty", sweep.span, help="the smaller end comes first")
            raise Missing
        return tuple(found)

    def _product(self, sweep: ast.Sweep, axis: ast.Axis, points: list[Point], names: list[str], values: Values) -> list[Point]:
        longer: list[Point] = []
        fixed = None if self._depends(axis, names) else self._along(axis, values)
        for point in points:
            along = self._along(axis, self._changed(dict(zip(names, point, strict=True)), values)) if fixed is None else fixed
            if len(longer) + len(along) > MAX_POINTS:
                self.report.error("E0421", f"the sweep has more than {MAX_POINTS:,} points", sweep.span, help="go through fewer values")
                raise Missing
            longer.extend((*point, value) for value in along)
        return longer

    def _depends(self, axis: ast.Axis, names: list[str]) -> bool:
        """Can the values of an axis depend on those of the axes before it?"""
        if not names:
            return False
        stack = [e for e in (axis.low, axis.high) if e is not None]
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Name) and node.text in self.parameters:
                return True
            stack.extend(ast.children(node))
        return False

    def _changed(self, chosen: Mapping[str, Exact], values: Values) -> Values:
        """The values of all parameters with some of them chosen."""
        changed = replace(values, numbers=dict(values.numbers))
        for p in self.statements:
            name, known = p.name.text, self.parameters.get(p.name.text)
            if name in chosen:
                changed.numbers[name] = chosen[name]
            elif known is not None and not known.given and p.default is not None:
                changed.numbers[name] = constant(p.default, changed, self.report, f"parameter {quoted(name)}")
        return changed

    def _along(self, axis: ast.Axis, values: Values) -> list[Exact]:
        name = axis.name.text
        if axis.high is None:
            items = axis.low.items if isinstance(axis.low, ast.ListOf) else ()
            return [self.value(name, item, values) for item in items]
        low, high = (self._whole(name, end, values) for end in (axis.low, axis.high))
        if high - low >= MAX_POINTS:
            span = axis.low.span.to(axis.high.span)
            self.report.error("E0421", f"the range has more than {MAX_POINTS:,} values", span, help=f"list some: {name} in [1, 10, 100]")
            raise Missing
        if low <= high:
            self._fits(name, Fraction(low), axis.low)
            self._fits(name, Fraction(high), axis.high)
        return [Fraction(v) for v in range(low, high + 1)]

    def _whole(self, name: str, node: ast.Expr, values: Values) -> int:
        value = constant(node, values, self.report, f"the range of {quoted(name)}")
        if value != math.floor(value):
            help = f"list the values: {quoted(name)} in [0.5, 1, 2]"
            self.report.error("E0421", f"a range counts in whole steps, {float(value):g} is not whole", node.span, help=help)
            raise Missing
        return int(value)


def check_question(atom: Special, report: Report) -> None:
    """Times are not negative and in order, levels of quantiles lie between 0 and 1."""
    match atom:
        case Horizon(start=start, end=end):
            _check_times(atom, start, end, report)
        case Passage(within=within) | Delay(within=within) if within is not None and not _is_time(within):
            report.error("E0420", f"a time of {float(within):g} s is none to wait", atom.span, help="times are not negative")
    level = getattr(atom, "level", None) if isinstance(atom, Quantile) else getattr(atom, "quantile", None)
    if isinstance(atom, Quantile | Passage | Delay) and level is not None and not 0 < level < 1:
        help = "the median is quantile(0.5, …)"
        report.error("E0420", f"the level of a quantile lies between 0 and 1, not at {float(level):g}", atom.span, help=help)


def _check_times(atom: Horizon, start: Exact | None, end: Exact, report: Report) -> None:
    if not _is_time(end) or (start is not None and not _is_time(start)):
        report.error("E0420", "times begin at 0 and are finite", atom.span, help="the net starts in its initial marking at time 0")
    elif start is not None and not start < end:
        report.error("E0420", "the time to average over is empty", atom.span, help="the earlier end comes first: over 0 s..10 s")


def _is_time(value: Exact) -> bool:
    return 0 <= value <= LARGEST
