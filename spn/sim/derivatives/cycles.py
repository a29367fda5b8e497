"""Rows for derivatives by likelihood ratios: regenerative cycles.

A cycle runs from one entry into a marking to the next. In a net whose laws are all exponential cycles are independent, and so the score
begins anew with each: its variance does not grow with the run. With the time T of a cycle, the integral F of a primitive and the score S
the derivative of E F / E T is (E F S - (E F / E T) E T S) / E T (Glynn 1990, section 4; see :mod:`spn.sim.derivatives.scores`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import reduce

import numpy as np

from spn.errors import AnalysisError, refuse
from spn.expr.nodes import Binary, BinaryOp, Node, as_node, equal, tokens
from spn.measure import Primitive, TimeAverage
from spn.net.model import Marking, Net
from spn.sim.control import Control
from spn.sim.derivatives.rows import Rows
from spn.sim.derivatives.scores import Score
from spn.sim.engine import Ending, Engine, Floats
from spn.sim.splitting.path import Path, Stop, path_of
from spn.sim.streams import Choice, Crew

LOOKS = 2_000  # markings looked at for one that recurs often
APART = 7  # firings between two
FIRST = 2**41
LEAST = 4  # times that it must have been seen
LOT = 100_000  # firings of a cycle between two looks at the clock


class Cycles:
    """Collects cycles. ``rows`` (n, 1 + K + K J + J) are sums over one cycle each: time, integrals of the K primitives, their
    products with the J scores, and the time times the scores."""

    def __init__(self, net: Net, wanted: Sequence[Primitive], scores: Sequence[Score], seed: int, control: Control, engine: Choice) -> None:
        inside = dict.fromkeys(p for s in scores for p in s)
        self.primitives = tuple(dict.fromkeys((*wanted, *inside)))
        self.k = len(wanted)
        self.control = control
        self.coefficients = np.array([[s.get(p, 0.0) for p in self.primitives] for s in scores]).reshape(len(scores), len(self.primitives))
        self.marking = _frequent(Crew(net, (), seed, control, engine))
        indicator = _is(net, self.marking)
        crew = Crew(net, (*self.primitives, TimeAverage(indicator)), seed, control, engine)
        with control.uncounted():
            kernel = engine != "python" and crew.use_kernel(2**62)
            self.path: Path = path_of(crew.trajectory(0, kernel=kernel), np.random.SeedSequence(seed))
            self.path.advance(-math.inf, math.inf, 0, math.inf)
        self.rows = Rows()
        self._last: Floats | None = None

    def extend(self, count: int) -> None:
        """Run until there are so many cycles. Raises Stopped at a limit."""
        while self.rows.count < count:
            self._follow(-math.inf, 1.0)
            now = np.array([self.path.engine.time, *self.path.engine.totals()[: len(self.primitives)]])
            if self._last is not None:
                self.rows.add(self._row(now - self._last))
            self._last = now
            self._follow(1.0, math.inf)

    def _follow(self, low: float, high: float) -> None:
        while low <= self.path.value < high:
            before = self.path.engine.firings
            stop = self.path.advance(low, high, LOT, math.inf)
            self.control.count(self.path.engine.firings - before)
            self.control.check()
            if stop is Stop.STILL:
                help = "derivatives are of one long run"
                raise refuse(AnalysisError, "E0733", "a run came to rest in a marking in which nothing happens any more", help=help)

    def _row(self, cycle: Floats) -> Floats:
        time, grown = cycle[0], cycle[1:]
        scores = self.coefficients @ grown
        f = grown[: self.k]
        return np.concatenate([[time], f, np.outer(f, scores).ravel(), time * scores])


def _frequent(crew: Crew) -> Marking:
    """A marking that recurs often, from a trial run."""
    engine: Engine = crew.trajectory(FIRST, kernel=crew.use_kernel(LOOKS * APART))
    seen: Counter[Marking] = Counter()
    crew.run(engine, LOOKS, np.inf)
    for _ in range(LOOKS):
        if crew.run(engine, APART, np.inf) is Ending.STILL:
            break
        seen[engine.marking] += 1
    marking, times = seen.most_common(1)[0] if seen else (engine.marking, 0)
    if times < LEAST:
        message = "no marking recurs often enough to cut a run into independent cycles"
        help = "derivatives by likelihood ratios take a net of fewer markings; vary the parameter with `compare --difference` instead"
        raise refuse(AnalysisError, "E0733", message, help=help)
    return marking


def _is(net: Net, m: Marking) -> Node:
    parts: list[Node] = [equal(tokens(p.name), k) for p, k in zip(net.places, m, strict=True)]
    return reduce(lambda a, b: Binary(BinaryOp.AND, a, b), parts) if parts else as_node(1)
