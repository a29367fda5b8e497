"""Syntax trees that hypothesis makes: every kind of node that a text can hold."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from spn.expr.nodes import COMPARISONS, BinaryOp, UnaryOp
from spn.lang import ast
from spn.lang.parse import is_condition
from spn.lang.words import CLAIMS, PLAIN_CLAIMS
from spn.net.model import ArcKind
from spn.source import Source, Span

NOWHERE = Source("made", "")
SPAN = Span(NOWHERE, 0, 0)
BARE = ("a", "b2", "größe", "time", "mem_1", "worker", "E2", "live")
QUOTED = ("worker 1", "in", "t.1", "//", "/* x", "é", "{", "1", "P", "param")
UNITS = ("s", "ms", "Gbit", "MiB", "%")

names = st.one_of(
    st.sampled_from(BARE).map(lambda t: ast.Name(t, SPAN)), st.sampled_from(QUOTED).map(lambda t: ast.Name(t, SPAN, in_quotes=True))
)
numbers = st.builds(lambda n, d: ast.Number(Fraction(n, 10**d), SPAN), st.integers(0, 10**9), st.integers(0, 12))
quantities = st.builds(lambda n, u: ast.Quantity(n.value, ast.Name(u, SPAN), SPAN), numbers, st.sampled_from(UNITS))
texts = st.text(st.characters(exclude_characters='"\n\r', exclude_categories=["Cs", "Cc"]), max_size=8).map(lambda t: ast.Text(t, SPAN))


def path(steps: list[tuple[ast.Name, list[Any]]]) -> ast.Name:
    """A name of several steps; its text is as written, without spaces."""
    from spn.lang.write import write

    found = tuple(ast.Step(n.text, tuple(i), SPAN) for n, i in steps)
    if len(found) == 1 and not found[0].indices:
        return steps[0][0]
    named = ast.Name("", SPAN, path=found)
    return ast.Name("".join(write(named).split()), SPAN, path=found)


@st.composite
def _paths(draw: Any, expressions: st.SearchStrategy[Any]) -> ast.Name:
    indices = st.lists(st.one_of(expressions, st.just(ast.Star(SPAN))), max_size=2)
    found = path(draw(st.lists(st.tuples(st.sampled_from(BARE).map(lambda t: ast.Name(t, SPAN)), indices), min_size=1, max_size=3)))
    return found


def _deeper(below: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Expressions made of those below."""
    small = st.one_of(names, numbers)
    named = st.builds(lambda v, n: ast.Argument(v, SPAN, name=n), below, names)
    weighed = st.builds(lambda v, w: ast.Argument(v, SPAN, weight=w), below, below)
    given = st.builds(lambda v, t: ast.Argument(v, SPAN, given=t), below, _paths(small))
    until = st.builds(lambda c, o, b: ast.Until(c, o, b, SPAN), comparisons(below), st.just(BinaryOp.LE), below)
    waiting = st.one_of(
        until,
        below.filter(lambda c: not _bounds(c)).map(lambda c: ast.Until(c, None, None, SPAN)),
        st.builds(lambda a, b: ast.FromTo(a, b, None, None, SPAN), _paths(small), _paths(small)),
        st.builds(lambda a, b, x: ast.FromTo(a, b, BinaryOp.LE, x, SPAN), _paths(small), _paths(small), below),
    )
    asked = waiting.map(lambda w: ast.Argument(w, SPAN))
    arguments = st.lists(st.one_of(below.map(lambda v: ast.Argument(v, SPAN)), named, weighed, given, asked), max_size=3).map(tuple)
    plain_calls = st.builds(lambda f, a: ast.Call(f, a, SPAN), names, arguments)
    measured = st.builds(lambda f, a: ast.Call(ast.Name(f, SPAN), a, SPAN), st.sampled_from(("P", "E", "throughput")), arguments)
    ranges = st.lists(st.builds(lambda v, a, b: ast.Range(v, a, b, SPAN), names, below, below), min_size=1, max_size=2).map(tuple)
    return st.one_of(
        st.builds(lambda o, x: ast.Unary(o, x, SPAN), st.sampled_from(UnaryOp), below),
        st.builds(lambda o, a, b: ast.Binary(o, a, b, SPAN), st.sampled_from(BinaryOp), below, below),
        st.builds(lambda c, a, b: ast.Conditional(c, a, b, SPAN), below, below, below),
        st.lists(below, max_size=3).map(lambda items: ast.ListOf(tuple(items), SPAN)),
        plain_calls,
        measured,
        st.builds(lambda f, b, r: ast.Reduction(f, b, r, SPAN), names, below, ranges),
        st.builds(
            lambda m, a, b, total: ast.Timed(m, a, b, total and a is not None, SPAN),
            measured,
            st.one_of(st.none(), below),
            below,
            st.booleans(),
        ),
        _paths(below),
        _paths(small).map(lambda p: ast.Marking(p, SPAN)),
    )


def _bounds(e: ast.Expr) -> bool:
    """Does this read as a condition and a bound on its time, were it to follow ``until``?"""
    return isinstance(e, ast.Binary) and e.op in COMPARISONS and is_condition(e.left)


