"""Estimates of a model's measures by simulation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spn.errors import AnalysisError, refuse
from spn.measure import Measure, Passage, Primitive, primitives
from spn.model import Model
from spn.net import semantics
from spn.net.stopped import stopped_when
from spn.provenance import provenance
from spn.result import RecurrentClass, Result, Value
from spn.sim.classes import ClosedClass, closed_classes
from spn.sim.control import Control, Progress, all_cores
from spn.sim.engine import Ending, Floats
from spn.sim.estimate import Function, Interval, averages, interval, measure_function
from spn.sim.longrun import Batches, Ended, Irregular, Replications, Sample, collect, over_horizon, until_settled
from spn.sim.questions import LONG_RUN, TIMES, Sort, at_times, by_sort, read_along, refusals
from spn.sim.questions import until as until_met
from spn.sim.streams import Choice, Crew, fresh_seed

CORRELATED = 0.3  # lag-1 autocorrelation of the groups above which batches count as too short
MARGIN = 1.1  # how much more than the estimated need is simulated

Estimates = Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What :func:`simulate` was asked for."""

    seed: int
    precision: float
    confidence: float
    replications: int | None
    horizon: float | None
    warmup: float | None


def simulate(
    model: Model,
    *,
    seed: int | None = None,
    precision: float = 0.01,
    confidence: float = 0.95,
    replications: int | None = None,
    horizon: float | None = None,
    warmup: float | None = None,
    max_seconds: float = 60.0,
    max_firings: float = 1e9,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    until: Callable[[Estimates], bool] | None = None,
    engine: Choice = "auto",
) -> Result:
    """Estimate the measures of a model, each with a Student-t confidence interval at level ``confidence``.

    The run ends when every half-width is at most ``precision`` times the value (or when ``until``, given the estimates, says so; it then
    replaces the precision), or at ``max_seconds`` of computing or ``max_firings``; then ``Result.converged`` is False. Without a horizon
    the values are long-run averages, by batches of independent long runs where there is one long run, by replications where runs can end
    in different ones or come to rest. With ``horizon`` (seconds) they are averages over (``warmup`` or 0) to the horizon, by
    replications. ``replications`` fixes their number. ``warmup`` (seconds) replaces the automatic cut. Measures at times and of first
    passage are estimated by replications of their own; seconds and firings are shared out evenly.

    Equal seeds give equal results, whatever the number of ``workers`` (threads; all cores if not given) and the ``engine`` ("python" or
    "compiled"; "auto" takes the first for small jobs). The seed used is in ``Result.provenance``. An interruption (Ctrl-C) ends the run
    and keeps what was estimated: ``details["interrupted"]``. Raises SemanticsError for a marking in which the net means nothing and for a
    zero-time loop, AnalysisError for questions that are not estimated, for options out of range and where not even two replications were
    done.
    """
    refused = list(refusals(model))
    if refused:
        raise AnalysisError(*refused)
    options = Options(
        seed=fresh_seed() if seed is None else seed,
        precision=precision,
        confidence=confidence,
        replications=replications,
        horizon=horizon,
        warmup=warmup,
    )
    _check(options)
    parts = by_sort(model) or {LONG_RUN: model}
    results = []
    for sort, part in parts.items():
        control = Control(
            workers=workers or all_cores(), max_seconds=max_seconds / len(parts), max_firings=max_firings / len(parts), progress=progress
        )
        results.append(_run_of(sort)(part, options, control, until, engine).result())
        if control.interrupted:
            break
    return results[0] if len(results) == 1 else _joined(model, results)


def _run_of(sort: Sort) -> type[_Run]:
    if isinstance(sort, str):
        return _Times if sort == TIMES else _Run
    return _Passages


def _joined(model: Model, results: Sequence[Result]) -> Result:
    """One result of the runs that answered different sorts of questions."""
    values = {name: value for r in results for name, value in r.measures.items()}
    counts = {k: sum(r.details[k] for r in results) for k in ("firings", "replications", "batches")}
    first = results[0]
    assert first.provenance is not None
    return replace(
        first,
        reason="; ".join(dict.fromkeys(r.reason for r in results)),
        measures={m.name: values[m.name] for m in model.measures if m.name in values},
        converged=all(r.converged for r in results),
        classes=next((r.classes for r in results if r.classes), ()),
        details={**first.details, **counts, "interrupted": any(r.details["interrupted"] for r in results)},
        notes=tuple(dict.fromkeys(n for r in results for n in r.notes)),
        seconds=sum(r.seconds for r in results),
        provenance=provenance(model, first.provenance.options, first.provenance.seed),
    )


