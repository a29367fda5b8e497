"""Estimates of a model's measures by simulation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from os import PathLike
from typing import Any, get_args

import numpy as np

from spn.delay import with_means
from spn.errors import AnalysisError, nearest, refuse
from spn.expr.nodes import Node, constant
from spn.measure import Delay, FiringRate, Horizon, Measure, Passage, Primitive, Quantile, primitives, ratio
from spn.model import Model, checked
from spn.net import semantics
from spn.net.stopped import stopped_when
from spn.provenance import provenance
from spn.result import RecurrentClass, Result, Value
from spn.sim.checkpoint import Identity, identity, opened, seed_in
from spn.sim.classes import marking_graph
from spn.sim.control import Control, Progress, all_cores
from spn.sim.engine import Ending, Floats
from spn.sim.estimate import Function, Interval, averages, measure_function, never_seen, unseen_chance
from spn.sim.executors import site_of
from spn.sim.longrun import Batches, Collector, Group, Irregular, Outcome, Replications, Sample, collect, over_horizon, until_settled
from spn.sim.magnitude import magnitude
from spn.sim.mixture import MOST_CLASSES, ByClass, Evaded
from spn.sim.options import check_engine, check_types
from spn.sim.proof import FEW, Proofs
from spn.sim.quantiles import QuantileInterval, of_times
from spn.sim.questions import LONG_RUN, TIMES, Sort, at_times, by_sort, length, read_along, refusals
from spn.sim.questions import until as until_met
from spn.sim.record import in_memory
from spn.sim.regenerative import REGENERATIVE, Entries, Estimator, Regenerative, Unregenerative, described, find_point, unregenerative
from spn.sim.streams import ALL_KERNELS, Choice, Crew, fresh_seed

PRECISION = 0.01  # relative half-width, where nothing else is asked for
CORRELATED = 0.3  # lag-1 autocorrelation of the groups above which batches count as too short
MARGIN = 1.1  # how much more than the estimated need is simulated

Estimates = Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What :func:`simulate` was asked for."""

    seed: int
    precision: float | None
    confidence: float
    replications: int | None
    horizon: float | None
    warmup: float | None
    absolute: float | None = None
    precise_for: tuple[str, ...] | None = None
    estimator: Estimator = "auto"

    def excess(self, i: Interval, unit_factor: float) -> float:
        """How many times wider an interval is than was asked for, by the rule that it meets more easily; 0 without a width."""
        by_value = math.inf if self.precision is None else i.relative() / self.precision
        size = i.half_width / unit_factor
        by_size = math.inf if self.absolute is None or not math.isfinite(size) else size / self.absolute
        return 0.0 if i.half_width == 0 else min(by_value, by_size)


