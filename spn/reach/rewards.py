"""Rewards of the states of a large space, computed from the packed markings when they are read, and not kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from spn.compiled import compile_net
from spn.expr.nodes import ONE, Node, Tokens, constant
from spn.measure import FiringRate, LinkRate, Primitive, RunningClocks, TimeAverage
from spn.net.model import Immediate, transition_index
from spn.net.semantics import Rules
from spn.reach.packing import Markings
from spn.reach.space import Floats


class Rewards(Mapping[Primitive, Floats]):
    """The mean per second of each primitive in each state (n). ``law``: rate of each transition's exponential law per unit of its clock's
    rate, which firing rates need. Those of immediates are found together, and kept: every firing has to be followed for them. A link's rate
    is none of these: TypeError."""

    def __init__(self, r: Rules, markings: Markings, wanted: Sequence[Primitive], law: Floats | None = None) -> None:
        self.rules, self.markings, self.law = r, markings, law
        self.wanted = tuple(dict.fromkeys(wanted))
        self.index = transition_index(r.net)
        if any(isinstance(p, LinkRate) or (isinstance(p, FiringRate) and law is None) for p in self.wanted):
            raise TypeError("not a state reward")
        self._immediate: dict[FiringRate, Floats] = {}
        nodes = list(dict.fromkeys(v for p in self.wanted if (v := _expression(p)) is not None))
        self._compiled = compile_net(r.net, nodes)
        self._program = dict(zip(nodes, self._compiled.expressions, strict=True))

    def __len__(self) -> int:
        return len(self.wanted)

    def __iter__(self) -> Iterator[Primitive]:
        return iter(self.wanted)

    def __getitem__(self, p: Primitive) -> Floats:
        if p not in self.wanted:
            raise KeyError(p)
        match p:
            case TimeAverage(value=Tokens(place=name)):
                return self.markings.column(self.rules.places[name]).astype(np.float64)
            case TimeAverage(value=v) if (c := constant(v)) is not None:
                return np.full(len(self.markings), float(c))
            case FiringRate(transition=t) if isinstance(self.rules.net.transitions[self.index[t]], Immediate):
                if p not in self._immediate:
                    self._follow()
                return self._immediate[p]
        return self._each(p)

    def _each(self, p: Primitive) -> Floats:
        from spn.reach import kernels

        bench = self._bench()
        out = np.empty(len(self.markings))
        program = self._code(p)
        match p:
            case TimeAverage():
                kernels.expression_rewards(bench, program, 0, len(out), out)
            case FiringRate(transition=t):
                kernels.timed_rewards(bench, self.index[t], program, 0, 0, len(out), out)
            case RunningClocks(transition=t):
                kernels.timed_rewards(bench, self.index[t], 0, 1, 0, len(out), out)
        return out

    def _code(self, p: Primitive) -> int:
        """The program of the expression that a primitive reads, 0 for none."""
        node = _expression(p)
        return 0 if node is None else self._program[node]

    def _bench(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        from spn.reach import layout as at
        from spn.reach.compiled import Bench

        law = self.law if self.law is not None else np.zeros(max(1, len(self.rules.transitions)))
        self._held = Bench(self.rules, self._compiled, law, self.markings.fields, chain=True)
        self._held.hold(at.R_WORDS, self.markings.words)
        self._held.set(at.R_COUNT, len(self.markings))
        return self._held.registers

    def _follow(self) -> None:
        """The firing rates of all immediates asked for, by following every timed firing through the vanishing markings."""
        from spn.reach import kernels

        asked = [p for p in self.wanted if isinstance(p, FiringRate) and self.index[p.transition] in self.rules.immediates]
        wanted = np.array([[self.index[p.transition], self._code(p)] for p in asked], dtype=np.int64)
        out = np.zeros((len(self.markings), len(asked)))
        status = kernels.immediate_rewards(self._bench(), wanted, out)
        assert status == 0, "a state was expanded before, so that it can be expanded again"
        self._immediate = {p: np.ascontiguousarray(out[:, k]) for k, p in enumerate(asked)}


class Sums(Mapping[Primitive, Floats]):
    """Each primitive as the sum of others, found where they are found."""

    def __init__(self, parts: Mapping[Primitive, tuple[Mapping[Primitive, Floats], Sequence[Primitive]]]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Primitive]:
        return iter(self.parts)

    def __getitem__(self, p: Primitive) -> Floats:
        known, others = self.parts[p]
        total = known[others[0]]
        for other in others[1:]:
            total = total + known[other]
        return total


def _expression(p: Primitive) -> Node | None:
    """The marking expression that a primitive reads; None where there is none, or it is 1."""
    match p:
        case TimeAverage(value=v):
            return v
        case FiringRate(value=v) if v != ONE:
            return v
    return None
