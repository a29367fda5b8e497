"""The kernel's trajectory behind the same interface as the reference's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from spn.compiled import CompiledNet, layout
from spn.compiled.net import LINE, aligned
from spn.dist.random import Words as Stream
from spn.dist.random import seeds_of
from spn.expr.nodes import constant
from spn.measure import FiringRate, LinkRate, Primitive, RunningClocks, TimeAverage
from spn.net.model import INFINITE, Immediate, Marking
from spn.sim import layout as z
from spn.sim.engine import Ending, Floats, zero_time_limit
from spn.sim.explain import explain
from spn.sim.loop import zero_time_loop
from spn.sim.room import ALWAYS, most_clocks, too_many
from spn.sim.snapshot import Snapshot, kind

Words = NDArray[np.int64]
LOOK = 1000  # further firings watched to see who takes part in a zero-time loop
FIRST_ROOM = 4  # clocks for which a transition of several servers has room at first


@dataclass(slots=True)
class _Block:
    """A growing block of words."""

    words: list[int] = field(default_factory=list)

    def reserve(self, count: int, fill: int = 0) -> int:
        offset = len(self.words)
        self.words.extend([fill] * max(1, count))
        return offset


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the integral of a primitive is found: a track, a station's count of clocks, a count of firings, a sum of rewards."""

    kind: str
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """The state block before anything has happened, and where the primitives' integrals will be in it."""

    state: Words
    places: tuple[_Place, ...]


def beginning(compiled: CompiledNet, primitives: Sequence[Primitive]) -> Start:
    block, places = _state(compiled, primitives)
    return Start(np.array(block.words, dtype=np.int64), tuple(places))


