"""The states of a net whose delays take finitely many values, and what follows each: the semantics in exact rational arithmetic.

A state is the marking with the remaining work of every clock, running or parked. Clocks of one transition are exchangeable, so that they
are kept sorted. Between two tangible states come settling ones, in which no time passes: immediates fire one by one, and then the clocks
are brought in line. Every choice (of an immediate, of the winner of a tie, of a clock to stop, of a delay with several values) is a branch
with its probability. What happens in which order is that of :mod:`spn.sim.reference`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from spn.expr.nodes import Exact, exact
from spn.net import semantics
from spn.net.model import Marking, Memory, Net, Timed, initial_marking
from spn.schedule.sharing import link_rates

ZERO, ONE = Fraction(0), Fraction(1)
MOST_DENOMINATOR = 10**6  # of a probability that is kept as a double
TANGIBLE, SETTLING, BEGINNING = 0, 1, 2


class Clock(NamedTuple):
    """``left``: of the latency while ``entering`` the links, else of the work. ``total``: the work drawn, where it still matters (before
    the links are entered, and under memory `repeat`), else 0."""

    entering: bool
    left: Fraction
    total: Fraction


class Clocks(NamedTuple):
    """The clocks of one timed transition, each group sorted."""

    running: tuple[Clock, ...] = ()
    parked: tuple[Clock, ...] = ()


class State(NamedTuple):
    """``clocks`` in the order of the timed transitions; ``resets``: the transitions whose clocks end when all immediates have fired."""

    kind: int
    marking: Marking
    clocks: tuple[Clocks, ...]
    resets: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Branch:
    """Where a state goes with some probability; ``fired`` is the transition that fires on the way, None where only clocks change."""

    chance: Fraction
    state: State
    fired: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What follows a state: after ``wait`` (None: never), one of ``branches``. ``used``: the rate used on each link meanwhile."""

    wait: Fraction | None
    branches: tuple[Branch, ...]
    used: Mapping[str, Fraction]


def likely(p: float) -> Fraction:
    """The rational number of small denominator that a probability in double precision stands for, else the double itself."""
    near = Fraction(p).limit_denominator(MOST_DENOMINATOR)
    return near if float(near) == p else Fraction(p)


