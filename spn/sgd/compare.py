"""Mechanisms side by side: one measure of several models over a range of one parameter."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from spn.errors import AnalysisError, ModelError, nearest, refuse
from spn.expr.dims import BANDWIDTH, NUMBER, RATE
from spn.loading import Setting, load, settable
from spn.model import Model
from spn.result import Result, plain, plain_value
from spn.show.text import common_unit, number, with_unit
from spn.sim import load_kernels
from spn.sim.control import all_cores
from spn.sim.executors import Patient, Unit, do_all, site_of
from spn.sim.paired import REPLICATIONS, Differences, difference
from spn.sim.streams import fresh_seed
from spn.solvers import may_solve, solve
from spn.solvers.sweep import portable

WORTH_LOADING = 4  # simulated points, from which on the compiled engine is loaded at once
PATIENCE = 1.0  # seconds for what still runs to end after an interruption
SATURATED = 0.25  # of the first marginal gain


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One point: the measure of one mechanism at one value of the swept parameter.

    ``value`` and ``half_width`` (None for an exact value) are in base units; shown as ``value / unit_factor`` in ``unit``.
    ``efficiency`` is the measure per unit of the swept parameter, relative to that of the mechanism's first point; None where that says
    nothing (:attr:`Comparison.scaling`). ``at`` is in base units."""

    mechanism: str
    at: float
    value: float
    half_width: float | None
    confidence: float | None
    unit: str
    unit_factor: float
    method: str
    reason: str
    efficiency: float | None = None
    converged: bool = True
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison:
    """The rows of all mechanisms in the order given, each by rising ``at``, shown as ``at / over_factor`` in ``over_unit``.

    ``scaling``: whether the measure is a rate and the parameter an amount of resources (a count, a bandwidth, a rate; without units
    everything is), so that efficiency, saturation and the ideal of scaling in proportion mean something. ``saturation`` gives for
    each mechanism the point from which more adds little (:func:`saturation`), None where the range ends before; it is empty without
    ``scaling``. ``complete`` is False after an interruption: the rows are those that were done."""

    over: str
    measure: str
    unit: str
    unit_factor: float
    rows: tuple[Row, ...]
    saturation: Mapping[str, float | None]
    over_unit: str = ""
    over_factor: float = 1.0
    scaling: bool = True
    parameters: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None
    complete: bool = True
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def of(self, mechanism: str) -> tuple[Row, ...]:
        """The rows of one mechanism."""
        return tuple(r for r in self.rows if r.mechanism == mechanism)

    @property
    def mechanisms(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(r.mechanism for r in self.rows))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: values and half-widths in ``unit``, the swept parameter in ``over_unit``."""
        data = plain(self)
        unit_factor, over_factor = data.pop("unit_factor"), data.pop("over_factor")
        for row, shown in zip(self.rows, data["rows"], strict=True):
            del shown["unit_factor"]
            shown["at"] = plain_value(row.at / over_factor)
            shown["value"] = plain_value(row.value / unit_factor)
            shown["half_width"] = None if row.half_width is None else plain_value(row.half_width / unit_factor)
        data["saturation"] = {name: None if at is None else plain_value(at / over_factor) for name, at in self.saturation.items()}
        return data

    def __repr__(self) -> str:
        from spn.show.table import comparison_text

        return comparison_text(self)


Progress = Callable[[int, int, str], None]


def compare(
    models: Sequence[str | Path],
    over: tuple[str, Iterable[Setting]],
    *,
    measure: str = "steps",
    parameters: Mapping[str, Setting] | None = None,
    method: str = "auto",
    seed: int | None = None,
    precision: float = 0.01,
    confidence: float = 0.95,
    workers: int | None = None,
    progress: Progress | None = None,
    executor: object = None,
) -> Comparison:
    """Solve every model file at every value of the parameter ``over = (name, values)``.

    ``parameters`` are set in all models that have them (each must be known to at least one). Simulated points reach the relative half-width
    ``precision`` at ``confidence``; each has its own stream, derived from ``seed``, whatever the number of ``workers`` (threads, all cores
    by default) or the ``executor`` (as :func:`spn.simulate` takes it). An interruption (Ctrl-C) returns what was done, marked incomplete.
    """
    started = time.perf_counter()
    _check_types(models, over, seed)
    name = over[0]
    names = _distinct([Path(m) for m in models])
    jobs = _planned(models, names, name, list(over[1]), measure, dict(parameters or {}))
    master = fresh_seed() if seed is None else seed
    options = {"method": method, "precision": precision, "confidence": confidence}
    if executor is None:
        done, complete = _run(jobs, measure, master, options, workers or all_cores(), progress)
    else:
        done, complete = _run_elsewhere(jobs, measure, master, options, executor, progress)
    if not done:
        raise refuse(AnalysisError, "E0690", "interrupted before the first point was done")
    scaling = all(_scales(job.model, name, measure) for job in jobs)
    rows = [r for n in names for r in _with_efficiency([d for d in done if d.mechanism == n])] if scaling else done
    over_unit, over_factor = _unit(jobs, name)
    return Comparison(
        over=name,
        measure=measure,
        unit=rows[0].unit,
        unit_factor=rows[0].unit_factor,
        rows=tuple(rows),
        saturation={n: saturation([r for r in rows if r.mechanism == n]) for n in names} if scaling else {},
        over_unit=over_unit,
        over_factor=over_factor,
        scaling=scaling,
        parameters={k: str(v) for k, v in (parameters or {}).items()},
        seed=master,
        complete=complete,
        notes=_notes(rows, over_unit, over_factor),
        seconds=time.perf_counter() - started,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """By how much mechanisms differ at each value of the swept parameter: ``at`` in base units, shown as ``at / over_factor`` in
    ``over_unit``, with the :class:`spn.sim.paired.Differences` there."""

    over: str
    over_unit: str
    over_factor: float
    points: tuple[tuple[float, Differences], ...]
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the swept parameter in ``over_unit``, values in base units."""
        points = [{"at": plain_value(at / self.over_factor), **found.to_dict()} for at, found in self.points]
        return {"over": self.over, "over_unit": self.over_unit, "points": points, "seconds": self.seconds}


