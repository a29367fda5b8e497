"""Laws: checking what stands after ``~`` and in ``dist``, and building it, by the table of families.

Nothing here knows a family: names, parameters, dimensions and constructors come from :data:`spn.dist.families.FAMILIES`. Only the laws
made of other laws (mix, shift, scale) and those read from files (fit, empirical) have a form of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from spn.dist.families import FAMILIES, Deterministic, Exponential, Mixture, Scaled, Shifted
from spn.dist.family import Argument, Family, Form, Parameter, Role, Shape
from spn.dist.law import ZERO, Law
from spn.errors import Diagnostic, Severity, SpnError, nearest
from spn.expr.dims import DATA, NUMBER, TIME, Dimension
from spn.expr.nodes import Exact, Node, Number
from spn.lang import ast
from spn.lang.infer import Context, Inference, spell
from spn.lang.lower import Missing, Values, constant, folded
from spn.lang.scope import Kind, Report
from spn.lang.units import proposed
from spn.lang.words import COMBINATORS, quoted

T = TypeVar("T")

LAWS = (*FAMILIES, *COMBINATORS)
MAX_PARTS = 10_000  # of a mixture, the mixtures inside it written out
MAX_NESTING = 40  # of laws made of laws

NO_MARKINGS = "a law holds numbers; what depends on the marking is exp(rate = …), `speed` or `scaled`"
FILE_OPTIONS = {
    "fit": ("name", "family", "criterion", "mark", "column", "unit"),
    "empirical": ("name", "mark", "column", "unit"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A law fitted to a file, a line that describes the fit, and what to know before trusting it."""

    law: Law
    description: str
    warnings: tuple[str, ...] = ()


class Resolver(Protocol):
    """What reads files for laws. Paths and options are as written in the model; errors are SpnErrors."""

    def fit(self, file: str, options: Mapping[str, str]) -> Fitted:
        """A law fitted to durations in a file, in seconds."""

    def samples(self, file: str, options: Mapping[str, str]) -> tuple[Exact, ...]:
        """The durations in a file, in seconds."""


# --- before values --------------------------------------------------------------------------------------------------------------


def is_law(node: ast.Expr, inference: Inference) -> bool:
    """Does an expression stand for a law, rather than for a bare quantity?"""
    if isinstance(node, ast.Call):
        return node.function.text in LAWS or node.function.text not in ("abs", "floor", "ceil", "min", "max", "sqrt", "ln")
    symbol = inference.scope.values.get(node.text) if isinstance(node, ast.Name) else None
    return symbol is not None and symbol.kind is Kind.DIST


def check_law(inference: Inference, node: ast.Expr, due: Dimension | None, where: Context, *, rates: bool = False) -> Dimension | None:
    """The dimension of the work (time or bytes) of a law; None where it is unknown or wrong, which is then reported.

    ``due``: the dimension it must have, None for any. ``rates``: may the rate of an exponential read the marking?
    """
    if isinstance(node, ast.Name) and is_law(node, inference):
        return _named_law(inference, node, due, where)
    if not isinstance(node, ast.Call) or not is_law(node, inference):
        return _bare(inference, node, due, where)
    name = node.function.text
    if name in ("mix", "shift", "scale"):
        return _made_of_laws(inference, node, due, where)
    if name == "fit" or (name == "empirical" and node.arguments and isinstance(node.arguments[0].value, ast.Text)):
        return _from_file(inference, node, due, where)
    family = FAMILIES.get(name)
    if family is None:
        near = _OTHER_NAMES.get(name.casefold()) or nearest(name, LAWS)
        known = f"laws are {', '.join(LAWS)}"
        inference.report.error(
            "E0201", f"there is no law {quoted(name)}", node.function.span, help=f"did you mean {near}?" if near else known
        )
        return None
    return _family(inference, node, family, due, where, rates)