def _check(o: Options) -> None:
    wrong = [
        (not 0 < o.precision < math.inf, f"precision is {o.precision:g}; it is a relative half-width above 0"),
        (not 0 < o.confidence < 1, f"confidence is {o.confidence:g}; it lies between 0 and 1"),
        (o.replications is not None and o.replications < 2, f"replications is {o.replications}; an interval needs at least 2"),
        (o.horizon is not None and not 0 < o.horizon < math.inf, f"horizon is {o.horizon} s; it is a positive time"),
        (
            o.warmup is not None and not 0 <= o.warmup < (o.horizon or math.inf),
            f"warmup is {o.warmup} s; it lies between 0 and the horizon",
        ),
        (o.seed < 0, f"seed is {o.seed}; it is a whole number from 0"),
    ]
    for is_wrong, message in wrong:
        if is_wrong:
            raise refuse(AnalysisError, "E0705", message)


def questions(measures: Iterable[Measure], model: Model) -> tuple[Primitive, ...]:
    """The distinct primitives behind measures, in order."""
    found: dict[Primitive, None] = {}
    for m in measures:
        found.update(dict.fromkeys(primitives(m.body, model.net)))
    return tuple(found)


class _Run:
    """One call of :func:`simulate`."""

    def __init__(self, model: Model, options: Options, control: Control, until: Callable[[Estimates], bool] | None, engine: Choice) -> None:
        self.model = model
        self.options = options
        self.control = control
        self.until = until
        self.wanted = questions(model.measures, model)
        self.functions = {m.name: measure_function(m.body, model.net, self.wanted) for m in model.measures}
        self.crew = self._crew(engine)
        self.intervals: dict[str, Interval] = {}
        self.settled = False
        self.reason = ""
        self.closed: tuple[ClosedClass, ...] | None = None

    def _crew(self, engine: Choice) -> Crew:
        return Crew(self.model.net, self.wanted, self.options.seed, self.control, engine)

    def result(self) -> Result:
        started = time.monotonic()
        sample = self._sample()
        if sample is None:
            raise self._nothing()
        self._estimate(sample)
        return Result(
            method="simulate",
            reason=self.reason,
            measures=self._values(),
            converged=self.settled and not self.control.interrupted,
            classes=self._classes(sample),
            details=self._details(sample),
            notes=tuple(self._notes(sample)),
            seconds=time.monotonic() - started,
            provenance=provenance(self.model, self._asked(), self.options.seed),
        )

    # --- the sample ----------------------------------------------------------------------------------------------------

    def _sample(self) -> Sample | None:
        o = self.options
        if o.horizon is not None:
            self.reason = f"averages over {o.warmup or 0:g} s to {o.horizon:g} s, by independent replications"
            return self._collect(Replications(self.crew, over_horizon(self.crew, o.horizon, o.warmup or 0.0), o.replications))
        self.closed = closed_classes(self.model.net)
        one_long_run = self.closed is None or (len(self.closed) == 1 and not self.closed[0].absorbing)
        if one_long_run and o.replications is None:
            try:
                self.reason = "long-run averages, by batches of independent long runs"
                return self._collect(Batches(self.crew, o.warmup))
            except Irregular as why:
                self.reason = f"long-run averages, by independent replications, since {why.why}"
        else:
            self.reason = "long-run averages, by independent replications" + ("" if one_long_run else f", since {self._ends()}")
        known = self.closed if self.closed is not None and not one_long_run else None
        return self._collect(Replications(self.crew, until_settled(self.crew, known, o.warmup), o.replications))

    def _ends(self) -> str:
        return "runs may end in different ways" if self.closed is None or len(self.closed) > 1 else "every run comes to rest"

    def _collect(self, collector: Batches | Replications) -> Sample | None:
        return collect(collector, self._judge, self.control)

    def _judge(self, sample: Sample) -> float:
        """By which factor the work should grow; at most 1 when all is estimated well enough."""
        self._estimate(sample)
        if self.control.progress is not None:
            self.control.progress(self._progress())
        if self.until is not None:
            self.settled = sample.warmed and self.until(self._values())
            return 1.0 if self.settled else 1.6
        worst = self._worst()
        independent = all(i.correlation < CORRELATED or i.half_width == 0 for i in self.intervals.values())
        self.settled = worst <= self.options.precision and independent and sample.warmed
        if self.settled:
            return 1.0
        need = (worst / self.options.precision) ** 2 * MARGIN if math.isfinite(worst) else 4.0
        return max(need, 1.2 if independent and sample.warmed else 2.0)

    def _estimate(self, sample: Sample) -> None:
        c = self.options.confidence
        self.intervals = {name: interval(sample.rows, f, c, streams=sample.streams) for name, f in self.functions.items()}

    def _worst(self) -> float:
        return max((i.relative() for i in self.intervals.values()), default=0.0)

    def _progress(self) -> Progress:
        return Progress(
            firings=self.control.firings,
            seconds=self.control.seconds(),
            measures=self._values(),
            worst=self._worst(),
            precision=self.options.precision,
        )

    # --- the answer ----------------------------------------------------------------------------------------------------

    def _values(self) -> dict[str, Value]:
        return {m.name: self._value(m, self.intervals[m.name]) for m in self.model.measures}

    def _value(self, m: Measure, i: Interval) -> Value:
        return Value(
            value=i.value,
            half_width=i.half_width,
            confidence=i.confidence,
            unit=m.unit,
            unit_factor=float(m.unit_factor),
            samples=i.samples,
        )

    def _classes(self, sample: Sample) -> tuple[RecurrentClass, ...]:
        """The classes in which replications ended, most probable first; none to tell where all ended in one that goes on."""
        groups: dict[object, list[int]] = {}
        for k, end in enumerate(sample.ends):
            groups.setdefault(end.key, []).append(k)
        if self.options.horizon is not None or (len(groups) < 2 and not any(end.still for end in sample.ends)):
            return ()
        ordered = sorted(groups.values(), key=lambda members: -len(members))
        return tuple(self._class(sample, np.array(members)) for members in ordered)

    def _class(self, sample: Sample, members: Any) -> RecurrentClass:
        end: Ended = sample.ends[int(members[0])]
        net = self.model.net
        known: Floats = averages(sample.each[members])
        kind = "recurrent"
        if end.still:
            kind = "dead" if semantics.is_dead(semantics.rules(net), end.marking) else "stuck"
        functions: dict[str, Function] = self.functions
        return RecurrentClass(
            probability=len(members) / len(sample.ends),
            size=end.size,
            kind=kind,
            marking={p.name: k for p, k in zip(net.places, end.marking, strict=True) if k},
            measures={name: f(known) for name, f in functions.items()},
        )

    def _details(self, sample: Sample) -> dict[str, Any]:
        return {
            "firings": self.control.firings,
            "replications": sample.replications,
            "batches": sample.batches,
            "warm_up": sample.warm_up,
            "workers": self.control.workers,
            "interrupted": self.control.interrupted,
        }

    def _notes(self, sample: Sample) -> Iterable[str]:
        if stopped := self.control.exhausted():
            yield stopped
        if not self.settled and sample.batches:
            wild = [name for name, i in self.intervals.items() if i.correlation >= CORRELATED and i.half_width > 0]
            if wild or not sample.warmed:
                yield "the runs still drift or vary slowly: there may be no steady state, or it takes much longer to reach"
        if self.crew.compiled.inexact:
            names = ", ".join(self.crew.compiled.inexact)
            yield f"the discrete delays of {names} have no common tick with the others; ties between them are up to rounding"
        if len({end.key for end in sample.ends}) > 1:
            yield "runs end in different classes; the values are mixed with the probabilities of ending in each"

    def _asked(self) -> dict[str, Any]:
        o = self.options
        asked = {
            "precision": o.precision,
            "confidence": o.confidence,
            "replications": o.replications,
            "horizon": o.horizon,
            "warmup": o.warmup,
        }
        return {name: value for name, value in asked.items() if value is not None}

    def _nothing(self) -> Exception:
        return refuse(
            AnalysisError,
            "E0706",
            f"{self.control.exhausted() or 'stopped'} before there was anything to estimate from",
            help="allow more seconds or firings, or a shorter horizon",
        )


