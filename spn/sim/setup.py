"""What a run needs before its first event."""

from __future__ import annotations

from collections.abc import Sequence

from spn.compiled import CompiledNet, compile_net
from spn.expr.nodes import Node, constant
from spn.measure import FiringRate, Primitive, TimeAverage
from spn.net.model import Net


def expressions_of(primitives: Sequence[Primitive]) -> tuple[Node, ...]:
    """The expressions that the kernel reads: of time averages and of rewards other than 1, in the order of the primitives."""
    return tuple(p.value for p in primitives if isinstance(p, TimeAverage) or (isinstance(p, FiringRate) and constant(p.value) != 1))


def prepare(net: Net, primitives: Sequence[Primitive]) -> CompiledNet:
    """Compile a net together with the expressions of its measures."""
    return compile_net(net, expressions_of(primitives))