_OTHER_NAMES = {f.law.__name__.casefold(): f.name for f in FAMILIES.values()} | {"constant": "det", "const": "det", "gaussian": "normal"}


def _named_law(inference: Inference, name: ast.Name, due: Dimension | None, where: Context) -> Dimension | None:
    if inference.scope.value(name, inference.report) is None:
        return None
    work = _agreed(inference, inference.works.get(name.text), due, name, where)
    if work is not None:
        inference.works.setdefault(name.text, work)  # a law that a component is given is what its first use asks for
    return work


def _agreed(inference: Inference, work: Dimension | None, due: Dimension | None, node: ast.Expr, where: Context) -> Dimension | None:
    if work is None or due is None or work == due:
        return work or due
    help = "over a link the law is of a size, elsewhere of a time"
    message = f"{where.what}: a law of {spell(due)} is due, this is one of {spell(work)}"
    inference.report.error("E0303", message, node.span, help=help)
    return None


def _bare(inference: Inference, node: ast.Expr, due: Dimension | None, where: Context) -> Dimension | None:
    """A quantity where a law is due: over a link the size of every transfer, elsewhere an error that proposes det."""
    if due == DATA or (inference.scope.unitless and where.transfer):
        inside = Context(where.what, hint=NO_MARKINGS)
        return due if inference.quantity(node, inference.dimension(DATA), inside) else None
    before = len(inference.report.errors)
    inference.infer(node, Context(where.what, markings=True))
    if len(inference.report.errors) == before:
        bare = isinstance(node, ast.Number) and due is not None and not inference.scope.unitless
        text = proposed(due, node.span.text) if bare and due is not None else node.span.text
        inference.report.error("E0210", f"{where.what}: a law is due", node.span, help=f"a constant is det({text})")
    return None


def _made_of_laws(inference: Inference, node: ast.Call, due: Dimension | None, where: Context) -> Dimension | None:
    name, report = node.function.text, inference.report
    if name == "mix":
        if not node.arguments or not all(a.weight is not None for a in node.arguments):
            report.error("E0207", "mix(…) takes probabilities and laws: mix(0.9: d1, 0.1: d2)", node.span)
            return None
        for a in node.arguments:
            if a.weight is not None:
                inference.quantity(a.weight, NUMBER, Context("a probability of mix"))
            due = check_law(inference, a.value, due, Context("a part of mix")) or due
        return due
    if len(node.arguments) != 2 or any(a.weight or a.given for a in node.arguments):
        what = "shift(law, by)" if name == "shift" else "scale(law, factor)"
        report.error("E0207", f"{name}(…) takes a law and a value: {what}", node.span)
        return None
    law, by = (a.value for a in node.arguments)
    due = check_law(inference, law, due, Context(f"the law in {name}(…)")) or due
    if name == "scale":
        inference.quantity(by, NUMBER, Context("the factor of scale(…)"))
        return due
    return _work(inference, by, due, Context("the shift of shift(…)"))


def _from_file(inference: Inference, node: ast.Call, due: Dimension | None, where: Context) -> Dimension | None:
    name, report = node.function.text, inference.report
    options = FILE_OPTIONS[name]
    first, *rest = node.arguments or (None,)
    if first is None or first.name is not None or not isinstance(first.value, ast.Text):
        report.error("E0207", f'{name}(…) takes a file first: {name}("file.csv", …)', node.span)
        return None
    for a in rest:
        if a.name is None or a.name.text not in options:
            near = nearest(a.name.text, options) if a.name else None
            help = f"did you mean {near} = …?" if near else f"options are {', '.join(options)}"
            report.error("E0207", f"{name}(…) does not take this", a.span, help=help)
        elif not isinstance(a.value, ast.Text | ast.Name):
            report.error("E0207", f"{a.name.text} is a word or a text in double quotes", a.value.span)
    return _agreed(inference, inference.dimension(TIME), due, node, where)


