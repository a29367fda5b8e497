"""Integrals of the primitives of measures along a reference trajectory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from spn.errors import SemanticsError, refuse
from spn.expr.evaluate import Undefined
from spn.expr.nodes import Node
from spn.measure import FiringRate, LinkRate, Primitive, RunningClocks, TimeAverage
from spn.net import semantics
from spn.net.model import Marking
from spn.net.semantics import Rules
from spn.sim.engine import Floats


def measured(r: Rules, node: Node, m: Marking) -> float:
    """A measured expression in a marking; a SemanticsError where it is undefined."""
    try:
        return float(semantics.value(r, node, m))
    except Undefined as error:
        raise refuse(
            SemanticsError,
            "E0702",
            f"a measure reads an expression that is undefined ({error}) in marking {semantics.marking_text(r.net, m)}",
            span=getattr(node, "span", None),
            help="guard the expression with if(...)",
        ) from None


class Meter:
    """Accumulates, for each primitive, its integral over time or its sum over firings."""

    def __init__(self, rules: Rules, primitives: Sequence[Primitive]) -> None:
        self.rules = rules
        self.primitives = tuple(primitives)
        self.sums = [0.0] * len(self.primitives)
        self.rates = [0.0] * len(self.primitives)
        names = {t.name: i for i, t in enumerate(rules.net.transitions)}
        self._rewards: dict[int, list[tuple[int, Node]]] = {}
        for i, p in enumerate(self.primitives):
            if isinstance(p, FiringRate):
                self._rewards.setdefault(names[p.transition], []).append((i, p.value))
        self._known: dict[tuple[int, Marking], float] = {}

    def _read(self, i: int, node: Node, m: Marking) -> float:
        key = (i, m)
        if key not in self._known:
            self._known[key] = measured(self.rules, node, m)
        return self._known[key]

    def changed(self, m: Marking, running: Mapping[str, int], used: Mapping[str, float]) -> None:
        """The state has changed: read the rates at which the integrals grow."""
        for i, p in enumerate(self.primitives):
            match p:
                case TimeAverage(value=v):
                    self.rates[i] = self._read(i, v, m)
                case RunningClocks(transition=t):
                    self.rates[i] = float(running[t])
                case LinkRate(link=name):
                    self.rates[i] = used[name]

    def pass_time(self, seconds: float) -> None:
        for i, rate in enumerate(self.rates):
            self.sums[i] += rate * seconds

    def fired(self, t: int, before: Marking) -> None:
        for i, node in self._rewards.get(t, ()):
            self.sums[i] += self._read(i, node, before)

    def totals(self) -> Floats:
        return np.array(self.sums)

    def held(self) -> dict[str, list[float]]:
        """The sums and what they grow by, for a snapshot."""
        return {"sums": list(self.sums), "rates": list(self.rates)}

    def hold(self, held: Mapping[str, Sequence[float]]) -> None:
        """Go on from what was :meth:`held`."""
        self.sums, self.rates = list(held["sums"]), list(held["rates"])
