"""Parameters: their values from defaults or from the caller, checked for dimension, kind and range."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral, Real

from spn.errors import ModelError
from spn.expr.dims import NUMBER, Dimension
from spn.expr.nodes import Exact, exact
from spn.lang import ast
from spn.lang.check import Checker, kind_of
from spn.lang.infer import Context, Type
from spn.lang.lower import Missing, Values, constant
from spn.lang.parse import parse_constant
from spn.lang.scope import Report, Scope
from spn.lang.words import quoted
from spn.model import Parameter
from spn.source import Source, Span

Given = int | float | Fraction | str | bool  # what a caller may give: a number in base units, or text as in a model ("10 Gbit/s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A parameter as a file declares it: ``default`` and the range in base units, None where there is none."""

    name: str
    kind: str
    dimension: Dimension = NUMBER
    default: Exact | None = None
    low: Exact | None = None
    high: Exact | None = None
    text: str = ""
    doc: str = ""
    span: Span | None = field(default=None, compare=False, repr=False)


def declared(p: ast.Param, values: Values, report: Report, dimension: Dimension) -> Declared:
    """The parameter with its default, which becomes its value; :class:`Missing` where a value is wrong, which is then reported."""
    low, high = _range(p, values, report)
    default = None
    if p.default is not None:
        default = constant(p.default, values, report, _what(p))
        suits(default, p, low, high, report, p.default.span)
    return Declared(
        name=p.name.text,
        kind=_kind(p),
        dimension=dimension,
        default=default,
        low=low,
        high=high,
        text=p.default.span.text if p.default is not None else "",
        doc=p.doc,
        span=p.span,
    )


def valued(d: Declared, p: ast.Param, given: Given | None, report: Report, unitless: bool) -> Parameter:
    """The parameter with the value given, or its default; :class:`Missing` where it has neither or it is wrong."""
    value, text = d.default, d.text
    if given is not None:
        value, text = _given(given, p, report, unitless), str(given)
        suits(value, p, d.low, d.high, report, None, text)
    if value is None:
        name = quoted(d.name)
        report.error("E0411", f"parameter {name} has no default, so it must be given", p.name.span, help=f"give it a value: {name} = …")
        raise Missing
    return Parameter(
        name=d.name,
        kind=d.kind,
        value=value,
        dimension=d.dimension,
        low=d.low,
        high=d.high,
        given=given is not None,
        text=text,
        doc=d.doc,
        span=p.span,
    )


def _what(p: ast.Param) -> str:
    return f"parameter {quoted(p.name.text)}"


def _kind(p: ast.Param) -> str:
    return "".join(p.type.span.text.split())


def _range(p: ast.Param, values: Values, report: Report) -> tuple[Exact | None, Exact | None]:
    if p.low is None or p.high is None:
        return None, None
    low, high = (constant(end, values, report, f"the range of {_what(p)}") for end in (p.low, p.high))
    if low > high:
        report.error("E0401", f"the range of {_what(p)} is empty", p.low.span.to(p.high.span), help="the smaller end comes first")
        raise Missing
    return low, high


def _given(given: Given, p: ast.Param, report: Report, unitless: bool) -> Exact:
    """The value that a caller gives, in base units."""
    if isinstance(given, str):
        return _from_text(given, p, report, unitless)
    if isinstance(given, Integral):
        return Fraction(int(given))
    if isinstance(given, Fraction):
        return given
    if isinstance(given, Real):
        return exact(float(given))
    report.error("E0212", f"{_what(p)} is given a {type(given).__name__}", p.name.span, help='give a number, or text such as "10 Gbit/s"')
    raise Missing


def _from_text(text: str, p: ast.Param, report: Report, unitless: bool) -> Exact:
    try:
        node = parse_constant(Source(f"<{p.name.text}>", text))
    except ModelError as e:
        report.errors.extend(e.diagnostics)
        raise Missing from None
    if any(isinstance(n, ast.Reduction) for n in ast.walk(node)):
        report.error("E0204", f"{_what(p)} is given a sum over an index", node.span, help="give its value")
        raise Missing
    checker = Checker(Scope(unitless=unitless), report)
    kind = kind_of(p.type) or Type()
    where = Context(_what(p))
    good = checker.condition(node, where) if kind.condition else checker.quantity(node, kind.dimension, where)
    if not good:
        raise Missing
    return constant(node, Values(), report, _what(p))


def suits(value: Exact, p: ast.Param, low: Exact | None, high: Exact | None, report: Report, span: Span | None, text: str = "") -> None:
    """Does the value suit the kind and lie in the range?"""
    shown = text or (span.text if span is not None else "")
    problem = unfit(value, _kind(p))
    if not problem and low is not None and high is not None and not low <= value <= high:
        assert p.low is not None and p.high is not None
        problem = f"outside its range {p.low.span.text}..{p.high.span.text}"
    if problem:
        report.error("E0401", f"{_what(p)} = {shown} is {problem}", span or p.name.span, label="" if span else "declared here")
        raise Missing


def unfit(value: Exact, kind: str) -> str:
    """What is wrong with a value for a parameter of this kind; nothing where it suits."""
    if value - value != 0:
        return "not finite"
    match kind:
        case "count" if value < 0 or value != int(value):
            return "no count: a whole number, not negative"
        case "probability" if not 0 <= value <= 1:
            return "no probability: a number from 0 to 1, or 0 % to 100 %"
        case "bool" if value not in (0, 1):
            return "no bool: true or false"
    return ""
