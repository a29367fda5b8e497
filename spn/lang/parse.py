"""Text to syntax tree, by the grammar in grammar/spn.lark.

The tree is built bottom-up while the parser runs, without recursion, so that no nesting of the input can exhaust the stack; trees
deeper than MAX_DEPTH are refused, so that the passes after this one may recurse.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import lark
from lark import Token

from spn.errors import Diagnostic, ModelError
from spn.expr.nodes import COMPARISONS, LOGICAL, BinaryOp, UnaryOp
from spn.lang import ast, mistakes
from spn.lang.scan import open_braces
from spn.net.model import ArcKind
from spn.resources import grammar
from spn.source import Source, Span

MAX_DEPTH = 100  # of an expression
MAX_BLOCKS = 32  # of braces inside braces
MAX_STACK = 3000  # symbols that wait for the rest of what they are part of; a few for each level
MAX_DIGITS = 400  # of a number, written out
MAX_ERRORS = 20  # syntax errors reported in one run
_COMMENT_OR_NOT = re.compile(r"//[^\n]*|/\*[\s\S]*?\*/|`[^`\n]+`|\"[^\"\n]*\"|\s+|[\s\S]")
LONG_CHAIN = 32  # operands; a longer sum or product becomes a balanced tree

_LOCK = threading.Lock()


def parse(source: Source) -> ast.File:
    """The syntax tree of a model text; all syntax errors found are raised together as one ModelError."""
    statements, problems = _run(source, "start")
    if problems:
        raise ModelError(*problems)
    return _documented(source, statements)


def parse_constant(source: Source) -> ast.Expr:
    """The expression that a text consists of, as given for a parameter: ``10 Gbit/s``."""
    found, problems = _run(source, "constant")
    if problems:
        raise ModelError(problems[0])
    expression: ast.Expr = found
    return expression


def _run(source: Source, start: str) -> tuple[Any, list[Diagnostic]]:
    """What the start rule built, and the problems; after a syntax error parsing resumes at the next statement."""
    machine, builder = _machine()
    problems: list[Diagnostic] = []
    tree: Any = ()
    at = 0
    with _LOCK:
        builder.source, builder.problems = source, problems
        while len(problems) < MAX_ERRORS:
            try:
                tree = _tree(machine, source, at, start)
            except _Deep as e:
                problems.append(e.problem)
                break
            except lark.UnexpectedInput as e:
                problem, resume = mistakes.explain(source, at, _offset(e, source), _expected(e))
                problems.append(problem)
                if resume is None or start != "start":
                    break
                at = resume
            else:
                break
    if not problems:
        problems = _too_deep(tree if isinstance(tree, list) else [tree])
    return tree, problems


class _Deep(Exception):
    """Brackets, signs or blocks inside each other without end. Internal."""

    def __init__(self, span: Span) -> None:
        super().__init__()
        help = "name a part of it: a `param` for constants, a `measure` for results, a `component` for statements"
        self.problem = Diagnostic(code="E0103", message="what is nested here is far too deep", span=span, help=help)


def _tree(machine: lark.Lark, source: Source, at: int, start: str) -> Any:
    """What the start rule builds of the text from an offset on. The parser's stack is watched, so that a text of nothing but opening
    brackets ends at once and not after millions of them."""
    steps = machine.parse_interactive(_from(source.text, at), start=start)
    stack = steps.parser_state.state_stack
    last: lark.Token | None = None
    try:
        for last in steps.iter_parse():
            if len(stack) > MAX_STACK:
                raise _Deep(Span(source, last.start_pos or 0, last.end_pos or 0))
        return steps.feed_eof(last)  # type: ignore[no-untyped-call]  # lark gives it no types
    except lark.UnexpectedCharacters as e:
        e.interactive_parser = steps
        raise


def _from(text: str, at: int) -> str:
    """The text from an offset on, everything before it blank but the heads of the braces that are open there."""
    if not at:
        return text
    blank = [" "] * at
    for brace in open_braces(text, at):
        head = text[brace.header : brace.start + 1]
        opened = head.find("{")  # of an `if`, whose else-branch is open: its first brace
        kept = head if opened < 0 else head[: opened + 1]
        blank[brace.header : brace.header + len(kept)] = kept
    return "".join(blank) + text[at:]


@cache
def _machine() -> tuple[lark.Lark, _Builder]:
    builder = _Builder()
    machine = lark.Lark(grammar(), parser="lalr", start=["start", "constant"], maybe_placeholders=False, transformer=builder)
    return machine, builder


def _offset(error: lark.UnexpectedInput, source: Source) -> int:
    token = getattr(error, "token", None)
    if token is not None and token.type == "$END":
        return len(source.text)
    return error.pos_in_stream if error.pos_in_stream is not None else len(source.text)


def _expected(error: lark.UnexpectedInput) -> frozenset[str]:
    if isinstance(error, lark.UnexpectedCharacters) and error.interactive_parser is not None:
        return frozenset(str(name) for name in error.interactive_parser.accepts())  # type: ignore[no-untyped-call]  # nor this
    names = getattr(error, "accepts", None) or getattr(error, "expected", None) or getattr(error, "allowed", None) or ()
    return frozenset(names)


def _too_deep(roots: Sequence[ast.Statement | ast.Expr]) -> list[Diagnostic]:
    stack: list[tuple[ast.Expr, int]] = []
    pending: list[tuple[ast.Statement | ast.Expr, int]] = [(root, 1) for root in roots]
    while pending:
        root, depth = pending.pop()
        if not isinstance(root, ast.Statement):
            stack.append((root, 1))
            continue
        if depth > MAX_BLOCKS:
            help = "make a component of the inner ones"
            return [Diagnostic(code="E0103", message=f"blocks are nested more than {MAX_BLOCKS} deep", span=root.span, help=help)]
        stack.extend((e, 1) for e in ast.expressions(root))
        pending.extend((inner, depth + 1) for inner in ast.nested(root))
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            return [
                Diagnostic(
                    code="E0103",
                    message=f"an expression is nested more than {MAX_DEPTH} levels deep",
                    span=node.span,
                    help="name a part of it: a `param` for constants, a `measure` for results",
                )
            ]
        stack.extend((child, depth + 1) for child in ast.children(node))
    return []


# --- documentation comments ---------------------------------------------------------------------------------------------------------


def _doc_before(text: str, start: int) -> str:
    """The ``///`` lines right above a statement that begins its line."""
    end = text.rfind("\n", 0, start)
    if end < 0 or text[end + 1 : start].strip():
        return ""
    lines: list[str] = []
    while end >= 0:
        begin = text.rfind("\n", 0, end) + 1
        line = text[begin:end].strip()
        if not line.startswith("///") or ("*/" in line and not _is_comment(text, text.index("///", begin))):
            break
        lines.append(line[3:].strip())
        end = begin - 1
    return "\n".join(reversed(lines))


