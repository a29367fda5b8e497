"""Whether a model's expectations hold: exactly within their tolerance, or by the interval of an estimate.

For an estimate the 99.9 % interval of the difference of both sides decides: it passes where it meets the band of the tolerance and is
narrower than it, fails where they are disjoint, and else the run goes on. It never passes for being vague.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from spn.errors import AnalysisError, refuse
from spn.expr.nodes import Binary, BinaryOp, Node, Number
from spn.measure import Expectation, Measure
from spn.model import Model
from spn.result import Result, Value
from spn.sim.questions import LONG_RUN, sorts_of
from spn.solvers.sweep import at

CONFIDENCE: Final = 0.999
ROUNDING: Final = 1e-9  # relative: what a numeric solution may owe to rounding, where the file asks for equality or order
MAX_SECONDS: Final = 120.0  # of computing, after which an estimate that decides nothing is given up


class Outcome(StrEnum):
    PASS = "pass"
    FAIL = "FAIL"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One expectation and what came of it; the half-width is that of their difference, None for an exact method."""

    expectation: Expectation
    outcome: Outcome
    left: float
    right: float
    half_width: float | None
    method: str


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while a model was simulated; ``verdicts`` by what was estimated until then."""

    def __init__(self, verdicts: list[Verdict]) -> None:
        super().__init__()
        self.verdicts = verdicts


Estimates = Mapping[str, Value]
Answer = Callable[[Model, Callable[[Estimates], bool]], Result]


def judge(model: Model, answer: Answer) -> list[Verdict]:
    """The verdict on every expectation, in the order of the file.

    ``answer`` is given the model with both sides of the expectations as its measures, and a function that says of estimates at level
    :data:`CONFIDENCE` whether they decide every expectation. Raises :class:`Interrupted` where the answer was cut short by Ctrl-C.
    """
    verdicts: dict[int, Verdict] = {}
    for group in _groups(model):
        verdicts.update(_judged(group, answer))
    return [verdicts[i] for i in range(len(model.expectations))]


@dataclass(frozen=True, slots=True)
class _Group:
    """Expectations by their number that one run can answer: they are about one model, and ask one sort of question."""

    model: Model
    members: Mapping[int, Expectation]


def _groups(model: Model) -> Iterator[_Group]:
    chosen: dict[object, dict[int, Expectation]] = {}
    for i, e in enumerate(model.expectations):
        sorts = tuple(dict.fromkeys(sort for side in (e.left, e.right) for sort in sorts_of(side))) or (LONG_RUN,)
        chosen.setdefault((e.where, sorts), {})[i] = e
    variants: dict[object, Model] = {}
    for members in chosen.values():
        where = next(iter(members.values())).where
        if where not in variants:
            variants[where] = at(model, dict(where)) if where else model
        yield _Group(variants[where], {i: _same(variants[where], i, e) for i, e in members.items()})


def _same(model: Model, index: int, e: Expectation) -> Expectation:
    """The expectation of a variant that stands where ``e`` stands."""
    if index < len(model.expectations) and model.expectations[index].span == e.span:
        return model.expectations[index]
    return next((x for x in model.expectations if x.span == e.span), e)


def _judged(group: _Group, answer: Answer) -> Mapping[int, Verdict]:
    def decided(estimates: Estimates) -> bool:
        return all(_verdict(e, i, estimates, "").outcome is not Outcome.UNDECIDED for i, e in group.members.items())

    result = answer(_asking(group), decided)
    verdicts = {i: _verdict(e, i, result.measures, result.method) for i, e in group.members.items()}
    if result.details.get("interrupted"):
        raise Interrupted(list(verdicts.values()))
    return verdicts


def by_method(method: str, seed: int, max_seconds: float = MAX_SECONDS, progress: Callable[[Any], None] | None = None) -> Answer:
    """An answer by ``method``: ``ctmc``, ``simulate``, or ``auto``, which simulates where the exact method refuses."""

    def answer(model: Model, decided: Callable[[Estimates], bool]) -> Result:
        from spn.solvers import may_solve, solve

        if method == "ctmc" or (method == "auto" and not may_solve(model)):
            result = solve(model, method="ctmc") if method == "ctmc" else solve(model, seed=seed, max_seconds=1.0)
            if result.method != "simulate":
                return _settled(result)
        from spn.sim import simulate

        return simulate(model, seed=seed, confidence=CONFIDENCE, until=decided, max_seconds=max_seconds, progress=progress)

    return answer


def _settled(result: Result) -> Result:
    """The result, unless its figures are not to be trusted."""
    if result.converged:
        return result
    raise refuse(AnalysisError, "E0906", "the exact method did not converge", help="try --method simulate", notes=result.notes)


def _asking(group: _Group) -> Model:
    """The model with both sides of the expectations, and their difference, as its measures; constants left out."""
    bodies = {name: body for i, e in group.members.items() for name, body in _sides(i, e).items() if not isinstance(body, Number)}
    measures = tuple(Measure(name=name, body=body) for name, body in bodies.items())
    return replace(group.model, measures=measures, properties=())


def _sides(index: int, e: Expectation) -> dict[str, Node]:
    """The difference is a measure of its own: its interval is much narrower than those of two sides that go up and down together."""
    sides = {f"left {index}": e.left, f"right {index}": e.right}
    estimated = not any(isinstance(body, Number) for body in sides.values())
    return {**sides, f"gap {index}": Binary(BinaryOp.SUB, e.left, e.right)} if estimated else sides


def _verdict(expectation: Expectation, index: int, found: Estimates, method: str) -> Verdict:
    left = _side(expectation.left, found.get(f"left {index}"))
    right = _side(expectation.right, found.get(f"right {index}"))
    gap = found.get(f"gap {index}") or (right if left.half_width is None else left)
    outcome = decide(expectation, left.value, right.value, gap.half_width)
    return Verdict(expectation, outcome, left.value, right.value, gap.half_width, method)


def _side(body: object, found: Value | None) -> Value:
    if found is not None:
        return found
    assert isinstance(body, Number)
    return Value(value=float(body.value))


def decide(expectation: Expectation, left: float, right: float, half_width: float | None) -> Outcome:
    """The outcome for the values of both sides; ``half_width`` is that of their difference, None where they are exact."""
    if math.isnan(left) or math.isnan(right):
        return Outcome.FAIL
    if left == right or math.isinf(left) or math.isinf(right):
        return _exact(expectation.op, left, right, 0.0) if half_width is None else _estimated(expectation, left, right, half_width)
    if half_width is None:
        return _exact(expectation.op, left, right, _band(expectation, left, right))
    return _estimated(expectation, left, right, half_width)


def _band(expectation: Expectation, left: float, right: float) -> float:
    """How far apart the sides may be: the tolerance, and what rounding may make of it."""
    stated = float(expectation.tolerance) * (1.0 if expectation.absolute else abs(right)) if expectation.op == "==" else 0.0
    return stated if stated > 0 else ROUNDING * max(abs(left), abs(right))


def _exact(op: str, left: float, right: float, slack: float) -> Outcome:
    gap = 0.0 if left == right else left - right
    holds = {"==": abs(gap) <= slack, "<=": gap <= slack, ">=": gap >= -slack, "<": gap < slack or gap < 0, ">": gap > -slack or gap > 0}
    return Outcome.PASS if holds[op] else Outcome.FAIL


def _estimated(expectation: Expectation, left: float, right: float, half_width: float) -> Outcome:
    if not (math.isfinite(half_width) and math.isfinite(left) and math.isfinite(right)):
        return Outcome.UNDECIDED
    gap = left - right
    match expectation.op:
        case "==":
            band = _band(expectation, left, right)
            apart, sure = abs(gap) - half_width > band, half_width < band
        case "<" | "<=":
            apart, sure = gap - half_width > 0, gap + half_width <= 0
        case _:
            apart, sure = gap + half_width < 0, gap - half_width >= 0
    return Outcome.FAIL if apart else Outcome.PASS if sure else Outcome.UNDECIDED
