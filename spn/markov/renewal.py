"""What happens between two regeneration points of a net with one general clock, applied without forming a matrix.

The process regenerates whenever a clock starts, and at every firing while none is alive. A vector of *entries* says how often each state is
entered so: for a state with a clock alive, how often that clock starts there. :meth:`Renewal.spend` gives the mean time in each state, and
the mean number of expiries in each, until the next such point; :meth:`Renewal.follow` the entries that come next. Both together are the
embedded chain of the Markov regenerative process (Ajmone Marsan and Chiola, LNCS 266 (1987) 132, doi:10.1007/3-540-18086-9_23; Choi,
Kulkarni and Trivedi, Perform. Eval. 20 (1994) 337; Ciardo, German and Lindemann, IEEE Trans. Softw. Eng. 20 (1994) 506,
doi:10.1109/32.297939; applied rather than formed as in German, Perform. Eval. 44 (2001) 51).

The clock of a state runs at the speed of the state, so its work, not time, is what the subordinated chain counts: rates are divided by the
speed. States in which the clock is alive but does not run (frozen, or parked under `resume`) take no work; they are passed over at once,
and the time spent in them is counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from spn.dist.law import Law
from spn.errors import AnalysisError, refuse
from spn.markov.counts import Counts, counts
from spn.markov.jumps import Narrow
from spn.reach.components import strong_components
from spn.reach.regenerative import NOBODY, Moves, Regenerative
from spn.reach.space import Bools, Floats, Ints, Rates, compressed
from spn.reach.vanishing import ranges, reduce_loop

_Entries = tuple[Ints, Ints, Floats]  # rows, columns, values

DENSE = 200  # states of a subordinated chain up to which its matrix is dense
SETTLED = 1e-14  # how far the rest of the products can move a distribution when they are given up
MARGIN = 1.01  # of the uniformisation rate over the largest exit rate: no chain of period 2
BATCH = 64  # frozen states eliminated together
MOST_FROZEN = 3_000  # states of one dense elimination
MOST_WAYS = 50_000_000  # entries kept of the ways through frozen states


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The law of a general transition's work: ``scale`` times a draw of ``law``."""

    law: Law
    scale: float = 1.0

    def mean(self) -> float:
        return self.scale * self.law.mean()


def lively(m: Regenerative) -> Regenerative:
    """The same process, in which a clock that can never run again is none: it will not expire, and needs no memory."""
    frozen = (m.owner != NOBODY) & (m.speed == 0)
    hopeful = (m.owner != NOBODY) & ~frozen
    if np.any(frozen):
        backwards = compressed(m.n, m.kept.columns, m.kept.rows, m.kept.values)
        hopeful = reachable(backwards, hopeful)
    owner = np.where(hopeful, m.owner, NOBODY)
    if np.array_equal(owner, m.owner):
        return m
    both = hopeful[m.kept.rows] & hopeful[m.kept.columns]
    return replace(m, owner=owner, kept=m.kept.where(both), events=joined(m.events, m.kept.where(~both)))


def reachable(chain: Rates, start: Bools) -> Bools:
    """The states that can be reached from those marked, these included."""
    seen = start.copy()
    wave = np.flatnonzero(seen)
    while len(wave):
        _, at = ranges(chain.indptr[wave], chain.indptr[wave + 1] - chain.indptr[wave])
        fresh = np.zeros(len(seen), dtype=bool)
        fresh[chain.columns[at]] = True
        wave = np.flatnonzero(fresh & ~seen)
        seen[wave] = True
    return seen


def joined(a: Moves, b: Moves) -> Moves:
    """The entries of both."""
    rows = np.concatenate([a.rows, b.rows])
    order = np.argsort(rows, kind="stable")
    columns, values = np.concatenate([a.columns, b.columns]), np.concatenate([a.values, b.values])
    return Moves(rows=rows[order], columns=columns[order], values=values[order], n=a.n)


