"""Long-run behaviour of any finite chain: its recurrent classes, the probability of ending in each, and the stationary vector inside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spn.markov.stationary import TOLERANCE, Stationary, stationary
from spn.reach.components import closed, members, strong_components
from spn.reach.space import Floats, Ints, Rates, compressed


@dataclass(frozen=True, slots=True, kw_only=True)
class Class:
    """A recurrent class: its ``states``, ascending; the ``probability`` of ending in it; the ``solution`` over its states."""

    states: Ints
    probability: float
    solution: Stationary


@dataclass(frozen=True, slots=True, kw_only=True)
class LongRun:
    """``pi`` (n): the long-run fraction of time in each state from the initial distribution. ``residual`` is the
    worst of all systems solved."""

    pi: Floats
    classes: tuple[Class, ...]
    residual: float
    converged: bool
    method: str


ABSORBED = Stationary(pi=np.ones(1), residual=0.0, converged=True, method="absorbing state")


def long_run(rates: Rates, initial: Floats, tolerance: float = TOLERANCE) -> LongRun:
    """The long-run distribution of a chain from ``initial`` (n), all states reachable from it. Each class is solved on its own."""
    count, label = strong_components(rates.indptr, rates.columns)
    groups = members(count, label)
    final = [g for g, is_closed in zip(groups, closed(count, label, rates.sources(), rates.columns), strict=True) if is_closed]
    final.sort(key=lambda g: int(g[0]))
    reaching = _absorption(rates, initial, final, tolerance) if len(final) > 1 else None
    chances = np.ones(1) if reaching is None else reaching.pi
    solved = [ABSORBED if len(g) == 1 else stationary(restrict(rates, g), tolerance) for g in final]
    classes = [Class(states=g, probability=float(p), solution=s) for g, p, s in zip(final, chances.tolist(), solved, strict=True)]
    pi = np.zeros(rates.n)
    for c in classes:
        pi[c.states] = c.probability * c.solution.pi
    parts = [*solved, *([reaching] if reaching is not None else [])]
    return LongRun(
        pi=pi,
        classes=tuple(classes),
        residual=max(s.residual for s in parts),
        converged=all(s.converged for s in parts),
        method=", ".join(dict.fromkeys(s.method for s in parts)),
    )


def restrict(rates: Rates, states: Ints) -> Rates:
    """The chain on a closed set of states, renumbered in their order."""
    if len(states) == rates.n:
        return rates
    number = np.full(rates.n, -1, dtype=np.int64)
    number[states] = np.arange(len(states))
    sources = rates.sources()
    inside = number[sources] >= 0
    return compressed(len(states), number[sources[inside]], number[rates.columns[inside]], rates.values[inside])


def _absorption(rates: Rates, initial: Floats, final: list[Ints], tolerance: float) -> Stationary:
    """Probabilities of ending in each class, as a stationary problem: every class is one state, which starts the chain anew at rate 1 (of
    the typical exit rate) from the initial distribution. The time spent in the state of a class is in proportion to its probability."""
    number = np.zeros(rates.n, dtype=np.int64)
    number[np.concatenate(final)] = -1
    transient = np.flatnonzero(number == 0)
    k = len(final)
    for i, g in enumerate(final):
        number[g] = i
    number[transient] = k + np.arange(len(transient))
    hub, n = k + len(transient), k + len(transient) + 1
    sources = rates.sources()
    moving = number[sources] >= k
    pace = float(np.median(rates.values)) if len(rates.values) else 1.0
    starts = np.flatnonzero(initial)
    rows = np.concatenate([number[sources[moving]], np.arange(k), np.full(len(starts), hub)])
    columns = np.concatenate([number[rates.columns[moving]], np.full(k, hub), number[starts]])
    values = np.concatenate([rates.values[moving], np.full(k, pace), pace * initial[starts]])
    found = stationary(compressed(n, rows, columns, values), tolerance)
    chances = found.pi[:k]
    return Stationary(
        pi=chances / chances.sum(), residual=found.residual, converged=found.converged, method=found.method, tried=found.tried
    )