class CompiledTrajectory:
    """One trajectory by the kernel: the :class:`spn.sim.engine.Engine` that is fast.

    ``compiled`` must have been compiled with :func:`spn.sim.setup.expressions_of` of the same primitives; ``start`` is its
    :func:`beginning`, which many trajectories can share."""

    ARRAYS: ClassVar[tuple[str, ...]] = ("state", "begun")  # the attributes that hold all of the state, without addresses

    def __init__(
        self, compiled: CompiledNet, primitives: Sequence[Primitive], rng: np.random.Generator, start: Start | None = None
    ) -> None:
        self.compiled = compiled
        self.primitives = tuple(primitives)
        self.rng = rng
        start = start or beginning(compiled, self.primitives)
        self._places = start.places
        self.state: Words = aligned(start.state)
        self._generator = int(self.state[z.Z_STREAM])
        self.begun: Words
        self.reseed(rng)

    def reseed(self, rng: np.random.Generator) -> None:
        """Draw from the stream that has the seed of another generator from now on. What is drawn already stays."""
        self.rng = rng
        self.begun = stream_words(seeds_of(rng))
        self.state[self._generator : self._generator + 4] = self.begun

    @property
    def words(self) -> tuple[int, ...]:
        """The state of the stream."""
        return tuple(self.state[self._generator : self._generator + 4].view(np.uint64).tolist())

    @property
    def drew(self) -> bool:
        """Whether anything was drawn."""
        return bool((self.state[self._generator : self._generator + 4] != self.begun).any())

    def separate(self, works: Sequence[Stream], choices: Sequence[Stream]) -> None:
        """Before the first event: give each transition a stream of its own for its works, and one for the choices among several
        transitions of which it is the first. Choices among clocks and parked clocks stay with the common stream. ``drew`` and
        ``words`` tell of that one alone."""
        begin = len(self.state)
        self.state[z.Z_SEPARATE] = 1
        self.state = aligned(np.concatenate([self.state, *map(stream_words, (*works, *choices))]))
        for word, first in ((z.S_STREAM, begin), (z.S_CHOICES, begin + 4 * len(works))):
            for t in range(len(self.compiled.net.transitions)):
                self.state[int(self.state[z.Z_STATIONS]) + t * z.S_SIZE + word] = first + 4 * t

    @property
    def time(self) -> float:
        return float(self.state[z.Z_TIME : z.Z_TIME + 1].view(np.float64)[0])

    @property
    def firings(self) -> int:
        return int(self.state[z.Z_FIRINGS])

    @property
    def marking(self) -> Marking:
        begin = int(self.state[z.Z_MARKING])
        return tuple(self.state[begin : begin + len(self.compiled.initial)].tolist())

    def run(self, firings: int, horizon: float) -> Ending:
        """See :meth:`spn.sim.engine.Engine.run`."""
        until = self.firings + firings
        while (status := self._call(until, horizon)) == z.GROW:
            self._grow(int(self.state[z.Z_PROBLEM]))
        return self.ending(status, until, horizon)

    def ending(self, status: int, until: int, horizon: float) -> Ending:
        """What a kernel's status means; an error where it is one. The run was to make ``until`` firings in all, or come to the horizon."""
        if status == z.LOOP:
            raise self._loop(until, horizon)
        if status < 0:
            raise explain(self.compiled.net, self.marking, int(self.state[z.Z_PROBLEM]), self.primitives)
        return {z.DONE: Ending.FIRINGS, z.HORIZON: Ending.HORIZON, z.STILL: Ending.STILL, z.CROSSED: Ending.CROSSED}[status]

    def _call(self, until: int, horizon: float) -> int:
        from spn.sim.kernels import run

        return int(run(self.compiled.image, self.state, until, horizon))

    def _loop(self, until: int, horizon: float) -> Exception:
        """Let the loop go on for a while to see which transitions it fires."""
        begin = int(self.state[z.Z_COUNTS])
        counts = self.state[begin : begin + len(self.compiled.net.transitions)]
        before = counts.copy()
        self.state[z.Z_LIMIT] += LOOK
        self._call(until + 2 * LOOK, horizon)
        fired = np.flatnonzero(counts != before).tolist()
        return zero_time_loop(self.compiled.net, self.marking, fired, self.time)

    def counts(self) -> Words:
        """How often each transition has fired: a view into the state, which holds until the next run."""
        begin = int(self.state[z.Z_COUNTS])
        return self.state[begin : begin + len(self.compiled.net.transitions)]

    def totals(self) -> Floats:
        """See :meth:`spn.sim.engine.Engine.totals`."""
        return np.array([self._total(p) for p in self._places], dtype=np.float64)

    def _total(self, place: _Place) -> float:
        words, floats, o = self.state, self.state.view(np.float64), place.offset
        match place.kind:
            case "track":
                return float(floats[o + z.X_INTEGRAL] + floats[o + z.X_VALUE] * (self.time - floats[o + z.X_SINCE]))
            case "clocks":
                return float(floats[o + z.S_INTEGRAL] + words[o + z.S_RUNNING] * (self.time - floats[o + z.S_SINCE]))
            case "count":
                return float(words[o])
        return float(floats[o])

    def place(self, k: int) -> tuple[str, int]:
        """Where the integral of primitive ``k`` is found in ``state``: track, clocks, count or sum, and the offset."""
        return self._places[k].kind, self._places[k].offset

    def rates(self) -> Floats:
        """See :meth:`spn.sim.engine.Engine.rates`."""
        return np.array([self._rate(p) for p in self._places], dtype=np.float64)

    def _rate(self, place: _Place) -> float:
        if place.kind == "track":
            return float(self.state.view(np.float64)[place.offset + z.X_VALUE])
        return float(self.state[place.offset + z.S_RUNNING]) if place.kind == "clocks" else 0.0

    def snapshot(self) -> Snapshot:
        """See :meth:`spn.sim.engine.Engine.snapshot`."""
        arrays = {name: getattr(self, name).copy() for name in self.ARRAYS}
        return Snapshot(kind(self), self.firings, arrays, {})

    def restore(self, snapshot: Snapshot, *, draws: bool = True) -> None:
        """See :meth:`spn.sim.engine.Engine.restore`."""
        stream, begun = self.state[self._generator : self._generator + 4].copy(), self.begun
        for name, array in snapshot.of(self).arrays.items():
            setattr(self, name, aligned(array))
        if not draws:
            self.state[self._generator : self._generator + 4], self.begun = stream, begun

    def _grow(self, t: int) -> None:
        """Give a station room for the clocks it asks for: new regions at the end of the block."""
        s = int(self.state[z.Z_STATIONS]) + t * z.S_SIZE
        room = int(self.state[s + z.S_ROOM])
        target = int(self.state[z.Z_TARGET])
        if target > ALWAYS and target > most_clocks():
            raise too_many(self.compiled.net.transitions[t], target)
        wanted = max(2 * room, target)
        sizes = _region_sizes(wanted)
        begin = len(self.state)
        state = aligned(np.concatenate([self.state, np.zeros(sum(sizes), dtype=np.int64)]))
        for word, size, old_size in zip((z.S_CLOCKS, z.S_PARK, z.S_WORKING, z.S_ENTERING), sizes, _region_sizes(room), strict=True):
            old = int(state[s + word])
            state[begin : begin + old_size] = state[old : old + old_size]
            state[s + word] = begin
            begin += size
        state[s + z.S_ROOM] = wanted
        self.state = state