def simulate(
    model: Model,
    *,
    seed: int | None = None,
    precision: float | None = None,
    absolute: float | None = None,
    precise_for: Sequence[str] | None = None,
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
    executor: object = None,
    checkpoint: str | PathLike[str] | None = None,
    estimator: Estimator = "auto",
) -> Result:
    """Estimate the measures of a model, each with a Student-t confidence interval at level ``confidence``.

    The run ends when every half-width is at most ``precision`` (0.01, if ``absolute`` is not given either) times the value or at most
    ``absolute``, in the unit in which the measure is shown; ``precise_for`` names the measures that matter for this, all if not given. Or
    it ends when ``until``, given the estimates, says so (this then replaces the precision), or at ``max_seconds`` of computing or
    ``max_firings``; then ``Result.converged`` is False. Without a horizon the values are long-run averages, by batches of independent
    long runs where there is one long run, by replications where runs can end in different ones or come to rest. With ``horizon``
    (seconds) they are averages over (``warmup`` or 0) to the horizon, by replications. ``replications`` fixes their number. ``warmup``
    (seconds) replaces the automatic cut. ``estimator``: one long run is cut at regeneration points where :mod:`spn.sim.regenerative`
    proves that there are such, at least once in 50 firings of a trial run ("auto"), or ever ("regenerative", else an error), or into
    batches of equally many firings ("batches"). Measures at times and of first passage are estimated by replications of their own;
    seconds and firings are shared out evenly.

    Equal seeds give equal results, whatever the number of ``workers`` (threads; all cores if not given) and the ``engine`` ("python" or
    "compiled"; "auto" takes the first for small jobs). The seed used is in ``Result.provenance``. An interruption (Ctrl-C) ends the run
    and keeps what was estimated: ``details["interrupted"]``.

    ``executor`` does the work in place of threads: any :class:`concurrent.futures.Executor` or a Dask ``Client``; the answer is the same.
    ``checkpoint`` names a file in which every few seconds is kept what was done. Where it exists already, the run goes on from there, with
    the seed in it if none is given, and ends with the very result that it would have had in one go; seconds count anew.

    Raises SemanticsError for a marking in which the net means nothing and for a
    zero-time loop, AnalysisError for questions that are not estimated, for options out of range, where not even two replications were
    done and where a cluster has lost its workers for good, DataError for a checkpoint that is damaged or of another run.
    """
    model = with_means(checked(model))
    refused = list(refusals(model))
    if refused:
        raise AnalysisError(*refused)
    check_types(
        whole={"seed": seed, "replications": replications, "workers": workers},
        real={
            "precision": precision,
            "absolute": absolute,
            "confidence": confidence,
            "horizon": horizon,
            "warmup": warmup,
            "max_seconds": max_seconds,
            "max_firings": max_firings,
        },
    )
    check_engine(engine)
    if estimator not in get_args(Estimator):
        raise refuse(AnalysisError, "E0705", f"estimator is {estimator!r}; it is one of {', '.join(get_args(Estimator))}")
    options = Options(
        seed=chosen_seed(seed, checkpoint),
        precision=PRECISION if precision is None and absolute is None else precision,
        absolute=absolute,
        precise_for=_chosen(model, precise_for),
        confidence=confidence,
        replications=replications,
        horizon=horizon,
        warmup=warmup,
        estimator=estimator,
    )
    _check(options)
    kept = None if checkpoint is None else opened(checkpoint, _identity(model, options, engine), in_memory(ALL_KERNELS))
    site = None if executor is None else site_of(executor)
    parts = by_sort(model) or {LONG_RUN: model}
    results = []
    try:
        for sort, part in parts.items():
            control = Control(
                workers=workers or all_cores(),
                max_seconds=max_seconds / len(parts),
                max_firings=max_firings / len(parts),
                progress=progress,
                record=None if kept is None else kept.record,
                site=site,
            )
            results.append(_run_of(sort)(part, options, control, until, engine).result())
            if control.interrupted:
                break
    finally:
        if kept is not None:
            kept.record.write()
    result = results[0] if len(results) == 1 else _joined(model, results)
    notes = (*(site.notes if site is not None else ()), *(kept.notes(done=result.converged) if kept is not None else ()))
    return replace(result, notes=(*result.notes, *notes)) if notes else result


def chosen_seed(given: int | None, checkpoint: str | PathLike[str] | None) -> int:
    """The seed that was asked for, else that of the run to go on with, else a new one."""
    found = seed_in(checkpoint) if given is None and checkpoint is not None else given
    return fresh_seed() if found is None else found


def _identity(model: Model, options: Options, engine: Choice) -> Identity:
    """What tells this run from others. Limits are left out: they may be raised to go on."""
    named = asdict(options)
    return identity(model, int(named.pop("seed")), {**named, "engine": engine})


def _chosen(model: Model, names: Sequence[str] | None) -> tuple[str, ...] | None:
    """The names of measures, once it is certain that they are such."""
    if isinstance(names, str):
        raise TypeError(f"precise_for is a list of names of measures, not {names!r}")
    known = [m.name for m in model.measures]
    for name in names or ():
        if name not in known:
            near = nearest(name, known)
            help = f"did you mean {near}?" if near else f"it has {', '.join(known) or 'none'}"
            raise refuse(AnalysisError, "E0201", f"{model.name} has no measure {name} to be precise for", help=help)
    return tuple(names) if names else None


