"""In which closed class a net ends: exact probabilities, where the way there is a Markov chain of markings.

That takes less than exponential laws everywhere: in each marking on the way it must be known which transition fires next, so either all
that can fire there are memoryless, or there is only one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from spn.dist.families import Exponential
from spn.errors import SpnError
from spn.expr.evaluate import fold
from spn.expr.nodes import constant
from spn.net import semantics
from spn.net.model import Marking, Memory, Timed, initial_marking
from spn.net.semantics import Rules
from spn.sim.classes import MarkingGraph

Floats = NDArray[np.float64]
ACCURATE = 1e-9  # by how much chances may miss 1


def chances(graph: MarkingGraph) -> Floats | None:
    """The probability of ending in each closed class, None where the markings on the way there are no Markov chain, or times may keep a
    run out of all classes."""
    if graph.evadable:
        return None
    r = semantics.rules(graph.net)
    home = graph.class_of()
    transient = [m for m in graph.successors if m not in home]
    found = np.zeros(len(graph.closed))
    if len(found) == 1:
        return np.ones(1)
    first = initial_marking(graph.net)
    if first in home:
        found[home[first]] = 1.0
        return found
    try:
        steps = {m: _next(r, m) for m in transient}
    except SpnError:
        return None
    if any(s is None for s in steps.values()):
        return None
    visits = _visits(transient, [s or {} for s in steps.values()])
    for m, count in zip(transient, visits.tolist(), strict=True):
        for successor, p in (steps[m] or {}).items():
            if successor in home:
                found[home[successor]] += count * p
    if not abs(found.sum() - 1) < ACCURATE:
        return None  # so many steps on the way that rounding spoils it
    return np.asarray(found / found.sum(), dtype=np.float64)


def entries(graph: MarkingGraph, number: int) -> list[Marking]:
    """The markings in which a closed class can be entered."""
    inside = graph.closed[number].markings
    first = initial_marking(graph.net)
    at = {s: None for m, after in graph.successors.items() if m not in inside for s in after if s in inside}
    return [first] if first in inside else sorted(at)


def _visits(transient: list[Marking], steps: list[dict[Marking, float]]) -> Floats:
    """Expected visits to each transient marking, from the initial one: v (I - P) = e."""
    import warnings

    from scipy.sparse import csc_matrix, eye
    from scipy.sparse.linalg import MatrixRankWarning, spsolve

    number = {m: i for i, m in enumerate(transient)}
    inside = [(number[s], i, p) for i, after in enumerate(steps) for s, p in after.items() if s in number]
    n = len(transient)
    rows, columns, values = zip(*inside, strict=True) if inside else ((), (), ())
    moves = csc_matrix((np.array(values, dtype=float), (np.array(rows, dtype=int), np.array(columns, dtype=int))), shape=(n, n))
    start = np.zeros(n)
    start[0] = 1.0  # the graph begins with the initial marking
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatrixRankWarning)  # the sum of the chances shows it
        return np.asarray(spsolve(csc_matrix(eye(n) - moves), start), dtype=np.float64).reshape(n)


def _next(r: Rules, m: Marking) -> dict[Marking, float] | None:
    """The probabilities of the next markings, None where they depend on more than the marking."""
    chosen = [(t, float(w)) for t, w in semantics.enabled_immediates(r, m)]
    if not chosen:
        rates = {t: rate * semantics.running_clocks(r, t, m) for t, rate in semantics.clock_rates(r, m).items()}
        chosen = _race(r, {t: rate for t, rate in rates.items() if rate > 0})
    total = sum(w for _, w in chosen)
    if not 0 < total < math.inf:
        return None
    after: dict[Marking, float] = {}
    for t, w in chosen:
        s = semantics.fire(r, t, m)
        after[s] = after.get(s, 0.0) + w / total
    return after


def _race(r: Rules, rates: dict[int, float]) -> list[tuple[int, float]]:
    """Candidates for the next firing with their rates; none where the law of the winner is not known."""
    if len(rates) == 1:
        return [(next(iter(rates)), 1.0)]
    paces = {t: memoryless(transition) for t in rates if isinstance(transition := r.transitions[t].transition, Timed)}
    return [(t, rate * (paces[t] or 0.0)) for t, rate in rates.items()] if None not in paces.values() else []


def memoryless(t: Timed) -> float | None:
    """The rate of a clock that works at speed 1, None where it is not memoryless."""
    scale = constant(fold(t.scale))
    delayed = t.transfer is not None and t.transfer.latency > 0
    if not isinstance(t.law, Exponential) or t.memory is Memory.REPEAT or scale is None or not scale > 0 or delayed:
        return None
    return float(t.law.rate / scale)
