"""Estimates over a time with less variance: control variates, from the exact solution of the exponential twin or from the works drawn, and
antithetic pairs of runs.

*Twin.* The net with exponential laws of the same means is simulated beside it with the same random numbers, and solved exactly: by how
much its run came out from its mean tells by how much the net's run did, and is taken off.

*Works.* How much more work a transition drew than so many draws of its law are expected to be has mean 0 (Wald's identity: draws are
independent of how many there were before), and is known for nothing.

*Antithetic pairs.* Two runs of a pair draw from u and 1 - u; a pair is one row of the sample. See :mod:`spn.sim.synchronised`.

The coefficients are by regression (:mod:`spn.sim.regression`). All gains are measured, against independent runs as many as were made.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spn.dist.exponential import Exponential
from spn.errors import AnalysisError, refuse
from spn.model import Model, checked
from spn.net.model import Timed
from spn.result import plain
from spn.sim.control import Control, Stopped
from spn.sim.engine import Floats
from spn.sim.estimate import Function, averages, jackknife
from spn.sim.paired import gain
from spn.sim.questions import LONG_RUN, sorts_of
from spn.sim.regression import Estimate, chosen, pseudo_values, regressed
from spn.sim.run import questions
from spn.sim.streams import fresh_seed
from spn.sim.synchronised import Runs, Span, check_span
from spn.solvers.averages import Averaged
from spn.solvers.twin import NoTwin, Twin, twin_of

REPLICATIONS = 64
PILOT = 16  # rows from which controls are chosen; they take no part in the estimate
CONTROLS = ("auto", "twin", "works", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced:
    """One measure: ``value`` ± ``half_width`` in base units; ``independent``, the half-width that as many independent runs without
    controls would have; ``gain``, the square of what that is wider: how many times smaller the variance is (inf where none is left, nan
    where there was none). ``controls`` names what it was corrected by."""

    name: str
    value: float
    half_width: float
    independent: float
    gain: float
    controls: tuple[str, ...]
    unit: str = ""
    unit_factor: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VarianceReduced:
    """The answer of :func:`variance_reduced`. ``rows`` of the sample, of so many ``planned``: replications, or pairs if ``antithetic``.
    ``cost``: how many times more was simulated than without the twin; ``reason`` says why there are these controls."""

    measures: tuple[Reduced, ...]
    control: str
    reason: str
    antithetic: bool
    rows: int
    planned: int
    replications: int
    cost: float
    confidence: float
    horizon: float
    warmup: float
    seed: int
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    seconds: float = 0.0

    def __getitem__(self, name: str) -> Reduced:
        found = {m.name: m for m in self.measures}
        if name not in found:
            raise KeyError(f"there is no measure {name!r}; there are {', '.join(found)}")
        return found[name]

    def __repr__(self) -> str:
        from spn.show.reduced import reduced_text

        return reduced_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, values in base units."""
        return plain(self)