def _family(inference: Inference, node: ast.Call, family: Family, due: Dimension | None, where: Context, rates: bool) -> Dimension | None:
    given = _matched(family, node, inference.report)
    if given is None:
        return None
    for parameter, argument in given:
        place = f"{parameter.name} of {family.name}(…)"
        reads = rates and parameter.role is Role.RATE and family.law is Exponential
        inside = Context(place, markings=reads, hint=NO_MARKINGS)
        for value in _elements(argument.value, parameter, inference.report):
            due = _parameter(inference, value, parameter, due, inside)
    return due


def _matched(family: Family, node: ast.Call, report: Report) -> list[tuple[Parameter, ast.Argument]] | None:
    """The parameters of the family's form that takes these arguments; None, reported, where no form does."""
    positional = [a for a in node.arguments if a.name is None]
    named = {a.name.text: a for a in node.arguments if a.name is not None}
    if any(a.weight or a.given for a in node.arguments) or len(positional) + len(named) != len(node.arguments):
        report.error("E0207", f"{family.name}(…) takes {family.signatures()}, each once", node.span)
        return None
    form = _form(family, len(positional), frozenset(named))
    if form is None:
        _no_form(family, node, positional, named, report)
        return None
    by_place = [p for p in form.parameters if p.positional and p.name not in named]
    by_name = {p.name: p for p in form.parameters}
    return [*zip(by_place, positional, strict=False), *((by_name[n], a) for n, a in named.items())]


def _form(family: Family, positional: int, named: frozenset[str]) -> Form | None:
    for form in family.forms:
        by_place = [p.name for p in form.parameters if p.positional and p.name not in named]
        if positional <= len(by_place) and form.takes(named | frozenset(by_place[:positional])):
            return form
    return None


def _no_form(family: Family, node: ast.Call, positional: Sequence[ast.Argument], named: dict[str, ast.Argument], report: Report) -> None:
    known = {p.name for form in family.forms for p in form.parameters}
    for name, a in named.items():
        if name not in known:
            near = nearest(name, known)
            help = f"did you mean {near}?" if near else f"it takes {family.signatures()}"
            report.error("E0207", f"{family.name}(…) has no parameter {quoted(name)}", a.name.span if a.name else a.span, help=help)
            return
    if positional and not any(p.positional for form in family.forms for p in form.parameters):
        ways = " or ".join(f"{family.name}({form.parameters[0].name} = {_example(positional[0].value, form)})" for form in family.forms)
        report.error("E0211", f"the parameters of {family.name}(…) are always named", positional[0].span, help=f"write {ways}")
        return
    one = family.forms[0] if len(family.forms) == 1 else None
    missing = [p.name for p in one.parameters if p.required and p.name not in named][len(positional) :] if one else []
    what = f"also needs {', '.join(missing)}" if missing else "does not take just these parameters"
    report.error("E0207", f"{family.name}(…) {what}", node.span, help=f"it takes {family.signatures()}")


def _example(node: ast.Expr, form: Form) -> str:
    """The text of an argument as the first parameter of a form would have it: a bare number with the unit, if one is due."""
    if isinstance(node, ast.Number) and form.parameters[0].role in (Role.WORK, Role.RATE):
        return proposed(TIME if form.parameters[0].role is Role.WORK else NUMBER / TIME, node.span.text)
    return "…" if isinstance(node, ast.Quantity) and form.parameters[0].role is Role.RATE else node.span.text


def _elements(node: ast.Expr, parameter: Parameter, report: Report) -> Sequence[ast.Expr]:
    """The scalars of an argument of the parameter's shape; none, reported, for another shape."""
    if parameter.shape is Shape.SCALAR:
        return [node]
    if not isinstance(node, ast.ListOf):
        report.error("E0204", f"{parameter.name} is a list: [a, b, …]", node.span)
        return []
    if parameter.shape is Shape.LIST:
        return node.items
    if not all(isinstance(row, ast.ListOf) for row in node.items):
        report.error("E0204", f"{parameter.name} is a list of rows: [[a, b], [c, d]]", node.span)
        return []
    return [value for row in node.items if isinstance(row, ast.ListOf) for value in row.items]


