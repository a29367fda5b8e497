"""How much each steady-state measure depends on each parameter, and on the speed of each timed transition.

The stationary vector is differentiated exactly, by one linear system a measure (:mod:`spn.markov.sensitivity`). How the rates and rewards
of the states depend on a parameter is known only through the making of the net (laws, phases, shares of links, immediate choices), so they
are computed at a few values beside it, on one and the same state space, and differentiated by differences of an order high enough that
rounding (about 1e-13 of the rate) is all that is left; what differences of two orders disagree by is the error stated. Parameters that
change the state space (counts) get the difference to the next whole number instead, by a second solution.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, overload

import numpy as np

from spn.errors import AnalysisError, SpnError, refuse
from spn.expr.nodes import Exact, Number
from spn.markov import LongRun, long_run
from spn.markov.longrun import restrict
from spn.markov.sensitivity import Adjoint, Adjoints, slope, weights
from spn.measure import Measure, Primitive, primitives, value
from spn.model import Model, Parameter, checked
from spn.net.model import Timed
from spn.reach.space import Floats, StateSpace
from spn.result import Result, plain_value
from spn.sim.derivatives.run import Slopes, slopes
from spn.sim.derivatives.wanted import long_run_measures
from spn.solvers import ctmc
from spn.solvers.chain import state_space

STEP = Fraction(1, 128)  # of a parameter's value
FEW, MANY = (-2, -1, 1, 2), (-4, -3, -2, -1, 1, 2, 3, 4)  # steps, where both sides are allowed
ASIDE = (0, 1, 2, 3, 4, 5, 6)  # where one side is not
AGREED = 1e-11  # relative difference of two orders from which no more points are needed
ROUGH = 1e-6  # from which there is no derivative to speak of
ROUNDING = 1e-12  # of its terms: a sum below is 0
NOISE = 1e-10  # an elasticity below is rounding
KINK = 1e-3  # jump of a slope, relative to the slope, from which there is none either


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """How a ``measure`` of a model depends on a parameter or, for ``kind`` ``"speed"``, on the speed of a timed transition (``at`` is 1).

    ``derivative`` is d measure / d parameter in base units, with ``kind`` ``"difference"`` the change for one more (for a bool: the other
    value). ``elasticity`` is the relative change of the measure for a relative change of the parameter: 0.5 means 0.5 % for 1 %; nan where
    the measure is 0. ``error`` estimates the relative error of the rates' derivatives. ``note`` says why there is no figure (nan)."""

    measure: str
    parameter: str
    kind: str  # "derivative", "difference" or "speed"
    at: float
    derivative: float
    elasticity: float
    error: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sensitivities:
    """All sensitivities of a model: ``parameters`` and ``speeds``, each measure's in falling order of |elasticity|. ``result`` is the
    solution that they belong to; ``residual`` the estimated error of the linear systems. ``bottleneck`` names, for each measure, the timed
    transition whose speed it depends on most."""

    model: Model
    result: Result
    parameters: tuple[Sensitivity, ...]
    speeds: tuple[Sensitivity, ...]
    bottleneck: Mapping[str, str]
    residual: float
    converged: bool
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def __repr__(self) -> str:
        from spn.show.sensitivity import sensitivity_text

        return sensitivity_text(self)

    def __getitem__(self, names: tuple[str, str]) -> Sensitivity:
        """``found["throughput", "rate"]``: of a measure to a parameter, or else to the speed of a transition."""
        for s in (*self.parameters, *self.speeds):
            if (s.measure, s.parameter) == names:
                return s
        raise KeyError(f"there is no sensitivity of {names[0]!r} to {names[1]!r}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, everything in base units."""
        rows = {
            kind: [{k: plain_value(getattr(s, k)) for k in s.__slots__} for s in found]
            for kind, found in (("parameters", self.parameters), ("speeds", self.speeds))
        }
        rest = {"bottleneck": dict(self.bottleneck), "residual": plain_value(self.residual), "converged": self.converged}
        return {**rows, **rest, "notes": list(self.notes), "result": self.result.to_dict()}


@overload
def sensitivity(
    model: Model, measures: Sequence[str] | None = None, *, method: Literal["exact"] = "exact", **options: Any
) -> Sensitivities: ...


@overload
def sensitivity(model: Model, measures: Sequence[str] | None = None, *, method: Literal["simulate"], **options: Any) -> Slopes: ...


def sensitivity(
    model: Model, measures: Sequence[str] | None = None, *, method: Literal["exact", "simulate"] = "exact", **options: Any
) -> Sensitivities | Slopes:
    """The sensitivities of the steady-state ``measures`` (default: all) to every parameter and to the speed of every timed transition.

    ``method`` ``"simulate"`` estimates them, with intervals: see :func:`spn.sim.derivatives.run.slopes`, whose ``options`` these then are.
    Else ``options`` are those of the exact method. AnalysisError for another method (E0705), where that does not
    apply, where the chain has several recurrent classes (E0641), and for measures that are no long-run values (E0642)."""
    if method == "simulate":
        return slopes(model, measures, **options)
    if method != "exact":
        raise refuse(AnalysisError, "E0705", f"method is {method!r}; it is exact or simulate")
    began = time.perf_counter()
    checked(model)
    chosen = long_run_measures(model, measures)
    refused = ctmc.may(model)
    if refused:
        raise AnalysisError(*refused)
    base = _Point.of(replace(model, measures=chosen, properties=(), sweeps=(), expectations=()), ctmc.Options(**options))
    asked = _Asked(base, ctmc.Options(**options))
    parameters = [s for p in model.parameters for s in asked.parameter(p)]
    speeds = [s for t in model.net.transitions if isinstance(t, Timed) for s in asked.speed(t)]
    return Sensitivities(
        model=model,
        result=asked.result(time.perf_counter() - began),
        parameters=_ranked(chosen, parameters),
        speeds=_ranked(chosen, speeds),
        bottleneck=_bottlenecks(chosen, speeds),
        residual=asked.error(),
        converged=asked.solved.converged and asked.error() <= 1e3 * asked.options.tolerance,
        notes=tuple(asked.notes),
        seconds=time.perf_counter() - began,
    )


def _ranked(measures: Sequence[Measure], found: Sequence[Sensitivity]) -> tuple[Sensitivity, ...]:
    order = {m.name: k for k, m in enumerate(measures)}
    return tuple(sorted(found, key=lambda s: (order[s.measure], -_told(s.elasticity) if s.elasticity == s.elasticity else 1.0)))


def _told(elasticity: float) -> float:
    """The size of an elasticity without what rounding made of it, so that equal ones stay in the order of the net."""
    return float(f"{abs(elasticity):.8g}") if abs(elasticity) > NOISE else 0.0


def _bottlenecks(measures: Sequence[Measure], speeds: Sequence[Sensitivity]) -> dict[str, str]:
    named = {}
    for m in measures:
        own = [s for s in speeds if s.measure == m.name and _told(s.elasticity) > 0]
        if own:
            named[m.name] = max(own, key=lambda s: _told(s.elasticity)).parameter
    return named


# --- the chain at one value of a parameter -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Point:
    """A model with its chain and the rewards of its measures in each state."""

    model: Model
    space: StateSpace
    rewards: Mapping[Primitive, Floats]

    @classmethod
    def of(cls, model: Model, options: ctmc.Options) -> _Point:
        wanted = dict.fromkeys(p for m in model.measures for p in primitives(m.body, model.net))
        found = state_space(model.net, tuple(wanted), options.limits())
        return cls(model, found.space, found.rewards)

    def values(self, pi: Floats) -> list[float]:
        """The measures for a given distribution of the states."""
        known = {p: ctmc.average(r, pi) for p, r in self.rewards.items()}
        return [value(m.body, self.model.net, known) for m in self.model.measures]

    def like(self, other: _Point) -> bool:
        """Whether both have the same states and the same arcs between them."""
        a, b = self.space, other.space
        same = ((a.markings, b.markings), (a.rates.indptr, b.rates.indptr), (a.rates.columns, b.rates.columns))
        return all(x.shape == y.shape and np.array_equal(x, y) for x, y in same)


class _Apart(Exception):
    """The state space depends on the parameter."""


class _Asked:
    """What all the questions about one model share: the stationary vector, and one adjoint a measure."""

    def __init__(self, base: _Point, options: ctmc.Options) -> None:
        self.base, self.options = base, options
        self.solved: LongRun = long_run(base.space.rates, base.space.initial, options.tolerance, solver=options.solver)
        if len(self.solved.classes) > 1:
            raise refuse(
                AnalysisError,
                "E0641",
                f"the chain ends in one of {len(self.solved.classes)} recurrent classes",
                help="sensitivities are of an ergodic model; measure one class by itself, or vary the parameter with a sweep",
            )
        (self.final,) = self.solved.classes
        self.pi = self.solved.pi
        self.values = base.values(self.pi)
        self.rates = restrict(base.space.rates, self.final.states)
        inside = self.final.states
        solver = Adjoints(self.rates, self.pi[inside], options.tolerance)
        gains = [self._gains(k) for k in range(len(base.model.measures))]
        self.adjoints: list[Adjoint] = [solver.solve(g[inside]) for g in gains]
        with np.errstate(all="ignore"):
            self.terms = [float(np.abs(g * self.pi).sum()) for g in gains]  # how large what is summed up to the measure is
        self.notes: list[str] = []

    def _gains(self, k: int) -> Floats:
        """The derivative of measure k by the probability of each state: that by each primitive, times its reward."""
        m, net = self.base.model.measures[k], self.base.model.net
        wanted = primitives(m.body, net)
        known = {p: ctmc.average(self.base.rewards[p], self.pi) for p in wanted}
        gains = np.zeros(len(self.pi))
        for p in wanted:
            step = float(STEP) * (abs(known[p]) or 1.0)
            at = [value(m.body, net, {**known, p: known[p] + j * step}) for j in MANY]
            factor = math.fsum(float(w) * v for w, v in zip(weights(MANY), at, strict=True)) / step
            reward = np.where(self.pi > 0, self.base.rewards[p], 0.0)
            with np.errstate(invalid="ignore", over="ignore"):  # a measure beyond the range of numbers; the error says so
                gains += factor * reward
        return gains

    def result(self, seconds: float) -> Result:
        return replace(ctmc.compute(self.base.model, self.options), seconds=seconds)

    def error(self) -> float:
        return max((a.error for a in self.adjoints), default=0.0)

    # --- questions

    def parameter(self, p: Parameter) -> Iterator[Sensitivity]:
        variant = self.base.model.variant
        if variant is None:
            return

        def at(v: Exact) -> _Point:
            model = variant({p.name: v})
            made = {m.name: m for m in model.measures}
            return _Point.of(replace(model, measures=tuple(made.get(m.name, m) for m in self.base.model.measures)), self.options)

        if p.kind in ("count", "bool"):
            yield from self._difference(p, at)
            return
        size = p.value if p.value else Fraction(0)
        if not size:
            yield from self._nothing(p, "its value is 0: no relative step from there")
            return
        try:
            yield from self._derivatives(
                p.name, "derivative", float(p.value), lambda j: at(p.value * (1 + j * STEP)), float(p.value * STEP)
            )
        except _Apart:
            yield from self._nothing(p, "it changes the state space")
        except SpnError as error:
            yield from self._nothing(p, error.diagnostics[0].message)

    def speed(self, t: Timed) -> Iterator[Sensitivity]:
        """The dependence on a factor to the speed of a transition; the rates are linear in it."""

        def at(j: int) -> _Point:
            faster = replace(t, speed=Number(1 + j * STEP) * t.speed)
            net = self.base.model.net
            changed = replace(net, transitions=tuple(faster if x is t else x for x in net.transitions))
            return _Point.of(replace(self.base.model, net=changed), self.options)

        yield from self._derivatives(t.name, "speed", 1.0, at, float(STEP))

    def _derivatives(self, name: str, kind: str, at: float, point: Callable[[int], _Point], step: float) -> Iterator[Sensitivity]:
        rates, direct, error = self._differences(point, step)
        for k, m in enumerate(self.base.model.measures):
            moved = slope(self.rates, self.pi[self.final.states], self.adjoints[k].values, rates)
            yield self._one(m.name, name, kind, at, direct[k] + moved, at, error, k)

    def _one(
        self, measure: str, name: str, kind: str, at: float, derivative: float, scale: float, error: float, k: int, note: str = ""
    ) -> Sensitivity:
        base = self.values[k]
        if abs(base) <= ROUNDING * self.terms[k]:
            base, note = 0.0, note or "the measure is 0"
        if error > ROUGH:
            derivative, note = math.nan, "the rates are not smooth in it here"
        elasticity = derivative * scale / base if base else math.nan
        return Sensitivity(
            measure=measure, parameter=name, kind=kind, at=at, derivative=derivative, elasticity=elasticity, error=error, note=note
        )

    def _differences(self, point: Callable[[int], _Point], step: float) -> tuple[Floats, list[float], float]:
        """The derivatives of the rates inside the class and of the measures at fixed probabilities, and their relative error."""
        seen: dict[int, tuple[Floats, Floats]] = {}

        def known(nodes: Sequence[int]) -> None:
            for j in nodes:
                if j not in seen:
                    p = self.base if j == 0 else point(j)
                    if not p.like(self.base):
                        raise _Apart
                    seen[j] = restrict(p.space.rates, self.final.states).values, np.array(p.values(self.pi))

        few: Sequence[int] = FEW
        many: Sequence[int] = MANY
        try:
            known(few)
        except SpnError:
            few, many = self._aside(known)
        error = math.inf
        own = self.rates.values, np.array(self.values)
        for nodes in dict.fromkeys((few, many)):
            known(nodes)
            lower = nodes[1:-1] if nodes[0] < 0 < nodes[-1] else nodes[:-1]
            first, second = (_combined(seen, own, these, step) for these in (lower, nodes))
            error = _apart(first, second, own, step)
            if error <= AGREED:
                break
        if few is FEW and _jump(seen, own, step) > KINK:
            error = math.inf
        return second[0], second[1].tolist(), error

    def _aside(self, known: Callable[[Sequence[int]], None]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Steps to one side only, where the other is out of the parameter's range."""
        for side in (-1, 1):
            nodes = tuple(side * j for j in ASIDE)
            try:
                known(nodes)
            except SpnError:
                if side == 1:
                    raise
                continue
            return nodes, nodes
        raise AssertionError("unreachable")

    def _difference(self, p: Parameter, at: Callable[[Exact], _Point]) -> Iterator[Sensitivity]:
        """For a count one more (one less at the end of its range), for a bool the other value: a second solution."""
        error: SpnError | None = None
        for step in (1 - 2 * int(p.value),) if p.kind == "bool" else (1, -1):
            try:
                other = at(p.value + step)
                solved = long_run(other.space.rates, other.space.initial, self.options.tolerance, solver=self.options.solver)
            except SpnError as e:
                error = e
                continue
            note = "" if solved.converged else "not converged"
            for k, (m, v) in enumerate(zip(self.base.model.measures, other.values(solved.pi), strict=True)):
                change = v - self.values[k] if p.kind == "bool" else (v - self.values[k]) / step
                yield self._one(m.name, p.name, "difference", float(p.value), change, float(p.value), solved.error, k, note)
            return
        assert error is not None
        yield from self._nothing(p, error.diagnostics[0].message)

    def _nothing(self, p: Parameter, why: str) -> Iterator[Sensitivity]:
        for m in self.base.model.measures:
            yield Sensitivity(
                measure=m.name, parameter=p.name, kind="derivative", at=float(p.value), derivative=math.nan, elasticity=math.nan, note=why
            )


def _combined(
    seen: Mapping[int, tuple[Floats, Floats]], base: tuple[Floats, Floats], nodes: Sequence[int], step: float
) -> tuple[Floats, Floats]:
    """The derivatives of rates and measures; of what does not change they are exactly 0."""
    rates, values = (np.zeros_like(part) for part in base)
    for w, j in zip(weights(nodes), nodes, strict=True):
        rates += float(w) / step * (seen[j][0] - base[0])
        values += float(w) / step * (seen[j][1] - base[1])
    return rates, values


def _apart(first: tuple[Floats, Floats], second: tuple[Floats, Floats], base: tuple[Floats, Floats], step: float) -> float:
    """How far two differences disagree, as elasticities, where those are above 1 relative to them."""
    reach = abs(step / float(STEP))  # the value of the parameter
    worst = 0.0
    for a, b, own in zip(first, second, base, strict=True):
        seen = np.isfinite(own) & (np.abs(own) > 0)
        scale = np.maximum(np.abs(b[seen]) * reach, np.abs(own[seen]))
        worst = max(worst, float((np.abs(a - b)[seen] * reach / scale).max(initial=0.0)))
    return worst


def _jump(seen: Mapping[int, tuple[Floats, Floats]], base: tuple[Floats, Floats], step: float) -> float:
    """The jump of the slopes at the parameter's value, relative to them: what the sum of both sides' changes has of first order.

    With S(h) = f(h) + f(-h) - 2 f(0), which is J h at a kink and of second order elsewhere, J is (4 S(h) - S(2 h)) / 2 h."""
    reach = abs(step / float(STEP))
    worst = 0.0
    for k, own in enumerate(base):
        near, far = (seen[j][k] + seen[-j][k] - 2.0 * own for j in (1, 2))
        slopes = np.abs(seen[1][k] - seen[-1][k]) / (2.0 * abs(step))
        valid = np.isfinite(own) & (np.abs(own) > 0)
        jump = np.abs(4.0 * near - far) / (2.0 * abs(step))
        worst = max(worst, float((jump[valid] * reach / np.maximum(slopes[valid] * reach, np.abs(own[valid]))).max(initial=0.0)))
    return worst
