"""A net as flat arrays: what every kernel, of the simulator and of the state space, is given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spn.compiled import layout as at
from spn.compiled.clocks import Clockwork, Group, clockwork, components, groups, is_positive
from spn.compiled.dependency import Dependencies, by_constants, dependencies, reads
from spn.compiled.program import Code, depth, program
from spn.dist.leaves import encode
from spn.expr.evaluate import fold
from spn.expr.nodes import ONE, Exact, Node, constant
from spn.net.model import INFINITE, Arc, ArcKind, Immediate, Memory, Net, Timed, Transition, initial_marking, place_index

Integers = NDArray[np.int64]
LINE = 8  # words of a cache line
LARGE = 2**16  # words

KINDS = {
    ArcKind.INPUT: at.INPUT,
    ArcKind.TEST: at.TEST,
    ArcKind.INHIBITOR: at.INHIBITOR,
    ArcKind.FLUSH: at.FLUSH,
    ArcKind.OUTPUT: at.OUTPUT,
}
MEMORIES = {Memory.RESTART: at.RESTART, Memory.RESUME: at.RESUME, Memory.REPEAT: at.REPEAT}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompiledNet:
    """A net for kernels. ``image`` holds all of it in one block of 64-bit words (:mod:`spn.compiled.layout`), so that kernels pass one
    address. ``expressions`` are the offsets of the programs asked for beside the net.

    ``initial`` (places): the initial marking. ``scratch``: words of scratch space that helpers need. ``ticks``: exact ticks per second of
    the discrete delays; ``inexact``: transitions whose discrete delays are finer than that and count as plain doubles. ``groups``:
    transitions that share one speed; ``dependencies``: what a firing can change."""

    net: Net
    image: Integers
    initial: Integers
    scratch: int
    ticks: int
    inexact: tuple[str, ...]
    groups: tuple[Group, ...]
    dependencies: Dependencies
    clockwork: Clockwork
    expressions: tuple[int, ...]


def compile_net(net: Net, expressions: Sequence[Node] = ()) -> CompiledNet:
    """Compile a checked net, and further marking expressions (of measures) beside it."""
    return _Compiler(net, tuple(fold(e) for e in expressions)).compiled()


class _Image:
    """A growing block of words."""

    def __init__(self) -> None:
        self.words: list[int] = []
        self._known: dict[tuple[int, ...], int] = {}
        self._pool = self._pool_end = 0

    def __len__(self) -> int:
        return len(self.words)

    def reserve(self, count: int) -> int:
        offset = len(self.words)
        self.words.extend([0] * count)
        return offset

    def listed(self, items: Sequence[int]) -> int:
        offset = self.reserve(1 + len(items))
        self.words[offset : offset + 1 + len(items)] = [len(items), *items]
        return offset

    def hot(self, words: Sequence[int]) -> int:
        """Append words that each firing reads: in the present record's pool, as long as there is room."""
        if self._pool + len(words) > self._pool_end:
            offset = self.reserve(len(words))
        else:
            offset, self._pool = self._pool, self._pool + len(words)
        self.words[offset : offset + len(words)] = words
        return offset

    def use_pool(self, begin: int, end: int) -> None:
        self._pool, self._pool_end = begin, end

    def shared(self, items: Sequence[int]) -> int:
        """A list of which there is one only, however many use it."""
        key = tuple(items)
        if key not in self._known:
            self._known[key] = self.listed(key)
        return self._known[key]

    def conditions(self, inputs: Sequence[tuple[int, int]], bounds: Sequence[tuple[int, int, int]]) -> int:
        return self.hot([len(inputs), *(w for pair in inputs for w in pair), len(bounds), *(w for triple in bounds for w in triple)])

    def set(self, offset: int, value: int) -> None:
        self.words[offset] = value

    def set_float(self, offset: int, value: float) -> None:
        self.words[offset] = word(value)


