"""Exploration of a large state space by the kernel, on packed markings.

Places get fields as wide as the bounds known say, or as narrow as can be where there are none. A firing that puts more tokens into a place
than its field holds stops the kernel: all markings are packed anew with a wider field, so that nothing is ever cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spn.compiled import CompiledNet
from spn.errors import AnalysisError, SpnError, refuse
from spn.net import semantics
from spn.net.model import Marking
from spn.net.semantics import Rules
from spn.reach import kernels
from spn.reach import layout as at
from spn.reach.growth import path_to
from spn.reach.packing import WIDEST, Fields, Markings, fields
from spn.reach.plain import guards, plain_records
from spn.reach.space import Floats, Halves, Ints, Whole
from spn.reach.watch import Watch

GROWTH = 8  # factor by which arrays grow; what is reserved but not touched takes no memory
FEWEST = 1 << 16  # states and arcs there is room for at first
FULLEST = 0.7  # share of the table's slots in use, at most
MOST_STATES = 2**31 - 2  # their numbers are half words
SLOT, PARENT, LENGTH, WORD, ARC, LABEL = 8, 4, 4, 8, 12, 4  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """What the kernel found. Row i of the arcs, ``indptr[i]`` to ``indptr[i + 1]``, belongs to state i. Of a chain the markings are the
    tangible ones, rows are sorted and merged, and ``starts`` and ``chances`` are the initial distribution; of a graph they are all
    markings, and ``via`` and ``transition`` name the transitions by which states were found and of arcs."""

    markings: Markings
    indptr: Whole
    columns: Halves
    values: Floats
    parent: Halves
    firings: int
    starts: Ints
    chances: Floats
    via: Halves
    transition: Halves


class Bench:
    """The registers of the kernels with the arrays they point to: what any kernel of this package works on."""

    def __init__(self, rules: Rules, net: CompiledNet, law: Floats, found: Fields, *, chain: bool) -> None:
        self.rules, self.net, self.law = rules, net, law
        self.registers: Ints = np.zeros(at.R_SIZE, dtype=np.int64)
        self.registers[at.R_CHAIN] = int(chain)
        self.held: dict[int, NDArray[np.generic]] = {}
        places, transitions = len(rules.net.places), len(rules.net.transitions)
        passed, arcs = at.MOST_PASSED + 1, at.PASSED_ARCS
        for register, size in (
            (at.R_STACK, net.scratch),
            (at.R_CHOSEN, 2 * max(1, transitions)),
            (at.R_MARKING, places),
            (at.R_AFTER, places),
            (at.R_TROUBLE, places),
            (at.R_ENDS, at.BLOCK),
            (at.R_DEGREE, passed),
            (at.R_BEGIN, passed + 1),
            (at.R_TO, arcs),
            (at.R_BY, arcs),
            (at.R_ORDER, passed),
            (at.R_CHANCE, passed),
            (at.R_SHARE, arcs),
            (at.R_LOOKUP, at.LOOKUP),
            (at.R_PASSED, passed * max(1, places) if rules.immediates else 1),
        ):
            self.hold(register, np.zeros(max(1, size), dtype=np.int64))
        self.hold(at.R_NET, net.image)
        self.hold(at.R_LAW, law)
        self.hold(at.R_INITIAL, net.initial)
        self.set(at.R_PLACES, places)
        self.lay_out(found)

    def hold(self, register: int, array: NDArray[np.generic]) -> None:
        """Keep an array alive and its address in a register."""
        self.held[register] = array
        self.registers[register] = array.ctypes.data

    def set(self, register: int, value: int) -> None:
        self.registers[register] = value

    def get(self, register: int) -> int:
        return int(self.registers[register])

    def lay_out(self, found: Fields) -> None:
        self.fields = found
        self.hold(at.R_FIELDS, np.ascontiguousarray(found.table.reshape(-1) if found.table.size else np.zeros(3, dtype=np.int64)))
        self.set(at.R_WIDTH, found.width)
        self.hold(at.R_DELTAS, self._deltas())
        if found.guarded:
            self.hold(at.R_GUARDS, guards(found))
            self.hold(at.R_PLAIN, plain_records(self.rules, self.net, self.law, found, chain=self.get(at.R_CHAIN) != 0))
        else:
            self.set(at.R_GUARDS, 0)

    def _deltas(self) -> Ints:
        """What each firing adds to the words of a marking; carries between fields cancel out, since no field runs over."""
        deltas = np.zeros((max(1, len(self.rules.transitions)), self.fields.width), dtype=np.uint64)
        for t, tr in enumerate(self.rules.transitions):
            if tr.flushes or any(g.constant is None for g in (*tr.inputs, *tr.outputs)):
                continue
            for sign, groups in ((-1, tr.inputs), (1, tr.outputs)):
                for g in groups:
                    word, shift, _ = self.fields.table[g.place].tolist()
                    change = sign * (g.constant or 0) << shift
                    deltas[t, word] = (int(deltas[t, word]) + change) % 2**64
        return deltas.view(np.int64)


class Search:
    """One exploration. ``law``: rate of each transition's exponential law per unit of its clock's rate; ``most``: the bounds known of
    places, a guess where they are not. Work that goes over links is not for the kernel."""

    def __init__(self, rules: Rules, net: CompiledNet, law: Floats, watch: Watch, most: Sequence[int], *, chain: bool) -> None:
        self.rules, self.watch, self.chain = rules, watch, chain
        self.places = len(rules.net.places)
        self.bench = Bench(rules, net, law, fields([min(k, 2**WIDEST - 1) for k in most]), chain=chain)
        self.bench.set(at.R_HEAD, -1)
        self.starts, self.chances = np.zeros(0, dtype=np.int64), np.zeros(0)
        self._reserve_entries(at.BLOCK * (len(rules.transitions) + 2))
        self._reserve(FEWEST)
        self._reserve_arcs(FEWEST)

    # --- what a watch and a search for growth ask

    @property
    def count(self) -> int:
        return self.bench.get(at.R_COUNT)

    @property
    def arcs(self) -> int:
        return self.bench.get(at.R_ARCS)

    def most(self) -> Ints:
        return self._markings().most()

    def ends(self) -> list[int]:
        found = self._markings()
        return list(dict.fromkeys([self.count - 1, *(int(found.column(p).argmax()) for p in range(self.places))]))

    def way(self, state: int, longest: int) -> list[Marking]:
        states = path_to(state, self._halves(at.R_PARENT))[-longest:]
        way = [tuple(m) for m in self._markings()[states].tolist()]
        first: Marking = tuple(self.bench.net.initial.tolist())
        return way if way[0] == first or self._halves(at.R_PARENT)[states[0]] >= 0 else [first, *way]

    # --- the search

    def run(self) -> Explored | None:
        """All states; None where immediates lead round in circles or through very many markings, which a chain is not built over."""
        while True:
            begun = self.bench.get(at.R_HEAD) >= 0
            self.bench.set(at.R_MOST, min(self.watch.next_count, MOST_STATES) if begun else 1)
            status = kernels.expand(self.bench.registers)
            if not begun and status == at.LOOK:
                self._begun()
                continue
            if status == at.DONE and self.bench.get(at.R_HEAD) == self.count:
                self._look_if_full()
                return self._explored()
            if status == at.LOOP:
                return None
            self._answer(status)

    def _answer(self, status: int) -> None:
        """Do what the kernel asks for."""
        if status == at.LOOK:
            self.watch.look(self, self.bytes(), self.arcs)
            if self.count >= MOST_STATES:
                raise self.watch.too_large(self, self.arcs)
        elif status == at.ROOM:
            self._make_room()
        elif status == at.ARCS:
            self._reserve_arcs(self._roomier(self.arcs, self.per_arc(), self.count * self.per_state()))
        elif status == at.ENTRIES:
            self._reserve_entries(2 * self.bench.get(at.R_ENTRY_ROOM))
        elif status == at.WIDEN:
            self._widen(self.bench.get(at.R_PLACE), self.bench.get(at.R_TOKENS))
        elif status == at.WRONG:
            raise self._wrong()

    def _look_if_full(self) -> None:
        if self.watch.full(self.count, self.bytes()):
            self.watch.look(self, self.bytes(), self.arcs)

    def _begun(self) -> None:
        """The first row is the initial distribution."""
        n = self.arcs
        self.starts = self._halves(at.R_COLUMNS)[:n].astype(np.int64)
        self.chances = self.bench.held[at.R_VALUES].view(np.float64)[:n].copy()
        for register in (at.R_ARCS, at.R_FIRINGS):
            self.bench.set(register, 0)

    # --- room

    def per_state(self) -> float:
        return WORD * self.bench.fields.width + SLOT / FULLEST + PARENT + LENGTH + (0 if self.chain else LABEL)

    def per_arc(self) -> float:
        return ARC + (0 if self.chain else LABEL)

    def bytes(self) -> float:
        """Memory in use."""
        return self.count * self.per_state() + self.arcs * self.per_arc()

    def _roomier(self, used: int, each: float, others: float) -> int:
        """Room for several times as many, or for as many as the limit on memory leaves."""
        left = int((self.watch.limits.memory - others) / each)
        need = used + used // 16 + self.bench.get(at.R_ENTRY_ROOM)
        if left < need:
            raise self.watch.too_large(self, self.arcs)
        return min(left, max(GROWTH * used, need))

    def _enlarged(self, register: int, shape: tuple[int, ...], kind: type[np.generic], used: int) -> None:
        grown = np.empty(shape, dtype=kind)
        if used:
            grown[:used] = self.bench.held[register][:used]
        self.bench.hold(register, grown)

    def _make_room(self) -> None:
        """For more states: a larger table, and larger arrays where they are full too."""
        if self.count + self.bench.get(at.R_ENTRY_ROOM) > self.state_room:
            self._reserve(self._roomier(self.count, self.per_state(), self.arcs * self.per_arc()))
        else:
            self._table()

    def _reserve(self, states: int) -> None:
        states = max(states, FEWEST) + self.bench.get(at.R_ENTRY_ROOM)
        n = self.count
        self._enlarged(at.R_WORDS, (states, self.bench.fields.width), np.int64, n)
        self._enlarged(at.R_LENGTHS, (states,), np.int32, max(0, self.bench.get(at.R_HEAD)))
        self._enlarged(at.R_PARENT, (states,), np.int32, n)
        if not self.chain:
            self._enlarged(at.R_VIA, (states,), np.int32, n)
        self.state_room = states
        self._table()

    def _table(self) -> None:
        """A table with room for half as many states again as there are, the old one let go before; filled when it is too full."""
        n = self.count
        slots = 1 << max(12, int((n * 1.4 + self.bench.get(at.R_ENTRY_ROOM)) / FULLEST).bit_length())
        self.bench.held.pop(at.R_SLOTS, None)
        self.bench.hold(at.R_SLOTS, np.zeros(slots, dtype=np.int64))
        self.bench.set(at.R_MASK, slots - 1)
        self.bench.set(at.R_ROOM, min(self.state_room, int(FULLEST * slots)))
        kernels.enter(self.bench.registers)

    def _reserve_arcs(self, arcs: int) -> None:
        arcs = max(arcs, FEWEST) + self.bench.get(at.R_ENTRY_ROOM)
        n = self.arcs
        self._enlarged(at.R_COLUMNS, (arcs,), np.int32, n)
        self._enlarged(at.R_VALUES, (arcs,), np.float64, n)
        if not self.chain:
            self._enlarged(at.R_TRANSITIONS, (arcs,), np.int32, n)
        self.bench.set(at.R_ARC_ROOM, arcs)

    def _reserve_entries(self, entries: int) -> None:
        self.bench.hold(at.R_ENTRIES, np.empty(entries * (at.E_SIZE + self.bench.fields.width), dtype=np.int64))
        self.bench.set(at.R_ENTRY_ROOM, entries)

    def _widen(self, place: int, tokens: int) -> None:
        """Pack all markings anew, with a field for more tokens in one place."""
        old, most = self.bench.fields, self.bench.fields.most.tolist()
        most[place] = min(2**WIDEST - 1, max(tokens, 2 * most[place] + 1))
        new = fields(most)
        words = np.empty((self.state_room, new.width), dtype=np.int64)
        flat = [np.ascontiguousarray(f.table.reshape(-1)) for f in (old, new)]
        scratch = np.zeros(self.places, dtype=np.int64)
        before = self.bench.held[at.R_WORDS].view(np.int64)
        assert kernels.repack(before, flat[0], old.width, self.count, words, flat[1], new.width, scratch) < 0
        self.bench.lay_out(new)
        self.bench.hold(at.R_WORDS, words)
        self._reserve_entries(self.bench.get(at.R_ENTRY_ROOM))
        self._table()

    # --- the end

    def _markings(self) -> Markings:
        return Markings(self.bench.held[at.R_WORDS].view(np.int64)[: self.count], self.bench.fields)

    def _halves(self, register: int) -> Halves:
        return self.bench.held[register].view(np.int32)

    def _explored(self) -> Explored:
        n, arcs = self.count, self.arcs
        self.bench.held.pop(at.R_SLOTS)
        indptr: Whole = np.zeros(n + 1, dtype=np.int32) if arcs <= MOST_STATES else np.zeros(n + 1, dtype=np.int64)
        np.cumsum(self._halves(at.R_LENGTHS)[:n], out=indptr[1:])
        nothing = np.zeros(0, dtype=np.int32)
        return Explored(
            markings=self._markings(),
            indptr=indptr,
            columns=self._halves(at.R_COLUMNS)[:arcs],
            values=self.bench.held[at.R_VALUES].view(np.float64)[:arcs],
            parent=self._halves(at.R_PARENT)[:n],
            firings=self.bench.get(at.R_FIRINGS),
            starts=self.starts,
            chances=self.chances,
            via=nothing if self.chain else self._halves(at.R_VIA)[:n],
            transition=nothing if self.chain else self._halves(at.R_TRANSITIONS)[:arcs],
        )

    def _wrong(self) -> SpnError:
        """What the semantics says about the marking at which the kernel stopped."""
        m: Marking = tuple(self.bench.held[at.R_TROUBLE].tolist())
        try:
            for t, _ in semantics.enabled_immediates(self.rules, m):
                semantics.fire(self.rules, t, m)
            for t in semantics.clock_rates(self.rules, m):
                semantics.fire(self.rules, t, m)
        except SpnError as error:
            return error
        return refuse(
            AnalysisError,
            "E0603",
            f"a rate or a number of tokens is too large to compute with in marking {semantics.marking_text(self.rules.net, m)}",
            help="scale the model's units, or bound its places",
        )
