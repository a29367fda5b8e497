"""Exact answers to questions that are no ratio of long-run averages: values at a time, first passage, quantiles.

:func:`refusals` is the one place that says which of them a method cannot answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from spn.delay import refusals as untold
from spn.errors import AnalysisError, Diagnostic, SpnError, refuse
from spn.expr.nodes import Node
from spn.markov.passage import Passage as Chain
from spn.markov.transient import TooStiff, course
from spn.measure import Delay, FiringRate, Horizon, Passage, Primitive, Quantile, Special, TimeAverage, atoms, ratio
from spn.model import Model
from spn.net.model import Immediate, Net
from spn.reach import StateSpace
from spn.reach.space import Bools, Floats

SLACK = 1e-12  # of a distribution's sum, which a quantile must not depend on


def asked(model: Model) -> tuple[Special, ...]:
    """The special questions of a model's measures, in order."""
    bodies = [m.body for m in model.measures]
    return tuple(dict.fromkeys(a for body in bodies for a in atoms(body) if isinstance(a, Horizon | Passage | Delay | Quantile)))


def refusals(model: Model) -> Iterator[Diagnostic]:
    """What the exact method does not answer, each with its line."""
    yield from untold(model)
    immediate = {t.name for t in model.net.transitions if isinstance(t, Immediate)}
    for atom in asked(model):
        match atom:
            case Quantile(given=str(t), span=span) if t in immediate:
                yield Diagnostic(
                    code="E0622",
                    message=f"quantiles over the firings of {t}, an immediate transition, are not answered yet",
                    span=span,
                    help="ask for the mean, E(… | t), or for a probability, P(… <= x | t)",
                )


# --- what they need ---------------------------------------------------------------------------------------------------------------


def needed(questions: Iterable[Special], net: Net) -> tuple[Primitive, ...]:
    """The rewards whose rates in each state the questions read."""
    found: dict[Primitive, None] = {}
    for q in questions:
        match q:
            case Horizon(measure=m):
                found.update(dict.fromkeys(ratio(m, net).numerators))
            case Quantile(value=v, given=None):
                found[TimeAverage(v)] = None
            case Quantile(value=v, given=str(t)):
                found.update({TimeAverage(v): None, FiringRate(t): None})
    return tuple(found)


@dataclass(slots=True)
class Answers:
    """The values found, the worst residual, and what is to be said of them."""

    values: dict[Primitive, float] = field(default_factory=dict)
    residual: float = 0.0
    converged: bool = True
    notes: list[str] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)


def at_times(questions: Sequence[Horizon], net: Net, space: StateSpace, rewards: Mapping[Primitive, Floats], answers: Answers) -> None:
    """Values at times and over times, all along one course of the chain."""
    if not questions:
        return
    times = sorted({float(t) for q in questions for t in (q.start, q.end) if t is not None})
    try:
        found = course(space.rates, space.initial, times)
    except TooStiff as stiff:
        raise _stiff(questions[0], stiff) from None
    answers.residual = max(answers.residual, found.residual)
    answers.methods.append(found.method)
    for q in questions:
        (reward,) = (rewards[p] for p in ratio(q.measure, net).numerators)
        last = times.index(float(q.end))
        if q.start is None:
            answers.values[q] = _mean(reward, found.at[last])
            continue
        first = times.index(float(q.start))
        total = _mean(reward, found.spent[first + 1 : last + 1].sum(axis=0))
        answers.values[q] = total if q.total else total / (float(q.end) - float(q.start))


def _mean(reward: Floats, weights: Floats) -> float:
    """What is undefined where there is no weight does not matter."""
    seen = weights > 0
    return math.fsum((reward[seen] * weights[seen]).tolist())


def _stiff(q: Special, stiff: TooStiff) -> SpnError:
    return refuse(
        AnalysisError,
        "E0630",
        f"the fastest rates are too fast for the time asked about: {stiff.steps:.2g} steps",
        span=q.span,
        help="ask about an earlier time, or about the long run, or simulate",
    )


def quantiles(questions: Sequence[Quantile], rewards: Mapping[Primitive, Floats], pi: Floats, answers: Answers) -> None:
    """Quantiles of long-run distributions, over time or over firings."""
    for q in questions:
        weights = pi if q.given is None else pi * rewards[FiringRate(q.given)]
        answers.values[q] = _quantile(rewards[TimeAverage(q.value)], weights, float(q.level))


def _quantile(values: Floats, weights: Floats, level: float) -> float:
    seen = np.flatnonzero(weights > 0)
    if not len(seen):
        return math.nan
    order = seen[np.argsort(values[seen], kind="stable")]
    reached = np.cumsum(weights[order]) / weights[order].sum()
    return float(values[order[min(int(np.searchsorted(reached, level - SLACK)), len(order) - 1)]])


# --- first passage ----------------------------------------------------------------------------------------------------------------


def by_condition(questions: Iterable[Special]) -> dict[Node, list[Passage]]:
    """First passages that are about one and the same time."""
    found: dict[Node, list[Passage]] = {}
    for q in questions:
        if isinstance(q, Passage):
            found.setdefault(q.condition, []).append(q)
    return found


def by_ends(questions: Iterable[Special]) -> list[list[Delay]]:
    """Times of tokens between the same two transitions."""
    found: dict[tuple[str, str], list[Delay]] = {}
    for q in questions:
        if isinstance(q, Delay):
            found.setdefault((q.first, q.second), []).append(q)
    return list(found.values())


def passages(questions: Sequence[Passage], space: StateSpace, target: Bools, answers: Answers, tolerance: float) -> None:
    """First passages into the ``target`` states, which meet one condition, in the state space of the net stopped there."""
    chain = Chain(space.rates, space.initial, target, tolerance)
    for q in questions:
        try:
            answers.values[q] = _passage(q, chain)
        except TooStiff as stiff:
            raise _stiff(q, stiff) from None
    if chain.chance < 1:
        answers.notes.append(f"{_text(questions[0])} is ever met with probability {chain.chance:.6g}, so that the mean time is infinite")
    answers.methods.extend(chain.methods)
    answers.residual = max(answers.residual, chain.residual)
    answers.converged = answers.converged and chain.converged


def _passage(q: Passage, chain: Chain) -> float:
    if q.within is not None:
        return chain.within(float(q.within))
    return chain.mean() if q.quantile is None else chain.quantile(float(q.quantile))


def _text(q: Passage) -> str:
    span = getattr(q.condition, "span", None)
    return f"`{' '.join(span.text.split())}`" if span is not None else "the condition"