def contrast(
    models: Sequence[str | Path],
    over: tuple[str, Iterable[Setting]],
    *,
    horizon: float,
    measure: str = "steps",
    warmup: float = 0.0,
    parameters: Mapping[str, Setting] | None = None,
    seed: int | None = None,
    replications: int = REPLICATIONS,
    confidence: float = 0.95,
    max_seconds: float = 60.0,
    progress: Progress | None = None,
) -> Contrast:
    """By how much each further model file differs from the first in a measure, at every value of the parameter ``over = (name, values)``,
    by common random numbers (:func:`spn.sim.paired.difference`, whose options these are; ``max_seconds`` is for each value)."""
    started = time.perf_counter()
    _check_types(models, over, seed)
    names = _distinct([Path(m) for m in models])
    jobs = _planned(models, names, over[0], list(over[1]), measure, dict(parameters or {}))
    master = fresh_seed() if seed is None else seed
    ats = sorted({j.at for j in jobs})
    points = []
    for k, at in enumerate(ats):
        here = {j.mechanism: j.model for j in jobs if j.at == at}
        found = difference(
            [here[n] for n in names],
            measure,
            horizon=horizon,
            warmup=warmup,
            names=names,
            seed=master,
            replications=replications,
            confidence=confidence,
            max_seconds=max_seconds,
        )
        points.append((at, found))
        if progress is not None:
            progress(k + 1, len(ats), f"{over[0]} = {at:g}")
    unit, factor = _unit(jobs, over[0])
    return Contrast(over=over[0], over_unit=unit, over_factor=factor, points=tuple(points), seconds=time.perf_counter() - started)


def _check_types(models: object, over: object, seed: object) -> None:
    if isinstance(models, str | Path) or not isinstance(models, Sequence):
        raise TypeError(f"models is a list of model files, not {models!r}")
    name, values = over if isinstance(over, tuple) and len(over) == 2 else (None, None)
    if not isinstance(name, str) or isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"over is a parameter with its values, like ('workers', range(1, 9)), not {over!r}")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise refuse(AnalysisError, "E0705", f"seed is {seed!r}; it is a whole number from 0")


