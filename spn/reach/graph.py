"""Breadth-first exploration of the reachability graph, vanishing markings included.

Each level of the search is expanded as a whole: wide levels by array arithmetic (:mod:`spn.reach.batch`), narrow ones marking by marking
straight from the semantics. A large state space is searched by a kernel on the compiled net (:mod:`spn.reach.compiled`). All give the
same states and arcs in the same order.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spn.errors import AnalysisError, SpnError, refuse
from spn.kernel_cache import exploration_is_compiled
from spn.net import semantics
from spn.net.model import Marking, Net, Timed, initial_marking
from spn.net.semantics import Rules
from spn.reach import batch as many
from spn.reach.growth import Unconnected, path_to
from spn.reach.packing import packed
from spn.reach.space import Bools, Floats, Graph, Ints, Limits
from spn.reach.watch import Watch

NARROW = 12  # states of a level up to which the plain semantics is faster than array arithmetic
BLOCK = 50_000  # states expanded at a time
WARM, LOADED, UNCOMPILED = 300, 3_000, 30_000  # states from which the kernel is worth its use, its loading, its compilation
BYTES_PER_STATE = 400  # at the peak of a search without the kernel, beside the marking itself, as measured
BYTES_PER_ARC = 190
MASK = 2**64 - 1
MOST_TOKENS = 2**63 - 1


class Expansion(NamedTuple):
    """The arcs out of a level, sorted by source and transition, with the markings they lead to; and which sources vanish."""

    source: Ints
    transition: Ints
    weight: Floats
    after: Ints
    vanishing: Bools


def law_rates(net: Net) -> dict[int, float]:
    """Rate of the exponential law of each timed transition per unit of its clock's rate, constant scale included.

    Raises ValueError for a law that is not exponential: :mod:`spn.net.expand` comes first."""
    rates = {}
    for i, t in enumerate(net.transitions):
        if isinstance(t, Timed):
            phases = t.law.phase_type()
            scale = getattr(t.scale, "value", None)
            if phases is None or len(phases.alpha) != 1 or scale is None or not scale > 0:
                raise ValueError(f"{t.name} is not exponential")
            rates[i] = -phases.generator[0][0] / float(scale)
    return rates


Canonical = Callable[[Ints], Ints]


class Covered(Exception):
    """A net is unbounded, but its markings were replaced by canonical ones, so that the firings found are none of the net."""


def explore_graph(
    net: Net, limits: Limits, *, narrow: int = NARROW, compiled: int | None = None, canonical: Canonical | None = None
) -> Graph:
    """The reachability graph of a net with exponential laws. With ``canonical`` every marking reached (a row) is replaced by one that
    stands for it and its like, and an unbounded net raises :class:`Covered`.

    Levels of at most ``narrow`` states are expanded marking by marking; a net with more than ``compiled`` states is left to a kernel (not
    where work goes over links, or with ``canonical``). Errors: an unbounded net (shown, with the places and the sequence), the limits
    reached, and whatever a marking makes meaningless."""
    found = small_graph(net, limits, narrow=narrow, compiled=compiled, canonical=canonical)
    return large_graph(net, limits) if found is None else found


def small_graph(
    net: Net, limits: Limits, *, narrow: int = NARROW, compiled: int | None = None, canonical: Canonical | None = None
) -> Graph | None:
    """The same without the kernel; None for a net that is better left to it."""
    return _Search(net, limits, narrow, kernel_from() if compiled is None else compiled, canonical).run()


def kernel_from() -> int:
    """The number of states from which the kernel is faster, loading and compilation included."""
    if "spn.reach.kernels" in sys.modules:
        return WARM
    return LOADED if exploration_is_compiled() else UNCOMPILED


def large_graph(net: Net, limits: Limits) -> Graph:
    """The graph by the kernel, whatever its size. No transition's work may go over a link."""
    from spn.reach.large import search

    r = semantics.rules(net)
    found = search(r, law_array(net), limits, chain=False).run()
    assert found is not None
    arcs = np.diff(found.indptr)
    immediate = np.zeros(len(net.transitions), dtype=bool)
    immediate[list(r.immediates)] = True
    vanishing = np.zeros(len(arcs), dtype=bool)
    some = arcs > 0
    vanishing[some] = immediate[found.transition[found.indptr[:-1][some]]]
    source = np.repeat(np.arange(len(arcs), dtype=np.int32), arcs)
    return Graph(
        markings=found.markings,
        vanishing=vanishing,
        parent=found.parent,
        via=found.via,
        source=source,
        target=found.columns,
        transition=found.transition,
        weight=found.values,
    )


def law_array(net: Net) -> Floats:
    """The same as :func:`law_rates`, one number a transition, 0 for immediate ones."""
    rates = law_rates(net)
    return np.array([rates.get(t, 0.0) for t in range(len(net.transitions))])


