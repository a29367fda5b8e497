"""Rebuilding expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from spn.expr.nodes import Binary, Call, Conditional, Node, Tokens, Unary


def rebuilt(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node with ``change`` applied to its children."""
    match node:
        case Unary(operand=x):
            return replace(node, operand=change(x))
        case Binary(left=a, right=b):
            return replace(node, left=change(a), right=change(b))
        case Conditional(test=c, then=a, otherwise=b):
            return replace(node, test=change(c), then=change(a), otherwise=change(b))
        case Call(arguments=arguments):
            return replace(node, arguments=tuple(change(a) for a in arguments))
    return node


def mapped(node: Node, leaf: Callable[[Tokens], Node]) -> Node:
    """The tree with ``leaf`` applied to every marking of a place."""
    return leaf(node) if isinstance(node, Tokens) else rebuilt(node, lambda c: mapped(c, leaf))
