"""A net as model text, for nets that come from no text: built in Python, or read from another format."""

from __future__ import annotations

from functools import singledispatch

from spn.dist.families import Deterministic, Empirical, Gamma, Lognormal, Mixture, Scaled, Shifted
from spn.dist.law import Law
from spn.expr import nodes
from spn.expr.dims import NUMBER
from spn.expr.nodes import ONE, Exact
from spn.lang import ast
from spn.lang.parse import parse_constant
from spn.lang.write import decimal, written
from spn.net.model import Arc, ArcKind, Link, Memory, Net, Place, Servers, Timed, Transition
from spn.source import Source, Span

_NOWHERE = Source("net", "")
_SPAN = Span(_NOWHERE, 0, 0)


def net_text(net: Net) -> str:
    """The canonical text of a net, in base units under ``units none``. It loads to an equal net, provided that the arcs of every transition
    list outputs last, as the language does."""
    statements: list[ast.Statement] = [ast.UnitsNone(span=_SPAN)]
    statements += [_link(link) for link in net.links]
    statements += [_place(p) for p in net.places]
    statements += [_transition(t) for t in net.transitions]
    return written(ast.File(source=Source(net.name or "net", ""), statements=tuple(statements)))


def _name(text: str) -> ast.Name:
    return ast.Name(text, _SPAN)


def _value(value: Exact) -> ast.Expr:
    return ast.Value(value, NUMBER, _SPAN)


def _link(link: Link) -> ast.Link:
    capacity = ast.Argument(_value(link.capacity), _SPAN, name=_name("capacity"))
    return ast.Link(name=_name(link.name), arguments=(capacity,), span=_SPAN, doc=link.doc)


def _place(place: Place) -> ast.Places:
    item = ast.Place(
        name=_name(place.name),
        initial=_value(nodes.exact(place.initial)) if place.initial else None,
        capacity=None if place.capacity is None else _value(nodes.exact(place.capacity)),
        span=_SPAN,
    )
    return ast.Places(items=(item,), span=_SPAN, doc=place.doc)


def _transition(t: Transition) -> ast.Transition:
    law = parse_constant(Source("law", law_text(t.law))) if isinstance(t, Timed) else None
    over = tuple(_name(x) for x in t.transfer.links) if isinstance(t, Timed) and t.transfer else ()
    clauses = [*_common(t), *(_of_timed(t) if isinstance(t, Timed) else [])]
    arcs = tuple(_arc(a) for a in t.arcs)
    return ast.Transition(name=_name(t.name), arcs=arcs, law=law, over=over, clauses=tuple(clauses), span=_SPAN, doc=t.doc)


def _arc(arc: Arc) -> ast.ArcItem:
    factors = () if arc.multiplicity == ONE or arc.kind is ArcKind.FLUSH else (expression(arc.multiplicity),)
    return ast.ArcItem(kind=arc.kind, factors=factors, place=_name(arc.place), span=_SPAN)


def _clause(word: str, value: ast.Expr | None = None, names: tuple[str, ...] = ()) -> ast.Clause:
    return ast.Clause(word=word, value=value, names=tuple(_name(n) for n in names), span=_SPAN)


def _common(t: Transition) -> list[ast.Clause]:
    found = []
    if t.guard is not None:
        found.append(_clause("when", _condition(t.guard)))
    if t.priority != 1:
        found.append(_clause("priority", _value(nodes.exact(t.priority))))
    if t.weight != ONE:
        found.append(_clause("weight", expression(t.weight)))
    if t.resets:
        found.append(_clause("resets", names=t.resets))
    return found


