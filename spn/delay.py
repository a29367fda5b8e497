"""Times of tokens from one transition to another: which are told, and means as ordinary long-run averages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from spn.errors import Diagnostic
from spn.expr.nodes import Binary, Call, Conditional, Node, Unary
from spn.measure import Average, Delay, Throughput, atoms
from spn.model import Model
from spn.net.model import Net
from spn.structural.way import NoWay, way

LITTLE = "where every token takes the same way, the sum of sojourn(p) over the places between is its mean"


def refusals(model: Model) -> Iterator[Diagnostic]:
    """The times of tokens that no method tells, each with its line and the reason."""
    for delay in dict.fromkeys(a for m in model.measures for a in atoms(m.body) if isinstance(a, Delay)):
        try:
            found = way(model.net, delay.first, delay.second)
        except NoWay as why:
            yield Diagnostic(
                code="E0621", message=f"the time from {delay.first} to {delay.second} is not told: {why}", span=delay.span, help=LITTLE
            )
            continue
        if found.overtaking and not is_mean(delay):
            yield Diagnostic(
                code="E0626",
                message=f"how the time from {delay.first} to {delay.second} is distributed is not told: {found.overtaking}",
                span=delay.span,
                help=f"its mean is known whatever the order: E(time from {delay.first} to {delay.second})",
            )


def is_mean(delay: Delay) -> bool:
    """Whether it asks for the mean, not for a share or a quantile."""
    return delay.quantile is None and delay.within is None


def with_means(model: Model) -> Model:
    """The model with every mean time of tokens whose way is told written as the mean number on the way over the throughput of its beginning
    (Little's law, which holds whatever the order of the tokens)."""
    if not any(isinstance(a, Delay) and is_mean(a) for m in model.measures for a in atoms(m.body)):
        return model
    return replace(model, measures=tuple(replace(m, body=_rewritten(m.body, model.net)) for m in model.measures))


def _rewritten(node: Node, net: Net) -> Node:
    match node:
        case Delay(first=first, second=second) if is_mean(node):
            try:
                found = way(net, first, second)
            except NoWay:
                return node
            return Average(found.held, span=node.span) / Throughput(first, span=node.span)
        case Unary(operand=x):
            return replace(node, operand=_rewritten(x, net))
        case Binary(left=a, right=b):
            return replace(node, left=_rewritten(a, net), right=_rewritten(b, net))
        case Conditional(test=c, then=a, otherwise=b):
            return replace(node, test=_rewritten(c, net), then=_rewritten(a, net), otherwise=_rewritten(b, net))
        case Call(arguments=arguments):
            return replace(node, arguments=tuple(_rewritten(x, net) for x in arguments))
    return node
