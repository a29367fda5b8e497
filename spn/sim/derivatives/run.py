"""Derivatives of long-run measures by simulation, with intervals."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from spn.errors import AnalysisError, Diagnostic, refuse
from spn.measure import Measure, value
from spn.model import Model, checked
from spn.net.model import timed
from spn.provenance import provenance
from spn.result import Provenance, plain
from spn.sim.classes import marking_graph
from spn.sim.control import Control, Progress, Stopped
from spn.sim.derivatives.changes import Change, changes
from spn.sim.derivatives.cycles import Cycles
from spn.sim.derivatives.perturbation import Batches, effects, obstacles
from spn.sim.derivatives.scores import score
from spn.sim.derivatives.wanted import long_run_measures
from spn.sim.direct.plan import obstacle, obstacle_of
from spn.sim.engine import Floats
from spn.sim.estimate import averages, interval, regroup
from spn.sim.options import check_engine, check_types
from spn.sim.run import questions
from spn.sim.streams import Choice, fresh_seed

Estimator = Literal["auto", "likelihood", "perturbation"]
PRECISION = 0.05
ROWS = 64  # of the sample, to which cycles or batches are joined
FIRST = 4 * ROWS  # cycles; of batches, which are longer, ROWS
METHODS = {
    "likelihood": "likelihood ratios over regenerative cycles",
    "perturbation": "infinitesimal perturbation analysis",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """How a ``measure`` depends on a parameter or, for ``kind`` ``"speed"``, on the speed of a timed transition (``at`` is 1):
    ``derivative`` ± ``half_width`` in base units, and the same relative to both, ``elasticity`` ± ``elasticity_half_width`` (nan where
    the measure is 0). ``note`` says why there is no figure (nan)."""

    measure: str
    parameter: str
    kind: str  # "derivative" or "speed"
    at: float
    derivative: float
    half_width: float
    elasticity: float
    elasticity_half_width: float
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Slopes:
    """The answer of :func:`slopes`; ``values`` are the measures themselves, in base units. Each interval holds alone at ``confidence``."""

    model: Model
    method: str
    reason: str
    values: Mapping[str, float]
    rows: tuple[Slope, ...]
    confidence: float
    converged: bool
    firings: int
    samples: int
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    provenance: Provenance | None = field(default=None)

    def __repr__(self) -> str:
        from spn.show.slopes import slopes_text

        return slopes_text(self)

    def __getitem__(self, names: tuple[str, str]) -> Slope:
        """``found["queue", "rate"]``: of a measure to a parameter, or else to the speed of a transition."""
        for s in self.rows:
            if (s.measure, s.parameter) == names:
                return s
        raise KeyError(f"there is no sensitivity of {names[0]!r} to {names[1]!r}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, values in base units."""
        names = ("method", "reason", "values", "rows", "confidence", "converged", "firings", "samples", "notes", "seconds")
        rows = [plain(s) for s in self.rows]
        return {**{n: getattr(self, n) for n in names}, "values": dict(self.values), "rows": rows, "notes": list(self.notes)}


