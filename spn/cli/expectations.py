"""Whether a model's expectations hold: exactly within their tolerance, or by the interval of an estimate.

For an estimate the 99.9 % interval of the difference of both sides decides: it passes where it meets the band of the tolerance and is
narrower than it, fails where they are disjoint, and else the run goes on. It never passes for being vague.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from spn.expr.nodes import Number
from spn.measure import Expectation, Measure
from spn.model import Model
from spn.result import Result, Value

CONFIDENCE: Final = 0.999
ROUNDING: Final = 1e-9  # relative: what a numeric solution may owe to rounding, where the file asks for equality or order
COARSEST, FINEST = 0.05, 1e-4  # relative half-widths with which a run begins and beyond which it is given up
REFINEMENT: Final = 2.5  # how much narrower each further round is


class Outcome(StrEnum):
    PASS = "pass"
    FAIL = "FAIL"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One expectation and what came of it; the half-width is that of both sides together, None for an exact method."""

    expectation: Expectation
    outcome: Outcome
    left: float
    right: float
    half_width: float | None
    method: str


Solve = Callable[..., Result]


def judge(model: Model, solve: Solve, **options: Any) -> list[Verdict]:
    """The verdict on every expectation, in the order of the file; ``solve`` is called with ``options`` and the precision needed."""
    verdicts: dict[int, Verdict] = {}
    for precision in _precisions(model.expectations):
        open_ones = [i for i, v in enumerate(model.expectations) if i not in verdicts or verdicts[i].outcome is Outcome.UNDECIDED]
        if not open_ones:
            break
        result = solve(_asking(model, open_ones), precision=precision, confidence=CONFIDENCE, **options)
        verdicts.update({i: _verdict(model.expectations[i], i, result) for i in open_ones})
        if result.details.get("interrupted") or all(v.half_width is None for v in verdicts.values()):
            break
    return [verdicts[i] for i in range(len(model.expectations))]


def _precisions(expectations: Sequence[Expectation]) -> Iterator[float]:
    """Relative half-widths to try in turn, the first a third of the widest tolerance."""
    relative = [float(e.tolerance) for e in expectations if e.op == "==" and not e.absolute]
    precision = min(COARSEST, max([*relative, 0.01]) / 3)
    while precision >= FINEST:
        yield precision
        precision /= REFINEMENT


def _asking(model: Model, indices: Sequence[int]) -> Model:
    """The model with both sides of the expectations as its measures."""
    sides = [(f"left {i}", model.expectations[i].left) for i in indices] + [(f"right {i}", model.expectations[i].right) for i in indices]
    return replace(model, measures=tuple(Measure(name=name, body=body) for name, body in sides if not isinstance(body, Number)))


def _verdict(expectation: Expectation, index: int, result: Result) -> Verdict:
    left = _side(expectation.left, result.measures.get(f"left {index}"))
    right = _side(expectation.right, result.measures.get(f"right {index}"))
    half_width = None if left.half_width is None and right.half_width is None else (left.half_width or 0.0) + (right.half_width or 0.0)
    outcome = decide(expectation, left.value, right.value, half_width)
    return Verdict(expectation, outcome, left.value, right.value, half_width, result.method)


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
