"""Estimates of rare events: probabilities and rates in the long run, at a time and of first passages, by RESTART."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from spn.delay import with_means
from spn.errors import AnalysisError, Diagnostic, refuse
from spn.expr.nodes import Node, Operators
from spn.measure import Delay, Horizon, Measure, Passage, Primitive, Quantile, TimeAverage, primitives, ratio
from spn.model import Model, checked
from spn.net.stopped import stopped_when
from spn.result import Result
from spn.sim.control import Control, Progress, Stopped
from spn.sim.engine import Engine, Floats
from spn.sim.estimate import unseen_chance
from spn.sim.longrun import Batches, Ended, Irregular, Outcome, Replications
from spn.sim.options import check_engine, check_types
from spn.sim.proof import Proofs
from spn.sim.questions import length, read_along, refusals
from spn.sim.run import Options, _check, _Run
from spn.sim.run import _joined as joined
from spn.sim.splitting import layout as at
from spn.sim.splitting.crew import SplittingCrew
from spn.sim.splitting.importance import Importance, derived, given
from spn.sim.splitting.pilot import MOST_LEVELS, Pilot
from spn.sim.splitting.restart import Restart, Tally
from spn.sim.streams import Choice, fresh_seed

PRECISION = 0.1  # relative half-width, where nothing else is asked for
FEW_ROOTS = 30  # independent roots that contribute, below which an estimate is not to be trusted
HEAVY = 0.25  # share of an estimate that one root may carry
MOSTLY = 0.5  # share of an estimate that has to come from above the first threshold for its roots to matter


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sort:
    """Questions that one run answers: ``horizon`` (inf in the long run), whether of the state at it, the condition of a first passage."""

    horizon: float = math.inf
    at_end: bool = False
    condition: Node | None = None


def splitting(
    model: Model,
    importance: str | Operators | None = None,
    *,
    levels: Sequence[float] | None = None,
    seed: int | None = None,
    precision: float | None = None,
    confidence: float = 0.95,
    replications: int | None = None,
    warmup: float | None = None,
    max_seconds: float = 60.0,
    max_firings: float = 1e9,
    progress: Callable[[Progress], None] | None = None,
    engine: Choice = "auto",
) -> Result:
    """Estimate rare events by multilevel splitting (RESTART): long-run averages (``P(#q >= 30)``, ``throughput(lose)``), values at a
    time or over one that begins at 0, and ``P(time until … <= t)``.

    ``importance`` is an expression over markings, a text as the language has it or a tree, that grows towards the rare event; without it
    minus the token deficit of each measure's condition is taken. The thresholds are ``levels``, or found by a pilot run, which finds the
    splitting factors too. Estimates are unbiased whatever these are; but with an importance that is not that of the way to the event, few
    independent roots carry an estimate, or the event is not met at all. ``details["levels"]`` has, for each threshold, the factor, how
    often a path came up across it and from how many independent roots; a measure that few carry makes ``converged`` False and has a note.
    ``details["gain"]`` estimates how many times more firings plain simulation takes for the first measure.

    The run ends when every half-width is at most ``precision`` (0.1) times the value, or at a limit. Other options are those of
    :func:`spn.simulate`. AnalysisError for what splitting does not estimate (E0732): means and quantiles of first passages, shares and
    quantiles of times of tokens, times that do not begin at 0, long runs that come to rest or end in different ways; E0731 where no
    importance can be derived.
    """
    model = with_means(checked(model))
    refused = [*refusals(model), *_refusals(model)]
    if refused:
        raise AnalysisError(*refused)
    check_types(
        whole={"seed": seed, "replications": replications},
        real={"precision": precision, "confidence": confidence, "warmup": warmup, "max_seconds": max_seconds, "max_firings": max_firings},
    )
    check_engine(engine)
    options = Options(
        seed=fresh_seed() if seed is None else seed,
        precision=PRECISION if precision is None else precision,
        confidence=confidence,
        replications=replications,
        horizon=None,
        warmup=warmup,
    )
    _check(options)
    asked = _Asked(given(model, importance) if importance is not None else None, _thresholds(levels))
    parts = _parts(model, asked.importance)
    results = []
    for (sort, how), part in parts.items():
        control = Control(workers=1, max_seconds=max_seconds / len(parts), max_firings=max_firings / len(parts), progress=progress)
        run = _LongRun if math.isinf(sort.horizon) else _ToHorizon
        results.append(run(part, options, control, engine, sort, how, asked.thresholds).result())
        if control.interrupted:
            break
    return results[0] if len(results) == 1 else _joined(model, results)


@dataclass(frozen=True, slots=True)
class _Asked:
    importance: Importance | None
    thresholds: tuple[float, ...] | None


def _thresholds(levels: Sequence[float] | None) -> tuple[float, ...] | None:
    if levels is None:
        return None
    found = tuple(float(x) for x in levels)
    if not found or any(not math.isfinite(x) for x in found) or list(found) != sorted(set(found)) or len(found) > MOST_LEVELS:
        raise refuse(AnalysisError, "E0705", f"levels is {list(levels)}; they are rising values of the importance, {MOST_LEVELS} at most")
    return found


def _parts(model: Model, importance: Importance | None) -> dict[tuple[_Sort, Importance], Model]:
    """The measures by the sort of run and the importance that they take."""
    found: dict[tuple[_Sort, Importance], list[Measure]] = {}
    for m in model.measures:
        key = _sorts(m, model)[0], importance or derived(m, model.net)
        same = next((k for k in found if k[0] == key[0] and k[1].node == key[1].node), key)
        found.setdefault(same, []).append(m)
    return {key: replace(model, measures=tuple(measures)) for key, measures in found.items()}


def _sorts(m: Measure, model: Model) -> tuple[_Sort, ...]:
    return tuple(dict.fromkeys(_sort(p) for p in primitives(m.body, model.net))) or (_Sort(),)


def _sort(p: Primitive) -> _Sort:
    match p:
        case Horizon(start=start, end=end):
            return _Sort(horizon=float(end), at_end=start is None)
        case Passage(condition=c, within=t) if t is not None:
            return _Sort(horizon=float(t), at_end=True, condition=c)
    return _Sort()


def _refusals(model: Model) -> Iterable[Diagnostic]:
    """What the simulator estimates, but not by splitting."""
    if not model.measures:
        yield Diagnostic(code="E0732", message=f"{model.name} has no measure: splitting is for a rare event", help="add one: P(#q >= 30)")
    for m in model.measures:
        for p in primitives(m.body, model.net):
            if why := _refused(p):
                message = f"splitting does not estimate {m.name}: {why[0]}"
                yield Diagnostic(code="E0732", message=message, span=getattr(p, "span", None) or m.span, help=why[1])
        if len(_sorts(m, model)) > 1:
            message = f"splitting does not estimate {m.name}: it joins questions that different runs answer"
            yield Diagnostic(code="E0732", message=message, span=m.span, help="ask each in a measure of its own")


def _refused(p: Primitive) -> tuple[str, str] | None:
    match p:
        case Passage(within=None):
            return "it is the time of a first passage", "ask for the probability that it is at most a given time"
        case Delay():
            return "it is of the times of tokens, which long runs tell", "ask simulate"
        case Quantile():
            return "it is a quantile", "ask for a probability"
        case Horizon(start=start) if start:
            return "it is over a time that does not begin at 0", "let it begin at 0, or ask for a time: P(…) at 10 s"
    return None


def _joined(model: Model, results: Sequence[Result]) -> Result:
    found = joined(model, results)
    return replace(found, details={**found.details, "levels": [row for r in results for row in r.details["levels"]]})


class _Split(_Run):
    """A run with splitting: what long runs and runs to a horizon share."""

    HOW: ClassVar[str] = ""

    def __init__(
        self,
        model: Model,
        options: Options,
        control: Control,
        engine: Choice,
        sort: _Sort,
        importance: Importance,
        thresholds: tuple[float, ...] | None,
    ) -> None:
        self.sort, self.importance, self.thresholds = sort, importance, thresholds
        self.remarks: list[str] = []
        super().__init__(model, options, control, None, engine)

    def _split_crew(self) -> SplittingCrew:
        assert isinstance(self.crew, SplittingCrew)
        return self.crew

    def _prepare(self) -> bool:
        """Find the levels; False where a limit was reached on the way."""
        crew = self._split_crew()
        crew.compile()
        pilot = Pilot(crew, self.sort.horizon)
        try:
            crew.set_levels(pilot.find(self.thresholds))
        except (Stopped, KeyboardInterrupt) as why:
            if isinstance(why, KeyboardInterrupt):
                self.control.interrupt()
            return False
        self.remarks += pilot.notes
        self.reason = f"{self.HOW}, split by RESTART; importance: {self.importance.how}"
        return True

    def _judge(self, sample: Outcome) -> Sequence[float]:
        """See :class:`spn.sim.run._Run`; nor is it enough while few roots carry an estimate."""
        factors = super()._judge(sample)
        if max(factors) <= 1 and any(self._doubts()):
            self.settled = False
            return [2.0]
        return factors

    def _doubts(self) -> Iterable[str]:
        """Why an estimate is not to be trusted, for each of which that is so."""
        for m in self.model.measures:
            if m.name in self._relevant():
                columns = [k for k, p in enumerate(self._carried()) if p in self._behind(m)]
                yield from (f"{m.name}: {why}" for why in dict.fromkeys(filter(None, map(self._doubt, columns))))

    def _doubt(self, k: int) -> str:
        tally = self._split_crew().tally
        total, carried = self._total(tally, k), int(tally.carrying[k])
        if total == 0:
            return "what is asked for was never met"
        if tally.sums[at.T_SUMS, k] < MOSTLY * total or not len(tally.hits):
            return ""
        if carried < FEW_ROOTS:
            return f"only {carried} independent root{'s' * (carried != 1)} of {tally.count:,} contributed"
        share = float(tally.sums[at.T_LARGEST, k] / total)
        return f"one root of {tally.count:,} makes {100 * share:.0f} % of it" if share > HEAVY else ""

    def _total(self, tally: Tally, k: int) -> float:
        return float(tally.sums[at.T_TOTAL, k])

    def _carried(self) -> tuple[Primitive, ...]:
        """The primitives that the paths carry, in the order of the tally."""
        return self.wanted

    def _behind(self, m: Measure) -> tuple[Primitive, ...]:
        """Of these those behind a measure."""
        return primitives(m.body, self.model.net)

    def _gain(self) -> float | None:
        """How many times more firings plain simulation takes for the first measure's first primitive that splitting is for; None where
        that cannot be told."""
        tally = self._split_crew().tally
        plain = tally.sums[at.T_PLAIN]
        k = next((k for k in range(len(plain)) if tally.carrying[k] >= FEW_ROOTS and plain[k] > 0), None)
        if k is None or not len(tally.hits):
            return None
        shift = tally.sums[at.T_SUMS, k] ** 2 / tally.count if self.sort.at_end else 0.0
        now, before = tally.sums[at.T_SQUARES, k] - shift, plain[k] - shift
        return float(before / now * tally.original / tally.made) if now > 0 and before > 0 else None

    def _details(self, sample: Outcome) -> dict[str, Any]:
        tally, levels = self._split_crew().tally, self._split_crew().levels
        gain = self._gain()
        own = {"gain": gain} if gain is not None else {}
        rows = zip(levels.thresholds, levels.factors, tally.hits.tolist(), tally.roots.tolist(), strict=True)
        names = ", ".join(m.name for m in self.model.measures)
        table = [{"for": names, "importance": t, "factor": f, "hits": h, "roots": r} for t, f, h, r in rows]
        return {**super()._details(sample), **own, "roots": tally.count, "levels": table}

    def _notes(self, sample: Outcome) -> Iterable[str]:
        crew = self._split_crew()
        yield from super()._notes(sample)
        yield from self.remarks
        for doubt in self._doubts():
            yield f"{doubt}: not to be trusted; another importance may lead there more often"
        if not crew.levels.thresholds:
            yield "no thresholds were set, for nothing asked for is rare, or nothing leads towards it: this is plain simulation"

    def _asked(self) -> dict[str, Any]:
        return {**super()._asked(), "splitting": self.importance.how, "levels": list(self._split_crew().levels.thresholds)}


class _LongRun(_Split):
    """Long-run averages."""

    HOW: ClassVar[str] = "long-run averages, by batches of independent long runs"

    def _crew(self, engine: Choice) -> SplittingCrew:
        return SplittingCrew(self.model.net, self.wanted, self.importance, self.options.seed, self.control, engine)

    def _sample(self) -> Outcome | None:
        if self.graph is not None and not self.graph.one_long_run:
            raise self._no_long_run(self._ends())
        if not self._prepare():
            return None
        try:
            return self._collect(Batches(self.crew, self.options.warmup))
        except Irregular as why:
            raise self._no_long_run(why.why) from None

    def _no_long_run(self, why: str) -> Exception:
        help = "ask for a probability at a time, or of a first passage within one: P(time until … <= 10 h)"
        return refuse(AnalysisError, "E0732", f"splitting estimates the averages of one long run, and {why}", help=help)


class _ToHorizon(_Split):
    """Values at a time and over one from 0 on, and first passages within one: by independent replications, each a root."""

    HOW: ClassVar[str] = "up to a time, by independent replications"

    def _crew(self, engine: Choice) -> SplittingCrew:
        self.proofs = Proofs(self.graph, closed=False)
        c = self.sort.condition
        net = self.model.net if c is None else stopped_when(self.model.net, c)
        return SplittingCrew(net, self._carried(), self.importance, self.options.seed, self.control, engine, whole=True)

    def _carried(self) -> tuple[Primitive, ...]:
        c = self.sort.condition
        return (TimeAverage(c),) if c is not None else read_along(self.wanted, self.model.net)

    def _behind(self, m: Measure) -> tuple[Primitive, ...]:
        c = self.sort.condition
        return (TimeAverage(c),) if c is not None else read_along(primitives(m.body, self.model.net), self.model.net)

    def _sample(self) -> Outcome | None:
        if not self._prepare():
            return None
        return self._collect(Replications(self.crew, lambda _: self._one, self.options.replications))

    def _one(self, engine: Engine) -> tuple[Floats, Ended]:
        assert isinstance(engine, Restart)
        engine.run(2**62, self.sort.horizon)
        found = engine.rates() if self.sort.at_end else engine.totals()
        self._split_crew().tally.root(found, engine.reached)
        row = [self._read(p, found) for p in self.wanted]
        return np.array([1.0, *row]), Ended(key=None, marking=engine.marking, still=False, size=0)

    def _read(self, p: Primitive, found: Floats) -> float:
        if not isinstance(p, Horizon):
            return float(found[0])
        x = float(found[self._carried().index(ratio(p.measure, self.model.net).numerators[0])])
        return x if p.start is None or p.total else x / length(p)

    def _total(self, tally: Tally, k: int) -> float:
        return float(tally.sums[at.T_SUMS, k])

    def _may_vary(self, p: Primitive, value: float) -> bool:
        return value == 0

    def _unseen_rate(self, sample: Outcome, p: Primitive) -> float:
        return unseen_chance(self.options.confidence, sample.replications)

    def _classes(self, sample: Outcome) -> tuple[Any, ...]:
        return ()
