"""Which values an expression over markings has: all of them where the markings are few, else those that a short trial run meets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from spn.errors import SpnError
from spn.expr.nodes import Node
from spn.measure import FiringRate, Primitive, TimeAverage
from spn.net import semantics
from spn.net.model import Net
from spn.sim.classes import MarkingGraph
from spn.sim.control import Control
from spn.sim.engine import Ending, Floats
from spn.sim.meter import measured
from spn.sim.quantiles import Support, integral
from spn.sim.streams import Choice, Crew

TRIAL = 4_000  # firings of each trial run; twice as many when more values are looked for
TRIALS = 2
FIRST = 2**40  # the number of the stream of the first trial: none of the runs'


@dataclass(slots=True)
class Trial:
    """Looks for the values of an expression, over time or (``given``) over the firings of a transition."""

    net: Net
    expression: Node
    given: str | None
    seed: int
    horizon: float | None
    control: Control
    engine: Choice
    firings: int = TRIAL
    seen: set[float] = field(default_factory=set)

    def support(self, graph: MarkingGraph | None) -> Support:
        """All values, where all markings are known (in the long run those of closed classes); else those met in trial runs."""
        if graph is not None:
            r = semantics.rules(graph.net)
            inside = graph.lasting if self.horizon is None else graph.successors
            try:
                every = {measured(r, self.expression, m) for m in inside}
                return Support(tuple(sorted(every)), integral(self.expression), complete=True)
            except SpnError:
                pass  # undefined in a marking that may not count; what counts is met in the run
        return self._met()

    def longer(self) -> Support:
        """The values met in runs twice as long."""
        self.firings *= 2
        return self._met()

    def _met(self) -> Support:
        """The values in trial runs, each with its own random numbers."""
        of, given = self.expression, self.given
        wanted: Sequence[Primitive] = (TimeAverage(of),) if given is None else (FiringRate(given), FiringRate(given, of))
        crew = Crew(self.net, wanted, self.seed, self.control, self.engine)
        kernel = crew.use_kernel(TRIALS * self.firings)
        for k in range(TRIALS):
            engine = crew.trajectory(FIRST + k, kernel=kernel)
            last: Floats = np.zeros(len(wanted))
            for _ in range(self.firings):
                ending = crew.run(engine, 1, self.horizon or np.inf)
                self.seen |= self._read(engine.rates(), engine.totals() - last)
                last = engine.totals()
                if ending is not Ending.FIRINGS:
                    break
        return Support(tuple(sorted(self.seen)) or (0.0,), integral(of), complete=False)

    def _read(self, rates: Floats, grown: Floats) -> set[float]:
        if self.given is None:
            return {float(rates[0])}
        return {float(f"{grown[1]:.12g}")} if grown[0] == 1 else set()