def variance_reduced(
    model: Model,
    *,
    horizon: float,
    warmup: float = 0.0,
    control: str = "auto",
    antithetic: bool = False,
    seed: int | None = None,
    replications: int = REPLICATIONS,
    confidence: float = 0.95,
    max_seconds: float = 60.0,
) -> VarianceReduced:
    """Estimate the measures of a model, averaged over ``warmup`` to ``horizon`` (seconds), from ``replications`` with less variance.

    ``control``: "twin" and "works" correct by control variates (twin: both sorts), "none" by none; "auto" takes the twin where a pilot of
    16 runs says that it is worth simulating it beside the net. In all cases the pilot chooses for each measure which of them, four at
    most, take a tenth of the variance off or more; it takes no part in the estimate. ``antithetic``: pairs of runs from opposite random
    numbers, so many that there are ``replications`` of them in all (rounded up to pairs).

    What is taken off has mean 0; the intervals are exact where rows and controls are jointly normal, as averages over a long time are
    nearly. A ratio is the jackknife's, of little bias. Where all laws are exponential nothing is left to estimate: the exact method
    answers.
    AnalysisError where "twin" is asked for and the exact method does not take the twin, for measures that are no long-run averages, options
    out of range and fewer rows than an interval takes.
    """
    started = time.monotonic()
    seed = fresh_seed() if seed is None else seed
    check_span(horizon, warmup, replications, confidence, seed, max_seconds)
    if control not in CONTROLS:
        raise refuse(AnalysisError, "E0705", f"control is {control!r}; it is one of {', '.join(CONTROLS)}")
    asked, skipped = _long_run(checked(model))
    limits = Control(workers=1, max_seconds=max_seconds, max_firings=math.inf)
    made = _Sampler(asked, Span(horizon=horizon, warmup=warmup, seed=seed), limits, antithetic=antithetic)
    rows = math.ceil(replications / 2) if antithetic else replications
    plan = _planned(made, asked, control, rows)
    sample = made.sample(PILOT, rows, twin=plan.twin is not None)
    if sample.count < max(2, max(len(k) for k in plan.kept) + 3):
        raise refuse(AnalysisError, "E0706", "too few replications were done in time", help="allow more seconds, or a shorter horizon")
    short = (f"{limits.exhausted()}, with {sample.count} of {rows} rows",) if sample.count < rows else ()
    return VarianceReduced(
        measures=tuple(
            _reduced(m, f, sample, plan, k, confidence) for k, (m, f) in enumerate(zip(asked.measures, made.functions, strict=True))
        ),
        control=plan.control,
        reason=plan.reason,
        antithetic=antithetic,
        rows=sample.count,
        planned=rows,
        replications=len(sample.singles),
        cost=sample.cost,
        confidence=confidence,
        horizon=horizon,
        warmup=warmup,
        seed=seed,
        notes=(*short, *_exponential(asked), *((f"left out, as no long-run averages: {', '.join(skipped)}",) if skipped else ())),
        interrupted=limits.interrupted,
        seconds=time.monotonic() - started,
    )


def _exponential(model: Model) -> tuple[str, ...]:
    """A word to those who have no need of this."""
    laws = [t.law for t in model.net.transitions if isinstance(t, Timed)]
    return ("all laws are exponential: `spn solve` has the exact values",) if all(isinstance(x, Exponential) for x in laws) else ()


def _long_run(model: Model) -> tuple[Model, list[str]]:
    """The model with its measures that are long-run averages, and the names of the others."""
    ours = tuple(m for m in model.measures if all(sort == LONG_RUN for sort in sorts_of(m.body)))
    if not ours:
        message = "no measure is an average over time, whose variance alone is reduced"
        raise refuse(AnalysisError, "E0624", message, help="ask for E(…), P(…), throughput(…), utilisation(…) or sojourn(…)")
    return replace(model, measures=ours), [m.name for m in model.measures if m not in ours]