class _Table:
    """Markings numbered in the order of their discovery: rows in an array, found by a 64-bit hash whose hits are always compared."""

    def __init__(self, first: Marking) -> None:
        self.places = len(first)
        self.rows: Ints = np.zeros((256, max(1, self.places)), dtype=np.int64)
        self.count = 0
        self.seed = 0
        self._rehash()
        self.add_one(first)

    def _rehash(self) -> None:
        rng = np.random.default_rng(self.seed)
        self.seed += 1
        self.multipliers: NDArray[np.uint64] = rng.integers(1, MASK, size=max(1, self.places), dtype=np.uint64, endpoint=True) | np.uint64(
            1
        )
        self.plain = self.multipliers.tolist()
        self.index: dict[int, int] = {}
        for i, key in enumerate(self._keys(self.rows[: self.count]).tolist()):
            if key in self.index:
                return self._rehash()
            self.index[key] = i

    def _keys(self, rows: Ints) -> NDArray[np.uint64]:
        keys = np.zeros(len(rows), dtype=np.uint64)
        for column, multiplier in enumerate(self.multipliers):
            keys += rows[:, column].astype(np.uint64) * multiplier
        return keys

    def _reserve(self, count: int) -> None:
        if count > len(self.rows):
            grown = np.zeros((max(count, 2 * len(self.rows)), self.rows.shape[1]), dtype=np.int64)
            grown[: self.count] = self.rows[: self.count]
            self.rows = grown

    def add_one(self, marking: Marking) -> int:
        row = marking or (0,)
        key = sum(a * b for a, b in zip(row, self.plain, strict=True)) & MASK
        known = self.index.get(key)
        if known is not None:
            if tuple(self.rows[known].tolist()) == row:
                return known
            self._rehash()
            return self.add_one(marking)
        self._reserve(self.count + 1)
        self.rows[self.count] = row
        self.index[key] = self.count
        self.count += 1
        return self.count - 1

    def add(self, rows: Ints) -> Ints:
        """The number of each row; unknown ones are added in the order of their first appearance."""
        unique, first, inverse = np.unique(self._keys(rows), return_index=True, return_inverse=True)
        keys = unique.tolist()
        ids = np.array([self.index.get(k, -1) for k in keys], dtype=np.int64)
        new = np.flatnonzero(ids < 0)
        new = new[np.argsort(first[new])]
        ids[new] = np.arange(self.count, self.count + len(new))
        self._reserve(self.count + len(new))
        self.rows[self.count : self.count + len(new)] = rows[first[new]]
        if not np.array_equal(self.rows[ids[inverse]], rows):  # two markings with one hash
            self._rehash()
            return self.add(rows)
        self.index.update((keys[i], self.count + k) for k, i in enumerate(new.tolist()))
        self.count += len(new)
        return ids[inverse]