class _Times(_Run):
    """Values at times and over times."""

    def _crew(self, engine: Choice) -> Crew:
        return Crew(self.model.net, read_along(self.wanted, self.model.net), self.options.seed, self.control, engine)

    def _sample(self) -> Sample | None:
        self.reason = "values at times, by independent replications"
        return self._collect(Replications(self.crew, at_times(self.crew, self.wanted, self.model.net), self.options.replications))

    def _classes(self, sample: Sample) -> tuple[RecurrentClass, ...]:
        return ()


class _Passages(_Times):
    """The time until a condition holds, one and the same for all measures."""

    def _crew(self, engine: Choice) -> Crew:
        self.condition = next(p.condition for p in self.wanted if isinstance(p, Passage))
        self.stopped = stopped_when(self.model.net, self.condition)
        return Crew(self.stopped, (), self.options.seed, self.control, engine)

    def _sample(self) -> Sample | None:
        self.reason = "first passages, by independent replications"
        one = until_met(self.crew, self.wanted, self.condition, self.stopped)
        return self._collect(Replications(self.crew, one, self.options.replications))

    def _estimate(self, sample: Sample) -> None:
        """Where a replication shows that the condition may never be met the mean is infinite, beyond estimation."""
        infinite = {p for p, column in zip(self.wanted, sample.rows[:, 1:].T, strict=True) if not np.isfinite(column).all()}
        finite = replace(sample, rows=np.where(np.isfinite(sample.rows), sample.rows, 0.0))
        super()._estimate(finite)
        for m in self.model.measures:
            if infinite & set(primitives(m.body, self.model.net)):
                endless = self.functions[m.name](averages(sample.rows))
                self.intervals[m.name] = replace(self.intervals[m.name], value=endless, half_width=0.0, correlation=0.0)

    def _notes(self, sample: Sample) -> Iterable[str]:
        yield from super()._notes(sample)
        missed = sum(not semantics.value(semantics.rules(self.stopped), self.condition, e.marking) for e in sample.ends)
        if missed:
            yield f"the condition could never be met in {missed} of {len(sample.ends)} replications, so the mean time is infinite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """One trajectory up to ``time``: the averages of the measures over [0, time], firings, the marking reached, and why it stopped."""

    time: float
    firings: int
    marking: Mapping[str, int]
    measures: Mapping[str, float]
    averages: Mapping[Primitive, float]
    ending: Ending


def trajectory(model: Model, horizon: float, seed: int, *, engine: Choice = "auto", extra: Iterable[Primitive] = ()) -> Path:
    """Follow one trajectory from 0 to ``horizon`` (events at exactly that time included, the state held to it).

    ``averages`` has the time averages, or firings per second, of the primitives of the measures and of ``extra``."""
    wanted = tuple(dict.fromkeys((*questions(model.measures, model), *extra)))
    control = Control(workers=1, max_seconds=math.inf, max_firings=math.inf)
    crew = Crew(model.net, wanted, seed, control, engine)
    followed = crew.trajectory(0, kernel=engine == "compiled")
    ending = crew.run(followed, 2**62 if engine == "python" else 20_000, horizon)
    if ending is Ending.FIRINGS:
        followed = crew.trajectory(0, kernel=True)
        ending = crew.run(followed, 2**62, horizon)
    known = followed.totals() / horizon
    functions = {m.name: measure_function(m.body, model.net, wanted) for m in model.measures}
    return Path(
        time=followed.time,
        firings=followed.firings,
        marking={p.name: k for p, k in zip(model.net.places, followed.marking, strict=True)},
        measures={name: f(known) for name, f in functions.items()},
        averages=dict(zip(wanted, known.tolist(), strict=True)),
        ending=ending,
    )
