"""The reference simulator: what a trajectory is, in plain Python on top of :mod:`spn.net.semantics`.

It defines the dynamics; the kernel (:mod:`spn.sim.kernels`) is compared with it draw for draw, so the order of everything that draws
or compares is fixed here.

*Instants* are pairs (base, ticks): ``base`` seconds in floating point plus a whole number of exact ticks (a tick is one over the least
common multiple of the denominators of all discrete delays). Discrete delays add ticks, continuous ones start a new base. So three
delays of 0.1 s meet one of 0.3 s exactly, and purely deterministic nets never drift. Two expiries coincide when time, base and ticks
are all equal.

*Virtual time.* Transitions whose clocks always run at the same rate (one speed expression; for transfers also one share, cap and set of
links) form a group. A group keeps the work attained per clock, its clocks keep the attained work at which they finish: a change of rate
touches no clock. (Fair queueing's virtual time: Demers, Keshav, Shenker, SIGCOMM 1989.) The attained work begins at 0 whenever the group
was idle, and anew after a million finishes, so that it never grows large beside the works added to it.

*Order of draws.* After each firing (with the immediates that it enables) the timed transitions are brought in line in the order of the
net: clocks in excess are stopped, missing ones are started. A choice among n draws one uniform number where n > 1 and none otherwise.
A law with several alternatives draws one uniform number to pick one.

*Choices made here.* At a tie the competitors are transitions, not clocks: two clocks of one transition that expire together do not
double its weight; a weight is read only where two or more of the highest priority compete. The latency of a transfer passes in real
time, whatever its speed; resumed, what is left of it goes on; under repeat it is waited for anew. Firings that resolve a vanishing
initial marking are not counted: at time 0 the initial tangible distribution holds. Scaled discrete work stays exact where it is a whole
number of ticks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, field
from typing import TypeVar

import numpy as np

from spn.compiled import CompiledNet
from spn.compiled.net import latency
from spn.dist.leaves import draw_leaf
from spn.dist.random import Random, Source, seeds_of
from spn.expr.evaluate import fold
from spn.expr.nodes import constant
from spn.measure import Primitive
from spn.net import semantics
from spn.net.model import Marking, Memory, Timed, initial_marking
from spn.sim.engine import Ending, Floats, zero_time_limit
from spn.sim.layout import RESTART_AFTER
from spn.sim.loop import zero_time_loop
from spn.sim.meter import Meter
from spn.sim.room import ALWAYS, most_clocks, too_many
from spn.sim.snapshot import Snapshot, kind, set_source, source_state

Item = TypeVar("Item")
Instant = tuple[float, float]  # (base, ticks); also for amounts of work and differences
NOTHING: Instant = (0.0, 0.0)
PROGRESS = ("attained", "since", "rate", "share", "working", "due", "touched", "finishes")  # what changes of a pace
MOST_TICKS = 2.0**50  # beyond it all instants are moved to a later base


def plus(a: Instant, b: Instant) -> Instant:
    return a[0] + b[0], a[1] + b[1]


def minus(a: Instant, b: Instant) -> Instant:
    return a[0] - b[0], a[1] - b[1]


@dataclass(slots=True)
class Clock:
    """A running clock. ``due`` is the instant of expiry at a constant speed, the attained work at expiry in a group, and the instant of
    entering the links while ``entering``; ``total`` is the work drawn."""

    due: Instant
    total: Instant
    entering: bool = False


@dataclass(slots=True)
class Parked:
    """A stopped clock: ``left`` of its latency while ``entering``, else of its work."""

    left: Instant
    total: Instant
    entering: bool = False


@dataclass(slots=True)
class Station:
    """The clocks of one timed transition."""

    index: int
    transition: Timed
    group: int | None
    factor: float
    scaled: bool
    latency: Instant
    running: list[Clock] = field(default_factory=list)
    parked: list[Parked] = field(default_factory=list)


@dataclass(slots=True)
class Pace:
    """The common progress of a group: attained work ``attained`` at instant ``since``, growing at ``rate``; ``share`` is the links'
    part of the rate; ``due`` is the real instant of the next finish."""

    members: tuple[int, ...]
    transfer: bool
    attained: Instant = NOTHING
    since: Instant = NOTHING
    rate: float = 0.0
    share: float = 0.0
    working: int = 0
    due: Instant | None = None
    touched: bool = False
    finishes: int = 0  # instants of finishes since the attained work began at 0


class Trajectory:
    """One trajectory of a compiled net; the :class:`spn.sim.engine.Engine` in plain Python.

    It draws from the stream (:class:`spn.dist.random.Random`) that has the seed of ``rng``, as the kernel does; with ``library`` from
    ``rng`` itself. Streams of their own for single transitions can be put into ``work_streams`` and ``choice_streams`` (for choices among
    several of which it is the first)."""

    restart_after = RESTART_AFTER

    def __init__(self, compiled: CompiledNet, primitives: Sequence[Primitive], rng: np.random.Generator, *, library: bool = False) -> None:
        self.compiled = compiled
        self.library = library
        self.work_streams: dict[int, Source] = {}
        self.choice_streams: dict[int, Source] = {}
        self.random: Source
        self.reseed(rng)
        self.rules = semantics.rules(compiled.net)
        self.ticks = float(compiled.ticks)
        self.now: Instant = NOTHING
        self.time = 0.0
        self.firings = 0
        self.marking: Marking = initial_marking(compiled.net)
        self.stations = {i: self._station(i, t) for i, t in enumerate(compiled.net.transitions) if isinstance(t, Timed)}
        self.paces = [Pace(members=g.members, transfer=bool(g.links)) for g in compiled.groups]
        self.meter = Meter(self.rules, primitives)
        self.on_firing: Callable[[int, Marking, float], None] | None = None
        self._clocks: dict[Marking, dict[int, int]] = {}
        self._choices: dict[Marking, list[tuple[int, float]]] = {}
        self._at_instant: list[int] = []
        self._started = False
        self._limit = 0

    def _station(self, index: int, t: Timed) -> Station:
        group = next((k for k, g in enumerate(self.compiled.groups) if index in g.members), None)
        scale = constant(fold(t.scale))
        return Station(
            index=index,
            transition=t,
            group=group,
            factor=self.compiled.clockwork.factors[index],
            scaled=scale is None or not 0 < scale < math.inf,
            latency=latency(t, self.compiled.clockwork),
        )

    # --- the course of events ------------------------------------------------------------------------------------------

    def run(self, firings: int, horizon: float) -> Ending:
        """See :meth:`spn.sim.engine.Engine.run`."""
        if not self._started:
            self._start()
        until = self.firings + firings
        while self.firings < until:
            instant = self._next()
            if instant is None or self.seconds(instant) > horizon:
                self._hold(horizon)
                return Ending.STILL if instant is None else Ending.HORIZON
            self._advance(instant)
            if not self._enter_links():
                self._expire()
        return Ending.FIRINGS

    def totals(self) -> Floats:
        """See :meth:`spn.sim.engine.Engine.totals`."""
        return self.meter.totals()

    def rates(self) -> Floats:
        """See :meth:`spn.sim.engine.Engine.rates`."""
        return np.array(self.meter.rates)

    def snapshot(self) -> Snapshot:
        """See :meth:`spn.sim.engine.Engine.snapshot`."""
        rest = {
            "sources": [source_state(s) for s in self._sources()],
            "now": self.now,
            "time": self.time,
            "firings": self.firings,
            "marking": list(self.marking),
            "started": self._started,
            "limit": self._limit,
            "at_instant": list(self._at_instant),
            "running": [[astuple(c) for c in s.running] for s in self.stations.values()],
            "parked": [[astuple(c) for c in s.parked] for s in self.stations.values()],
            "paces": [{name: getattr(p, name) for name in PROGRESS} for p in self.paces],
            "meter": self.meter.held(),
        }
        return Snapshot(kind(self), self.firings, {}, rest)

    def restore(self, snapshot: Snapshot) -> None:
        """See :meth:`spn.sim.engine.Engine.restore`."""
        rest = snapshot.of(self).rest
        for source, state in zip(self._sources(), rest["sources"], strict=True):
            set_source(source, state)
        self.now, self.time, self.firings = _instant(rest["now"]), rest["time"], rest["firings"]
        self.marking = tuple(rest["marking"])
        self._started, self._limit, self._at_instant = rest["started"], rest["limit"], list(rest["at_instant"])
        for s, running, parked in zip(self.stations.values(), rest["running"], rest["parked"], strict=True):
            s.running = [Clock(_instant(due), _instant(total), entering) for due, total, entering in running]
            s.parked = [Parked(_instant(left), _instant(total), entering) for left, total, entering in parked]
        for pace, held in zip(self.paces, rest["paces"], strict=True):
            for name in PROGRESS:
                setattr(pace, name, _instant(held[name]) if isinstance(held[name], Sequence) else held[name])
        self.meter.hold(rest["meter"])

    def _sources(self) -> list[Source]:
        """All that it draws from."""
        return [self.random, *self.work_streams.values(), *self.choice_streams.values()]

    def reseed(self, rng: np.random.Generator) -> None:
        """Draw from the stream that has the seed of another generator from now on. What is drawn already stays."""
        self.rng = rng
        self.random = rng if self.library else Random(seeds_of(rng))

    @property
    def drew(self) -> bool:
        """Whether anything was drawn from the common stream; that of the library is taken to have been."""
        return not isinstance(self.random, Random) or self.random.drew

    def forget(self, most: int) -> None:
        """Drop what is remembered of markings, once it is of more than ``most``: it can be computed anew."""
        for known in (self._clocks, self._choices):
            if len(known) > most:
                known.clear()

    def seconds(self, instant: Instant) -> float:
        base, ticks = instant
        return base + ticks / self.ticks if ticks else base

    def _start(self) -> None:
        self._started = True
        self._limit = zero_time_limit(len(self.marking), len(self.rules.transitions), sum(self.marking))
        self._settle(set(), counted=False)

    def _hold(self, horizon: float) -> None:
        if math.isfinite(horizon) and horizon > self.time:
            self.meter.pass_time(horizon - self.time)
            self.time = horizon

    def _advance(self, instant: Instant) -> None:
        time = self.seconds(instant)
        if time > self.time:
            self.meter.pass_time(time - self.time)
            self.time = time
            self._at_instant.clear()
        self.now = instant
        for pace in self.paces:
            if pace.due == instant:
                pace.attained, pace.since = min(self._finishes(pace), key=self._order), instant
                pace.finishes += 1
                if pace.finishes >= self.restart_after:
                    self._restart(pace)
        if instant[1] > MOST_TICKS:
            self._rebase()

    def _restart(self, pace: Pace) -> None:
        """Let the attained work of a group begin anew at 0: the more it grows, the more the sums with new work are rounded."""
        for t in pace.members:
            for c in self.stations[t].running:
                if not c.entering:
                    c.due = minus(c.due, pace.attained)
        pace.attained, pace.finishes = NOTHING, 0

    def _rebase(self) -> None:
        """Move all instants to a base at the present one: fewer ticks, the same coincidences."""
        ticks = self.now[1]

        def moved(instant: Instant) -> Instant:
            return instant[0] + ticks / self.ticks, instant[1] - ticks

        self.now = moved(self.now)
        for s in self.stations.values():
            for c in s.running:
                if s.group is None or c.entering:
                    c.due = moved(c.due)
        for pace in self.paces:
            pace.since = moved(pace.since)
            pace.due = None if pace.due is None else moved(pace.due)

    # --- what happens next ---------------------------------------------------------------------------------------------

    def _order(self, instant: Instant) -> tuple[float, float, float]:
        return self.seconds(instant), *instant

    def _next(self) -> Instant | None:
        return min(self._dues(), key=self._order, default=None)

    def _dues(self) -> Iterable[Instant]:
        for s in self.stations.values():
            for c in s.running:
                if s.group is None or c.entering:
                    yield c.due
        for pace in self.paces:
            if pace.due is not None:
                yield pace.due

    def _finishes(self, pace: Pace) -> Iterable[Instant]:
        return (c.due for t in pace.members for c in self.stations[t].running if not c.entering)

    def _enter_links(self) -> bool:
        """Let the transfers whose latency ends now enter their links; whether there were any."""
        entered = False
        for s in self.stations.values():
            for c in s.running:
                if c.entering and c.due == self.now:
                    assert s.group is not None
                    self._begin_work(self.paces[s.group])
                    c.due, c.entering, entered = plus(self.paces[s.group].attained, c.total), False, True
        if entered:
            self._pace_all()
            self.meter.changed(self.marking, self._running(), self._used())
        return entered

    def _expired(self, s: Station) -> list[int]:
        """The clocks of a transition that expire now, by their places in the list."""
        if s.group is None:
            return [i for i, c in enumerate(s.running) if c.due == self.now]
        pace = self.paces[s.group]
        if pace.due != self.now:
            return []
        return [i for i, c in enumerate(s.running) if not c.entering and c.due == pace.attained]

    def _expire(self) -> None:
        expired = {t: clocks for t, s in self.stations.items() if (clocks := self._expired(s))}
        t = self._winner(sorted(expired))
        s = self.stations[t]
        if s.group is not None:
            self._end_work(self.paces[s.group])
        _take(s.running, expired[t][0])
        self._fire(t)

    def _winner(self, candidates: list[int]) -> int:
        """Of the transitions that expire at one instant: the highest priority, then by weight."""
        transitions = self.rules.transitions
        highest = max(transitions[t].transition.priority for t in candidates)
        best = [t for t in candidates if transitions[t].transition.priority == highest]
        if len(best) == 1:
            return best[0]
        return self._choose([(t, float(w)) for t, w in semantics.positive_weights(self.rules, best, self.marking)])

    # --- firing --------------------------------------------------------------------------------------------------------

    def _fire(self, t: int) -> None:
        reset: set[int] = set()
        self._fire_one(t, reset, counted=True)
        self._settle(reset, counted=True)

    def _fire_one(self, t: int, reset: set[int], *, counted: bool) -> None:
        before = self.marking
        self.marking = semantics.fire(self.rules, t, before)
        names = self.rules.transitions[t].transition.resets
        reset.update(i for i, tr in enumerate(self.rules.transitions) if tr.transition.name in names)
        self._at_instant.append(t)
        if len(self._at_instant) > self._limit:
            raise zero_time_loop(self.compiled.net, self.marking, self._at_instant[-1000:], self.time)
        if counted:
            self.firings += 1
            self.meter.fired(t, before)
            if self.on_firing is not None:
                self.on_firing(t, self.marking, self.time)

    def _settle(self, reset: set[int], *, counted: bool) -> None:
        """Fire immediates until the marking is tangible, then bring the clocks in line."""
        while choices := self._immediates():
            self._fire_one(self._choose(choices), reset, counted=counted)
        needed = self._needed()
        for t, s in self.stations.items():
            if t in reset:
                self._forget(s)
            if needed[t] > ALWAYS and needed[t] > most_clocks():
                raise too_many(s.transition, needed[t])
            while len(s.running) > needed[t]:
                self._stop_one(s, needed[t])
            while len(s.running) < needed[t]:
                self._start_one(s)
        self._pace_all()
        self.meter.changed(self.marking, self._running(), self._used())

    def _immediates(self) -> list[tuple[int, float]]:
        found = self._choices.get(self.marking)
        if found is None:
            found = [(t, float(w)) for t, w in semantics.enabled_immediates(self.rules, self.marking)]
            self._choices[self.marking] = found
        return found

    def _needed(self) -> dict[int, int]:
        found = self._clocks.get(self.marking)
        if found is None:
            found = {t: semantics.running_clocks(self.rules, t, self.marking) for t in self.stations}
            self._clocks[self.marking] = found
        return found

    def _choose(self, weighted: Sequence[tuple[int, float]]) -> int:
        """One of several, with probability in proportion to its weight."""
        if len(weighted) == 1:
            return weighted[0][0]
        u = self.choice_streams.get(weighted[0][0], self.random).random() * _total(weighted)
        reached = 0.0
        for t, w in weighted:
            reached += w
            if u < reached:
                return t
        return weighted[-1][0]

    def _pick(self, n: int) -> int:
        return int(self.random.random() * n) if n > 1 else 0

    # --- clocks --------------------------------------------------------------------------------------------------------

    def _forget(self, s: Station) -> None:
        while s.running:
            if s.group is not None and not s.running[-1].entering:
                self._end_work(self.paces[s.group])
            s.running.pop()
        s.parked.clear()

    def _stop_one(self, s: Station, keep: int) -> None:
        """Stop one clock, chosen at random; where all have to stop no choice is drawn."""
        which = self._pick(len(s.running)) if keep > 0 else len(s.running) - 1
        clock = s.running[which]
        if s.group is not None and not clock.entering:
            self._end_work(self.paces[s.group])
            reached = self.paces[s.group].attained
        else:
            reached = self.now
        _take(s.running, which)
        if s.transition.memory is Memory.RESUME:
            s.parked.append(Parked(minus(clock.due, reached), clock.total, clock.entering))
        elif s.transition.memory is Memory.REPEAT:
            s.parked.append(Parked(NOTHING, clock.total))

    def _start_one(self, s: Station) -> None:
        if not s.parked:
            self._start_work(s, self._draw(s))
            return
        parked = _take(s.parked, self._pick(len(s.parked)))
        if s.transition.memory is Memory.REPEAT:
            self._start_work(s, parked.total)
        elif parked.entering or s.group is None:
            s.running.append(Clock(plus(self.now, parked.left), parked.total, parked.entering))
        else:
            self._begin_work(self.paces[s.group])
            s.running.append(Clock(plus(self.paces[s.group].attained, parked.left), parked.total))

    def _start_work(self, s: Station, work: Instant) -> None:
        """Start a clock with all its work (and latency) before it."""
        if s.latency != NOTHING:
            s.running.append(Clock(plus(self.now, s.latency), work, entering=True))
        elif s.group is not None:
            self._begin_work(self.paces[s.group])
            s.running.append(Clock(plus(self.paces[s.group].attained, work), work))
        elif work[1]:
            s.running.append(Clock(plus(self.now, work), work))
        else:
            s.running.append(Clock((self.time + work[0], 0.0), work))

    def _draw(self, s: Station) -> Instant:
        """Draw the work of a new clock: continuous as (seconds, 0), discrete as (0, ticks)."""
        rows, source = self.compiled.clockwork.rows[s.index], self.work_streams.get(s.index, self.random)
        row = rows[0]
        if len(rows) > 1:
            u = source.random()
            row = next(r for r in rows if u < r.upto)
        x = draw_leaf(row.leaf, source) * s.factor
        scale = float(semantics.scale(self.rules, s.index, self.marking)) if s.scaled else 1.0
        if not row.discrete:
            return x * scale, 0.0
        ticks = float(round(x * self.ticks)) * scale
        return (0.0, ticks) if ticks == math.floor(ticks) else (ticks / self.ticks, 0.0)

    # --- groups --------------------------------------------------------------------------------------------------------

    def _touch(self, pace: Pace) -> None:
        """Bring the attained work of a group up to now."""
        passed = minus(self.now, pace.since)
        if passed != NOTHING:
            ticks = pace.rate * passed[1]
            if ticks == math.floor(ticks):
                pace.attained = plus(pace.attained, (pace.rate * passed[0], ticks))
            else:
                pace.attained = plus(pace.attained, (pace.rate * passed[0] + ticks / self.ticks, 0.0))
        pace.since = self.now
        pace.touched = True

    def _begin_work(self, pace: Pace) -> None:
        """A clock joins a group; an idle group begins again at 0."""
        if pace.working == 0:
            pace.attained, pace.since, pace.finishes = NOTHING, self.now, 0
        self._touch(pace)
        pace.working += 1

    def _end_work(self, pace: Pace) -> None:
        self._touch(pace)
        pace.working -= 1

    def _pace_all(self) -> None:
        """New rates for the groups that work, and the next finish of those that changed."""
        speeds = [float(semantics.speed(self.rules, p.members[0], self.marking)) if p.working else 0.0 for p in self.paces]
        shares = self._shares(speeds)
        for pace, speed in zip(self.paces, speeds, strict=True):
            pace.share = shares.get(pace.members[0], 0.0) if pace.transfer else 1.0
            rate = speed * pace.share
            if pace.working and rate != pace.rate:
                self._touch(pace)
                pace.rate = rate
            if pace.touched:
                pace.due = self._due(pace)
                pace.touched = False

    def _running(self) -> dict[str, int]:
        return {s.transition.name: len(s.running) for s in self.stations.values()}

    def _used(self) -> dict[str, float]:
        """The rate used on each link."""
        used = dict.fromkeys(self.rules.links, 0.0)
        for group, pace in zip(self.compiled.groups, self.paces, strict=True):
            for name in group.links:
                used[name] += pace.share * pace.working
        return used

    def _shares(self, speeds: Sequence[float]) -> dict[int, float]:
        """The links' rate for one transfer of each group (by its first member); frozen ones take no part."""
        transfers = {p.members[0]: p.working for p, v in zip(self.paces, speeds, strict=True) if p.transfer and p.working and v > 0}
        return semantics.link_rates(self.rules, self.marking, transfers) if transfers else {}

    def _due(self, pace: Pace) -> Instant | None:
        if not pace.working or pace.rate == 0:
            return None
        base, ticks = minus(min(self._finishes(pace), key=self._order), pace.attained)
        after = ticks / pace.rate
        if after == math.floor(after):
            return plus(self.now, (base / pace.rate, after))
        return plus(self.now, ((base + ticks / self.ticks) / pace.rate, 0.0))


def _instant(pair: Sequence[float]) -> Instant:
    """An instant that may have come as a list."""
    base, ticks = pair
    return base, ticks


def _take(items: list[Item], which: int) -> Item:
    """Remove an item, the last one taking its place."""
    item = items[which]
    last = items.pop()
    if which < len(items):
        items[which] = last
    return item


def _total(weighted: Sequence[tuple[int, float]]) -> float:
    total = 0.0
    for _, w in weighted:
        total += w
    return total
