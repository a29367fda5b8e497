"""Fork and join: long-run values of nets that go through rounds, from the means of the largest of independent times, for any laws.

What nets these are, :mod:`spn.structural.rounds` says. The throughput of a barrier of n workers is one over the mean of the largest of n
computations: no state space, whatever n is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from spn.dist.deterministic import Deterministic
from spn.dist.extremes import mean_of_largest
from spn.dist.law import Law
from spn.dist.scaled import Scaled
from spn.dist.shifted import Shifted
from spn.errors import AnalysisError, Diagnostic
from spn.expr.evaluate import evaluate
from spn.expr.linear import linear
from spn.expr.nodes import Exact, Node, constant, places_of
from spn.measure import FiringRate, Measure, Primitive, RunningClocks, TimeAverage, primitives, value
from spn.model import Model
from spn.net.model import Timed
from spn.provenance import provenance
from spn.result import Result, Value
from spn.structural.rounds import CODE, Branch, Phase, rounds

NAME = "fork-join"


def may(model: Model) -> list[Diagnostic]:
    """All reasons why the net does not go through rounds of this kind, or a measure does not follow from them; empty where it applies."""
    found = rounds(model.net)
    phases = tuple(p for p in found if isinstance(p, Phase))
    if not phases:
        return [d for d in found if isinstance(d, Diagnostic)]
    mixed = [d for p in phases for d in _sums(p)]
    return mixed or [d for m in model.measures for d in _unanswered(m, model, phases)]


def _sums(p: Phase) -> Iterator[Diagnostic]:
    """The law of a sum of several random times is not computed."""
    if sum(b.tokens for b in p.branches) == 1:
        return
    for b in p.branches:
        drawn = [s.timed for s in b.stages if s.timed is not None and not isinstance(s.timed.law, Deterministic)]
        if len(drawn) > 1:
            names = ", ".join(t.name for t in drawn)
            message = (
                f"no rounds of fork and join: tokens go through {names} before they meet the others, and the law of the sum is not known"
            )
            help = f"use another method, or give one law for all; see `spn check --explain {CODE}`"
            yield Diagnostic(code=CODE, message=message, span=drawn[1].span, help=help)


def _unanswered(m: Measure, model: Model, phases: Sequence[Phase]) -> Iterator[Diagnostic]:
    for p in primitives(m.body, model.net):
        match p:
            case TimeAverage(value=v) if linear(v) is not None:
                pass
            case FiringRate(transition=t, value=v) if constant(v) is not None or any(t == q.gate for q in phases):
                pass
            case RunningClocks():
                pass
            case _:
                message = f"measure {m.name} does not follow from the means of a round"
                help = "ask for throughputs, utilisations, sojourn times and mean numbers of tokens; or use another method"
                yield Diagnostic(code=CODE, message=message, span=m.span, help=help)
                return


@dataclass(frozen=True, slots=True, kw_only=True)
class _Round:
    """Sums over one cycle: seconds, token seconds of each place, firings and clock seconds of each transition."""

    seconds: float
    error: float
    tokens: dict[str, float]
    firings: dict[str, float]
    clocks: dict[str, float]


def compute(model: Model, *, reason: str = "") -> Result:
    """The long-run values of a net that goes through rounds of fork and join, exact but for a quadrature whose error is estimated.

    AnalysisError E0656, with all reasons, where the net or a measure is not of this kind."""
    began = time.perf_counter()
    refused = may(model)
    if refused:
        raise AnalysisError(*refused)
    phases = tuple(p for p in rounds(model.net) if isinstance(p, Phase))
    done = _summed(phases)
    if not done.seconds > 0:
        raise AnalysisError(Diagnostic(code="E0701", message="a round of fork and join takes no time", span=model.net.span))
    known = {p: _value(p, done, phases) for m in model.measures for p in primitives(m.body, model.net)}
    error = done.error / done.seconds
    return Result(
        method=NAME,
        reason=reason or "rounds of fork and join of independent times: means of the largest of them",
        measures={
            m.name: Value(value=value(m.body, model.net, known), unit=m.unit, unit_factor=float(m.unit_factor)) for m in model.measures
        },
        residual=error,
        converged=error < 1e-8,
        details={"solver": "quadrature", "phases": len(phases), "tokens": max(sum(p.waiting.values()) for p in phases)},
        seconds=time.perf_counter() - began,
        provenance=provenance(model, {"method": NAME}),
    )


def _summed(phases: Sequence[Phase]) -> _Round:
    done = _Round(seconds=0.0, error=0.0, tokens={}, firings={}, clocks={})
    seconds = error = 0.0
    for p in phases:
        longest, off = mean_of_largest([(_law(b), b.tokens) for b in p.branches])
        gate = p.timed.law.mean() * _factor(p.timed) if p.timed else 0.0
        for b in p.branches:
            for s in b.stages:
                mean = s.timed.law.mean() * _factor(s.timed) if s.timed else 0.0
                _add(done.tokens, s.place, b.tokens * mean)
                _add(done.firings, s.transition, b.tokens)
                _add(done.clocks, s.transition, b.tokens * mean)
            way = math.fsum(s.timed.law.mean() * _factor(s.timed) for s in b.stages if s.timed)
            _add(done.tokens, b.end, b.tokens * (longest - way + gate))
        _add(done.firings, p.gate, 1.0)
        _add(done.clocks, p.gate, gate)
        seconds += longest + gate
        error += off
    return _Round(seconds=seconds, error=error, tokens=done.tokens, firings=done.firings, clocks=done.clocks)


def _add(sums: dict[str, float], name: str, x: float) -> None:
    sums[name] = sums.get(name, 0.0) + x


def _factor(t: Timed) -> float:
    return float(_exact_factor(t))


def _exact_factor(t: Timed) -> Exact:
    scale, speed = constant(t.scale), constant(t.speed)
    assert scale is not None and speed is not None
    return scale / speed


def _law(b: Branch) -> Law:
    """The law of the time that a token of a branch takes: constants and at most one law that varies (or a lone token's, by its mean)."""
    fixed: Exact = Fraction(0)
    drawn: list[Law] = []
    for s in b.stages:
        if s.timed is None:
            continue
        if isinstance(s.timed.law, Deterministic):
            fixed = fixed + s.timed.law.value * _exact_factor(s.timed)
        else:
            factor = _exact_factor(s.timed)
            drawn.append(s.timed.law if factor == 1 else Scaled(law=s.timed.law, by=factor))
    if len(drawn) == 1:
        return drawn[0] if fixed == 0 else Shifted(law=drawn[0], by=fixed)
    return Deterministic(value=fixed + Fraction(math.fsum(law.mean() for law in drawn)))


def _value(p: Primitive, done: _Round, phases: Sequence[Phase]) -> float:
    match p:
        case TimeAverage(value=v):
            found = linear(v)
            assert found is not None
            return math.fsum([float(found[1]), *(float(c) * done.tokens.get(q, 0.0) / done.seconds for q, c in found[0].items())])
        case FiringRate(transition=t, value=v):
            if (fixed := constant(v)) is not None:
                return float(fixed) * done.firings.get(t, 0.0) / done.seconds
            return math.fsum(_before(v, q) for q in phases if q.gate == t) / done.seconds
        case RunningClocks(transition=t):
            return done.clocks.get(t, 0.0) / done.seconds
    raise TypeError(f"no mean of a round: {p!r}")


def _before(v: Node, p: Phase) -> float:
    """An expression in the marking just before a gate fires."""
    return float(evaluate(v, {q: p.waiting.get(q, 0) for q in places_of(v)}))