# --- the sample -------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """``singles``: a row (1, averages) a run; ``rows``: a row a pair, or the same; ``controls`` a row each, of mean 0: the works, then
    what was simulated of the twin."""

    singles: Floats
    rows: Floats
    controls: Floats
    cost: float

    @property
    def count(self) -> int:
        return len(self.rows)


class _Sampler:
    """Replications of a model, and of its twin where there is one."""

    def __init__(self, model: Model, span: Span, limits: Control, *, antithetic: bool) -> None:
        self.model, self.span, self.limits, self.antithetic = model, span, limits, antithetic
        wanted = questions([m.body for m in model.measures], model)
        self.base = Runs(model, model.measures, wanted, span, limits)
        self.functions: tuple[Function, ...] = self.base.functions
        self.width = len(wanted)
        self.random = [k for k, t in enumerate(model.net.transitions) if isinstance(t, Timed) and 0 < t.law.variance() < math.inf]
        self.names = [f"work of {model.net.transitions[k].name}" for k in self.random]
        self.twin: Twin | None = None
        self._beside: Runs | None = None

    def with_twin(self) -> None:
        """Find the twin; :class:`NoTwin` says why there is none."""
        over = Averaged(horizon=self.span.horizon, warmup=self.span.warmup)
        with self.limits.uncounted():
            self.twin = twin_of(self.model, self.base.wanted, over)
        self._beside = Runs(self.twin.model, (), self.twin.primitives, self.span, self.limits)
        self.names += self.twin.names

    def sample(self, first: int, count: int, *, twin: bool) -> _Sample:
        """Rows from number ``first`` on; as many as the limits allow."""
        beside = self._beside if twin else None
        before = self.base.firings, beside.firings if beside else 0
        singles: list[Floats] = []
        controls: list[Floats] = []
        sides = (False, True) if self.antithetic else (False,)
        try:
            for k in range(first, first + count):
                self.limits.check()
                found = [self._row(k, mirrored, beside) for mirrored in sides]
                singles += [one for one, _ in found]
                controls.append(np.mean([control for _, control in found], axis=0))
        except Stopped:
            pass
        except KeyboardInterrupt:
            self.limits.interrupt()
        alone, more = self.base.firings - before[0], (beside.firings if beside else 0) - before[1]
        each = np.array(singles).reshape(len(controls) * len(sides), 1 + self.width)
        return _Sample(
            singles=each,
            rows=each.reshape(len(controls), len(sides), 1 + self.width).mean(axis=1),
            controls=np.array(controls).reshape(len(controls), len(self.random) + (len(beside.wanted) if beside else 0)),
            cost=1 + more / max(1, alone),
        )

    def _row(self, k: int, mirrored: bool, beside: Runs | None) -> tuple[Floats, Floats]:
        row = self.base.row(k, mirrored=mirrored)
        works = row[self.width :][self.random]
        if beside is None or self.twin is None:
            return np.array([1.0, *row[: self.width]]), works
        other = beside.row(k, mirrored=mirrored)[: len(self.twin.means)] - np.array(self.twin.means)
        return np.array([1.0, *row[: self.width]]), np.concatenate([works, other])


# --- the choice of controls -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """Which controls each measure is corrected by, and what of."""

    control: str
    reason: str
    twin: Twin | None
    kept: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]


def _planned(made: _Sampler, model: Model, control: str, rows: int) -> _Plan:
    """Choose by a pilot."""
    nothing = tuple(() for _ in model.measures)
    if control == "none":
        return _Plan(control="none", reason="asked for", twin=None, kept=nothing, names=())
    missing = ""
    if control in ("auto", "twin"):
        try:
            made.with_twin()
        except NoTwin as why:
            missing = str(why)
            if control == "twin":
                raise refuse(AnalysisError, "E0705", missing, help="take the works drawn as controls: --control works") from None
    pilot = made.sample(0, PILOT, twin=made.twin is not None)
    if pilot.count < PILOT:
        raise refuse(AnalysisError, "E0706", "the pilot was not done in time", help="allow more seconds, or a shorter horizon")
    values = [pseudo_values(pilot.rows, f) for f in made.functions]
    works = len(made.random)
    free = [chosen(v, pilot.controls[:, :works], rows) for v in values]
    names = tuple(made.names)
    if made.twin is not None:
        dear = [chosen(v, pilot.controls, rows) for v in values]
        worth = _worth([a for _, a in free], [b for _, b in dear], pilot.cost)
        if control == "twin" or worth > 1:
            said = "asked for" if control == "twin" else f"in the pilot variance times work is {worth:.3g} times smaller with the twin"
            return _Plan(control="twin", reason=said, twin=made.twin, kept=_indices(dear), names=names)
        missing = "in the pilot the twin is not worth its work"
    reason = "asked for" if control == "works" else missing
    kept = _indices(free)
    return _Plan(control="works" if any(kept) else "none", reason=reason, twin=None, kept=kept, names=names)


def _indices(found: Sequence[tuple[Sequence[int], float]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(kept) for kept, _ in found)


def _worth(without: Sequence[float], with_twin: Sequence[float], cost: float) -> float:
    """By which factor, in the geometric mean over the measures, the twin lessens variance times work."""
    logs = [math.log(a / max(b, 1e-12 * a)) for a, b in zip(without, with_twin, strict=True) if a > 0]
    return math.exp(sum(logs) / len(logs)) / cost if logs else 0.0


def _reduced(m: Any, function: Function, sample: _Sample, plan: _Plan, k: int, confidence: float) -> Reduced:
    kept = list(plan.kept[k])
    found = regressed(pseudo_values(sample.rows, function), sample.controls[:, kept])
    centre = function(averages(sample.singles))
    alone = jackknife(sample.singles, function, centre)
    independent = Estimate(value=centre, variance=alone.variance, freedom=alone.freedom)
    return Reduced(
        name=m.name,
        value=found.value,
        half_width=found.half_width(confidence),
        independent=independent.half_width(confidence),
        gain=gain(alone.variance, found.variance),
        controls=tuple(plan.names[i] for i in kept),
        unit=m.unit,
        unit_factor=float(m.unit_factor),
    )
