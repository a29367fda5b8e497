"""Long-run behaviour of any finite chain: its recurrent classes, the probability of ending in each, and the stationary vector inside."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from spn.markov.jumps import irreducible, jumps_of
from spn.markov.stationary import ELIMINATIONS, QUICK, TOLERANCE, Stationary, fits, stationary
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
    worst of all systems solved, ``error`` the estimated sum of the errors of ``pi``; ``reasons`` say why each was solved as it was."""

    pi: Floats
    classes: tuple[Class, ...]
    residual: float
    converged: bool
    method: str
    error: float = 0.0
    balance: float = 0.0
    reasons: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()


MOST_SPREAD = 1e-12  # of the slower pace to the fastest rate
ABSORBED = Stationary(pi=np.ones(1), residual=0.0, converged=True, method="absorbing state")


def long_run(rates: Rates, initial: Floats, tolerance: float = TOLERANCE, *, solver: str = "auto") -> LongRun:
    """The long-run distribution of a chain from ``initial`` (n), all states reachable from it. Each class is solved on its own, by
    ``solver`` (:func:`spn.markov.stationary.stationary`)."""
    if rates.n > QUICK and fits(rates, 12):
        jumps = jumps_of(rates)
        if irreducible(jumps):
            return _whole(rates, stationary(rates, tolerance, solver=solver, jumps=jumps))
        del jumps
    count, label = strong_components(rates.indptr, rates.columns)
    groups = members(count, label)
    final = [g for g, is_closed in zip(groups, closed(count, label, rates.sources(), rates.columns), strict=True) if is_closed]
    final.sort(key=lambda g: int(g[0]))
    reaching = absorption(rates, initial, final, tolerance) if len(final) > 1 else None
    chances = np.ones(1) if reaching is None else reaching.pi
    solved = [ABSORBED if len(g) == 1 else stationary(restrict(rates, g), tolerance, solver=solver) for g in final]
    classes = [Class(states=g, probability=float(p), solution=s) for g, p, s in zip(final, chances.tolist(), solved, strict=True)]
    pi = np.zeros(rates.n)
    for c in classes:
        pi[c.states] = c.probability * c.solution.pi
    own = math.fsum(c.probability * c.solution.error for c in classes)
    return _joined(pi, tuple(classes), [*solved, *([reaching] if reaching is not None else [])], own)


def _whole(rates: Rates, s: Stationary) -> LongRun:
    return _joined(s.pi, (Class(states=np.arange(rates.n), probability=1.0, solution=s),), [s], s.error)


def _joined(pi: Floats, classes: tuple[Class, ...], parts: list[Stationary], error: float) -> LongRun:
    """``parts`` are all the systems solved; of those beyond the classes the errors are added to ``error``."""
    extra = math.fsum(p.error for p in parts[len(classes) :])
    return LongRun(
        pi=pi,
        classes=classes,
        residual=max(s.residual for s in parts),
        balance=max(s.balance for s in parts),
        error=error + extra,
        converged=all(s.converged for s in parts),
        method=", ".join(dict.fromkeys(s.method for s in parts)),
        reasons=tuple(dict.fromkeys(f"{s.method}: {s.reason}" for s in parts if s.reason)),
        tried=tuple(dict.fromkeys(t for s in parts if len(s.tried) > 1 for t in s.tried)),
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


def absorption(rates: Rates, initial: Floats, final: list[Ints], tolerance: float) -> Stationary:
    """Probabilities of ending in each class (``pi``), as a stationary problem: every class is one state, which starts the chain anew at
    some rate from the initial distribution. The time spent in the state of a class is in proportion to its probability."""
    number = np.zeros(rates.n, dtype=np.int64)
    number[np.concatenate(final)] = -1
    transient = np.flatnonzero(number == 0)
    k = len(final)
    number[np.concatenate(final)] = np.repeat(np.arange(k), [len(g) for g in final])
    number[transient] = k + np.arange(len(transient))
    hub, n = k + len(transient), k + len(transient) + 1
    sources = rates.sources()
    moving = number[sources] >= k
    starts = np.flatnonzero(initial)
    rows = np.concatenate([number[sources[moving]], np.arange(k), np.full(len(starts), hub)])
    columns = np.concatenate([number[rates.columns[moving]], np.full(k, hub), number[starts]])

    def chain(pace: float) -> Rates:
        return compressed(n, rows, columns, np.concatenate([rates.values[moving], np.full(k, pace), pace * initial[starts]]))

    found, _ = restarted(chain, np.arange(k), rates, tolerance)
    chances = found.pi[:k]
    return replace(found, pi=chances / chances.sum())


def restarted(chain: Callable[[float], Rates], ends: Ints, rates: Rates, tolerance: float) -> tuple[Stationary, float]:
    """The solution of a chain that starts anew from ``ends``, and the pace of that; ``error`` is relative to the weight of the ends.

    The pace is first the typical rate. Where the chain is then hardly ever at an end, so that the error of its weight may be relatively
    large, a second pace keeps it there half the time."""
    pace = float(np.median(rates.values)) if len(rates.values) else 1.0
    found = stationary(chain(pace), tolerance)
    weight = float(found.pi[ends].sum())
    if 0 < weight < 0.1 and not found.error <= tolerance * weight:
        slower = max(pace * weight, MOST_SPREAD * float(rates.values.max()))
        again = stationary(chain(slower), tolerance)
        if again.converged or not found.converged:
            found, pace, weight = again, slower, float(again.pi[ends].sum())
    error = found.error / weight if weight > 0 else math.inf
    sure = found.method in ELIMINATIONS or error <= tolerance
    return replace(found, error=error, converged=found.converged and sure), pace
