"""Differences between models by common random numbers: every replication of every model draws the works of one and the same activity
from one and the same stream, so that what chance does to one it does to the other, and much of it cancels in the difference.

Streams belong to the names of transitions. They keep in step as long as the activities happen in like order and their laws take equally
many random numbers a draw, as laws of one family and shape do. Where they do not, the estimates are as right as ever, only less precise:
the gain in variance is measured from the same runs (Law, Simulation Modeling and Analysis, 5th ed., 2015, section 11.2).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from spn.compiled import CompiledNet
from spn.errors import AnalysisError, refuse
from spn.measure import Measure, Primitive
from spn.model import Model, checked
from spn.result import plain
from spn.sim.control import Control, Stopped
from spn.sim.engine import Floats
from spn.sim.estimate import Function, averages, interval, measure_function
from spn.sim.longrun import over_horizon
from spn.sim.questions import LONG_RUN, sorts_of
from spn.sim.reference import Instant, Station, Trajectory
from spn.sim.run import questions
from spn.sim.streams import Crew, fresh_seed

REPLICATIONS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An alternative against the first model: the measure's value of both in base units, ``difference`` and ``ratio`` (alternative minus,
    and over, the first) each ± a half-width. ``gain``: how many times smaller the variance of the difference is than of one between
    independent runs; below 1 it is larger; inf where all chance cancels, nan where there was none."""

    base: str
    alternative: str
    base_value: float
    value: float
    difference: float
    half_width: float
    ratio: float
    ratio_half_width: float
    gain: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Differences:
    """The answer of :func:`difference`. All intervals for differences hold at once with ``confidence``, and so do all for ratios; each
    alone holds at ``each`` (Bonferroni)."""

    measure: str
    rows: tuple[Difference, ...]
    confidence: float
    each: float
    replications: int
    horizon: float
    warmup: float
    seed: int
    unit: str = ""
    unit_factor: float = 1.0
    synchronised: bool = True
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        from spn.show.differences import differences_text

        return differences_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, values in base units."""
        return plain(self)


class Synchronised(Trajectory):
    """The reference trajectory with a stream of random numbers for each transition, by name."""

    def __init__(self, compiled: CompiledNet, primitives: Sequence[Primitive], seed: int, replication: int) -> None:
        self._key = (seed, replication)
        self._streams: dict[str, np.random.Generator] = {}
        super().__init__(compiled, primitives, self._stream(""), library=True)

    def _stream(self, name: str) -> np.random.Generator:
        if name not in self._streams:
            seed, replication = self._key
            words = np.frombuffer(blake2b(name.encode(), digest_size=16).digest(), dtype=np.uint32)
            sequence = np.random.SeedSequence(seed, spawn_key=(replication, *words.tolist()))
            self._streams[name] = np.random.default_rng(sequence)
        return self._streams[name]

    def _draw(self, s: Station) -> Instant:
        self.random = self._stream(s.transition.name)
        return super()._draw(s)

    def _choose(self, weighted: Sequence[tuple[int, float]]) -> int:
        self.random = self._stream(f"choice {self.rules.transitions[weighted[0][0]].transition.name}")
        return super()._choose(weighted)

    def _pick(self, n: int) -> int:
        self.random = self._stream("")
        return super()._pick(n)


def difference(
    models: Sequence[Model],
    measure: str,
    *,
    horizon: float,
    warmup: float = 0.0,
    names: Sequence[str] | None = None,
    seed: int | None = None,
    replications: int = REPLICATIONS,
    confidence: float = 0.95,
    synchronised: bool = True,
    max_seconds: float = 60.0,
) -> Differences:
    """How a measure of each further model differs from that of the first, averaged over ``warmup`` to ``horizon`` (seconds), by
    ``replications`` runs of every model with common random numbers (``synchronised`` False: independent ones, for comparison).

    ``names`` tell the models apart (default: their own). Runs are in plain Python, some ten thousand firings a second. At ``max_seconds``
    it ends with the replications done by then and says so. The jackknife over replications gives the intervals, which for ratios holds
    too; with several alternatives each is at 1 - (1 - confidence) / alternatives (Bonferroni). AnalysisError for fewer than two models, a
    measure that one does not have or that is no long-run average, options out of range, or fewer than two replications done.
    """
    seed = fresh_seed() if seed is None else seed
    _check(models, horizon, warmup, replications, confidence, seed)
    runs = [_Runs(m, _asked(checked(m), measure), max_seconds / len(models)) for m in models]
    for k, r in enumerate(runs):
        r.collect(replications, horizon, warmup, (seed, 0 if synchronised else k))
    n = min(len(r.rows) for r in runs)
    if n < 2:
        help = "allow more seconds, or a shorter horizon"
        raise refuse(AnalysisError, "E0706", "fewer than two replications of every model were done in time", help=help)
    each = 1 - (1 - confidence) / (len(models) - 1)
    labels = list(names) if names is not None else [m.name for m in models]
    first = runs[0]
    return Differences(
        measure=measure,
        rows=tuple(_against(first, r, labels[0], label, n, each) for r, label in zip(runs[1:], labels[1:], strict=True)),
        confidence=confidence,
        each=each,
        replications=n,
        horizon=horizon,
        warmup=warmup,
        seed=seed,
        unit=first.measure.unit,
        unit_factor=float(first.measure.unit_factor),
        synchronised=synchronised,
        notes=(f"stopped after {max_seconds:g} s, with {n} replications",) if n < replications else (),
    )


def _check(models: Sequence[Model], horizon: float, warmup: float, replications: int, confidence: float, seed: int) -> None:
    wrong = [
        (len(models) < 2, f"there is {len(models)} model; a difference takes two"),
        (not 0 < horizon < math.inf, f"horizon is {horizon} s; it is a positive time"),
        (not 0 <= warmup < horizon, f"warmup is {warmup} s; it lies between 0 and the horizon"),
        (replications < 2, f"replications is {replications}; an interval needs at least 2"),
        (not 0 < confidence < 1, f"confidence is {confidence:g}; it lies between 0 and 1"),
        (seed < 0, f"seed is {seed}; it is a whole number from 0"),
    ]
    for is_wrong, message in wrong:
        if is_wrong:
            raise refuse(AnalysisError, "E0705", message)


def _asked(model: Model, name: str) -> Measure:
    found = next((m for m in model.measures if m.name == name), None)
    if found is None:
        known = ", ".join(m.name for m in model.measures) or "none"
        raise refuse(AnalysisError, "E0201", f"{model.name} has no measure {name}", help=f"it has {known}")
    if any(sort != LONG_RUN for sort in sorts_of(found.body)):
        message = f"measure {name} is no average over time, of which alone differences are estimated"
        raise refuse(AnalysisError, "E0624", message, span=found.span)
    return found


class _Runs:
    """The replications of one model: rows (1, averages of the primitives)."""

    def __init__(self, model: Model, measure: Measure, seconds: float) -> None:
        self.measure = measure
        self.wanted = questions([measure.body], model)
        self.function: Function = measure_function(measure.body, model.net, self.wanted)
        self.crew = Crew(model.net, self.wanted, 0, Control(workers=1, max_seconds=seconds, max_firings=math.inf))
        self.rows: list[Floats] = []

    def collect(self, count: int, horizon: float, warmup: float, key: tuple[int, int]) -> None:
        one = over_horizon(self.crew, horizon, warmup)
        seed, offset = key
        self.crew.control.started = time.monotonic()
        with suppress(Stopped):
            for k in range(count):
                engine = Synchronised(self.crew.compiled, self.wanted, seed, k + offset * count)
                self.rows.append(one(engine)[0])


def _against(first: _Runs, other: _Runs, base: str, alternative: str, n: int, confidence: float) -> Difference:
    a, b = np.array(first.rows[:n]), np.array(other.rows[:n])
    split = a.shape[1] - 1
    both = np.concatenate([a, b[:, 1:]], axis=1)

    def minus(known: Floats) -> float:
        return other.function(known[split:]) - first.function(known[:split])

    def over(known: Floats) -> float:
        bottom = first.function(known[:split])
        return other.function(known[split:]) / bottom if bottom else math.nan

    apart, ratio = interval(both, minus, confidence), interval(both, over, confidence)
    alone = [sum(p.variance for p in interval(rows, f, confidence).parts) for rows, f in ((a, first.function), (b, other.function))]
    together = sum(p.variance for p in apart.parts)
    return Difference(
        base=base,
        alternative=alternative,
        base_value=first.function(averages(a)),
        value=other.function(averages(b)),
        difference=apart.value,
        half_width=apart.half_width,
        ratio=ratio.value,
        ratio_half_width=ratio.half_width,
        gain=sum(alone) / together if together > 0 else (math.inf if sum(alone) > 0 else math.nan),
    )