class Renewal:
    """The embedded chain of a process and its ``clocks`` (in the order of its owners). ``cut`` is the largest probability, or part of
    the mean, of a law's tail that was cut off while its chain was not yet at rest."""

    def __init__(self, m: Regenerative, clocks: list[Clock]) -> None:
        self.process = m = lively(m)
        self.exits = m.kept.sums() + m.events.sums()
        self.free = m.owner == NOBODY
        self.chains = [_Subordinated(m, k, clock, self.exits) for k, clock in enumerate(clocks) if np.any(m.owner == k)]

    @property
    def n(self) -> int:
        return self.process.n

    @property
    def cut(self) -> float:
        return max((c.cut for c in self.chains), default=0.0)

    @property
    def work(self) -> float:
        """Multiplications of one application."""
        return float(sum(c.work for c in self.chains))

    def expiry_rates(self) -> Floats:
        """Of exponential clocks of the same mean work, in each state (n)."""
        rate = np.zeros(self.n)
        for chain in self.chains:
            rate[chain.running] = chain.speed / chain.clock.mean()
        return rate

    def spend(self, entries: Floats) -> tuple[Floats, Floats]:
        """Mean times (m, n) and expiries (m, n) until the next regeneration, for rows of entries (m, n), whose signs are free. States that
        are absorbing and have no clock count no time."""
        times, expiries = np.zeros_like(entries), np.zeros_like(entries)
        moving = self.free & (self.exits > 0)
        times[:, moving] = entries[:, moving] / self.exits[moving]
        for chain in self.chains:
            chain.spend(entries, times, expiries)
        return times, expiries

    def follow(self, times: Floats, expiries: Floats) -> Floats:
        """The entries (m, n) that follow."""
        return self.process.events.pushed(times) + self.process.completion.pushed(expiries)


class _Subordinated:
    """The chain on the states in which one clock is alive, in units of its work, until it expires or ends otherwise."""

    def __init__(self, m: Regenerative, k: int, clock: Clock, exits: Floats) -> None:
        owned = m.owner == k
        self.clock = clock
        self.running, self.frozen = np.flatnonzero(owned & (m.speed > 0)), np.flatnonzero(owned & (m.speed == 0))
        self.speed = m.speed[self.running]
        kept = m.kept.where(owned[m.kept.rows])
        self.ways = _Frozen(kept, self.running, self.frozen, m.events.sums()) if len(self.frozen) else None
        self.moves = self._moves(kept)
        pace = exits[self.running] / self.speed
        self.q = MARGIN * float(pace.max(initial=0.0))
        self.stay = 1.0 - pace / self.q if self.q else np.ones(len(pace))
        self.counts: Counts = counts(clock.law, self.q, clock.scale)
        self.cut = 0.0

    def _moves(self, kept: Moves) -> Moves:
        """Rates per unit of work between running states, those through frozen ones included."""
        number = np.full(kept.n, -1, dtype=np.int64)
        number[self.running] = np.arange(len(self.running))
        straight = kept.where((number[kept.rows] >= 0) & (number[kept.columns] >= 0))
        parts = [(number[straight.rows], number[straight.columns], straight.values)]
        if self.ways is not None:
            parts.append(self.ways.between())
        rows, columns, values = (np.concatenate(x) for x in zip(*parts, strict=True))
        return Moves(rows=rows, columns=columns, values=values / self.speed[rows], n=len(self.running))

    @property
    def work(self) -> float:
        return len(self.counts.exactly) * float(len(self.moves.rows) + len(self.running))

    def spend(self, entries: Floats, times: Floats, expiries: Floats) -> None:
        """Add what belongs to this clock's states."""
        start = entries[:, self.running]
        if self.ways is not None:
            start = start + self.ways.out_of(entries[:, self.frozen])
        ends, work = self._advance(start)
        expiries[:, self.running] = ends
        times[:, self.running] = work / self.speed
        if self.ways is not None:
            times[:, self.frozen] = self.ways.times(entries[:, self.frozen], times[:, self.running])

    def _advance(self, start: Floats) -> tuple[Floats, Floats]:
        """Where the clock expires, and the work done in each state until it is gone."""
        if not self.q:
            return start, start * self.clock.mean()
        if len(self.running) <= DENSE:
            return self._by_matrix(start)
        ends, work = np.zeros_like(start), np.zeros_like(start)
        for i, x in enumerate(start):
            self._by_kernel(x, ends[i], work[i])
        return ends, work / self.q

    def _weights(self) -> tuple[Floats, Floats]:
        """The weights of the products; the time that is cut off goes to the last."""
        beyond = self.counts.beyond.copy()
        beyond[-1] += self.counts.later
        return self.counts.exactly, beyond

    @cached_property
    def _matrix(self) -> Floats:
        matrix = np.zeros((len(self.running), len(self.running)))
        np.add.at(matrix, (self.moves.rows, self.moves.columns), self.moves.values / self.q)
        matrix[np.diag_indices_from(matrix)] += self.stay
        return matrix

    def _by_matrix(self, x: Floats) -> tuple[Floats, Floats]:
        exactly, beyond = self._weights()
        ends, work = np.zeros_like(x), np.zeros_like(x)
        size, last = float(np.abs(x).sum(axis=1).max(initial=0.0)), len(exactly) - 1
        for k in range(last + 1):
            ends += exactly[k] * x
            work += beyond[k] * x
            y = x @ self._matrix
            left = float(exactly[k + 1 :].sum()) if k % 16 == 15 else math.inf
            if left < math.inf and k < last:
                later = float(beyond[k + 1 :].sum())
                if float(np.abs(y - x).sum(axis=1).max(initial=0.0)) * (last - k) <= SETTLED * size:
                    return ends + left * y, (work + later * y) / self.q
            x = y
        self._cut_off()
        return ends, work / self.q

    def _cut_off(self) -> None:
        """The chain was not at rest where the law is cut off, so that the tail may count in the wrong state."""
        self.cut = max(self.counts.rest, self.counts.later / (self.q * self.clock.mean()))

    @cached_property
    def _transposed(self) -> tuple[Ints, Narrow, Floats]:
        from spn.markov import kernels

        n, order = len(self.running), np.lexsort((self.moves.columns, self.moves.rows))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(self.moves.rows, minlength=n))]).astype(np.int64)
        columns, values = self.moves.columns[order].astype(np.int32), self.moves.values[order]
        starts, sources, moves = np.zeros(n + 1, dtype=np.int64), np.empty(len(values), dtype=np.int32), np.empty(len(values))
        kernels.transpose_jumps(indptr, columns, values, np.full(n, self.q), starts, sources, moves)
        return starts, sources, moves

    def _by_kernel(self, x: Floats, ends: Floats, work: Floats) -> None:
        from spn.markov import kernels

        size = float(np.abs(x).sum())
        if size > 0:
            exactly, beyond = self._weights()
            done = kernels.uniformise(*self._transposed, self.stay, x.copy(), 0, exactly, beyond, SETTLED * size, ends, work)
            if done >= len(exactly) - 1:
                self._cut_off()


