"""How long tokens take from one transition to another: shares and quantiles of their times, by long runs.

The tokens keep their order (:mod:`spn.structural.way`), so the one that a firing of the first transition brings is taken by the firing of
the second that comes after as many others as tokens were before it: a queue of times of arrival is all that has to be kept. Runs go
firing by firing, and are cut into batches of equally many tokens. Shares are ratios over batches. The interval of a quantile spans the
values at which the empirical distribution is as far below and above the level as the share at the quantile may be off.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from spn.errors import AnalysisError, refuse
from spn.measure import Delay, FiringRate, Primitive, primitives
from spn.model import Model
from spn.net.model import Net
from spn.sim.control import Control
from spn.sim.engine import Ending, Engine, Floats
from spn.sim.estimate import Function, Interval, regroup, unseen_chance
from spn.sim.longrun import FIRST_BATCH, GROUPS, STREAMS, Batches, Irregular, Outcome, Sample
from spn.sim.quantiles import QuantileInterval, between
from spn.sim.run import Estimates, Options, _Run
from spn.sim.streams import Choice, Crew, Stream
from spn.structural.way import Way, way

LOOK = 1000  # firings between two looks at the limits


class Tokens:
    """The tokens on the way in one run, by their times of arrival, nan for those that were there at the beginning."""

    def __init__(self, net: Net, found: Way, engine: Engine) -> None:
        places = {p.name: i for i, p in enumerate(net.places)}
        self.at = [places[p] for p in found.places]
        self.waiting: deque[float] = deque()
        self.brought = self.taken = 0.0
        engine.run(0, np.inf)  # what resolves a vanishing initial marking counts as no firing
        self.waiting.extend([math.nan] * sum(engine.marking[p] for p in self.at))

    def step(self, engine: Engine) -> list[float]:
        """The times of the tokens that the last event took. In one instant arrivals come first: who leaves is the foremost."""
        brought, taken = engine.totals()[:2].tolist()
        if brought == self.brought and taken == self.taken:
            return []
        now = engine.time
        self.waiting.extend([now] * round(brought - self.brought))
        left = [now - self.waiting.popleft() for _ in range(round(taken - self.taken))]
        self.brought, self.taken = brought, taken
        return [x for x in left if not math.isnan(x)]


class TokenStream(Stream):
    """A long run cut into batches of equally many tokens; rows are (tokens, sums of what each time says)."""

    TRACED: ClassVar[bool] = False

    def __init__(self, crew: Crew, number: int, batch: int, found: Way, tell: Callable[[Floats], Floats]) -> None:
        super().__init__(crew, number, batch)
        self.tell = tell
        self.tokens = Tokens(crew.net, found, self.engine)
        self.times: list[Floats] = []  # of each batch
        self.open: list[float] = []

    def extend(self, count: int, *, simulate: bool = True) -> None:
        """Run until there are ``count`` batches, or nothing happens any more."""
        while simulate and len(self.rows) < count and not self.still:
            self._some()
            while len(self.open) >= self.batch:
                times, self.open = np.array(self.open[: self.batch]), self.open[self.batch :]
                self.rows.append(np.array([float(len(times)), *self.tell(times)]))
                self.times.append(times)

    def _some(self) -> None:
        """Step on till a batch is full, or to the next look at the limits."""
        self.crew.control.check()
        engine, begin = self.engine, self.engine.firings
        for _ in range(LOOK):
            if engine.run(1, np.inf) is Ending.STILL:
                self.still = True
                break
            self.open.extend(self.tokens.step(engine))
            if len(self.open) >= self.batch:
                break
        self.crew.control.count(engine.firings - begin)

    def merge(self) -> None:
        """See :meth:`Stream.merge`."""
        super().merge()
        self.times = [np.concatenate(self.times[2 * i : 2 * i + 2]) for i in range(len(self.rows))]


class TokenBatches(Batches):
    """Long runs with the times of all their tokens."""

    def __init__(self, crew: Crew, warmup: float | None, found: Way, tell: Callable[[Floats], Floats]) -> None:
        self.of_tokens = [TokenStream(crew, k, FIRST_BATCH, found, tell) for k in range(STREAMS)]
        super().__init__(crew, None if warmup is None else 0.0, self.of_tokens)

    def pooled(self, sample: Sample) -> list[list[Floats]]:
        """Of each run, the times in the batches that the sample keeps."""
        n = min(len(s.rows) for s in self.of_tokens)
        return [s.times[n - sample.batches : n] for s in self.of_tokens]


class Delays(_Run):
    """Shares and quantiles of the time between one pair of transitions."""

    def __init__(self, model: Model, options: Options, control: Control, until: Callable[[Estimates], bool] | None, engine: Choice) -> None:
        super().__init__(model, options, control, until, engine)
        if options.horizon is not None or options.replications is not None or options.warmup is not None:
            message = "the times of tokens are those of long runs, without a horizon, a warm-up or a number of replications"
            raise refuse(AnalysisError, "E0705", message, help="leave horizon, warmup and replications out")
        if self.graph is not None and not self.graph.one_long_run:
            raise refuse(AnalysisError, "E0628", f"the times of tokens are not estimated where {self._ends()}", span=self._asked_for().span)

    def _asked_for(self) -> Delay:
        return next(p for p in self.wanted if isinstance(p, Delay))

    def _crew(self, engine: Choice) -> Crew:
        about = self._asked_for()
        self.found = way(self.model.net, about.first, about.second)
        return Crew(self.model.net, (FiringRate(about.first), FiringRate(about.second)), self.options.seed, self.control, engine)

    def _tell(self, times: Floats) -> Floats:
        """For each question the sum of what it asks of the times; of a quantile the times themselves, for the warm-up."""
        return np.array(
            [(times <= float(p.within)).sum() if p.within is not None else times.sum() for p in self._delays()], dtype=np.float64
        )

    def _delays(self) -> list[Delay]:
        return [p for p in self.wanted if isinstance(p, Delay)]

    def _sample(self) -> Outcome | None:
        self.reason = "times of tokens, by batches of equally many tokens of independent long runs"
        self.runs = TokenBatches(self.crew, self.options.warmup, self.found, self._tell)
        try:
            return self._collect(self.runs)
        except Irregular as why:
            raise refuse(
                AnalysisError, "E0628", f"the times of tokens are not estimated, since {why.why}", span=self._asked_for().span
            ) from None

    def _estimate(self, sample: Outcome) -> None:
        assert isinstance(sample, Sample)
        super()._estimate(sample)
        runs = self.runs.pooled(sample)
        for m in self.model.measures:
            for p in primitives(m.body, self.model.net):
                if isinstance(p, Delay) and p.quantile is not None:
                    self.intervals[m.name] = self._quantile(runs, float(p.quantile), self.functions[m.name], self.wanted.index(p))
                    self.unseen.pop(m.name, None)

    def _quantile(self, runs: list[list[Floats]], level: float, function: Function, column: int) -> QuantileInterval:
        """A measure of one quantile, from the times of all tokens."""
        c = self.options.confidence
        ordered = np.sort(np.concatenate([x for run in runs for x in run]))
        middle = _at(ordered, level)
        rows = np.array([[float(len(x)), float((x <= middle).sum())] for run in runs for x in run])
        share = self._share(rows, len(runs))
        ends = [_at(ordered, level - share.half_width), _at(ordered, level + share.half_width)]
        inside = np.unique(ordered[(ordered >= ends[0]) & (ordered <= ends[1])])
        known = share.half_width / min(level, 1 - level) if len(inside) <= 2 else math.inf

        def of(x: float) -> float:
            return function(np.where(np.arange(len(self.wanted)) == column, x, 0.0))

        return between(of(middle), [of(x) for x in (*ends, middle)], confidence=c, samples=share.samples, share=known, source=share)

    def _share(self, rows: Floats, streams: int) -> Interval:
        """The share of tokens that take no longer than the quantile."""
        grouped = np.concatenate([_joined(run) for run in rows.reshape(streams, -1, 2)])
        return Sample(rows=grouped, streams=streams, replications=streams).interval(lambda a: float(a[0]), self.options.confidence)

    def _may_vary(self, p: Primitive, value: float) -> bool:
        """A share of 0 or 1 may be one that is merely near it; a time that never varied is taken for a constant."""
        return isinstance(p, Delay) and p.within is not None and value in (0.0, 1.0)

    def _unseen_rate(self, sample: Outcome, p: Primitive) -> float:
        """As if the batches, not the tokens, were independent."""
        return unseen_chance(self.options.confidence, sample.batches * sample.streams)


def _joined(run: Floats) -> Floats:
    return regroup(run, min(GROUPS, len(run)))


def _at(ordered: Floats, level: float) -> float:
    """The empirical quantile, the least or the largest value where the level is beyond."""
    return float(ordered[min(len(ordered) - 1, max(0, math.ceil(level * len(ordered) - 1e-9) - 1))])