def _run_of(sort: Sort) -> type[_Run]:
    if isinstance(sort, str):
        return _Times if sort == TIMES else _Run
    if isinstance(sort, Quantile):
        from spn.sim.distribution import Distribution

        return Distribution
    if isinstance(sort, Delay):
        from spn.sim.delays import Delays

        return Delays
    return _Passages


def _joined(model: Model, results: Sequence[Result]) -> Result:
    """One result of the runs that answered different sorts of questions."""
    values = {name: value for r in results for name, value in r.measures.items()}
    counts = {k: sum(r.details[k] for r in results) for k in ("firings", "replications", "batches")}
    first = results[0]
    assert first.provenance is not None
    return replace(
        first,
        reason="; ".join(dict.fromkeys(part for r in results for part in r.reason.split("; "))),
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
        (o.precision is not None and not 0 < o.precision < math.inf, f"precision is {o.precision}; it is a relative half-width above 0"),
        (o.absolute is not None and not 0 < o.absolute < math.inf, f"absolute is {o.absolute}; it is a half-width above 0"),
        (not 0 < o.confidence < 1, f"confidence is {o.confidence:g}; it lies between 0 and 1"),
        (o.replications is not None and o.replications < 2, f"replications is {o.replications}; an interval needs at least 2"),
        (o.horizon is not None and not 0 < o.horizon < math.inf, f"horizon is {o.horizon} s; it is a positive time"),
        (
            o.warmup is not None and not 0 <= o.warmup < (o.horizon or math.inf),
            f"warmup is {o.warmup} s; it lies between 0 and the horizon",
        ),
        (
            o.estimator != "auto" and (o.horizon is not None or o.replications is not None),
            f"estimator is {o.estimator}, which is about long runs; leave horizon and replications out",
        ),
        (
            o.estimator == REGENERATIVE and o.warmup is not None,
            "a warm-up has no place in regenerative estimates: cycles begin at the first regeneration point",
        ),
        (o.seed < 0, f"seed is {o.seed}; it is a whole number from 0"),
    ]
    for is_wrong, message in wrong:
        if is_wrong:
            raise refuse(AnalysisError, "E0705", message)


def questions(bodies: Iterable[Node], model: Model) -> tuple[Primitive, ...]:
    """The distinct primitives behind the bodies of measures, in order."""
    return tuple(dict.fromkeys(p for body in bodies for p in primitives(body, model.net)))