def _parameter(inference: Inference, node: ast.Expr, parameter: Parameter, due: Dimension | None, where: Context) -> Dimension | None:
    zero = parameter.shape is not Shape.SCALAR and isinstance(node, ast.Number) and node.value == 0
    match parameter.role:
        case Role.WORK:
            return due if zero else _work(inference, node, due, where)
        case Role.RATE:
            return due if zero else _work(inference, node, due, where, inverse=True)
        case _:
            inference.quantity(node, NUMBER, where)
            return due


def _work(inference: Inference, node: ast.Expr, due: Dimension | None, where: Context, *, inverse: bool = False) -> Dimension | None:
    """Check a parameter in the unit of the work, or its inverse; the first one decides what the work is."""
    if due is not None:
        inference.quantity(node, NUMBER / due if inverse else due, where)
        return due
    found = inference.infer(node, where)
    if found is None:
        return None
    work = NUMBER / found.dimension if inverse else found.dimension
    if work in (TIME, DATA) or inference.scope.unitless:
        return work
    if work == NUMBER:
        unit = NUMBER / TIME if inverse else TIME
        help = f"write {proposed(unit, node.span.text)}" if isinstance(node, ast.Number) else ""
        inference.report.error("E0301", f"{where.what}: the unit is missing", node.span, help=help)
    else:
        what = "1 over a time or a size" if inverse else "a time or a size"
        inference.report.error("E0303", f"{where.what}: {what} is due, found {spell(found.dimension)}", node.span)
    return None


