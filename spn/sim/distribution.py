"""Quantiles of what an expression over markings is in the long run: a run that follows its distribution function at some cuts.

A short trial run shows which values occur. Where the band in which the quantile is found has become so narrow that few cuts are in it,
with more possible values between, the run begins anew with cuts there. As a band narrows with the root of the work, all such beginnings
together cost a small part of the run that counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spn.expr.nodes import Binary, BinaryOp, Node, Number, exact
from spn.measure import Average, FiringRate, Measure, Primitive, Quantile, TimeAverage, atoms, ratio, value
from spn.model import Model
from spn.net.model import Net
from spn.sim.engine import Floats
from spn.sim.estimate import Function, Interval
from spn.sim.longrun import Outcome
from spn.sim.proof import FEW
from spn.sim.quantiles import Crossing, QuantileInterval, between, crossing
from spn.sim.run import _Run, questions
from spn.sim.streams import Choice, Crew
from spn.sim.values import Trial

ROUNDS = 40  # at most so many beginnings
NEIGHBOURS = 6  # cuts kept on either side of those that are looked at more closely
FEW_CUTS = 8  # in the band about a quantile, below which there should be more: a third of what was there at first
CLOSE = 1e-9  # relative: values that are no whole numbers are equal but for rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """Where the distribution function is followed, and the measures that do it."""

    at: tuple[float, ...]
    shares: tuple[Function, ...]


def at_most(expression: Node, x: float, given: str | None) -> Average:
    """The measure P(expression <= x), or P(expression <= x | given)."""
    bound = x if x.is_integer() else x + CLOSE * abs(x)
    return Average(Binary(BinaryOp.LE, expression, Number(exact(bound))), given)


def _share(body: Average, net: Net, wanted: Sequence[Primitive]) -> Function:
    """The value of such a measure, from the averages of the primitives; nan where nothing was seen."""
    r = ratio(body, net)
    top = wanted.index(r.numerators[0])
    if r.denominators is None:
        return lambda known: float(known[top])
    bottom = wanted.index(r.denominators[0])
    return lambda known: float(known[top] / known[bottom]) if known[bottom] else math.nan


class Distribution(_Run):
    """Measures that are quantiles of one expression, over time or over the firings of one transition."""

    def _crew(self, engine: Choice) -> Crew:
        self.quantiles = {m.name: q for m in self.model.measures for q in atoms(m.body) if isinstance(q, Quantile)}
        one = next(iter(self.quantiles.values()))
        self.expression, self.given = one.value, one.given
        o = self.options
        self.trial = Trial(self.model.net, self.expression, self.given, o.seed, o.horizon, self.control, engine)
        self.finer: set[float] = set()
        self.enough = 0  # firings that a run must have made before the next may begin
        self.support = self.trial.support(self.graph)
        return self._with_cuts(self._start())

    def _start(self) -> list[float]:
        """All values; of unknown whole numbers those seen, one below and a few beyond."""
        if self.support.complete or not self.support.whole:
            return self.support.inside(-math.inf, math.inf)
        least = self.support.values[0] - 1
        return [least, *self.support.inside(least, math.inf)]

    def _with_cuts(self, at: list[float]) -> Crew:
        """A crew that follows the distribution function at these cuts; the measures are read off it."""
        net = self.model.net
        bodies = [at_most(self.expression, x, self.given) for x in at]
        self.wanted = questions(bodies, Model(name=self.model.name, net=net))
        self.cuts = Cuts(at=tuple(at), shares=tuple(_share(b, net, self.wanted) for b in bodies))
        self.functions = {m.name: self._function(m) for m in self.model.measures}
        self.magnitudes = {}
        return Crew(net, self.wanted, self.options.seed, self.control, self.trial.engine)

    def _of(self, m: Measure) -> Callable[[float], float]:
        """A measure as a function of its quantile."""
        q = self.quantiles[m.name]
        return lambda x: value(m.body, self.model.net, {q: x})

    def _function(self, m: Measure) -> Function:
        level, of = float(self.quantiles[m.name].level), self._of(m)

        def function(known: Floats) -> float:
            shares = [share(known) for share in self.cuts.shares]
            return of(next((x for x, s in zip(self.cuts.at, shares, strict=True) if s >= level - CLOSE), math.nan))

        return function

    # --- the run ----------------------------------------------------------------------------------------------------------------

    def _sample(self) -> Outcome | None:
        for _ in range(ROUNDS):
            self.begun = self.control.firings
            outcome = super()._sample()
            if outcome is None or not self.finer or self.control.exhausted():
                break
            self.crew = self._with_cuts(sorted(self.finer))
        over = "time" if self.given is None else f"the firings of {self.given}"
        self.reason += f"; quantiles from the distribution over {over} at {len(self.cuts.at)} values"
        return outcome

    def _judge(self, sample: Outcome) -> list[float]:
        """A run that begins anew is first made as long as the last one, and twice as long before the next beginning: a short one knows less
        of where to look than the one before it, and all beginnings together cost no more than the run that counts."""
        factors = list(super()._judge(sample))
        if not self.finer:
            return factors
        self.settled = False
        made = self.control.firings - self.begun
        if made >= self.enough:
            self.enough = 2 * made
            return [1.0]  # begin anew
        self.finer = set()
        return [2.0]

    def _estimate(self, sample: Outcome) -> None:
        c = self.options.confidence
        shares = [sample.interval(f, c) for f in self.cuts.shares]
        self.unseen, self.intervals = {}, {}
        for m in self.model.measures:
            self.intervals[m.name] = self._quantile(m, shares, sample)
        self.finer = self._finer(shares)

    def _quantile(self, m: Measure, shares: list[Interval], sample: Outcome) -> QuantileInterval:
        of, level = self._of(m), float(self.quantiles[m.name].level)
        c, n = self.options.confidence, max(s.samples for s in shares)
        if any(math.isnan(s.value) for s in shares):
            if self.given is not None and self.proofs.unseen(FiringRate(self.given), 0.0):
                self.unseen[m.name] = (FiringRate(self.given),)
            return between(math.nan, [], confidence=c, samples=n)
        at = crossing(self.cuts.at, shares, level)
        if math.isinf(at.at):
            return between(math.inf, [of(self.support.after(at.below))], confidence=c, samples=n)
        low = self.support.after(at.below)
        near = [x for x in self.cuts.at if low <= x <= at.reached]
        ends = [of(x) for x in (low, *near, at.reached)]
        source = max((s for x, s in zip(self.cuts.at, shares, strict=True) if x in near), key=lambda s: s.half_width, default=shares[0])
        two = math.isfinite(at.reached) and at.reached <= self.support.after(low)
        known = source.half_width / min(level, 1 - level) if two else math.inf
        if sample.random and all(s.half_width == 0 and s.value in (0, 1) for s in shares) and self._more():
            self.unseen[m.name] = (TimeAverage(self.expression),)
        return between(of(at.at), ends, confidence=c, samples=n, share=known, source=source)

    def _more(self) -> bool:
        """Whether the expression may have another value than the one that it had all the time."""
        return self.control.firings < FEW and (not self.support.complete or len(self.support.values) > 1)

    def _finer(self, shares: list[Interval]) -> set[float]:
        """Other cuts, where the level is reached between two that have possible values between, or beyond all; else none."""
        if any(math.isnan(s.value) for s in shares):
            return set()
        levels = {float(q.level) for q in self.quantiles.values()}
        at = [crossing(self.cuts.at, shares, level) for level in levels]
        if any(math.isinf(c.at) for c in at) and not self.support.complete and not self.support.whole:
            self.support = self.trial.longer()
        return {x for c in at for x in self._around(c)} if any(self._coarse(c) for c in at) else set()

    def _coarse(self, c: Crossing) -> bool:
        """Whether few cuts are in the band, with possible values between."""
        within = [x for x in self.cuts.at if c.below < x < c.reached]
        possible = set(self.support.inside(c.below, c.reached)) - set(within)
        return bool(possible) and (len(within) < FEW_CUTS or math.isinf(c.at))

    def _around(self, c: Crossing) -> set[float]:
        """Cuts all over the band and some of the present ones beside it; the largest of all values, where that is known."""
        before = [x for x in self.cuts.at if x <= c.below][-NEIGHBOURS:]
        after = [x for x in self.cuts.at if x >= c.reached][:NEIGHBOURS]
        last = self.support.values[-1:] if self.support.complete else ()
        return {*before, *after, *last, *self.support.inside(c.below, c.reached)}