def _planned(
    models: Sequence[str | Path], names: list[str], over: str, values: list[Setting], measure: str, parameters: dict[str, Setting]
) -> list[_Job]:
    """All points to be solved, once everything that can be wrong with the request is checked."""
    if not models:
        raise refuse(ModelError, "E0691", "no model to compare", help="name at least one model file")
    if not values:
        raise refuse(ModelError, "E0691", f"no value of {over} to compare at", help=f"give some: {over}=1..8")
    _check_over(models, names, over)
    jobs = _jobs(models, names, over, values, parameters)
    for job in jobs:
        _check_measure(job.model, measure)
    return jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    mechanism: str
    at: float
    model: Model
    index: int


def _distinct(paths: list[Path]) -> list[str]:
    """A short name for each file: its stem, or as much of its path as tells it from the others."""
    stems = [p.stem for p in paths]
    names = [stem if stems.count(stem) == 1 else str(p.with_suffix("")) for stem, p in zip(stems, paths, strict=True)]
    return [n if names.count(n) == 1 else f"{n}#{i + 1}" for i, n in enumerate(names)]


def _jobs(models: Sequence[str | Path], names: list[str], over: str, values: list[Setting], parameters: dict[str, Setting]) -> list[_Job]:
    known = [settable(m) for m in models]
    for parameter in parameters:
        if not any(parameter in k for k in known):
            near = nearest(parameter, [n for k in known for n in k])
            raise refuse(ModelError, "E0201", f"no model has a parameter {parameter}", help=f"did you mean {near}?" if near else "")
    jobs: list[_Job] = []
    for path, mechanism, k in zip(models, names, known, strict=True):
        own = {n: v for n, v in parameters.items() if n in k}
        for v in values:
            model = load(path, params={**own, over: v})
            at = next(float(p.value) for p in model.parameters if p.name == over)
            jobs.append(_Job(mechanism=mechanism, at=at, model=model, index=len(jobs)))
    return sorted(jobs, key=lambda j: (names.index(j.mechanism), j.at))


def _check_over(models: Sequence[str | Path], names: Sequence[str], over: str) -> None:
    for path, mechanism in zip(models, names, strict=True):
        known = settable(path)
        if over not in known:
            near = nearest(over, known)
            hint = f"did you mean {near}?" if near else f"it has {', '.join(known) or 'none'}"
            raise refuse(ModelError, "E0201", f"{mechanism} has no parameter {over} to compare over", help=hint)


def _scales(model: Model, over: str, measure: str) -> bool:
    """Is the measure a rate, and the parameter something that more of could give more of it?"""
    if model.unitless:
        return True
    parameter = next(p for p in model.parameters if p.name == over)
    asked = next(m for m in model.measures if m.name == measure)
    return asked.dimension.time < 0 and (parameter.kind == "count" or parameter.dimension in (BANDWIDTH, RATE))


def _unit(jobs: Sequence[_Job], over: str) -> tuple[str, float]:
    """The unit in which the values of the parameter are shown, and its size."""
    model = jobs[0].model
    dimension = NUMBER if model.unitless else next(p.dimension for p in model.parameters if p.name == over)
    return common_unit([j.at for j in jobs], dimension)


def _check_measure(model: Model, measure: str) -> None:
    known = [m.name for m in model.measures]
    if measure not in known:
        near = nearest(measure, known)
        hint = f"did you mean {near}?" if near else f"it has {', '.join(known) or 'none'}"
        raise refuse(ModelError, "E0201", f"{model.name} has no measure {measure}", help=hint)


def _run(
    jobs: list[_Job], measure: str, seed: int, options: Mapping[str, Any], workers: int, progress: Progress | None
) -> tuple[list[Row], bool]:
    """The rows done, and whether that is all of them. Long jobs (many workers) start first, so that no core idles at the end."""
    rows: dict[int, Row] = {}
    if options["method"] != "ctmc" and sum(bool(may_solve(j.model)) for j in jobs) >= WORTH_LOADING:
        load_kernels()
    complete = False
    stop = Event()
    pool = ThreadPoolExecutor(max_workers=workers)
    futures: dict[Future[Row], _Job] = {}
    try:
        for job in sorted(jobs, key=lambda j: -j.at):
            futures[pool.submit(_row, job, measure, seed, options, stop)] = job
        for future in as_completed(futures):
            job = futures[future]
            rows[job.index] = future.result()
            if progress is not None:
                progress(len(rows), len(jobs), f"{job.mechanism} at {job.at:g}")
        complete = True
    except KeyboardInterrupt:
        pass
    finally:
        stop.set()  # simulations that still run end at their next report
        pool.shutdown(wait=False, cancel_futures=True)
        wait(futures, timeout=PATIENCE)  # exact solutions cannot be stopped: they are left behind
    return [rows[j.index] for j in jobs if j.index in rows], complete