def _of_timed(t: Timed) -> list[ast.Clause]:
    found = [_servers(t.servers)] if t.transfer is None or t.servers != "inf" else []
    if t.memory is not Memory.RESTART:
        found.append(_clause("memory", names=(t.memory.value,)))
    found += [_clause(word, expression(x)) for word, x in (("speed", t.speed), ("scaled", t.scale)) if x != ONE]
    if t.transfer is not None:
        if t.transfer.share != ONE:
            found.append(_clause("share", expression(t.transfer.share)))
        found += [_clause("cap", _value(t.transfer.cap))] if t.transfer.cap is not None else []
        found += [_clause("latency", _value(t.transfer.latency))] if t.transfer.latency else []
    return found


def _servers(servers: Servers) -> ast.Clause:
    return _clause("servers", None if servers == "inf" else _value(nodes.exact(servers)))


# --- expressions ----------------------------------------------------------------------------------------------------------------


def expression(node: nodes.Node) -> ast.Expr:
    """A marking expression as a syntax tree."""
    match node:
        case nodes.Number(value=value):
            return _value(value)
        case nodes.Tokens(place=place):
            return ast.Marking(_name(place), _SPAN)
        case nodes.Unary(op=nodes.UnaryOp.NOT, operand=x):
            return ast.Unary(nodes.UnaryOp.NOT, _condition(x), _SPAN)
        case nodes.Unary(op=op, operand=x):
            return ast.Unary(op, expression(x), _SPAN)
        case nodes.Binary(op=op, left=a, right=b) if op in nodes.LOGICAL:
            return ast.Binary(op, _condition(a), _condition(b), _SPAN)
        case nodes.Binary(op=op, left=a, right=b):
            return ast.Binary(op, expression(a), expression(b), _SPAN)
        case nodes.Conditional(test=c, then=a, otherwise=b):
            return ast.Conditional(_condition(c), expression(a), expression(b), _SPAN)
        case nodes.Call(function=f, arguments=arguments):
            return ast.Call(_name(f.value), tuple(ast.Argument(expression(a), _SPAN) for a in arguments), _SPAN)
    raise TypeError(f"not a marking expression: {node!r}")


def _condition(node: nodes.Node) -> ast.Expr:
    """A condition; the language takes no number for one, so a constant becomes true or false and other numbers are compared with 0."""
    if isinstance(node, nodes.Number):
        return ast.Truth(node.value != 0, _SPAN)
    if isinstance(node, nodes.Conditional):
        return ast.Conditional(_condition(node.test), _condition(node.then), _condition(node.otherwise), _SPAN)
    found = expression(node)
    conditions = nodes.COMPARISONS | nodes.LOGICAL
    if (isinstance(node, nodes.Binary) and node.op in conditions) or (isinstance(node, nodes.Unary) and node.op is nodes.UnaryOp.NOT):
        return found
    return ast.Binary(nodes.BinaryOp.NE, found, _value(nodes.exact(0)), _SPAN)


# --- laws -----------------------------------------------------------------------------------------------------------------------


@singledispatch
def law_text(law: Law) -> str:
    """A law without units, as text that reads back to the very same law."""
    return law.literal()


@law_text.register
def _(law: Gamma) -> str:
    return f"gamma(shape = {decimal(law.shape)}, scale = {decimal(law.scale)})"


@law_text.register
def _(law: Lognormal) -> str:
    return f"lognormal(mu = {decimal(law.mu)}, sigma = {decimal(law.sigma)})"


@law_text.register
def _(law: Deterministic) -> str:
    return f"det({decimal(law.value)})"


@law_text.register
def _(law: Empirical) -> str:
    same = len(set(law.weights)) == 1
    weights = "" if same else f", weights = [{', '.join(decimal(w) for w in law.weights)}]"
    return f"empirical([{', '.join(decimal(v) for v in law.values)}]{weights})"


@law_text.register
def _(law: Mixture) -> str:
    return f"mix({', '.join(f'{decimal(p)}: {law_text(part)}' for p, part in law.parts)})"


@law_text.register
def _(law: Scaled) -> str:
    return f"scale({law_text(law.law)}, {decimal(law.by)})"


@law_text.register
def _(law: Shifted) -> str:
    return f"shift({law_text(law.law)}, {decimal(law.by)})"
