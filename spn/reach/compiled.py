"""Exploration of a large state space, carried on by the kernel from where the search in Python left it."""

from __future__ import annotations

import numpy as np

from spn.compiled import compile_net
from spn.errors import AnalysisError, SpnError, refuse
from spn.net import semantics
from spn.net.semantics import Rules
from spn.reach import kernels
from spn.reach.space import Floats, Graph, Ints
from spn.reach.watch import Watch

GROWTH = 2  # factor by which arrays grow
ARCS = ("source", "target", "transition", "weight")
STATES = ("rows", "vanishing", "parent", "via")


def go_on(rules: Rules, law: Floats, found: Graph, head: int, watch: Watch) -> Graph:
    """The whole graph from a part of it in which the states before ``head`` are expanded. ``law``: rate of each transition's exponential
    law per unit of its clock's rate. Work that goes over links is not for the kernel."""
    return _Compiled(rules, law, found, head, watch).run()


class _Compiled:
    def __init__(self, rules: Rules, law: Floats, found: Graph, head: int, watch: Watch) -> None:
        self.rules, self.law, self.watch = rules, law, watch
        self.net = compile_net(rules.net)
        self.count, self.head, self.arcs = len(found.markings), head, len(found.source)
        vanishing = np.zeros(self.count, dtype=bool)
        vanishing[:head] = found.vanishing
        self.held = {
            "rows": found.markings,
            "vanishing": vanishing,
            "parent": found.parent,
            "via": found.via,
            **{name: getattr(found, name) for name in ARCS},
        }
        self.slots: Ints = np.zeros(0, dtype=np.int64)
        self._grow(STATES, self.count)
        self._grow(ARCS, self.arcs)

    def run(self) -> Graph:
        timed = np.array(self.rules.timed, dtype=np.int64)
        scratch = np.zeros(self.net.scratch, dtype=np.int64)
        out = np.zeros(2 * max(1, len(self.law)), dtype=np.int64)
        while True:
            h = self.held
            status, self.count, self.head, self.arcs = kernels.expand(
                self.net.image, scratch, out, self.law, timed, h["rows"], self.count, self.head, self.watch.next_count, self.slots,
                h["vanishing"], h["parent"], h["via"], h["source"], h["target"], h["transition"], h["weight"], self.arcs,
            )  # fmt: skip
            if status == kernels.WRONG:
                raise self._wrong()
            if self.watch.due(self.count, self.arcs):
                self._look()
            elif status == kernels.ROWS_FULL:
                self._grow(STATES, self.count)
            elif status == kernels.ARCS_FULL:
                self._grow(ARCS, self.arcs)
            if status == kernels.DONE and self.head == self.count:
                return self._graph()

    def _look(self) -> None:
        h, n = self.held, self.count
        self.watch.look(h["rows"][:n], h["parent"][:n], h["via"][:n], h["vanishing"][: self.head], self.arcs)

    def _grow(self, names: tuple[str, ...], used: int) -> None:
        """Room for twice as much as is used; what is reserved but not touched takes no memory."""
        size = GROWTH * used + 2 * len(self.law) + 1024
        for name in names:
            old = self.held[name]
            grown = np.empty((size, *old.shape[1:]), dtype=old.dtype)
            grown[:used] = old[:used]
            self.held[name] = grown
        if "rows" in names:
            self.slots = np.zeros(1 << (2 * size).bit_length(), dtype=np.int64)
            kernels.index_rows(self.held["rows"], used, self.slots)

    def _graph(self) -> Graph:
        states = {name: self.held[name][: self.count] for name in STATES}
        return Graph(markings=states.pop("rows"), **states, **{name: self.held[name][: self.arcs] for name in ARCS})

    def _wrong(self) -> SpnError:
        """What the semantics says about the marking that the kernel could not expand."""
        m = tuple(self.held["rows"][self.head].tolist())
        try:
            for t, _ in semantics.enabled_immediates(self.rules, m):
                semantics.fire(self.rules, t, m)
            for t in semantics.clock_rates(self.rules, m):
                semantics.fire(self.rules, t, m)
        except SpnError as error:
            return error
        return refuse(
            AnalysisError,
            "E0603",
            f"a rate or a number of tokens is too large to compute with in marking {semantics.marking_text(self.rules.net, m)}",
            help="scale the model's units, or bound its places",
        )