class _Run:
    """One call of :func:`simulate`."""

    def __init__(self, model: Model, options: Options, control: Control, until: Callable[[Estimates], bool] | None, engine: Choice) -> None:
        self.model = model
        self.options = options
        self.control = control
        self.until = until
        terms = {m.name: size for m in model.measures if (size := magnitude(m.body)) is not None}
        self.wanted = questions([m.body for m in model.measures] + list(terms.values()), model)
        self.functions = {m.name: measure_function(m.body, model.net, self.wanted) for m in model.measures}
        self.magnitudes = {name: measure_function(body, model.net, self.wanted) for name, body in terms.items()}
        self.units = {m.name: float(m.unit_factor) for m in model.measures}
        self.intervals: dict[str, Interval] = {}
        self.settled = False
        self.reason = ""
        self.graph = marking_graph(model.net)
        self.proofs = Proofs(self.graph, closed=options.horizon is None)
        self.crew = self._crew(engine)
        self.unseen: dict[str, tuple[Primitive, ...]] = {}  # by measure: what was the same all the time, yet might not be

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

    def _sample(self) -> Outcome | None:
        o = self.options
        if o.horizon is not None:
            self.reason = f"averages over {o.warmup or 0:g} s to {o.horizon:g} s, by independent replications"
            span = o.horizon - (o.warmup or 0.0)
            task = partial(over_horizon, horizon=o.horizon, start=o.warmup or 0.0)
            return self._collect(Replications(self.crew, task, o.replications, span=span))
        one_long_run = self.graph is None or self.graph.one_long_run
        if o.replications is None:
            try:
                return self._long_runs()
            except Irregular as why:
                self.reason = f"long-run averages, by independent replications, since {why.why}"
        else:
            self.reason = "long-run averages, by independent replications" + ("" if one_long_run else f", since {self._ends()}")
        known = self.graph.closed if self.graph is not None and not one_long_run else None
        sample = self._collect(Replications(self.crew, partial(until_settled, classes=known, warmup=o.warmup), o.replications))
        if one_long_run and sample is not None and not sample.random and not all(g.still for g in sample.groups()):
            return self._without_chance(sample)
        return sample

    def _without_chance(self, sample: Outcome) -> Outcome | None:
        """Replications that draw nothing are one and the same, cut at a moment that need not end a period: a long run tells how far off
        that is."""
        kept = self.reason
        try:
            found = self._one_long_run()
        except Irregular:
            found = None
        if found is None:
            self.reason = kept
            return sample
        self.reason += "; nothing is drawn, so that replications are all the same"
        return found

    def _long_runs(self) -> Outcome | None:
        """By long runs: of the whole net where all runs end alike, else in each of the classes in which they may end."""
        if self.graph is None or self.graph.one_long_run:
            return self._one_long_run()
        if sum(not c.absorbing for c in self.graph.closed) > MOST_CLASSES:
            raise Irregular(self._ends())
        collector = ByClass(self.crew, self.graph, self.options.warmup)
        how = "the exact chances of ending in each" if collector.exact is not None else "the chances of ending in each by many short runs"
        every = "by long runs in each class, " + how if len(self.graph.closed) > 1 else "in the marking in which every run comes to rest"
        self.reason = f"long-run averages, {every}"
        try:
            return self._collect(collector)
        except Evaded:
            return self._one_long_run()

    def _one_long_run(self) -> Outcome | None:
        """By regenerative cycles where a marking to regenerate in is found, else by batches of equally many firings."""
        asked = self.options.estimator == REGENERATIVE
        if asked or (self.options.estimator == "auto" and self.options.warmup is None):
            try:
                entries = Entries(self.model.net)
                point = find_point(self.crew, entries, asked=asked)
                self.reason = f"long-run averages, by regenerative cycles: {described(self.model.net, point)}"
                return self._collect(Regenerative(self.crew, entries, point))
            except Unregenerative as why:
                if asked:
                    raise unregenerative(why) from None
        self.reason = "long-run averages, by batches of independent long runs"
        return self._collect(Batches(self.crew, self.options.warmup))

    def _ends(self) -> str:
        return "runs may end in different ways" if self.graph is None or len(self.graph.closed) > 1 else "every run comes to rest"

    def _collect(self, collector: Collector) -> Outcome | None:
        return collect(collector, self._judge, self.control)

    def _judge(self, sample: Outcome) -> Sequence[float]:
        """By which factor the work of each source should grow; none above 1 when all is estimated well enough."""
        self._estimate(sample)
        if self.control.progress is not None:
            self.control.reporter.tell(self._progress())
        if self.until is not None:
            self.settled = sample.warmed and self.until(self._values())
            return [1.0 if self.settled else 1.6]
        worst = self._worst()
        independent = all(i.correlation < CORRELATED or i.half_width == 0 for i in self._relevant().values())
        enough = not self._doubtful() & set(self._relevant()) or self.control.firings >= FEW
        self.settled = worst <= 1 and independent and sample.warmed and enough
        if self.settled:
            return [1.0]
        least = 1.2 if independent and sample.warmed and enough else 2.0
        return self._needs(least)

    def _needs(self, least: float) -> list[float]:
        """The factor for each source, shared out so that the largest contributions to the variance shrink most; the neediest grows by
        ``least`` at least."""
        needs: list[float] = []
        for name, i in self._relevant().items():
            worse = self._excess(name)
            if not math.isfinite(worse) or not i.parts:
                continue
            total = math.fsum(p.variance for p in i.parts)
            shares = [len(i.parts) * p.variance / total if 0 < total < math.inf else 1.0 for p in i.parts]
            mine = [worse**2 * MARGIN * share for share in shares]
            needs = [max(a, b) for a, b in zip(needs or mine, mine, strict=True)]
        if not needs or any(not math.isfinite(self._excess(name)) for name in self._relevant() if name not in self._doubtful()):
            return [4.0]
        return [max(n, least) if n == max(needs) else max(n, 1.0) for n in needs]

    def _doubtful(self) -> set[str]:
        """The measures without an interval, because something was never seen."""
        return set(self.unseen)

    def _estimate(self, sample: Outcome) -> None:
        c = self.options.confidence
        self.intervals = {name: sample.interval(f, c, self.magnitudes.get(name)) for name, f in self.functions.items()}
        same = {p: v for k, p in enumerate(self.wanted) if (v := sample.constant(k)) is not None}
        self.unseen = {}
        for m in self.model.measures:
            i = self.intervals[m.name]
            if sample.random and (i.half_width == 0 or math.isnan(i.value)):
                found = tuple(p for p in primitives(m.body, self.model.net) if p in same and self._may_vary(p, same[p]))
                if found:
                    self.unseen[m.name] = found
                    self.intervals[m.name] = i.with_width(self._unseen_width(sample, m.name, found))
            if math.isnan(i.value) and m.name not in self.unseen:
                self.intervals[m.name] = i.with_width(0.0)

    def _unseen_width(self, sample: Outcome, name: str, found: Sequence[Primitive]) -> float:
        """How far a measure may be off because of firings that were never seen; inf where it is not firings, or no value."""
        rates = np.array([self._unseen_rate(sample, p) if p in found else 0.0 for p in self.wanted])
        if not np.isfinite(rates).all():
            return math.inf
        known = sample.averages()
        off = abs(self.functions[name](known + rates) - self.functions[name](known))
        return off if math.isfinite(off) else math.inf

    def _may_vary(self, p: Primitive, value: float) -> bool:
        """Whether a primitive that had one value all the time may yet have others."""
        return self.proofs.unseen(p, value)

    def _unseen_rate(self, sample: Outcome, p: Primitive) -> float:
        """How far a primitive that was the same all the time may be off."""
        counts = isinstance(p, FiringRate) and constant(p.value) == 1
        return never_seen(self.options.confidence, sample.exposure, sample.streams) if counts else math.inf

    def _worst(self) -> float:
        """How many times wider than was asked for the widest interval is."""
        doubtful = self._doubtful()
        return max((self._excess(name) for name in self._relevant() if name not in doubtful), default=0.0)

    def _relevant(self) -> dict[str, Interval]:
        """The intervals of the measures for which a precision is due."""
        chosen = self.options.precise_for
        return {name: i for name, i in self.intervals.items() if chosen is None or name in chosen}

    def _excess(self, name: str) -> float:
        """How many times wider its interval is than was asked for."""
        return self.options.excess(self.intervals[name], self.units[name])

    def _progress(self) -> Progress:
        return Progress(
            firings=self.control.firings,
            seconds=self.control.seconds(),
            measures=self._values(),
            worst=self._worst() * (self.options.precision or 1.0),
            precision=self.options.precision or 1.0,
            relative=self.options.precision is not None,
            measure=max(self._relevant(), key=self._excess, default=""),
        )

    # --- the answer ----------------------------------------------------------------------------------------------------

    def _values(self) -> dict[str, Value]:
        return {m.name: self._value(m, self.intervals[m.name]) for m in self.model.measures}

    def _value(self, m: Measure, i: Interval) -> Value:
        return Value(
            value=i.value,
            half_width=math.nan if math.isnan(i.value) else i.half_width,
            confidence=i.confidence,
            unit=m.unit,
            unit_factor=float(m.unit_factor),
            samples=i.samples,
            note=self._note(m.name, i),
        )

    def _note(self, name: str, i: Interval) -> str:
        if name in self.unseen:
            return "never seen to vary"
        if isinstance(i, QuantileInterval) and i.half_width > 0:
            return f"from {i.low / self.units[name]:.6g} to {i.high / self.units[name]:.6g}"
        if i.near_zero and i.half_width > (self.options.precision or 0.0) * abs(i.value) and self._by_value(name):
            return "not told from 0"
        return ""

    def _by_value(self, name: str) -> bool:
        """Whether it is the relative precision that its interval has to meet."""
        absolute = self.options.absolute
        return absolute is None or self.intervals[name].half_width / self.units[name] > absolute

    def _classes(self, sample: Outcome) -> tuple[RecurrentClass, ...]:
        """The classes in which runs ended, most probable first; none to tell where all ended in one that goes on."""
        groups = sample.groups()
        if self.options.horizon is not None or (len(groups) < 2 and not any(g.still for g in groups)):
            return ()
        return tuple(self._class(g) for g in groups)

    def _class(self, group: Group) -> RecurrentClass:
        net = self.model.net
        kind = "recurrent"
        if group.still:
            kind = "dead" if semantics.is_dead(semantics.rules(net), group.marking) else "stuck"
        return RecurrentClass(
            probability=group.probability,
            size=group.size,
            kind=kind,
            marking={p.name: k for p, k in zip(net.places, group.marking, strict=True) if k},
            measures={name: f(group.averages) for name, f in self.functions.items()},
        )

    def _details(self, sample: Outcome) -> dict[str, Any]:
        return {
            "firings": self.control.firings,
            "replications": sample.replications,
            "batches": sample.batches,
            "warm_up": sample.warm_up,
            "halves": sample.halves,
            "workers": self.control.workers,
            "method": self.crew.method,
            "interrupted": self.control.interrupted,
        }

    def _notes(self, sample: Outcome) -> Iterable[str]:
        if stopped := self.control.exhausted():
            yield stopped
        if not self.settled and sample.batches:
            wild = [name for name, i in self.intervals.items() if i.correlation >= CORRELATED and i.half_width > 0]
            if wild or not sample.warmed:
                yield "the runs still drift or vary slowly: there may be no steady state, or it takes much longer to reach"
        if undefined := [name for name, i in self.intervals.items() if math.isnan(i.value)]:
            yield f"{', '.join(undefined)}: undefined, a division by 0 or the like"
        if self.unseen:
            yield (
                f"{', '.join(self.unseen)}: never seen to vary in {self.control.firings:,} firings, though it may be possible; "
                "the interval is that of events at random, inf where there is none"
            )
        if self.crew.compiled.inexact:
            names = ", ".join(self.crew.compiled.inexact)
            yield f"the discrete delays of {names} have no common tick with the others; ties between them are up to rounding"
        if len(self._classes(sample)) > 1:
            yield "runs end in different classes; the values are mixed with the probabilities of ending in each"

    def _asked(self) -> dict[str, Any]:
        o = self.options
        asked = {
            "precision": o.precision,
            "absolute": o.absolute,
            "precise_for": o.precise_for,
            "confidence": o.confidence,
            "replications": o.replications,
            "horizon": o.horizon,
            "warmup": o.warmup,
            "estimator": None if o.estimator == "auto" else o.estimator,
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
        self.proofs = Proofs(self.graph, closed=False)
        return Crew(self.model.net, read_along(self.wanted, self.model.net), self.options.seed, self.control, engine)

    def _sample(self) -> Outcome | None:
        self.reason = "values at times, by independent replications"
        task = partial(at_times, questions=self.wanted, net=self.model.net)
        return self._collect(Replications(self.crew, task, self.options.replications))

    def _may_vary(self, p: Primitive, value: float) -> bool:
        assert isinstance(p, Horizon)
        scale = length(p) if p.total else 1.0
        return any(self.proofs.unseen(inner, value / scale) for inner in ratio(p.measure, self.model.net).numerators)

    def _unseen_rate(self, sample: Outcome, p: Primitive) -> float:
        """Firings at random over the time that was looked at; else a chance of what was not seen in any replication."""
        assert isinstance(p, Horizon)
        inner = ratio(p.measure, self.model.net).numerators[0]
        scale = length(p) if p.total else 1.0
        if isinstance(inner, FiringRate):
            counts = constant(inner.value) == 1 and p.start is not None
            return scale * never_seen(self.options.confidence, sample.replications * length(p), 1) if counts else math.inf
        low, high = self.proofs.range(inner) or (0.0, math.inf)
        return scale * (high - low) * unseen_chance(self.options.confidence, sample.replications)

    def _classes(self, sample: Outcome) -> tuple[RecurrentClass, ...]:
        return ()


class _Passages(_Times):
    """The time until a condition holds, one and the same for all measures."""

    def _crew(self, engine: Choice) -> Crew:
        self.condition = next(p.condition for p in self.wanted if isinstance(p, Passage))
        self.stopped = stopped_when(self.model.net, self.condition)
        return Crew(self.stopped, (), self.options.seed, self.control, engine)

    def _sample(self) -> Outcome | None:
        self.reason = "first passages, by independent replications"
        task = partial(until_met, questions=self.wanted, condition=self.condition, stopped=self.stopped)
        return self._collect(Replications(self.crew, task, self.options.replications))

    def _estimate(self, sample: Outcome) -> None:
        """Where a replication shows that the condition may never be met the mean is infinite, beyond estimation."""
        assert isinstance(sample, Sample)
        times = [p for p in self.wanted if isinstance(p, Passage) and p.quantile is None]
        infinite = {p for p, column in zip(self.wanted, sample.rows[:, 1:].T, strict=True) if p in times and not np.isfinite(column).all()}
        finite = replace(sample, rows=np.where(np.isfinite(sample.rows), sample.rows, 0.0))
        super()._estimate(finite)
        for m in self.model.measures:
            if infinite & set(primitives(m.body, self.model.net)):
                endless = self.functions[m.name](averages(sample.rows))
                self.unseen.pop(m.name, None)
                self.intervals[m.name] = replace(self.intervals[m.name].with_width(0.0), value=endless)
        for k, p in enumerate(self.wanted):
            if isinstance(p, Passage) and p.quantile is not None:
                self._quantiles(p, k, sample.each[:, 1 + k])

    def _quantiles(self, p: Passage, column: int, times: Floats) -> None:
        """The measures that are a function of one quantile."""
        assert p.quantile is not None

        def measured(f: Function) -> Callable[[float], float]:
            return lambda x: f(np.where(np.arange(len(self.wanted)) == column, x, 0.0))

        for m in self.model.measures:
            if p in primitives(m.body, self.model.net):
                of = measured(self.functions[m.name])
                self.intervals[m.name] = of_times(times, float(p.quantile), self.options.confidence, of)
                self.unseen.pop(m.name, None)

    def _may_vary(self, p: Primitive, value: float) -> bool:
        """A probability of 0 or 1 may be one that is merely near it; a time that never varied is taken for a constant."""
        assert isinstance(p, Passage)
        return p.within is not None

    def _unseen_rate(self, sample: Outcome, p: Primitive) -> float:
        return unseen_chance(self.options.confidence, sample.replications)

    def _notes(self, sample: Outcome) -> Iterable[str]:
        assert isinstance(sample, Sample)
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
    wanted = tuple(dict.fromkeys((*questions([m.body for m in model.measures], model), *extra)))
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