def slopes(
    model: Model,
    measures: Sequence[str] | None = None,
    *,
    estimator: Estimator = "auto",
    seed: int | None = None,
    precision: float = PRECISION,
    confidence: float = 0.95,
    max_seconds: float = 60.0,
    max_firings: float = 1e9,
    progress: Callable[[Progress], None] | None = None,
    engine: Choice = "auto",
) -> Slopes:
    """The derivatives of long-run ``measures`` (default: all) by every parameter and by the speed of every timed transition, by simulation.

    ``"likelihood"``: likelihood ratios over regenerative cycles, for nets whose timed laws are all exponential (rates and weights may
    depend on parameters and markings). ``"perturbation"``: infinitesimal perturbation analysis, for laws of any kind whose scale depends
    on the parameter, where the commuting condition holds, which is checked on the net. ``"auto"``: the first where it is valid, else
    the second.

    It ends when the half-width of every elasticity is at most ``precision`` (0.05), or that times its value where that is above 1; or at a
    limit, and then ``converged`` is False. AnalysisError (E0733) where neither is valid, with the reason and its line: a parameter on which
    only the support of a law depends (deterministic, uniform) has no likelihood ratio, and a net in which the order of firings matters no
    perturbation analysis.
    """
    seed = fresh_seed() if seed is None else seed
    real = {"precision": precision, "confidence": confidence, "max_seconds": max_seconds, "max_firings": max_firings}
    check_types(whole={"seed": seed}, real=real)
    _check(precision, confidence, seed, estimator)
    check_engine(engine)
    chosen = long_run_measures(checked(model), measures)
    which = _valid(model, estimator)
    control = Control(workers=1, max_seconds=max_seconds, max_firings=max_firings, progress=progress)
    return _Asked(model, chosen, which, control, seed, confidence, precision, engine).answer()


def _check(precision: float, confidence: float, seed: int, estimator: str) -> None:
    wrong = [
        (not 0 < precision < math.inf, f"precision is {precision}; it is a half-width of elasticities above 0"),
        (not 0 < confidence < 1, f"confidence is {confidence:g}; it lies between 0 and 1"),
        (seed < 0, f"seed is {seed}; it is a whole number from 0"),
        (estimator not in get_args(Estimator), f"estimator is {estimator!r}; it is one of {', '.join(get_args(Estimator))}"),
    ]
    for is_wrong, message in wrong:
        if is_wrong:
            raise refuse(AnalysisError, "E0705", message)


def _valid(model: Model, estimator: Estimator) -> Literal["likelihood", "perturbation"]:
    """The estimator that is valid, or all that stands against it."""
    graph = marking_graph(model.net)
    if graph is not None and not graph.one_long_run:
        help = "derivatives are of a model with one long run"
        raise refuse(AnalysisError, "E0733", "runs come to rest, or end in different ways", help=help)
    found: list[Diagnostic] = []
    if estimator != "perturbation":
        why = obstacle(model.net)
        if not why:
            return "likelihood"
        message = f"likelihood ratios in the long run are for nets whose laws are all exponential: {why}"
        span = next((t.span for t in timed(model.net) if obstacle_of(t)), None)
        found.append(Diagnostic(code="E0733", message=message, span=span, help="the exact method differentiates phase-type laws"))
    if estimator != "likelihood":
        against = list(obstacles(model.net))
        if not against:
            return "perturbation"
        found += against
    raise AnalysisError(*found)