def stream_words(stream: Stream) -> Words:
    return np.array(stream, dtype=np.uint64).view(np.int64)


def _region_sizes(room: int) -> tuple[int, int, int, int]:
    return z.C_SIZE * room, z.Q_SIZE * room, _heap(room), _heap(room)


def _heap(items: int) -> int:
    return 1 + 2 * items


def _state(compiled: CompiledNet, primitives: Sequence[Primitive]) -> tuple[_Block, list[_Place]]:
    """The state block before anything has happened."""
    net = compiled.net
    count, groups = len(net.transitions), len(compiled.groups)
    block = _Block()
    block.reserve(z.Z_SIZE)
    words = block.words

    def region(word: int, size: int, fill: int = 0) -> int:
        words[word] = block.reserve(size, fill)
        return words[word]

    marking = region(z.Z_MARKING, len(net.places))
    words[marking : marking + len(net.places)] = compiled.initial.tolist()
    block.reserve(LINE - len(words) % LINE)
    stations = region(z.Z_STATIONS, count * z.S_SIZE)
    entities = 2 * count + groups
    keys = region(z.Z_KEYS, entities * z.K_SIZE)
    paces = region(z.Z_PACES, groups * z.P_SIZE)
    for i in range(entities):
        words[keys + i * z.K_SIZE + z.K_AT] = -1
    region(z.Z_HEAP, _heap(entities))
    region(z.Z_STACK, compiled.scratch)
    region(z.Z_OUT, 2 * count + 2)
    region(z.Z_COUNTS, count)
    used = count // z.BITS + 1
    words[z.Z_DIRTY_WORDS] = used // z.BITS + 1
    region(z.Z_DIRTY, words[z.Z_DIRTY_WORDS] + used)
    region(z.Z_ENABLED, 1 + used)
    region(z.Z_LOOK, count)
    region(z.Z_STREAM, 4)
    region(z.Z_BAD, count)
    region(z.Z_TRACKS, z.X_SIZE * len(compiled.expressions))
    region(z.Z_DIRTY_EXPRESSIONS, 1 + 2 * len(compiled.expressions))
    region(z.Z_DIRTY_PACES, 1 + groups)
    region(z.Z_TIES, entities + count + 8)
    if any(isinstance(p, FiringRate) and constant(p.value) != 1 for p in primitives):
        region(z.Z_REWARDS, count)
    region(z.Z_LINK_TRACKS, z.X_SIZE * len(net.links))
    region(z.Z_LINK_WORK, 2 * len(net.links))
    for t in range(count):
        s = stations + t * z.S_SIZE
        words[s + z.S_STREAM] = words[s + z.S_CHOICES] = words[z.Z_STREAM]
        words[s + z.S_ACTIVE] = 1
    _crowds(compiled, block)
    words[z.Z_RESTART] = z.RESTART_AFTER
    words[z.Z_PHASE] = z.START
    words[z.Z_LIMIT] = zero_time_limit(len(net.places), count, int(compiled.initial.sum()))
    _stations(compiled, block, stations)
    _paces(compiled, block, paces, stations)
    return block, _places(compiled, primitives, block)