def _is_comment(text: str, at: int) -> bool:
    """Does a comment begin here, rather than go on?"""
    last = next(c for c in _COMMENT_OR_NOT.finditer(text) if c.end() > at)
    return last.start() == at


def _documented(source: Source, statements: list[ast.Statement]) -> ast.File:
    """The file; the first ``///`` lines are its own and not the first statement's."""
    doc, end = _file_doc(source.text, statements)
    if doc and statements:
        between = source.text[end : statements[0].span.start]
        if between.isspace() and between.count("\n") == 1:
            statements = [replace(statements[0], doc=""), *statements[1:]]
    return ast.File(source=source, statements=tuple(statements), doc=doc)


def _file_doc(text: str, statements: Sequence[ast.Statement]) -> tuple[str, int]:
    """The first ``///`` lines of the file, if they stand above all statements, and where they end."""
    head = text[: statements[0].span.start] if statements else text
    lines: list[str] = []
    end = 0
    for found in _COMMENT_OR_NOT.finditer(head):
        piece = found.group()
        if piece.startswith("///"):
            lines.append(piece[3:].strip())
            end = found.end()
        elif lines and (not piece.isspace() or piece.count("\n") > 1):
            break
    return "\n".join(lines), end


# --- the builder ---------------------------------------------------------------------------------------------------------------------

Part = Any  # a token or a node that a rule's part became


@dataclass(frozen=True, slots=True)
class _Declared:
    """A name with its index, where it is declared."""

    name: ast.Name
    index: ast.Index
    span: Span


