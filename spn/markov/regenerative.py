"""Long-run behaviour of a Markov regenerative process with one general clock at a time.

Where the clock starts in few states of each part of the state space, the embedded chain is written down row by row: a start in one state of
every part at once gives a row of each. Together with the states without a clock it is a Markov chain as any other
(:mod:`spn.markov.longrun`): in a start state for the mean time until the next regeneration, then in one of those that follow.

Else the embedded chain is only applied. Its stationary entries x = x P start from those of the process with exponential clocks of the same
means, and are corrected by generalised minimal residuals, preconditioned by that same exponential chain (Y. Saad and M. H. Schultz, SIAM
J. Sci. Stat. Comput. 7 (1986) 856, doi:10.1137/0907058; flexible: Y. Saad, SIAM J. Sci. Comput. 14 (1993) 461, doi:10.1137/0914028).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spn.markov.embedding import Entered, applied
from spn.markov.longrun import LongRun, long_run
from spn.markov.renewal import Renewal, reachable
from spn.markov.stationary import TOLERANCE
from spn.reach.components import closed, members, strong_components
from spn.reach.regenerative import NOBODY
from spn.reach.space import Floats, Ints, Rates, compressed

MOST_WORK = 3e8  # multiplications of all the rows up to which the embedded chain is written down
MOST_ENTRIES = 2e7  # and its entries


@dataclass(frozen=True, slots=True, kw_only=True)
class RegenerativeClass:
    """A recurrent class: its ``states`` ascending, the ``probability`` of ending there, the fraction of time ``pi`` in each of the states
    (n, of all) and the ``expiries`` of the clock per second in each (n), both in the long run inside the class."""

    states: Ints
    probability: float
    pi: Floats
    expiries: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Regeneration:
    """``pi`` (n) and ``expiries`` (n): long-run fraction of time in each state, and expiries of its clock per second, mixed over the
    ``classes``. ``residual``: the worst relative imbalance of flow into and out of the states, recomputed from these; ``error`` the
    estimated sum of the errors of ``pi``; ``cut`` the tail of a law left out. ``embedded`` counts the states of the embedded chain."""

    pi: Floats
    expiries: Floats
    classes: tuple[RegenerativeClass, ...]
    residual: float
    error: float
    cut: float
    converged: bool
    method: str
    embedded: int


def regeneration(r: Renewal, tolerance: float = TOLERANCE, *, solver: str = "auto", written: bool | None = None) -> Regeneration:
    """The long run from the initial distribution of the process. ``written`` decides whether the embedded chain is written down, None by
    its size; ``solver`` is that of its stationary vector."""
    label = _parts(r)
    starts = _starts(r)
    rows = int(np.bincount(label[starts]).max(initial=0)) if len(starts) else 0
    if written is None:
        written = rows * r.work <= MOST_WORK and rows * float(r.n) <= MOST_ENTRIES
    return _written(r, label, starts, rows, tolerance, solver) if written else _applied(r, tolerance)


def _parts(r: Renewal) -> Ints:
    """Labels of the sets of states between which no clock lives on."""
    kept = r.process.kept
    both = compressed(
        r.n, np.concatenate([kept.rows, kept.columns]), np.concatenate([kept.columns, kept.rows]), np.ones(2 * len(kept.rows))
    )
    return strong_components(both.indptr, both.columns)[1]


def _starts(r: Renewal) -> Ints:
    """States in which a clock may start."""
    p = r.process
    found = p.initial > 0
    found[p.events.columns] = True
    found[p.completion.columns] = True
    return np.flatnonzero(found & (p.owner != NOBODY))


# --- written down -----------------------------------------------------------------------------------------------------------------


def _written(r: Renewal, label: Ints, starts: Ints, rows: int, tolerance: float, solver: str) -> Regeneration:
    cycle, steps = _rows(r, label, starts, rows)
    states = np.flatnonzero(r.free | (cycle > 0))
    number = np.full(r.n, -1, dtype=np.int64)
    number[states] = np.arange(len(states))
    chain = compressed(len(states), number[steps[0]], number[steps[1]], steps[2])
    reached = np.flatnonzero(reachable(chain, r.process.initial[states] > 0))
    solved = long_run(_restricted(chain, reached), r.process.initial[states][reached], tolerance, solver=solver)
    at = states[reached]
    found = [_class(r, at[c.states], c.solution.pi, c.probability, cycle) for c in solved.classes]
    return _gathered(r, found, solved, tolerance, len(at))


def _rows(r: Renewal, label: Ints, starts: Ints, rows: int) -> tuple[Floats, tuple[Ints, Ints, Floats]]:
    """The mean time to the next regeneration from each start state (n, 0 elsewhere), and the rates of the embedded chain as triplets."""
    p = r.process
    free = p.events.where(r.free[p.events.rows])
    clocked = p.events.where(~r.free[p.events.rows])
    triplets = [(free.rows, free.columns, free.values)]
    cycle = np.zeros(r.n)
    order = np.argsort(label[starts], kind="stable")
    rank = np.arange(len(starts)) - np.searchsorted(label[starts][order], label[starts][order])
    for k in range(rows):
        chosen = starts[order[rank == k]]
        start_of = np.full(int(label.max()) + 1, -1, dtype=np.int64)
        start_of[label[chosen]] = chosen
        entries = np.zeros((1, r.n))
        entries[0, chosen] = 1.0
        times, expiries = (x[0] for x in r.spend(entries))
        source = start_of[label]
        inside = (source >= 0) & ~r.free
        cycle += np.bincount(source[inside], times[inside], r.n)
        for moves, amount in ((clocked, times), (p.completion, expiries)):
            weight = amount[moves.rows] * moves.values
            some = (weight > 0) & inside[moves.rows]
            triplets.append((source[moves.rows[some]], moves.columns[some], weight[some] / cycle[source[moves.rows[some]]]))
    from_, to, values = (np.concatenate(x) for x in zip(*triplets, strict=True))
    return cycle, (from_, to, values)


def _restricted(chain: Rates, states: Ints) -> Rates:
    number = np.full(chain.n, -1, dtype=np.int64)
    number[states] = np.arange(len(states))
    inside = number[chain.sources()] >= 0
    return compressed(len(states), number[chain.sources()[inside]], number[chain.columns[inside]], chain.values[inside])


def _class(r: Renewal, states: Ints, share: Floats, probability: float, cycle: Floats) -> RegenerativeClass:
    """From the share of time in each embedded state, cycles being counted where they begin, to that in each state."""
    entries, pi = np.zeros(r.n), np.zeros(r.n)
    clocked = ~r.free[states]
    entries[states[clocked]] = share[clocked] / cycle[states[clocked]]
    times, expiries = (x[0] for x in r.spend(entries[None, :]))
    pi[:] = times
    pi[states[~clocked]] = share[~clocked]
    return _normalised(pi, expiries, probability)


def _normalised(pi: Floats, expiries: Floats, probability: float) -> RegenerativeClass:
    total = float(pi.sum())
    return RegenerativeClass(states=np.flatnonzero(pi > 0), probability=probability, pi=pi / total, expiries=expiries / total)


def _gathered(r: Renewal, found: list[RegenerativeClass], solved: LongRun, tolerance: float, embedded: int) -> Regeneration:
    residual = max([imbalance(r, c.pi, c.expiries) for c in found] + [solved.residual])
    return Regeneration(
        pi=_mixed([c.pi for c in found], found),
        expiries=_mixed([c.expiries for c in found], found),
        classes=tuple(found),
        residual=residual,
        error=solved.error + r.cut,
        cut=r.cut,
        converged=solved.converged and residual <= tolerance and r.cut <= tolerance,
        method=f"embedded chain, {solved.method}",
        embedded=embedded,
    )


def _mixed(parts: list[Floats], classes: list[RegenerativeClass]) -> Floats:
    total = np.zeros_like(parts[0])
    for part, c in zip(parts, classes, strict=True):
        total += c.probability * part
    return total


def imbalance(r: Renewal, pi: Floats, expiries: Floats) -> float:
    """Sum over states of |flow in - flow out|, relative to all flow: of exponential firings and of expiries."""
    p = r.process
    out = pi * r.exits + expiries
    into = p.kept.push(pi) + p.events.push(pi) + p.completion.push(expiries)
    total = float(out.sum())
    return float(np.abs(into - out).sum()) / total if total > 0 else 0.0


# --- only applied -----------------------------------------------------------------------------------------------------------------


def _applied(r: Renewal, tolerance: float) -> Regeneration:
    chain = exponential(r)
    count, label = strong_components(chain.indptr, chain.columns)
    groups = members(count, label)
    final = [g for g, shut in zip(groups, closed(count, label, chain.sources(), chain.columns), strict=True) if shut]
    final.sort(key=lambda g: int(g[0]))
    inside = np.concatenate(final)
    transient = np.setdiff1d(np.arange(r.n), inside)
    chances, parts = np.ones(1), []
    if len(final) > 1:
        ways = applied(r, chain, transient, r.process.initial, tolerance)
        parts.append(ways)
        reached = r.process.initial + ways.following
        chances = np.array([reached[g].sum() for g in final])
        chances /= chances.sum()
    found = []
    for g, chance in zip(final, chances.tolist(), strict=True):
        if len(g) == 1 and r.free[g[0]]:
            pi = np.zeros(r.n)
            pi[g] = 1.0
            found.append(_normalised(pi, np.zeros(r.n), chance))
            continue
        solved: Entered = applied(r, chain, g, None, tolerance)
        parts.append(solved)
        found.append(_normalised(np.maximum(solved.times, 0.0), np.maximum(solved.expiries, 0.0), chance))
    residual = max([imbalance(r, c.pi, c.expiries) for c in found] + [p.residual for p in parts])
    error = math.fsum(p.error for p in parts)
    products = sum(p.products for p in parts)
    return Regeneration(
        pi=_mixed([c.pi for c in found], found),
        expiries=_mixed([c.expiries for c in found], found),
        classes=tuple(found),
        residual=residual,
        error=error + r.cut,
        cut=r.cut,
        converged=bool(residual <= tolerance and error <= tolerance and r.cut <= tolerance),
        method=f"embedded chain applied {products} times, GMRES preconditioned by exponential clocks (sparse LU)",
        embedded=len(_starts(r)) + int(r.free.sum()),
    )


def exponential(r: Renewal) -> Rates:
    """The chain in which every clock is exponential, of the same mean work."""
    p = r.process
    rate = r.expiry_rates()
    rows = np.concatenate([p.kept.rows, p.events.rows, p.completion.rows])
    columns = np.concatenate([p.kept.columns, p.events.columns, p.completion.columns])
    values = np.concatenate([p.kept.values, p.events.values, p.completion.values * rate[p.completion.rows]])
    return compressed(r.n, rows, columns, values)