class Steps:
    """The steps of a net all of whose laws have finitely many values; ``rounded`` tells whether some quantity was only known as a double
    (a root, a logarithm), so that the arithmetic is exact for its decimal value."""

    def __init__(self, net: Net) -> None:
        self.rules = semantics.rules(net)
        self.rounded = False
        self.timed = self.rules.timed
        self.place = {t: k for k, t in enumerate(self.timed)}
        self.atoms = {t: self._atoms(self._transition(t)) for t in self.timed}
        self.number = {t.name: i for i, t in enumerate(net.transitions)}
        self._needed: dict[Marking, tuple[int, ...]] = {}

    def first(self) -> State:
        """The state in which the initial marking has yet to settle; what fires then is not counted."""
        return State(BEGINNING, initial_marking(self.rules.net), tuple(Clocks() for _ in self.timed))

    def after(self, s: State) -> Step:
        return self._timed_step(s) if s.kind == TANGIBLE else self._settling_step(s)

    # --- numbers -----------------------------------------------------------------------------------------------------------------

    def _rational(self, x: Exact) -> Fraction:
        if isinstance(x, Fraction):
            return x
        self.rounded = True
        found = exact(x)
        assert isinstance(found, Fraction)
        return found

    def _transition(self, t: int) -> Timed:
        found = self.rules.transitions[t].transition
        assert isinstance(found, Timed)
        return found

    def _atoms(self, t: Timed) -> tuple[tuple[Fraction, Fraction], ...]:
        """Probability and value of each delay."""
        found = t.law.atoms()
        assert found is not None
        parts = [(likely(p), self._rational(v)) for v, p in found if p > 0]
        total = sum(p for p, _ in parts)
        return tuple((p / total, v) for p, v in parts)

    # --- time passes -------------------------------------------------------------------------------------------------------------

    def rates(self, s: State) -> tuple[list[Fraction], dict[str, Fraction]]:
        """The rate at which each timed transition's working clocks run, and what is used on each link."""
        working = [sum(not c.entering for c in own.running) for own in s.clocks]
        speeds = [
            self._rational(semantics.speed(self.rules, t, s.marking)) if n else ZERO for t, n in zip(self.timed, working, strict=True)
        ]
        on = {t: n for t, n, v in zip(self.timed, working, speeds, strict=True) if n and v and self._transition(t).transfer is not None}
        used = {link.name: ZERO for link in self.rules.net.links}
        if not on:
            return speeds, used
        shares = link_rates(self.rules, s.marking, on, self._rational)
        for t, n in on.items():
            speeds[self.place[t]] *= shares[t]
            transfer = self._transition(t).transfer
            assert transfer is not None
            for name in transfer.links:
                used[name] += n * shares[t]
        return speeds, used

    def _timed_step(self, s: State) -> Step:
        rates, used = self.rates(s)
        waits = [w for own, rate in zip(s.clocks, rates, strict=True) for c in own.running if (w := _wait(c, rate)) is not None]
        if not waits:
            return Step(None, (), used)
        wait = min(waits)
        clocks = tuple(self._passed(own, rate, wait) for own, rate in zip(s.clocks, rates, strict=True))
        entering = any(c.entering and c.left == 0 for own in clocks for c in own.running)
        if entering:
            inside = tuple(self._entered(t, own) for t, own in zip(self.timed, clocks, strict=True))
            return Step(wait, (Branch(ONE, State(TANGIBLE, s.marking, inside)),), used)
        return Step(wait, tuple(self._expiries(s.marking, clocks, rates)), used)

    def _passed(self, own: Clocks, rate: Fraction, wait: Fraction) -> Clocks:
        if not own.running or not wait:
            return own
        moved = (Clock(c.entering, c.left - (wait if c.entering else rate * wait), c.total) for c in own.running)
        return Clocks(tuple(sorted(moved)), own.parked)

    def _entered(self, t: int, own: Clocks) -> Clocks:
        """The transfers whose latency has passed are on their links."""
        keep = self._transition(t).memory is Memory.REPEAT
        moved = (Clock(False, c.total, c.total if keep else ZERO) if c.entering and c.left == 0 else c for c in own.running)
        return Clocks(tuple(sorted(moved)), own.parked)

    def _expiries(self, m: Marking, clocks: tuple[Clocks, ...], rates: Sequence[Fraction]) -> Iterable[Branch]:
        """One of the clocks with no work left fires: of the transitions the highest priority, then by weight."""
        ready = [t for k, t in enumerate(self.timed) if rates[k] > 0 and any(not c.entering and c.left == 0 for c in clocks[k].running)]
        top = max(self._transition(t).priority for t in ready)
        best = [t for t in ready if self._transition(t).priority == top]
        weighted = [(t, ONE) for t in best]
        if len(best) > 1:
            weighted = [(t, self._rational(w)) for t, w in semantics.positive_weights(self.rules, best, m)]
        total = sum(w for _, w in weighted)
        for t, w in weighted:
            k, after = self.place[t], semantics.fire(self.rules, t, m)
            ended = Counter(c for c in clocks[k].running if not c.entering and c.left == 0)
            for c, n in ended.items():
                own = Clocks(_without(clocks[k].running, c), clocks[k].parked)
                state = State(SETTLING, after, (*clocks[:k], own, *clocks[k + 1 :]), self._resets(t))
                yield Branch(w / total * Fraction(n, ended.total()), state, t)

    def _resets(self, t: int) -> frozenset[int]:
        return frozenset(self.number[name] for name in self.rules.transitions[t].transition.resets)

    # --- settling ----------------------------------------------------------------------------------------------------------------

    def _settling_step(self, s: State) -> Step:
        choices = semantics.enabled_immediates(self.rules, s.marking)
        if not choices:
            return Step(ZERO, tuple(self._in_line(s)), {})
        weighted = [(t, self._rational(w)) for t, w in choices]
        total = sum(w for _, w in weighted)
        found = []
        for t, w in weighted:
            state = State(s.kind, semantics.fire(self.rules, t, s.marking), s.clocks, s.resets | self._resets(t))
            found.append(Branch(w / total, state, t if s.kind == SETTLING else None))
        return Step(ZERO, tuple(found), {})

    def needed(self, m: Marking) -> tuple[int, ...]:
        """How many clocks of each timed transition run."""
        if m not in self._needed:
            self._needed[m] = tuple(semantics.running_clocks(self.rules, t, m) for t in self.timed)
        return self._needed[m]

    def _in_line(self, s: State) -> Iterable[Branch]:
        """The marking is tangible: stop the clocks in excess, start those missing."""
        ways: list[tuple[Fraction, tuple[Clocks, ...]]] = [(ONE, ())]
        for t, own, n in zip(self.timed, s.clocks, self.needed(s.marking), strict=True):
            outcomes = self._adjusted(t, Clocks() if t in s.resets else own, n, s.marking)
            ways = [(p * q, (*before, o)) for p, before in ways for o, q in outcomes.items()]
        for p, clocks in ways:
            yield Branch(p, State(TANGIBLE, s.marking, clocks))

    def _adjusted(self, t: int, own: Clocks, n: int, m: Marking) -> dict[Clocks, Fraction]:
        found = {own: ONE}
        for _ in range(len(own.running) - n):
            found = _spread(found, lambda c: self._stopped(t, c))
        for _ in range(n - len(own.running)):
            found = _spread(found, lambda c: self._started(t, c, m))
        return found

    def _stopped(self, t: int, own: Clocks) -> Iterable[tuple[Fraction, Clocks]]:
        memory = self._transition(t).memory
        for c, k in Counter(own.running).items():
            parked = own.parked
            if memory is Memory.RESUME:
                parked = tuple(sorted((*parked, c)))
            elif memory is Memory.REPEAT:
                parked = tuple(sorted((*parked, Clock(False, ZERO, c.total))))
            yield Fraction(k, len(own.running)), Clocks(_without(own.running, c), parked)

    def _started(self, t: int, own: Clocks, m: Marking) -> Iterable[tuple[Fraction, Clocks]]:
        transition = self._transition(t)
        if not own.parked:
            scale = self._rational(semantics.scale(self.rules, t, m))
            for p, value in self.atoms[t]:
                yield p, self._running(own, self._begun(transition, value * scale))
            return
        for c, k in Counter(own.parked).items():
            rest = Clocks(own.running, _without(own.parked, c))
            goes_on = self._begun(transition, c.total) if transition.memory is Memory.REPEAT else c
            yield Fraction(k, len(own.parked)), self._running(rest, goes_on)

    def _begun(self, t: Timed, work: Fraction) -> Clock:
        """A clock with all its work (and latency) before it."""
        if t.transfer is not None and t.transfer.latency > 0:
            return Clock(True, self._rational(t.transfer.latency), work)
        return Clock(False, work, work if t.memory is Memory.REPEAT else ZERO)

    def _running(self, own: Clocks, c: Clock) -> Clocks:
        return Clocks(tuple(sorted((*own.running, c))), own.parked)


def _wait(c: Clock, rate: Fraction) -> Fraction | None:
    if c.entering:
        return c.left
    return c.left / rate if rate > 0 else None


def _without(clocks: tuple[Clock, ...], c: Clock) -> tuple[Clock, ...]:
    i = clocks.index(c)
    return clocks[:i] + clocks[i + 1 :]


def _spread(found: Mapping[Clocks, Fraction], step: Callable[[Clocks], Iterable[tuple[Fraction, Clocks]]]) -> dict[Clocks, Fraction]:
    """One random change of each, the same outcomes merged."""
    after: dict[Clocks, Fraction] = {}
    for c, p in found.items():
        for q, d in step(c):
            after[d] = after.get(d, ZERO) + p * q
    return after
