"""The way of tokens from one transition to another: the places between, and whether tokens keep their order on it.

A set S of places is *the way* from t1 to t2 if each firing of t1 puts one token more into S, each of t2 takes one away, and no other
transition changes their number: then each token that t1 brings leaves by t2. Candidates are the places on directed paths from the one to
the other; of the sets found only those count that hold no smaller one (a resource that is taken and given back on the way is no part of
it). Where several remain they differ at most in tokens that were there from the beginning; unless even these agree, the way is not told.

Tokens *keep their order* if there is never more than one on the way, or if the way is a chain: every place of S is filled by one
transition and emptied by one, a token at a time, and each of these transitions, t2 too, is immediate or has a single server. Then the token
that the k-th firing of t1 brings is the one that the (k + n)-th firing of t2 takes, if n were there before. Where tokens overtake one
another their mean time is still the mean number in S over the throughput of t1 (Little, Operations Research 9, 1961); its distribution is
not known from firings.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce

from spn.expr.nodes import Node, tokens
from spn.net.model import INFINITE, Arc, ArcKind, Net, Timed, Transition, initial_marking, place_index
from spn.structural.incidence import Incidence, incidence
from spn.structural.proof import prove

MOST_SETS = 2000  # sets of places looked at
Places = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """The places between two transitions, in the order of the net; ``overtaking`` says why tokens may not keep their order, "" where they
    do."""

    places: tuple[str, ...]
    overtaking: str = ""

    @property
    def held(self) -> Node:
        """The number of tokens on the way, as an expression."""
        nodes: list[Node] = [tokens(p) for p in self.places]
        return reduce(lambda a, b: a + b, nodes)


class NoWay(Exception):
    """Why no way is told, in words. Internal."""


def way(net: Net, first: str, second: str) -> Way:
    """The way from the transition ``first`` to ``second``. Raises :class:`NoWay`."""
    if first == second:
        raise NoWay(f"{first} is at both ends")
    finder = _Finder(net, first, second)
    found = _least(finder.sets())
    if not found:
        raise NoWay(finder.why())
    held = {sum(finder.initial[p] for p in s) for s in found}
    if len(held) > 1:
        raise NoWay(f"it is not told which of the tokens on the way from {first} to {second} go on and which stay")
    chosen = min(found, key=lambda s: (len(s), sorted(s)))
    found_way = Way(places=tuple(p.name for p in net.places if p.name in chosen))
    return Way(places=found_way.places, overtaking=_overtaking(net, found_way, second))


class _Finder:
    def __init__(self, net: Net, first: str, second: str) -> None:
        self.first, self.second = first, second
        self.transitions = {t.name: t for t in net.transitions}
        self.takes = {t.name: _places(t, ArcKind.INPUT) for t in net.transitions}
        self.gives = {t.name: _places(t, ArcKind.OUTPUT) for t in net.transitions}
        index = place_index(net)
        self.initial = {p: initial_marking(net)[i] for p, i in index.items()}
        matrix = incidence(net)
        self.varying = _varying(matrix)
        self.changes = {
            name: {matrix.places[p]: v for p, v in column.changes.items()}
            for name, column in zip(matrix.transitions, matrix.columns, strict=False)
        }
        self.between = self._between() - self.varying

    def _between(self) -> Places:
        """The places on paths from the first transition to the second that pass neither on the way."""
        inner = [t for t in self.transitions if t not in (self.first, self.second)]
        onward = _reached(self.gives[self.first], lambda p: (q for t in inner if p in self.takes[t] for q in self.gives[t]))
        back = _reached(self.takes[self.second], lambda p: (q for t in inner if p in self.gives[t] for q in self.takes[t]))
        return onward & back

    def gain(self, t: str, places: Places) -> int:
        """What a firing adds to the tokens in a set of places."""
        return sum(v for p, v in self.changes[t].items() if p in places)

    def sets(self) -> list[Places]:
        """The sets of places that keep every token from the first transition to the second."""
        waiting = deque(frozenset({p}) for p in sorted(self.gives[self.first] & self.between))
        seen, found = set(waiting), []
        while waiting and len(seen) < MOST_SETS:
            places = waiting.popleft()
            wanting = next((t for t in self.transitions if t != self.second and self.gain(t, places) < 0), None)
            if wanting is None:
                if self._kept(places):
                    found.append(places)
                continue
            for p in sorted((self.gives[wanting] & self.between) - places):
                more = places | {p}
                if more not in seen:
                    seen.add(more)
                    waiting.append(more)
        return found

    def _kept(self, places: Places) -> bool:
        due = {self.first: 1, self.second: -1}
        return all(self.gain(t, places) == due.get(t, 0) for t in self.transitions)

    def why(self) -> str:
        """Why no set was found."""
        if not self._between():
            return f"no token goes from {self.first} to {self.second}"
        if self._between() & self.varying:
            where = ", ".join(sorted(self._between() & self.varying))
            return (
                f"on the way from {self.first} to {self.second}, at {where}, a firing moves a number of tokens that depends on the marking"
            )
        return f"tokens come or go between {self.first} and {self.second}, or several at a time"


def _places(t: Transition, kind: ArcKind) -> Places:
    return frozenset(a.place for a in t.arcs if a.kind is kind)


def _varying(matrix: Incidence) -> Places:
    """The places that a firing changes by a number that is not constant."""
    return frozenset(matrix.places[p] for c in matrix.columns if c.amount is not None for p in c.changes)


def _reached(start: Iterable[str], after: Callable[[str], Iterable[str]]) -> Places:
    seen, waiting = set(start), list(start)
    while waiting:
        new = set(after(waiting.pop())) - seen
        seen |= new
        waiting.extend(new)
    return frozenset(seen)


def _least(sets: list[Places]) -> list[Places]:
    """Those that hold no other one."""
    return [s for s in sets if not any(other < s for other in sets)]


# --- order ------------------------------------------------------------------------------------------------------------------------


def _overtaking(net: Net, found: Way, second: str) -> str:
    places = frozenset(found.places)
    servers = [t for t in net.transitions if any(a.kind is ArcKind.INPUT and a.place in places for a in t.arcs)]
    why = next((w for t in servers if (w := _several_at_once(t, places))), "") or _branching(net, places)
    return "" if not why or prove(net, found.held <= 1) is not None else why


def _several_at_once(t: Transition, places: Places) -> str:
    if isinstance(t, Timed) and t.servers != 1:
        return f"{t.name} has {'any number of' if t.servers == INFINITE else t.servers} servers, where tokens overtake one another"
    return f"{t.name} takes several tokens of the way at once" if sum(_counts(a, ArcKind.INPUT, places) for a in t.arcs) != 1 else ""


def _branching(net: Net, places: Places) -> str:
    for p in sorted(places):
        for kind, what in ((ArcKind.INPUT, "empty"), (ArcKind.OUTPUT, "fill")):
            names = [t.name for t in net.transitions if any(a.kind is kind and a.place == p for a in t.arcs)]
            if len(names) > 1:
                return f"{', '.join(names)} {what} {p}, so that tokens go ways of different length"
    return ""


def _counts(a: Arc, kind: ArcKind, places: Places) -> int:
    return 1 if a.kind is kind and a.place in places else 0