class _Frozen:
    """The ways through states in which a clock is alive but does not run, by elimination without subtraction.

    ``reach`` (frozen, running) is the probability of where the clock runs again, ``sojourn`` (frozen, frozen) the mean time in each state
    until then; the rest ends the clock."""

    def __init__(self, kept: Moves, running: Ints, frozen: Ints, ending: Floats) -> None:
        self.into = np.full(kept.n, -1, dtype=np.int64)
        self.into[running] = np.arange(len(running))
        self.number = np.full(kept.n, -1, dtype=np.int64)
        self.number[frozen] = np.arange(len(frozen))
        self.running, self.frozen, self.kept, self.ending = running, frozen, kept, ending[frozen]
        self.exits = self.ending + kept.sums()[frozen]
        self.reach, self.sojourn = self._eliminated()

    def _eliminated(self) -> tuple[Moves, Moves]:
        """Batch by batch of groups that do not lead to one another."""
        kept, number, n = self.kept, self.number, len(self.frozen)
        inner = kept.where((number[kept.rows] >= 0) & (number[kept.columns] >= 0))
        outer = kept.where((number[kept.rows] >= 0) & (number[kept.columns] < 0))
        label = _batches(_groups(number[inner.rows], number[inner.columns], n))
        parts = [_by_label(label, label[number[x.rows]], x) for x in (inner, outer)]
        order = np.argsort(label, kind="stable")
        ends = np.searchsorted(label[order], np.arange(int(label.max()) + 2))
        reach: list[_Entries] = []
        sojourn: list[_Entries] = []
        left = MOST_WAYS
        for g in range(len(ends) - 1):
            ways, stays = self._group(order[ends[g] : ends[g + 1]], parts[0][g], parts[1][g])
            left -= len(ways[2]) + len(stays[2])
            if left < 0:
                raise _too_many(n)
            reach.append(ways)
            sojourn.append(stays)
        return _assembled(reach, len(self.running)), _assembled(sojourn, n)

    def _group(self, members: Ints, inner: Moves, outer: Moves) -> tuple[_Entries, _Entries]:
        if len(members) > MOST_FROZEN:
            raise _too_many(len(self.frozen))
        size, exits = len(members), self.exits[members]
        local = np.searchsorted(members, self.number[inner.rows]), np.searchsorted(members, self.number[inner.columns])
        inside = np.zeros((size, size))
        np.add.at(inside, local, inner.values / exits[local[0]])
        column, inverse = np.unique(self.into[outer.columns], return_inverse=True)
        leaving = np.zeros((size, len(column) + 1))
        row = np.searchsorted(members, self.number[outer.rows])
        np.add.at(leaving, (row, inverse), outer.values / exits[row])
        leaving[:, -1] = self.ending[members] / exits
        ways, stays = reduce_loop(inside, leaving, np.diag(1.0 / exits))
        at, spent = np.nonzero(ways[:, :-1]), np.nonzero(stays)
        return (members[at[0]], column[at[1]], ways[:, :-1][at]), (members[spent[0]], members[spent[1]], stays[spent])

    def between(self) -> tuple[Ints, Ints, Floats]:
        """Rates between running states by way of frozen ones."""
        entering = self.kept.where((self.into[self.kept.rows] >= 0) & (self.number[self.kept.columns] >= 0))
        start = np.searchsorted(self.reach.rows, np.arange(len(self.frozen) + 1))
        via = self.number[entering.columns]
        count = start[via + 1] - start[via]
        arc = np.repeat(np.arange(len(via)), count)
        at = start[via][arc] + np.arange(len(arc)) - np.repeat(np.cumsum(count) - count, count)
        return self.into[entering.rows][arc], self.reach.columns[at], entering.values[arc] * self.reach.values[at]

    def out_of(self, entries: Floats) -> Floats:
        """Where the clock begins to run, for clocks drawn in frozen states."""
        found = [np.bincount(self.reach.columns, x[self.reach.rows] * self.reach.values, len(self.running)) for x in entries]
        return np.array(found, dtype=np.float64).reshape(len(entries), len(self.running))

    def times(self, entries: Floats, running: Floats) -> Floats:
        """Mean time in frozen states: of clocks drawn there, and of those that come from ``running`` states, by the times there."""
        entering = self.kept.where((self.into[self.kept.rows] >= 0) & (self.number[self.kept.columns] >= 0))
        from_, to = self.into[entering.rows], self.number[entering.columns]
        stays = self.sojourn
        return np.array(
            [stays.push(x + np.bincount(to, t[from_] * entering.values, len(x))) for x, t in zip(entries, running, strict=True)]
        )