class _Search:
    def __init__(self, net: Net, limits: Limits, narrow: int, compiled: int, canonical: Canonical | None) -> None:
        self.net, self.limits, self.narrow, self.compiled, self.canonical = net, limits, narrow, compiled, canonical
        self.rules: Rules = semantics.rules(net)
        self.batch = many.batch(self.rules)
        self.law = law_rates(net)
        self.per_timed = np.array([self.law[t] for t in self.rules.timed])
        self.table = _Table(initial_marking(net))
        self.parent, self.via = [np.array([-1])], [np.array([-1])]
        nothing = np.zeros(0, dtype=np.int64)
        self.levels: list[tuple[Ints, Ints, Ints, Floats]] = [(nothing, nothing, nothing, np.zeros(0))]
        self.vanishing: list[Bools] = [np.zeros(0, dtype=bool)]
        self.arcs = 0
        self.watch = Watch(self.rules, limits)

    def run(self) -> Graph | None:
        start = 0
        while start < self.table.count:
            if self.table.count > self.compiled and self._is_for_the_kernel():
                return None
            end = min(self.table.count, start + BLOCK)
            self._level(start, end)
            if self.watch.due(self.table.count, self._bytes()):
                self._look()
            start = end
        return self._graph()

    def _is_for_the_kernel(self) -> bool:
        return self.canonical is None and not self.batch.transfers and self.table.places > 0

    def _look(self) -> None:
        if self.canonical is None:
            return self.watch.look(self, self._bytes(), self.arcs)
        try:
            self.watch.look(self, self._bytes(), self.arcs)
        except Unconnected:
            raise Covered from None
        except SpnError as error:
            if error.diagnostics[0].code == "E0600":
                raise Covered from None
            raise

    def _bytes(self) -> float:
        return self.table.count * (8.0 * self.table.places + BYTES_PER_STATE) + self.arcs * BYTES_PER_ARC

    # --- what a watch and a search for growth ask

    @property
    def count(self) -> int:
        return self.table.count

    def _rows(self) -> Ints:
        return self.table.rows[: self.table.count, : self.table.places]

    def most(self) -> Ints:
        most: Ints = self._rows().max(axis=0)
        return most

    def ends(self) -> list[int]:
        rows = self._rows()
        return list(dict.fromkeys([len(rows) - 1, *(rows.argmax(axis=0).tolist() if rows.size else [])]))

    def way(self, state: int, longest: int) -> list[Marking]:
        self.parent = [np.concatenate(self.parent)]
        return [tuple(m) for m in self._rows()[path_to(state, self.parent[0])[-longest:]].tolist()]

    def _graph(self) -> Graph:
        source, target, transition, weight = (np.concatenate(x) for x in zip(*self.levels, strict=True))
        return Graph(
            markings=packed(self._rows()),
            vanishing=np.concatenate(self.vanishing),
            parent=np.concatenate(self.parent),
            via=np.concatenate(self.via),
            source=source,
            target=target,
            transition=transition,
            weight=weight,
        )

    def _level(self, start: int, end: int) -> None:
        wide = end - start > self.narrow
        rows = self.table.rows[start:end, : self.table.places]
        found = self._wide(rows) if wide else self._narrow(rows)
        before = self.table.count
        after = found.after if self.canonical is None else self.canonical(found.after)
        if wide and self.table.places:
            target = self.table.add(after)
        else:
            target = np.array([self.table.add_one(tuple(m)) for m in after.tolist()], dtype=np.int64)
        new = np.flatnonzero(target >= before)
        _, first = np.unique(target[new], return_index=True)
        self.parent.append(found.source[new[first]] + start)
        self.via.append(found.transition[new[first]])
        self.levels.append((found.source + start, target, found.transition, found.weight))
        self.vanishing.append(found.vanishing)
        self.arcs += len(target)

    def _narrow(self, rows: Ints) -> Expansion:
        arcs: list[tuple[int, int, float]] = []
        after: list[Marking] = []
        vanishing = np.zeros(len(rows), dtype=bool)
        for i, row in enumerate(rows.tolist()):
            m = tuple(row)
            firings = [(t, float(w)) for t, w in semantics.enabled_immediates(self.rules, m)]
            vanishing[i] = bool(firings)
            for t, w in firings or self._timed(m):
                arcs.append((i, t, w))
                after.append(semantics.fire(self.rules, t, m))
        source, transition, weight = zip(*arcs, strict=True) if arcs else ((), (), ())
        return Expansion(_ints(source), _ints(transition), np.array(weight, dtype=np.float64), self._array(after), vanishing)

    def _timed(self, m: Marking) -> list[tuple[int, float]]:
        rates = semantics.clock_rates(self.rules, m)
        total = [(t, self.law[t] * x * semantics.running_clocks(self.rules, t, m)) for t, x in rates.items() if x > 0]
        return [(t, _finite(self.net, t, w)) for t, w in total]

    def _array(self, markings: list[Marking]) -> Ints:
        try:
            return np.array(markings, dtype=np.int64).reshape(len(markings), len(self.net.places))
        except OverflowError:
            place = next(p for m in markings for p, k in enumerate(m) if k > MOST_TOKENS)
            raise _overflow(self.net, place) from None

    def _wide(self, rows: Ints) -> Expansion:
        row, transition, weight, vanishing = many.choices(self.batch, rows)
        tangible = np.flatnonzero(~vanishing)
        clocks = many.clocks(self.batch, rows[tangible])
        with np.errstate(over="ignore"):  # reported with the transition's name below
            rate = self.per_timed * clocks.rate * clocks.run
        at, column = np.nonzero(rate > 0)
        timed = np.array(self.rules.timed, dtype=np.int64)
        source = np.concatenate([row, tangible[at]])
        transition = np.concatenate([transition, timed[column]])
        weight = np.concatenate([weight, rate[at, column]])
        for k in np.flatnonzero(~np.isfinite(weight)).tolist():
            _finite(self.net, int(transition[k]), float(weight[k]))
        order = np.lexsort((transition, source))
        source, transition, weight = source[order], transition[order], weight[order]
        return Expansion(source, transition, weight, self._fire(rows, source, transition), vanishing)

    def _fire(self, rows: Ints, source: Ints, transition: Ints) -> Ints:
        after = np.empty((len(source), rows.shape[1]), dtype=np.int64)
        for t in np.unique(transition).tolist():
            at = np.flatnonzero(transition == t)
            before = rows[source[at]]
            try:
                after[at] = many.fired(self.batch, t, before)
            except OverflowError:  # a multiplicity that depends on the marking, in Python's integers
                return self._array([semantics.fire(self.rules, t, tuple(m)) for m in before.tolist()])
        if len(after) and after.min() < 0:  # an enabled transition leaves no debt: the sum went past the largest int64
            raise _overflow(self.net, int(np.argmin(after.min(axis=0))))
        return after


def _overflow(net: Net, index: int) -> SpnError:
    place = net.places[index]
    return refuse(
        AnalysisError,
        "E0603",
        f"place {place.name} gets more than {MOST_TOKENS:,} tokens",
        span=place.span,
        help="the net may be unbounded, or a multiplicity grows without limit",
    )


def _finite(net: Net, t: int, weight: float) -> float:
    if not math.isfinite(weight):
        transition = net.transitions[t]
        raise refuse(
            AnalysisError, "E0603", f"the rate of {transition.name} overflows", span=transition.span, help="scale the model's units"
        )
    return weight


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)