def _run_elsewhere(
    jobs: list[_Job], measure: str, seed: int, options: Mapping[str, Any], executor: object, progress: Progress | None
) -> tuple[list[Row], bool]:
    """As :func:`_run`, by an executor."""
    rows: dict[int, Row] = {}
    ordered = sorted(jobs, key=lambda j: -j.at)

    def take(k: int, row: Row) -> None:
        rows[ordered[k].index] = row
        if progress is not None:
            progress(len(rows), len(jobs), f"{ordered[k].mechanism} at {ordered[k].at:g}")

    units = [Unit(_row, (replace(job, model=portable(job.model)), measure, seed, dict(options))) for job in ordered]
    complete = False
    with suppress(KeyboardInterrupt):
        do_all(site_of(executor), units, Patient(), take)
        complete = True
    return [rows[j.index] for j in jobs if j.index in rows], complete


def _row(job: _Job, measure: str, seed: int, options: Mapping[str, Any], stop: Event | None = None) -> Row:
    own_seed = int(np.random.SeedSequence([seed, job.index]).generate_state(1, np.uint64)[0] >> 1)
    only = replace(job.model, measures=tuple(m for m in job.model.measures if m.name == measure), properties=())
    exact = options["method"] == "ctmc"
    sampling: dict[str, Any] = {} if exact else {"seed": own_seed, "workers": 1, "progress": _stopper(stop) if stop is not None else None}
    kept = {k: v for k, v in options.items() if not exact or k == "method"}
    result: Result = solve(only, **kept, **sampling)
    value = result.measures[measure]
    return Row(
        mechanism=job.mechanism,
        at=job.at,
        value=value.value,
        half_width=value.half_width,
        confidence=value.confidence,
        unit=value.unit,
        unit_factor=value.unit_factor,
        method=result.method,
        reason=result.reason,
        converged=result.converged,
        seconds=result.seconds,
    )


def _stopper(stop: Event) -> Callable[[object], None]:
    """A progress report that ends the simulation once ``stop`` is set, as an interruption would."""

    def report(_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt

    return report


def _with_efficiency(rows: list[Row]) -> list[Row]:
    if not rows or rows[0].at <= 0 or not rows[0].value > 0:
        return rows
    first = rows[0].value / rows[0].at
    return [replace(r, efficiency=r.value / r.at / first) for r in rows]


def saturation(rows: Sequence[Row]) -> float | None:
    """The first point from which one more unit of the parameter adds less than a quarter of what the first ones add (the measure over
    the parameter at the first point); None if there is none. Slopes are those of the least concave majorant, so that the noise of
    simulated points does not pass for a bend."""
    if not rows or rows[0].at <= 0:
        return None
    start = rows[0].value / rows[0].at
    for here, after in pairwise(_hull(rows)):
        if _slope(here, after) < SATURATED * start:
            return here.at
    return None


def _hull(rows: Sequence[Row]) -> list[Row]:
    """The points of the least concave majorant, from left to right."""
    hull: list[Row] = []
    for r in rows:
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) <= _slope(hull[-1], r):
            hull.pop()
        hull.append(r)
    return hull


def _slope(a: Row, b: Row) -> float:
    return (b.value - a.value) / (b.at - a.at)


def _notes(rows: Sequence[Row], unit: str, factor: float) -> tuple[str, ...]:
    loose = [f"{r.mechanism} at {with_unit(number(r.at / factor), unit)}" for r in rows if not r.converged]
    return (f"not converged to the precision asked for: {', '.join(loose)}",) if loose else ()