class _Asked:
    """One call of :func:`slopes`."""

    def __init__(
        self,
        model: Model,
        measures: tuple[Measure, ...],
        which: Literal["likelihood", "perturbation"],
        control: Control,
        seed: int,
        confidence: float,
        precision: float,
        engine: Choice,
    ) -> None:
        self.model, self.measures, self.which, self.control = model, measures, which, control
        self.seed, self.confidence, self.precision, self.engine = seed, confidence, precision, engine
        self.wanted = questions([m.body for m in measures], model)
        self.began = time.monotonic()
        self.refused: list[tuple[Change, str]] = []
        self.changes: list[Change] = []
        self.collector = self._collector()

    def _collector(self) -> Cycles | Batches:
        sources: list[Any] = []
        for c in changes(self.model):
            why: Any = c.why
            if not why:
                how: Any = score(self.model.net, c) if self.which == "likelihood" else effects(self.model.net, c)
                why = how if isinstance(how, str) else ""
            if why:
                self.refused.append((c, why))
            else:
                self.changes.append(c)
                sources.append(how)
        if self.which == "likelihood":
            return Cycles(self.model.net, self.wanted, sources, self.seed, self.control, self.engine)
        return Batches(self.model.net, self.wanted, sources, self.seed, self.control)

    def answer(self) -> Slopes:
        """Collect until all is known as precisely as was asked, or a limit is reached."""
        count, settled = (FIRST if self.which == "likelihood" else ROWS), False
        found: list[Slope] = []
        try:
            while not settled:
                self.collector.extend(count)
                found = self._estimates()
                settled = all(self._told(s) for s in found)
                count = math.ceil(1.5 * count)
        except Stopped:
            pass
        except KeyboardInterrupt:
            self.control.interrupt()
        if len(self.collector.rows) < ROWS:
            why = self.control.exhausted() or "stopped"
            help = "allow more seconds or firings"
            raise refuse(AnalysisError, "E0706", f"{why} before there was anything to estimate from", help=help)
        return self._answer(found if settled else self._estimates(), settled)

    def _answer(self, found: list[Slope], settled: bool) -> Slopes:
        known = averages(regroup(self.collector.rows.all(), ROWS))[: len(self.wanted)]
        stopped = () if settled else (self.control.exhausted() or "interrupted",)
        return Slopes(
            model=self.model,
            method=METHODS[self.which],
            reason=self._reason(),
            values={m.name: self._value(self.model, m, known) for m in self.measures},
            rows=tuple(sorted([*found, *self._none()], key=self._order)),
            confidence=self.confidence,
            converged=settled,
            firings=self.control.firings,
            samples=self.collector.rows.count,
            notes=stopped,
            seconds=time.monotonic() - self.began,
            provenance=provenance(self.model, {"estimator": self.which, "precision": self.precision}, self.seed),
        )

    def _reason(self) -> str:
        if self.which == "likelihood":
            return "all laws are exponential"
        return f"{obstacle(self.model.net)}; firings commute, and none stops a clock"

    def _told(self, s: Slope) -> bool:
        return s.elasticity_half_width <= self.precision * max(1.0, abs(s.elasticity)) or math.isnan(s.elasticity)

    def _order(self, s: Slope) -> tuple[int, float]:
        names = [m.name for m in self.measures]
        return names.index(s.measure), -abs(s.elasticity) if not math.isnan(s.elasticity) else 1.0

    def _none(self) -> list[Slope]:
        nothing = math.nan
        return [
            Slope(
                measure=m.name,
                parameter=c.name,
                kind=c.kind,
                at=c.at,
                derivative=nothing,
                half_width=nothing,
                elasticity=nothing,
                elasticity_half_width=nothing,
                note=why,
            )
            for m in self.measures
            for c, why in self.refused
        ]

    def _estimates(self) -> list[Slope]:
        """The derivatives of every measure, each with its interval."""
        rows = regroup(self.collector.rows.all(), ROWS)
        return [self._estimate(rows, i, j) for i in range(len(self.measures)) for j in range(len(self.changes))]

    def _estimate(self, rows: Floats, i: int, j: int) -> Slope:
        m, c = self.measures[i], self.changes[j]
        k, n = len(self.wanted), len(self.changes)
        plus, minus = (next(x for x in side.measures if x.name == m.name) for side in (c.plus, c.minus))

        def slope(known: Floats) -> float:
            values = known[:k]
            moved = known[k : k + k * n].reshape(k, n)[:, j] - values * known[k + k * n + j]
            ahead = self._value(c.plus, plus, values + c.step * moved)
            return (ahead - self._value(c.minus, minus, values - c.step * moved)) / (2 * c.step)

        found = interval(rows, slope, self.confidence)
        base = self._value(self.model, m, averages(rows)[:k])
        scale = c.at / base if base else math.nan
        return Slope(
            measure=m.name,
            parameter=c.name,
            kind=c.kind,
            at=c.at,
            derivative=found.value,
            half_width=found.half_width,
            elasticity=found.value * scale,
            elasticity_half_width=found.half_width * abs(scale),
            note="" if base else "the measure is 0",
        )

    def _value(self, model: Model, m: Measure, known: Floats) -> float:
        return value(m.body, model.net, dict(zip(self.wanted, known.tolist(), strict=True)))