def comparisons(below: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(lambda o, a, b: ast.Binary(o, a, b, SPAN), st.sampled_from(sorted(COMPARISONS)), below, below)


expressions = st.recursive(
    st.one_of(names, numbers, quantities, texts, st.booleans().map(lambda v: ast.Truth(v, SPAN))), _deeper, max_leaves=8
)
few = st.recursive(st.one_of(names, numbers, quantities), _deeper, max_leaves=3)
docs = st.sampled_from(["", "", "what it is", "two\nlines", "a\n\nb", "// and /* more"])
indices = st.lists(st.one_of(few, st.builds(lambda v, a, b: ast.Range(v, a, b, SPAN), names, few, few)), max_size=2).map(tuple)
optional = st.one_of(st.none(), few)


def made(node: type, /, **parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(node, span=st.just(SPAN), **parts)


inputs = made(
    ast.ArcItem,
    kind=st.sampled_from([k for k in ArcKind if k not in (ArcKind.FLUSH, ArcKind.OUTPUT)]),
    factors=st.lists(few, max_size=2).map(tuple),
    place=_paths(few),
)
flushes = made(ast.ArcItem, kind=st.just(ArcKind.FLUSH), factors=st.just(()), place=_paths(few))
outputs = made(ast.ArcItem, kind=st.just(ArcKind.OUTPUT), factors=st.lists(few, max_size=2).map(tuple), place=_paths(few))
arcs = st.tuples(st.lists(st.one_of(inputs, flushes), max_size=3), st.lists(outputs, max_size=2)).map(lambda t: (*t[0], *t[1]))
targets = st.lists(_paths(few), min_size=1, max_size=2).map(tuple)
choices = st.one_of(
    made(ast.Clause, word=st.sampled_from(["when", "priority", "weight"]), value=few),
    made(ast.Clause, word=st.just("resets"), names=targets),
)
not_inf = few.filter(lambda e: not (isinstance(e, ast.Name) and e.text == "inf"))
clauses = st.one_of(
    choices,
    made(ast.Clause, word=st.just("servers"), value=st.one_of(st.none(), not_inf)),
    made(ast.Clause, word=st.just("memory"), names=names.map(lambda n: (n,))),
    made(ast.Clause, word=st.sampled_from(["speed", "scaled", "share", "cap", "latency"]), value=few),
)
places = made(ast.Place, name=names, index=indices, initial=optional, capacity=optional)
settings_ = st.lists(made(ast.Setting, name=names, value=few), max_size=2).map(tuple)
simple = st.one_of(
    made(ast.UnitsNone),
    st.builds(
        lambda doc, name, type, default, low, high: ast.Param(
            span=SPAN, doc=doc, name=name, type=type, default=default, low=low if high else None, high=high if low else None
        ),
        docs, names, few, optional, optional, optional,
    ),
    made(ast.Dist, doc=docs, name=names, law=expressions),
    made(
        ast.Link, doc=docs, name=names, index=indices, arguments=st.lists(made(ast.Argument, value=few, name=names), max_size=2).map(tuple)
    ),
    made(ast.Places, doc=docs, items=st.lists(places, min_size=1, max_size=3).map(tuple)),
    made(
        ast.Transition, doc=docs, name=names, index=indices, arcs=arcs, law=expressions, over=st.one_of(st.just(()), targets),
        clauses=st.lists(clauses, max_size=4).map(tuple),
    ),
    made(
        ast.Transition, doc=docs, name=names, index=indices, arcs=arcs, law=st.none(), over=st.just(()),
        clauses=st.lists(choices, max_size=3).map(tuple),
    ),
    made(ast.Join, doc=docs, transition=_paths(few), arcs=arcs, clauses=st.lists(clauses, max_size=2).map(tuple)),
    made(ast.Measure, doc=docs, name=names, unit=st.one_of(optional, st.just(ast.Name("%", SPAN))), body=expressions),
    made(
        ast.Expect, doc=docs, left=expressions, op=st.sampled_from(sorted(COMPARISONS)), right=few, tolerance=few, absolute=st.booleans(),
        where=settings_,
    ),
    made(
        ast.Expect, doc=docs, left=few, op=st.sampled_from(sorted(COMPARISONS)), right=few, tolerance=st.none(), absolute=st.just(False),
        where=settings_,
    ),
    made(ast.Property, doc=docs, name=names, claim=st.sampled_from(["always", "invariant"]).map(lambda w: ast.Name(w, SPAN)),
         arguments=expressions.map(lambda e: (e,))),
    made(ast.Property, doc=docs, name=names, claim=st.sampled_from(PLAIN_CLAIMS).map(lambda w: ast.Name(w, SPAN)), arguments=st.just(())),
    made(
        ast.Property, doc=docs, name=names, claim=st.sampled_from(CLAIMS[-2:]).map(lambda w: ast.Name(w, SPAN)),
        arguments=st.lists(few, min_size=1, max_size=2).map(tuple), called=st.just(True),
    ),
    made(ast.Sweep, doc=docs, axes=st.lists(made(ast.Axis, name=names, low=few, high=optional), min_size=1, max_size=2).map(tuple)),
    made(
        ast.Use, doc=docs, library=st.one_of(st.none(), names), component=names, name=names, index=indices,
        arguments=st.lists(few.map(lambda v: ast.Argument(v, SPAN)), max_size=2).map(tuple),
    ),
    made(ast.Import, doc=docs, file=texts, name=names),
)  # fmt: skip
kinds = st.one_of(few, st.sampled_from(["dist", "place", "link"]).map(lambda w: ast.Name(w, SPAN)))
formals = st.lists(made(ast.Formal, name=names, type=kinds, default=optional), max_size=2).map(tuple)


def _nested(below: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    body = st.lists(below, max_size=3).map(tuple)
    return st.one_of(
        made(ast.Component, doc=docs, name=names, formals=formals, body=body),
        made(ast.For, doc=docs, range=st.builds(lambda v, a, b: ast.Range(v, a, b, SPAN), names, few, few), body=body),
        made(ast.If, doc=docs, test=few, then=body, otherwise=body),
    )


statements = st.recursive(simple, _nested, max_leaves=5)
files = st.builds(
    lambda found, doc: ast.File(source=NOWHERE, statements=tuple(found), doc=doc), st.lists(statements, max_size=6), docs
)  # fmt: skip