def _groups(rows: Ints, columns: Ints, n: int) -> Ints:
    """Weakly connected components (labels)."""
    both = compressed(n, np.concatenate([rows, columns]), np.concatenate([columns, rows]), np.ones(2 * len(rows)))
    return strong_components(both.indptr, both.columns)[1]


def _batches(label: Ints) -> Ints:
    """Groups put together to batches (labels from 0 on) that are worth a dense elimination."""
    size = np.bincount(label)
    batch, filled, at = np.zeros(len(size), dtype=np.int64), 0, 0
    for g, k in enumerate(size.tolist()):
        if filled and filled + k > BATCH:
            at, filled = at + 1, 0
        batch[g] = at
        filled += k
    return batch[label]


def _by_label(label: Ints, of: Ints, moves: Moves) -> list[Moves]:
    """Moves split by the label of their row."""
    order = np.argsort(of, kind="stable")
    ends = np.searchsorted(of[order], np.arange(int(label.max()) + 2))
    return [moves.where(order[a:b]) for a, b in pairwise(ends.tolist())]


def _assembled(parts: list[tuple[Ints, Ints, Floats]], n: int) -> Moves:
    rows, columns, values = (np.concatenate(x) for x in zip(*parts, strict=True))
    order = np.argsort(rows, kind="stable")
    return Moves(rows=rows[order].astype(np.int64), columns=columns[order].astype(np.int64), values=values[order], n=n)


def _too_many(count: int) -> AnalysisError:
    error = refuse(
        AnalysisError,
        "E0663",
        f"a clock is alive but does not run in {count:,} markings: the ways through them are too many",
        help="use memory restart, make the model smaller, or simulate",
    )
    assert isinstance(error, AnalysisError)
    return error