def aligned(words: Sequence[int] | Integers) -> Integers:
    """The words in an array that begins with a line of the processor's caches."""
    room = np.empty(len(words) + LINE, dtype=np.int64)
    skip = -(room.ctypes.data // 8) % LINE
    found = room[skip : skip + len(words)]
    found[:] = words
    return found


def word(value: float) -> int:
    """The 64-bit word of a double."""
    return int(np.float64(value).view(np.int64))


class _Compiler:
    """Builds the image of one net; used once."""

    def __init__(self, net: Net, expressions: tuple[Node, ...]) -> None:
        self.net = net
        self.places = place_index(net)
        self.timed = {t.name: i for i, t in enumerate(net.transitions) if isinstance(t, Timed)}
        self.link_index = {link.name: i for i, link in enumerate(net.links)}
        self.expressions = expressions
        self.groups = groups(net)
        self.group_of = {m: i for i, g in enumerate(self.groups) for m in g.members}
        self.clockwork = clockwork(net)
        readers = [reads(g.speed, g.share) for g in self.groups] + [reads(e) for e in expressions]
        self.dependencies = dependencies(net, readers)
        self.capped = frozenset(p.name for p in net.places if p.capacity is not None)
        self.memberships: dict[int, list[int]] = {}  # by transition: in crowds, numbered over all crowds
        self.crowd_of: list[int] = []  # by membership
        self.needed: dict[tuple[int, int], tuple[int, int]] = {}  # by transition and crowded place: fewest and most tokens
        self.image = _Image()
        self.programs: dict[Code, int] = {}
        self.depth = 1
        self.widest = 0

    def compiled(self) -> CompiledNet:
        header = self.image.reserve(at.H_SIZE)
        assert header == 0
        self._places_and_links()
        self._crowds()
        self.image.reserve(-len(self.image) % LINE)
        records = self.image.reserve(at.F_SIZE * len(self.net.transitions))
        self.image.set(at.H_RECORDS, records)
        for i, t in enumerate(self.net.transitions):
            self._transition(i, t, records + i * at.F_SIZE)
        self._gates()
        self._orders()
        self._groups()
        programs = [self._program(e) for e in self.expressions]
        self.image.set(at.H_EXPRESSIONS, self.image.listed(programs))
        scratch = self.depth + self.widest + len(self.net.transitions) + 1
        self.image.set(at.H_DEPTH, self.depth)
        self.image.set(at.H_SCRATCH, scratch)
        self.image.set_float(at.H_TICKS, float(self.clockwork.ticks))
        self.image.set(at.H_LARGE, int(len(self.image) > LARGE))
        return CompiledNet(
            net=self.net,
            image=aligned(self.image.words),
            initial=np.array(initial_marking(self.net), dtype=np.int64),
            scratch=scratch,
            ticks=self.clockwork.ticks,
            inexact=self.clockwork.inexact,
            groups=self.groups,
            dependencies=self.dependencies,
            clockwork=self.clockwork,
            expressions=tuple(programs),
        )

    # --- parts ---------------------------------------------------------------------------------------------------------

    def _places_and_links(self) -> None:
        capacities = [at.UNBOUNDED if p.capacity is None else p.capacity for p in self.net.places]
        self.image.set(at.H_PLACES, len(capacities))
        self.image.set(at.H_TRANSITIONS, len(self.net.transitions))
        self.image.set(at.H_CAPACITY, self._block(capacities))
        self.image.set(at.H_LINKS, len(self.net.links))
        self.image.set(at.H_LINK, self._block([word(float(link.capacity)) for link in self.net.links]))

    def _block(self, words: Sequence[int]) -> int:
        offset = self.image.reserve(max(1, len(words)))
        for i, w in enumerate(words):
            self.image.set(offset + i, w)
        return offset

    def _orders(self) -> None:
        transitions = self.net.transitions
        now = [i for i, t in enumerate(transitions) if isinstance(t, Immediate)]
        by_priority = sorted(now, key=lambda i: -transitions[i].priority)
        timed = [i for i, t in enumerate(transitions) if isinstance(t, Timed)]
        self.image.set(at.H_IMMEDIATES, self.image.listed(by_priority))
        even = all(constant(t.weight) == 1 and t.priority == transitions[now[0]].priority for t in (transitions[i] for i in now))
        self.image.set(at.H_CERTAIN, int(all(by_constants(transitions[i], self.capped) for i in timed)))
        self.image.set(at.H_EVEN, int(even and all(by_constants(transitions[i], self.capped) for i in now)))
        for place, i in enumerate(by_priority):
            self.image.set(self.image.words[at.H_RECORDS] + i * at.F_SIZE + at.F_ORDER, place)
        self.image.set(at.H_TIMED, self.image.listed(timed))

    def _program(self, node: Node) -> int:
        code = program(node, self.places)
        if code not in self.programs:
            self.depth = max(self.depth, depth(code) + 1)
            words = [len(code)]
            for op, argument in code:
                words += [int(op), word(argument) if op is at.Op.CONSTANT else _argument(op, argument)]
            self.programs[code] = self._block(words)
        return self.programs[code]

    def _quantity(self, offset: int, node: Node) -> None:
        """A constant that is finite and not negative, or else a program (which reports a wrong constant when it is read)."""
        value = constant(fold(node))
        if value is not None and 0 <= value < math.inf:
            self.image.set_float(offset, float(value))
        else:
            self.image.set(offset + 1, self._program(node))

    def _transition(self, i: int, t: Transition, record: int) -> None:
        image = self.image
        image.use_pool(record + at.F_POOL, record + at.F_COLD)
        reach = self.dependencies
        image.set(record + at.F_TIMED, image.hot([len(reach.near_timed[i]), *reach.near_timed[i]]))
        image.set(record + at.F_PRIORITY, t.priority)
        image.set(record + at.F_GUARD, at.NONE if t.guard is None else self._program(t.guard))
        self._arcs(t, record)
        resets = sorted({self.timed[name] for name in t.resets if name in self.timed})
        image.set(record + at.F_RESETS, image.shared(resets))
        self._quantity(record + at.F_WEIGHT, t.weight)
        readers = self.dependencies.readers[i]
        count = len(self.groups)
        image.set(record + at.F_AFFECTED_IMMEDIATES, image.shared(reach.immediates[i]))
        image.set(record + at.F_NEAR_IMMEDIATES, image.shared(reach.near_immediates[i]))
        crowds = [[k for k in reach.crowds_met[i] if self._is_timed(k) is timed] for timed in (True, False)]
        image.set(record + at.F_CROWDS_TIMED, image.shared(crowds[0]))
        image.set(record + at.F_CROWDS_IMMEDIATE, image.shared(crowds[1]))
        image.set(record + at.F_AFFECTED_GROUPS, image.shared([r for r in readers if r < count]))
        image.set(record + at.F_AFFECTED_EXPRESSIONS, image.shared([r - count for r in readers if r >= count]))
        quiet = not resets and not reach.immediates[i] and not any(r < count for r in readers) and not reach.crowds_met[i]
        image.set(record + at.F_QUIET, int(quiet))
        certain = not crowds[0] and all(by_constants(self.net.transitions[k], self.capped) for k in reach.near_timed[i])
        image.set(record + at.F_CERTAIN, int(certain))
        image.set(record + at.F_GROUP, -1)
        if isinstance(t, Timed):
            self._clocks(i, t, record)
        else:
            image.set(record + at.F_IMMEDIATE, 1)

    def _clocks(self, i: int, t: Timed, record: int) -> None:
        image = self.image
        image.set(record + at.F_SERVERS, -1 if t.servers == INFINITE else t.servers)
        image.set(record + at.F_MEMORY, MEMORIES[t.memory])
        image.set(record + at.F_GROUP, self.group_of.get(i, -1))
        self._quantity(record + at.F_SPEED, t.speed)
        depends = constant(fold(t.scale)) is None or not is_positive(constant(fold(t.scale)))
        self._quantity(record + at.F_SCALE, t.scale if depends else ONE)
        image.set_float(record + at.F_FACTOR, self.clockwork.factors[i])
        plain = t.servers == 1 and t.memory is Memory.RESTART and i not in self.group_of
        image.set(record + at.F_PLAIN, int(plain))
        self._latency(i, t, record)
        rows = self.clockwork.rows[i]
        coded = [(row, *encode(row.leaf)) for row in rows]
        words = at.L_SIZE * len(rows) + len(coded[0][2])
        begin = image.hot([0] * words)
        image.set(record + at.F_LAW, begin)
        first = begin + at.L_SIZE * len(rows)  # the first leaf's parameters follow the leaves
        for k, (row, kind, parameters) in enumerate(coded):
            numbers = [word(x) for x in parameters]
            offset = self._block(numbers) if k > 0 else first
            image.words[offset : offset + len(numbers)] = numbers
            upto = word(row.upto if len(rows) > 1 else at.ALONE)
            leaf = begin + k * at.L_SIZE
            image.words[leaf : leaf + at.L_SIZE] = [upto, kind, offset, len(numbers), int(row.discrete)]

    def _latency(self, i: int, t: Timed, record: int) -> None:
        seconds, ticks = latency(t, self.clockwork)
        self.image.set_float(record + at.F_LATENCY, seconds)
        self.image.set_float(record + at.F_LATENCY + 1, ticks)

    def _arcs(self, t: Transition, record: int) -> None:
        grouped: dict[tuple[int, int], list[Arc]] = {}
        for arc in t.arcs:
            grouped.setdefault((KINDS[arc.kind], self.places[arc.place]), []).append(arc)
        constants = {key: _combined(key[0], arcs) for key, arcs in grouped.items()}
        change = _change(constants)
        rows = [(kind, place, constants[kind, place], arcs) for (kind, place), arcs in grouped.items()]
        capped = [p for kind, p in grouped if kind == at.OUTPUT and self.net.places[p].capacity is not None]
        if change is not None:
            rows += [(at.LIMIT, p, max(0, (self.net.places[p].capacity or 0) - change[p] + 1), []) for p in capped]
        self._arc_records(record, sorted(rows, key=lambda row: row[0]))
        self._enabling(t, record, [(kind, p, k) for kind, p, k, _ in rows if kind < at.FLUSH])
        self.image.set(record + at.F_BOUNDED, int(change is None and bool(capped)))
        self.image.set(record + at.F_DELTA, at.NONE if change is None else self._listed_change(change))

    def _enabling(self, t: Transition, record: int, read: Sequence[tuple[int, int, int | None]]) -> None:
        """What decides on the enabling degree: one input, several constant conditions, or all of it has to be read."""
        image = self.image
        inputs = [(p, k) for kind, p, k in read if kind == at.INPUT and k]
        bounds = [b for kind, p, k in read if k is not None and (b := _bound(kind, p, k)) is not None]
        if not by_constants(t, self.capped):
            image.set(record + at.F_ENABLING, at.GENERAL)
        elif len(inputs) == 1 and not bounds:
            image.set(record + at.F_ENABLING, at.ONE_INPUT)
            image.set(record + at.F_PLACE, inputs[0][0])
            image.set(record + at.F_NEEDS, inputs[0][1])
        else:
            image.set(record + at.F_ENABLING, at.CONSTANTS)
            image.set(record + at.F_NEEDS, image.conditions(inputs, bounds))
        i = (record - self.image.words[at.H_RECORDS]) // at.F_SIZE
        if i in self.memberships:
            image.set(record + at.F_MEMBER, image.listed(self.memberships[i]))
            met = {self.places[self.dependencies.crowds[self.crowd_of[j]].place] for j in self.memberships[i]}
            image.set(record + at.F_OWN, image.conditions([x for x in inputs if x[0] not in met], [x for x in bounds if x[0] not in met]))
            self.needed.update(((i, p), _interval(p, inputs, bounds)) for p in met)

    def _is_timed(self, crowd: int) -> bool:
        return isinstance(self.net.transitions[self.dependencies.crowds[crowd].members[0]], Timed)

    def _crowds(self) -> None:
        image, crowds = self.image, self.dependencies.crowds
        image.set(at.H_CROWDS, len(crowds))
        pairs = [(t, k) for k, c in enumerate(crowds) for t in c.members]
        image.set(at.H_MEMBERSHIPS, self._block([w for pair in pairs for w in pair]))
        image.set(at.H_CROWD, self._block([0] * (at.W_SIZE * len(crowds))))
        for j, (t, k) in enumerate(pairs):
            self.memberships.setdefault(t, []).append(j)
            self.crowd_of.append(k)

    def _gates(self) -> None:
        """Crowds of immediates that their place enables or disables all alike."""
        image = self.image
        for k, crowd in enumerate(self.dependencies.crowds):
            record, place = image.words[at.H_CROWD] + k * at.W_SIZE, self.places[crowd.place]
            found = {self.needed[t, place] for t in crowd.members}
            gated = len(found) == 1 and not self._is_timed(k) and all(len(self.memberships[t]) == 1 for t in crowd.members)
            image.words[record : record + at.W_SIZE] = [place, int(gated), *min(found)]
            for t in crowd.members if gated else ():
                image.set(image.words[at.H_RECORDS] + t * at.F_SIZE + at.F_GATE, k + 1)

    def _arc_records(self, record: int, rows: Sequence[tuple[int, int, int | None, Sequence[Arc]]]) -> None:
        image = self.image
        programs = [image.listed([self._program(a.multiplicity) for a in arcs]) if k is None else at.NONE for _, _, k, arcs in rows]
        begin = image.reserve(at.A_SIZE * len(rows))
        for i, (kind, place, k, _) in enumerate(rows):
            image.words[begin + i * at.A_SIZE : begin + (i + 1) * at.A_SIZE] = [kind, place, -1 if k is None else k, programs[i]]
        image.set(record + at.F_GROUPS_BEGIN, begin)
        image.set(record + at.F_GROUPS_END, begin + at.A_SIZE * len(rows))
        self.widest = max(self.widest, len(rows))

    def _listed_change(self, change: Mapping[int, int]) -> int:
        words = [w for place, by in change.items() if by for w in (place, by)]
        return self.image.hot([len(words), *words])

    def _groups(self) -> None:
        image = self.image
        image.set(at.H_GROUPS, len(self.groups))
        begin = image.reserve(max(1, at.G_SIZE * len(self.groups)))
        image.set(at.H_GROUP, begin)
        linked = components(self.groups)
        for k, g in enumerate(self.groups):
            record = begin + k * at.G_SIZE
            self._quantity(record + at.G_SPEED, g.speed)
            self._quantity(record + at.G_SHARE, g.share)
            image.set_float(record + at.G_CAP, math.inf if g.cap is None else float(g.cap))
            image.set(record + at.G_LINKS, image.listed([self.link_index[name] for name in g.links]))
            image.set(record + at.G_MEMBERS, image.listed(g.members))
            image.set(record + at.G_COMPONENT, image.listed(linked[k]))


def latency(t: Timed, work: Clockwork) -> tuple[float, float]:
    """The latency of a transfer as (seconds, ticks): one of them 0; both 0 where there is none."""
    if t.transfer is None:
        return 0.0, 0.0
    if t.name in work.inexact:
        return float(t.transfer.latency), 0.0
    return 0.0, float(round(float(t.transfer.latency) * work.ticks))


def _argument(op: at.Op, argument: float) -> int:
    """Places as they are; jumps in words."""
    return int(argument) if op is at.Op.PLACE else 2 * int(argument)


def _change(constants: Mapping[tuple[int, int], int | None]) -> dict[int, int] | None:
    """What a firing adds to each place it moves tokens of; None where it has to read the marking."""
    change: dict[int, int] = {}
    for (kind, place), k in constants.items():
        if kind == at.FLUSH or (kind in (at.INPUT, at.OUTPUT) and k is None):
            return None
        if kind in (at.INPUT, at.OUTPUT) and k is not None:
            change[place] = change.get(place, 0) + (k if kind == at.OUTPUT else -k)
    return change


def _combined(kind: int, arcs: Sequence[Arc]) -> int | None:
    """The combined constant multiplicity, None where it has to be read in each marking."""
    values = [_whole(constant(a.multiplicity)) for a in arcs]
    present = [v for v in values if v]
    if None in values:
        return None
    if kind == at.TEST:
        return max(present, default=0)
    return min(present, default=0) if kind == at.INHIBITOR else sum(present)


def _bound(kind: int, place: int, k: int) -> tuple[int, int, int] | None:
    """A test, an inhibitor or a capacity as the fewest and most tokens that a place may hold; None where it is no condition."""
    if kind == at.TEST and k > 0:
        return place, k, at.UNBOUNDED
    if kind == at.LIMIT or (kind == at.INHIBITOR and k > 0):
        return place, 0, k - 1
    return None


def _interval(place: int, inputs: Sequence[tuple[int, int]], bounds: Sequence[tuple[int, int, int]]) -> tuple[int, int]:
    """The fewest and the most tokens of a place that meet the conditions on it."""
    fewest = max([k for p, k in inputs if p == place] + [low for p, low, _ in bounds if p == place], default=0)
    return fewest, min((high for p, _, high in bounds if p == place), default=at.UNBOUNDED)


def _whole(value: Exact | None) -> int | None:
    return int(value) if value is not None and 0 <= value < 2**53 and value == int(value) else None