# --- after values ---------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Laws:
    """Builds checked laws; ``known`` are those of ``dist``, ``fits`` describes what was fitted."""

    values: Values
    report: Report
    resolver: Resolver
    known: dict[str, Law] = field(default_factory=dict)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    fits: list[str] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)

    def build(self, node: ast.Expr, what: str) -> Law:
        """The law of an expression; :class:`Missing` where it has none, which is then reported."""
        parts, nesting = self.size(node)
        if parts > MAX_PARTS or nesting > MAX_NESTING:
            self.report.error("E0409", f"{what}: too many laws inside laws", node.span)
            raise Missing
        if isinstance(node, ast.Name) and node.text in self.known:
            return self.known[node.text]
        if not isinstance(node, ast.Call) or node.function.text not in LAWS:
            return self._checked(node, lambda: FAMILIES["det"].build({"value": constant(node, self.values, self.report, what)}))
        return self._call(node, what)

    def rate(self, node: ast.Expr, what: str) -> Node | None:
        """The rate of ``exp(rate = …)`` where it depends on the marking, else None."""
        if not isinstance(node, ast.Call) or FAMILIES.get(node.function.text) is not FAMILIES["exp"]:
            return None
        given = next((a for a in node.arguments if a.name is not None and a.name.text == "rate"), None)
        tree = folded(given.value, self.values, self.report, f"the rate of {what}") if given else None
        return None if isinstance(tree, Number) else tree

    def size(self, node: ast.Expr) -> tuple[int, int]:
        """How many laws a law consists of, and how deep they are nested."""
        if isinstance(node, ast.Name):
            return self.sizes.get(node.text, (1, 1))
        if not isinstance(node, ast.Call) or node.function.text not in ("mix", "shift", "scale"):
            return 1, 1
        inner = [self.size(a.value) for a in node.arguments]
        return sum(n for n, _ in inner), 1 + max(depth for _, depth in inner)

    def _call(self, node: ast.Call, what: str) -> Law:
        name, arguments = node.function.text, node.arguments
        match name:
            case "mix":
                parts = tuple((float(self._number(a.weight, "a probability")), self.build(a.value, what)) for a in arguments if a.weight)
                return self._checked(node, lambda: Mixture(parts=parts))
            case "shift":
                law, by = self.build(arguments[0].value, what), self._number(arguments[1].value, "the shift")
                return self._checked(node, lambda: Shifted(law=law, by=by))
            case "scale":
                law, by = self.build(arguments[0].value, what), self._number(arguments[1].value, "the factor")
                # Nothing is left of any law: no time, or no bytes (an all-reduce of one worker).
                return self._checked(node, lambda: Deterministic(value=ZERO) if by == 0 else Scaled(law=law, by=by))
            case "fit":
                return self._fitted(node)
            case "empirical" if isinstance(arguments[0].value, ast.Text):
                return self._sampled(node)
        return self._of_family(node, FAMILIES[name], what)

    def _of_family(self, node: ast.Call, family: Family, what: str) -> Law:
        given = _matched(family, node, self.report)
        if given is None:
            raise Missing
        arguments = {p.name: self._argument(a.value, p, f"{p.name} of {what}") for p, a in given}
        law = self._checked(node, lambda: family.build(arguments))
        self._note_mean(node, law, arguments.get("mean"))
        return law

    def _note_mean(self, node: ast.Call, law: Law, asked: Argument | None) -> None:
        """Warn where the mean of the law is not the parameter of that name (a normal is cut at 0)."""
        if asked is None or isinstance(asked, tuple):
            return
        mean = law.mean()
        if abs(mean - float(asked)) > 1e-6 * abs(mean):
            message = f"the mean of this law is {mean:.6g}, not {float(asked):.6g} (in base units): it is cut at 0"
            self.warnings.append(Diagnostic(code="W0401", message=message, span=node.span, severity=Severity.WARNING))

    def _argument(self, node: ast.Expr, parameter: Parameter, what: str) -> Argument:
        if isinstance(node, ast.ListOf):
            if parameter.shape is Shape.MATRIX:
                return tuple(tuple(self._number(v, what) for v in row.items) for row in node.items if isinstance(row, ast.ListOf))
            return tuple(self._number(v, what) for v in node.items)
        value = self._number(node, what)
        if parameter.whole and value != int(value):
            self.report.error("E0401", f"{what} must be a whole number, not {float(value):g}", node.span)
            raise Missing
        return value

    def _number(self, node: ast.Expr, what: str) -> Exact:
        return constant(node, self.values, self.report, what)

    def _checked(self, node: ast.Expr, build: Callable[[], Law]) -> Law:
        try:
            return build()
        except (ValueError, ArithmeticError) as e:
            self.report.error("E0410", str(e), node.span)
            raise Missing from None

    def _fitted(self, node: ast.Call) -> Law:
        file, options = file_arguments(node)
        found = self._read(node, lambda: self.resolver.fit(file, options))
        self.fits.append(found.description)
        self.warnings += [Diagnostic(code="W0402", message=w, span=node.span, severity=Severity.WARNING) for w in found.warnings]
        return found.law

    def _sampled(self, node: ast.Call) -> Law:
        file, options = file_arguments(node)
        numbers = self._read(node, lambda: self.resolver.samples(file, options))
        return self._checked(node, lambda: FAMILIES["empirical"].build({"values": numbers}))

    def _read(self, node: ast.Call, read: Callable[[], T]) -> T:
        try:
            return read()
        except SpnError as e:
            for d in e.diagnostics:
                self.report.error(d.code, d.message, node.span, help=d.help, notes=d.notes)
            raise Missing from None


def file_arguments(node: ast.Call) -> tuple[str, dict[str, str]]:
    first, *rest = node.arguments
    assert isinstance(first.value, ast.Text)
    options = {a.name.text: a.value.value if isinstance(a.value, ast.Text) else a.value.span.text for a in rest if a.name}
    return first.value.value, options