class _Builder(lark.Transformer[Token, Any]):
    """One method a grammar rule; each gets the parts of the rule and gives the node."""

    source: Source
    problems: list[Diagnostic]

    # --- statements

    def start(self, parts: list[Part]) -> list[ast.Statement]:
        return parts

    def constant(self, parts: list[Part]) -> ast.Expr:
        expression: ast.Expr = parts[0]
        return expression

    def units(self, parts: list[Part]) -> ast.UnitsNone:
        return ast.UnitsNone(span=self._span(parts))

    def param(self, parts: list[Part]) -> ast.Param:
        keyword, name, kind, *rest = parts
        given = dict(p for p in rest)
        low, high = given.get("bounds", (None, None))
        return ast.Param(
            name=self._name(name),
            type=kind,
            default=given.get("default"),
            low=low,
            high=high,
            span=self._ends(parts),
            doc=self._doc(keyword),
        )

    def default(self, parts: list[Part]) -> tuple[str, ast.Expr]:
        return "default", parts[0]

    def bounds(self, parts: list[Part]) -> tuple[str, tuple[ast.Expr, ast.Expr]]:
        return "bounds", (parts[1], parts[2])

    def dist(self, parts: list[Part]) -> ast.Dist:
        return ast.Dist(name=self._name(parts[1]), law=parts[2], span=self._span(parts), doc=self._doc(parts[0]))

    def link(self, parts: list[Part]) -> ast.Link:
        name, index = self._declared(parts[1])
        return ast.Link(name=name, index=index, arguments=parts[2], span=self._ends(parts), doc=self._doc(parts[0]))

    def places(self, parts: list[Part]) -> ast.Places:
        return ast.Places(items=tuple(parts[1:]), span=self._span(parts), doc=self._doc(parts[0]))

    def place(self, parts: list[Part]) -> ast.Place:
        given = dict(parts[1:])
        name, index = self._declared(parts[0])
        initial, capacity = given.get("initial"), given.get("capacity")
        return ast.Place(name=name, index=index, initial=initial, capacity=capacity, span=self._ends(parts))

    def initial(self, parts: list[Part]) -> tuple[str, ast.Expr]:
        return "initial", parts[0]

    def capacity(self, parts: list[Part]) -> tuple[str, ast.Expr]:
        return "capacity", parts[1]

    def measure(self, parts: list[Part]) -> ast.Measure:
        unit = parts[2][1] if len(parts) == 4 else None
        return ast.Measure(name=self._name(parts[1]), unit=unit, body=parts[-1], span=self._span(parts), doc=self._doc(parts[0]))

    def shown(self, parts: list[Part]) -> tuple[str, ast.Expr]:
        unit = parts[1]
        return "shown", self._name(unit) if isinstance(unit, Token) else unit

    def expect(self, parts: list[Part]) -> ast.Expect:
        keyword, left, op, right, *more = parts
        given = dict(more)
        tolerance, absolute = given.get("within", (None, False))
        where = given.get("where", ())
        end = where[-1] if where else tolerance if tolerance is not None else right
        return ast.Expect(
            left=left,
            op=BinaryOp(op),
            right=right,
            tolerance=tolerance,
            absolute=absolute,
            where=where,
            span=self._closed(self._between(keyword, end)),
            doc=self._doc(keyword),
        )

    def within(self, parts: list[Part]) -> tuple[str, tuple[ast.Expr, bool]]:
        return "within", (parts[1], False)

    def within_absolute(self, parts: list[Part]) -> tuple[str, tuple[ast.Expr, bool]]:
        return "within", (parts[2], True)

    def where(self, parts: list[Part]) -> tuple[str, tuple[ast.Setting, ...]]:
        return "where", tuple(parts[1:])

    def setting(self, parts: list[Part]) -> ast.Setting:
        return ast.Setting(name=self._name(parts[0]), value=parts[1], span=self._span(parts))

    def property(self, parts: list[Part]) -> ast.Property:
        keyword, name, (claim, arguments, called, end) = parts
        return ast.Property(
            name=self._name(name),
            claim=claim,
            arguments=arguments,
            called=called,
            span=self._closed(self._between(keyword, end)),
            doc=self._doc(keyword),
        )

    def said(self, parts: list[Part]) -> tuple[ast.Name, tuple[ast.Expr, ...], bool, Part]:
        return self._name(parts[0]), (parts[1],), False, parts[1]

    def claimed(self, parts: list[Part]) -> tuple[ast.Name, tuple[ast.Expr, ...], bool, Part]:
        (part,) = parts
        if isinstance(part, Token):
            return self._name(part), (), False, part
        return part.function, tuple(a.value for a in part.arguments), True, part

    def sweep(self, parts: list[Part]) -> ast.Sweep:
        return ast.Sweep(axes=tuple(parts[1:]), span=self._span(parts), doc=self._doc(parts[0]))

    def axis(self, parts: list[Part]) -> ast.Axis:
        name, _, low, *high = parts
        return ast.Axis(name=self._name(name), low=low, high=high[0] if high else None, span=self._span(parts))

    # --- components and replication

    def component(self, parts: list[Part]) -> ast.Component:
        keyword, name, *formals, (body, end) = parts
        return ast.Component(
            name=self._name(name),
            formals=formals[0] if formals else (),
            body=body,
            span=self._between(keyword, end),
            doc=self._doc(keyword),
        )

    def formals(self, parts: list[Part]) -> tuple[ast.Formal, ...]:
        return tuple(parts)

    def formal(self, parts: list[Part]) -> ast.Formal:
        name, kind, *rest = parts
        default = rest[0][1] if rest else None
        return ast.Formal(name=self._name(name), type=kind, default=default, span=self._ends(parts))

    def kind(self, parts: list[Part]) -> ast.Expr:
        return self._name(parts[0]) if isinstance(parts[0], Token) else parts[0]

    def block(self, parts: list[Part]) -> tuple[tuple[ast.Statement, ...], Token]:
        return tuple(parts[1:-1]), parts[-1]

    def use(self, parts: list[Part]) -> ast.Use:
        keyword, *names = [p for p in parts if not isinstance(p, tuple)]
        *component, declared = names
        name, index = self._declared(declared)
        given = parts[-1] if isinstance(parts[-1], tuple) else ()
        return ast.Use(
            library=self._name(component[0]) if len(component) == 2 else None,
            component=self._name(component[-1]),
            name=name,
            index=index,
            arguments=given,
            span=self._ends(parts),
            doc=self._doc(keyword),
        )

    def imported(self, parts: list[Part]) -> ast.Import:
        keyword, file, _, name = parts
        text = ast.Text(str(file)[1:-1], self._span([file]))
        return ast.Import(file=text, name=self._name(name), span=self._span(parts), doc=self._doc(keyword))

    def loop(self, parts: list[Part]) -> ast.For:
        keyword, each, (body, end) = parts
        return ast.For(range=each, body=body, span=self._between(keyword, end), doc=self._doc(keyword))

    def branch(self, parts: list[Part]) -> ast.If:
        keyword, test, (then, end), *rest = parts
        otherwise: tuple[ast.Statement, ...] = ()
        if rest and isinstance(rest[1], ast.If):
            otherwise, end = (replace(rest[1], doc=""),), rest[1]
        elif rest:
            otherwise, end = rest[1]
        return ast.If(test=test, then=then, otherwise=otherwise, span=self._between(keyword, end), doc=self._doc(keyword))

    def declared(self, parts: list[Part]) -> _Declared:
        name, (index, end) = parts
        return _Declared(self._name(name), index, self._between(name, end))

    def index(self, parts: list[Part]) -> tuple[ast.Index, Token]:
        return tuple(parts[:-1]), parts[-1]

    def range(self, parts: list[Part]) -> ast.Range:
        variable, _, low, high = parts
        return ast.Range(self._name(variable), low, high, self._span(parts))

    def ref(self, parts: list[Part]) -> ast.Name:
        first, last = parts[0], parts[-1]
        if isinstance(first, ast.Name) and len(parts) == 1:
            return first
        steps = tuple(p if isinstance(p, ast.Step) else ast.Step(p.text, (), p.span) for p in parts)
        span = self._between(first, last)
        return ast.Name("".join(span.text.split()), span, path=steps)

    def step(self, parts: list[Part]) -> ast.Name | ast.Step:
        if len(parts) == 1:
            return self._name(parts[0])
        name, *indices, end = parts
        return ast.Step(self._name(name).text, tuple(indices), self._between(name, end))

    def star(self, parts: list[Part]) -> ast.Star:
        return ast.Star(self._span(parts))

    def _declared(self, part: Part) -> tuple[ast.Name, ast.Index]:
        return (self._name(part), ()) if isinstance(part, Token) else (part.name, part.index)

    # --- transitions

    def timed(self, parts: list[Part]) -> ast.Transition:
        keyword, name, inputs, outputs, (law, over), *clauses = parts
        return self._transition(keyword, name, inputs + outputs, law, over, clauses)

    def join(self, parts: list[Part]) -> ast.Join:
        keyword, name, inputs, outputs, *clauses = parts
        arcs = inputs + outputs
        last = max(self._end(p) for p in (name, *arcs, *clauses))
        span = Span(self.source, self._start(keyword), last)
        return ast.Join(transition=name, arcs=arcs, clauses=tuple(clauses), span=span, doc=self._doc(keyword))

    def immediate(self, parts: list[Part]) -> ast.Transition:
        keyword, name, inputs, outputs, *clauses = parts
        return self._transition(keyword, name, inputs + outputs, None, (), clauses)

    def _transition(
        self,
        keyword: Token,
        declared: Part,
        arcs: tuple[ast.ArcItem, ...],
        law: ast.Expr | None,
        over: tuple[ast.Name, ...],
        clauses: list[ast.Clause],
    ) -> ast.Transition:
        name, index = self._declared(declared)
        last = max([self._end(p) for p in (declared, *arcs, law, *over, *clauses) if p is not None])
        assert keyword.start_pos is not None
        return ast.Transition(
            name=name,
            index=index,
            arcs=arcs,
            law=law,
            over=over,
            clauses=tuple(clauses),
            span=Span(self.source, keyword.start_pos, last),
            doc=self._doc(keyword),
        )

    def inputs(self, parts: list[Part]) -> tuple[ast.ArcItem, ...]:
        return tuple(parts)

    outputs = inputs

    def weighted(self, parts: list[Part]) -> tuple[tuple[ast.Expr, ...], ast.Name]:
        return tuple(p for p in parts[:-1] if not isinstance(p, Token)), parts[-1]

    def input(self, parts: list[Part]) -> ast.ArcItem:
        return self._arc(ArcKind.INPUT, parts[0])

    def output(self, parts: list[Part]) -> ast.ArcItem:
        return self._arc(ArcKind.OUTPUT, parts[0])

    def test(self, parts: list[Part]) -> ast.ArcItem:
        return self._arc(ArcKind.TEST, parts[0])

    def inhibitor(self, parts: list[Part]) -> ast.ArcItem:
        return self._arc(ArcKind.INHIBITOR, parts[0])

    def flush(self, parts: list[Part]) -> ast.ArcItem:
        return ast.ArcItem(kind=ArcKind.FLUSH, factors=(), place=parts[1], span=self._span(parts))

    def _arc(self, kind: ArcKind, part: tuple[tuple[ast.Expr, ...], ast.Name]) -> ast.ArcItem:
        factors, place = part
        start = self._opening(self._start(factors[0] if factors else place))
        return ast.ArcItem(kind=kind, factors=factors, place=place, span=Span(self.source, start, self._end(place)))

    def _opening(self, start: int) -> int:
        """Where the parentheses before an offset open, since they leave no node."""
        at = start
        while at > 0 and (self.source.text[at - 1].isspace() or self.source.text[at - 1] == "("):
            at -= 1
            start = at if self.source.text[at] == "(" else start
        return start

    def law(self, parts: list[Part]) -> tuple[ast.Expr, tuple[ast.Name, ...]]:
        return parts[0], parts[1] if len(parts) > 1 else ()

    def over(self, parts: list[Part]) -> tuple[ast.Name, ...]:
        names: tuple[ast.Name, ...] = parts[1]
        return names

    def names(self, parts: list[Part]) -> tuple[ast.Name, ...]:
        return tuple(parts)

    def _clause(self, parts: list[Part]) -> ast.Clause:
        return ast.Clause(word=str(parts[0]), value=parts[1], span=self._span(parts))

    when = servers = speed = scaled = priority = weight = share = cap = latency = _clause

    def servers_infinite(self, parts: list[Part]) -> ast.Clause:
        return ast.Clause(word="servers", span=self._span(parts))

    def memory(self, parts: list[Part]) -> ast.Clause:
        return ast.Clause(word="memory", names=(self._name(parts[1]),), span=self._span(parts))

    def resets(self, parts: list[Part]) -> ast.Clause:
        return ast.Clause(word="resets", names=parts[1], span=self._between(parts[0], parts[1][-1]))

    # --- expressions

    def disjunction(self, parts: list[Part]) -> ast.Expr:
        return self._chain(parts)

    conjunction = sum = product = disjunction

    def comparison(self, parts: list[Part]) -> ast.Expr:
        left, op, right = parts
        return ast.Binary(BinaryOp(op), left, right, self._between(left, right))

    def power(self, parts: list[Part]) -> ast.Expr:
        return ast.Binary(BinaryOp.POW, parts[0], parts[1], self._span(parts))

    def negation(self, parts: list[Part]) -> ast.Expr:
        return ast.Unary(UnaryOp.NOT, parts[1], self._span(parts))

    def sign(self, parts: list[Part]) -> ast.Expr:
        sign, operand = parts
        node: ast.Expr = operand
        return node if sign == "+" else ast.Unary(UnaryOp.NEGATE, node, self._span(parts))

    def _chain(self, parts: list[Part]) -> ast.Expr:
        """``a op b op c …``, to the left; long chains of one associative operation balanced, so that they are not deep."""
        if len(parts) > 2 * LONG_CHAIN:
            operators = {str(p) for p in parts[1::2]}
            if operators <= {"+", "-"}:
                signed = [self._signed(op, p) for op, p in zip(["+", *parts[1::2]], parts[::2], strict=True)]
                return self._balanced(BinaryOp.ADD, signed)
            if len(operators) == 1 and operators <= {"*", "and", "or"}:
                return self._balanced(BinaryOp(operators.pop()), parts[::2])
        node: ast.Expr = parts[0]
        for op, right in zip(parts[1::2], parts[2::2], strict=True):
            node = ast.Binary(BinaryOp(op), node, right, self._between(node, right))
        return node

    def _signed(self, op: str, node: ast.Expr) -> ast.Expr:
        return node if op == "+" else ast.Unary(UnaryOp.NEGATE, node, node.span)

    def _balanced(self, op: BinaryOp, nodes: Sequence[ast.Expr]) -> ast.Expr:
        if len(nodes) == 1:
            return nodes[0]
        half = len(nodes) // 2
        left, right = self._balanced(op, nodes[:half]), self._balanced(op, nodes[half:])
        return ast.Binary(op, left, right, left.span.to(right.span))

    def number(self, parts: list[Part]) -> ast.Expr:
        return ast.Number(self._value(parts[0]), self._span(parts))

    def quantity(self, parts: list[Part]) -> ast.Expr:
        return ast.Quantity(self._value(parts[0]), self._name(parts[1]), self._span(parts))

    def name(self, parts: list[Part]) -> ast.Expr:
        return self._name(parts[0]) if isinstance(parts[0], Token) else parts[0]

    def marking(self, parts: list[Part]) -> ast.Expr:
        name = parts[0]
        return ast.Marking(name, Span(self.source, name.span.start - 1, name.span.end))

    def true(self, parts: list[Part]) -> ast.Expr:
        return ast.Truth(True, self._span(parts))

    def false(self, parts: list[Part]) -> ast.Expr:
        return ast.Truth(False, self._span(parts))

    def text(self, parts: list[Part]) -> ast.Expr:
        return ast.Text(str(parts[0])[1:-1], self._span(parts))

    def sequence(self, parts: list[Part]) -> ast.Expr:
        *items, bracket = parts
        first = self._start(items[0]) if items else self._start(bracket)
        return ast.ListOf(tuple(items), Span(self.source, self.source.text.rindex("[", 0, first), self._end(bracket)))

    def conditional(self, parts: list[Part]) -> ast.Expr:
        word, test, then, otherwise, end = parts
        return ast.Conditional(test, then, otherwise, self._between(word, end))

    def call(self, parts: list[Part]) -> ast.Expr:
        function, arguments, end = parts
        return ast.Call(self._name(function), arguments, self._between(function, end))

    def reduction(self, parts: list[Part]) -> ast.Expr:
        function, body, _, *ranges, end = parts
        return ast.Reduction(self._name(function), body, tuple(ranges), self._between(function, end))

    measured = call

    def at(self, parts: list[Part]) -> ast.Expr:
        measure, _, end = parts
        return ast.Timed(measure, None, end, False, self._span(parts))

    def over_time(self, parts: list[Part]) -> ast.Expr:
        measure, _, start, end = parts
        return ast.Timed(measure, start, end, False, self._span(parts))

    def total_over(self, parts: list[Part]) -> ast.Expr:
        measure, _, _, start, end = parts
        return ast.Timed(measure, start, end, True, self._span(parts))

    def until(self, parts: list[Part]) -> ast.Argument:
        _, condition, *bound = parts
        span = self._span(parts)
        if bound:
            return ast.Argument(ast.Until(condition, BinaryOp(bound[0]), bound[1], span), span)
        match condition:  # (#a > 1 and #b > 1) <= 5 s
            case ast.Binary(op=op, left=left, right=right) if op in COMPARISONS and is_condition(left):
                return ast.Argument(ast.Until(left, op, right, span), span)
        return ast.Argument(ast.Until(condition, None, None, span), span)

    def from_to(self, parts: list[Part]) -> ast.Argument:
        span = self._span(parts)
        first, second, *bound = parts[1], *parts[3:]
        return ast.Argument(ast.FromTo(first, second, BinaryOp(bound[0]) if bound else None, bound[1] if bound else None, span), span)

    def arguments(self, parts: list[Part]) -> tuple[ast.Argument, ...]:
        return tuple(parts)

    def positional(self, parts: list[Part]) -> ast.Argument:
        return ast.Argument(parts[0], self._span(parts))

    def named(self, parts: list[Part]) -> ast.Argument:
        return ast.Argument(parts[1], self._span(parts), name=self._name(parts[0]))

    def weighed(self, parts: list[Part]) -> ast.Argument:
        return ast.Argument(parts[1], self._span(parts), weight=parts[0])

    def given(self, parts: list[Part]) -> ast.Argument:
        return ast.Argument(parts[0], self._span(parts), given=parts[1])

    # --- parts

    def _name(self, token: Token) -> ast.Name:
        text = str(token)
        return ast.Name(text.strip("`"), self._span([token]), text.startswith("`"))

    def _value(self, token: Token) -> Fraction:
        mantissa, _, exponent = token.lower().partition("e")
        if len(mantissa) <= MAX_DIGITS and (not exponent or (len(exponent) <= 5 and abs(int(exponent)) <= MAX_DIGITS)):
            return Fraction(str(token))
        self.problems.append(
            Diagnostic(
                code="E0102",
                message="this number is out of range",
                span=self._span([token]),
                help="numbers have at most 400 digits and exponents from -400 to 400",
            )
        )
        return Fraction(1)

    def _doc(self, keyword: Token) -> str:
        assert keyword.start_pos is not None
        return _doc_before(self.source.text, keyword.start_pos)

    def _span(self, parts: Sequence[Part]) -> Span:
        return self._between(parts[0], parts[-1])

    def _between(self, first: Part, last: Part) -> Span:
        return Span(self.source, self._start(first), self._end(last))

    def _closed(self, span: Span) -> Span:
        """The span with the closing parentheses that follow it: they leave no node."""
        end, text = span.end, self.source.text
        for _ in range(span.text.count("(") - span.text.count(")")):
            ahead = end
            while ahead < len(text) and text[ahead].isspace():
                ahead += 1
            if text[ahead : ahead + 1] != ")":
                break
            end = ahead + 1
        return Span(self.source, span.start, end)

    def _ends(self, parts: Sequence[Part]) -> Span:
        """The span of parts that need not be nodes: tuples of them too."""
        return Span(self.source, self._start(parts[0]), max(_ends_of(parts, self._end)))

    def _start(self, part: Part) -> int:
        return int(part.start_pos or 0) if isinstance(part, Token) else int(part.span.start)

    def _end(self, part: Part) -> int:
        return int(part.end_pos or 0) if isinstance(part, Token) else int(part.span.end)


def is_condition(node: ast.Expr) -> bool:
    """Is this a condition by its form?"""
    match node:
        case ast.Truth() | ast.Unary(op=UnaryOp.NOT):
            return True
        case ast.Binary(op=op):
            return op in COMPARISONS or op in LOGICAL
        case ast.Reduction(function=f):
            return f.text in ("all", "any")
        case ast.Conditional(then=a, otherwise=b):
            return is_condition(a) and is_condition(b)
    return False


def _ends_of(parts: Sequence[Part], end: Callable[[Part], int]) -> list[int]:
    found: list[int] = []
    for part in parts:
        if isinstance(part, tuple):
            found.extend(_ends_of(part, end))
        elif isinstance(part, Token) or hasattr(part, "span"):
            found.append(end(part))
    return found
