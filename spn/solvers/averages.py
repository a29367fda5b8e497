"""Exact averages of primitives over a time or in the long run, for what is simulated in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from spn.errors import AnalysisError, Diagnostic, SpnError
from spn.expr.nodes import constant
from spn.measure import Average, FiringRate, Horizon, Measure, Primitive, Throughput, TimeAverage, primitives
from spn.model import Model
from spn.result import Result
from spn.solvers import ctmc
from spn.solvers.choose import exactly

MOST_STATES = 200_000  # beyond, simulating is cheaper than what it is compared with


@dataclass(frozen=True, slots=True, kw_only=True)
class Averaged:
    """Averages over ``warmup`` to ``horizon`` seconds; in the long run where ``horizon`` is None."""

    horizon: float | None = None
    warmup: float = 0.0

    def atom(self, p: Primitive) -> Horizon | None:
        """The question that asks for a primitive over the time; None where there is none."""
        assert self.horizon is not None
        match p:
            case TimeAverage(value=v):
                return Horizon(Average(v), self.warmup, self.horizon)
            case FiringRate(transition=t, value=v) if constant(v) == 1:
                return Horizon(Throughput(t), self.warmup, self.horizon)
            case FiringRate(transition=t, value=v):  # over a time it is the sum over the firings by which the average is meant
                return Horizon(Average(v, t), self.warmup, self.horizon)
        return None


def exact_averages(model: Model, wanted: Sequence[Primitive], over: Averaged) -> dict[Primitive, float]:
    """The primitives' expected averages over the time, by the exact method; those that it has no question for are left out. AnalysisError
    where it does not apply or does not converge."""
    atoms = {p: atom for p in dict.fromkeys(wanted) if (atom := over.atom(p)) is not None}
    if not atoms:
        return {}
    asked = tuple(Measure(name=f"primitive {k}", body=atom) for k, atom in enumerate(atoms.values()))
    solved = _solved(replace(model, measures=asked, properties=()))
    return {p: solved[m.name] for p, m in zip(atoms, asked, strict=True)}


def exact_value(model: Model, measure: Measure, over: Averaged) -> float:
    """The value of a measure in the long run, or with its primitives averaged over the time: what replications of that length estimate.
    AnalysisError where the exact method does not answer that."""
    if over.horizon is None:
        return _solved(replace(model, measures=(measure,), properties=()))[measure.name]
    from spn.measure import value

    wanted = primitives(measure.body, model.net)
    known: Mapping[Primitive, float] = exact_averages(model, wanted, over)
    if len(known) < len(wanted):
        message = f"measure {measure.name} is answered exactly in the long run only, not over a time"
        raise AnalysisError(Diagnostic(code="E0624", message=message, span=measure.span))
    return value(measure.body, model.net, known)


def _solved(model: Model) -> dict[str, float]:
    if ctmc.may(model):
        found = exactly(model)
        if not isinstance(found, Result):
            raise AnalysisError(*found)
        result = found
    else:
        result = ctmc.compute(model, ctmc.Options(max_states=MOST_STATES))
    if not result.converged:
        raise ctmc.unsolved(result)
    return {name: v.value for name, v in result.measures.items()}


def why_not(error: SpnError) -> str:
    """The first reason of a refusal, as a part of a sentence."""
    return error.diagnostics[0].message