def _crowds(compiled: CompiledNet, block: _Block) -> None:
    """At first nothing is known of who is disabled by what, so all are to be looked at."""
    words, crowds = block.words, compiled.dependencies.crowds
    words[z.Z_CROWDS] = block.reserve(len(crowds))
    words[z.Z_MEMBER_AT] = block.reserve(sum(len(c.members) for c in crowds))
    first = 0
    for k, crowd in enumerate(crowds):
        count = len(crowd.members)
        at = words[z.Z_MEMBER_AT] + first
        words[at : at + count] = range(count)
        record = int(compiled.image[layout.H_CROWD]) + k * layout.W_SIZE
        place, gated, fewest, most = compiled.image[record : record + layout.W_SIZE].tolist()
        if gated:
            words[words[z.Z_CROWDS] + k] = begin = block.reserve(2 + len(compiled.net.transitions) // z.BITS + 1)
            words[begin] = int(fewest <= compiled.initial[place] <= most)
            for t in crowd.members:
                words[words[z.Z_STATIONS] + t * z.S_SIZE + z.S_ACTIVE] = 0
        else:
            words[words[z.Z_CROWDS] + k] = begin = block.reserve(1 + count)
            words[begin : begin + 1 + count] = [count, *range(first, first + count)]
        first += count


def _stations(compiled: CompiledNet, block: _Block, begin: int) -> None:
    for i, t in enumerate(compiled.net.transitions):
        if isinstance(t, Immediate):
            continue
        s = begin + i * z.S_SIZE
        room = FIRST_ROOM if t.servers == INFINITE else min(FIRST_ROOM, t.servers)
        regions = [block.reserve(size) for size in _region_sizes(room)]
        block.words[s + z.S_ROOM] = room
        block.words[s + z.S_CLOCKS], block.words[s + z.S_PARK], block.words[s + z.S_WORKING], block.words[s + z.S_ENTERING] = regions


def _paces(compiled: CompiledNet, block: _Block, begin: int, stations: int) -> None:
    for k, g in enumerate(compiled.groups):
        p = begin + k * z.P_SIZE
        keys = block.reserve(z.K_SIZE * len(g.members))
        block.words[p + z.P_KEYS] = keys
        block.words[p + z.P_HEAP] = block.reserve(_heap(len(g.members)))
        for i, t in enumerate(g.members):
            block.words[keys + i * z.K_SIZE + z.K_AT] = -1
            block.words[stations + t * z.S_SIZE + z.S_MEMBER] = i


def _places(compiled: CompiledNet, primitives: Sequence[Primitive], block: _Block) -> list[_Place]:
    """Where each primitive's integral will be. Expressions are compiled in the order of :func:`expressions_of`."""
    names = {t.name: i for i, t in enumerate(compiled.net.transitions)}
    links = {link.name: i for i, link in enumerate(compiled.net.links)}
    words = block.words
    programs = iter(range(len(compiled.expressions)))
    rewards: dict[int, list[int]] = {}
    places: list[_Place] = []
    pending: list[tuple[int, int, int]] = []
    for p in primitives:
        match p:
            case TimeAverage():
                places.append(_Place("track", words[z.Z_TRACKS] + z.X_SIZE * next(programs)))
            case RunningClocks(transition=name):
                s = words[z.Z_STATIONS] + names[name] * z.S_SIZE
                words[s + z.S_TRACKED] = 1
                places.append(_Place("clocks", s))
            case LinkRate(link=name):
                places.append(_Place("track", words[z.Z_LINK_TRACKS] + z.X_SIZE * links[name]))
            case FiringRate(transition=name, value=v) if constant(v) == 1:
                places.append(_Place("count", words[z.Z_COUNTS] + names[name]))
            case FiringRate(transition=name):
                t = names[name]
                rewards.setdefault(t, []).append(compiled.expressions[next(programs)])
                pending.append((len(places), t, len(rewards[t]) - 1))
                places.append(_Place("sum", 0))
    blocks = {t: _reward_block(block, t, programs_of) for t, programs_of in rewards.items()}
    for i, t, k in pending:
        places[i] = _Place("sum", blocks[t] + 2 + 2 * k)
    return places


def _reward_block(block: _Block, t: int, programs: Sequence[int]) -> int:
    offset = block.reserve(1 + 2 * len(programs))
    block.words[offset] = len(programs)
    for k, program in enumerate(programs):
        block.words[offset + 1 + 2 * k] = program
    block.words[block.words[z.Z_REWARDS] + t] = offset
    return offset
