"""Closed queueing networks in a net: tokens that go round one at a time through stations whose steady state is a product.

Each timed transition takes one token from one place and puts one into another; immediates with constant weights route it. The places that
tokens may reach from one another for ever are a *chain*, with a constant number of tokens. What a place's clocks do makes it a *station*:

- a *delay*: infinite servers at constant speed, any law;
- *processor sharing*: infinite servers at a speed that depends on the tokens of the place, or transfers over one link with equal shares and
  caps, any law;
- *first come, first served* and the like: k servers, exponential, at a speed that may depend on the tokens of the place; transitions that
  race for the tokens of one place are one such station.

The steady state of such a network is a product over stations and depends on the laws through their means alone (Baskett, Chandy, Muntz and
Palacios 1975, J. ACM 22, 248, doi:10.1145/321879.321887; Kelly 1979, Reversibility and Stochastic Networks, chapter 3). With clocks that
are all bounded or discrete a network may repeat itself for ever and keep a memory of how it began, so every chain must pass at least one
law that has a density and no upper bound (a condition for regeneration in Kaspi and Mandelbaum 1992, Ann. Appl. Probab. 2, 356).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from spn.dist.exponential import Exponential
from spn.dist.law import Law
from spn.errors import Diagnostic
from spn.expr.evaluate import Undefined, evaluate
from spn.expr.nodes import Node, Number, constant, places_of
from spn.net.model import INFINITE, ArcKind, Immediate, Memory, Net, Servers, Timed, Transition, initial_marking
from spn.source import Span
from spn.structural.incidence import constant as multiplicity

CODE = "E0655"
MOST_TOKENS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """A way of a token from ``source`` to ``target`` by ``transition``; out of one place with probabilities that sum to 1."""

    transition: str
    source: str
    target: str
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Places among which ``tokens`` tokens go round for ever, and all hops between them."""

    tokens: int
    places: tuple[str, ...]
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """A station that is no delay: ``pace[n - 1]`` is the work done per second with n tokens there; ``link`` where it is a link."""

    name: str
    pace: tuple[float, ...]
    link: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What a token of ``place`` waits for: ``work`` at ``station`` (an index), or that many seconds where that is None."""

    place: str
    chain: int
    station: int | None
    work: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The network that a net is. A place has one stage, or two where a transfer has a latency."""

    chains: tuple[Chain, ...]
    stations: tuple[Station, ...]
    stages: tuple[Stage, ...]


def stations(net: Net) -> Network | tuple[Diagnostic, ...]:
    """The closed network that a net is, or all reasons why it is none, each with its place in the text."""
    found = tuple(d for t in net.transitions for d in _refusals(t)) or tuple(_mixed(net))
    if found:
        return found
    chains = _chains(net)
    if not isinstance(chains, tuple):
        return (chains,)
    return _Build(net, chains).network()


def _no(message: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code=CODE, message=f"no product form: {message}", span=span, help="use another method; see `spn check --explain " + CODE + "`"
    )


# --- one transition


def _refusals(t: Transition) -> Iterator[Diagnostic]:
    kinds = [a.kind for a in t.arcs]
    if sorted(kinds) != [ArcKind.INPUT, ArcKind.OUTPUT] or any(multiplicity(a) != 1 for a in t.arcs):
        yield _no(f"{t.name} does not move one token from one place to another", t.span)
    if t.guard is not None:
        yield _no(f"{t.name} has a condition", t.span)
    if t.resets:
        yield _no(f"{t.name} resets clocks", t.span)
    if isinstance(t, Immediate):
        if constant(t.weight) is None:
            yield _no(f"the weight of {t.name} depends on the marking", t.span)
    else:
        yield from _clock_refusals(t)


def _clock_refusals(t: Timed) -> Iterator[Diagnostic]:
    mean = t.law.mean()
    if not 0 < mean < math.inf:
        yield _no(f"the mean of {t.name} is {mean:g}", t.law_span or t.span)
    if constant(t.scale) is None:
        yield _no(f"the scale of {t.name} depends on the marking", t.span)
    if t.transfer is not None:
        if len(t.transfer.links) != 1:
            yield _no(f"{t.name} uses {len(t.transfer.links)} links at a time", t.span)
        if constant(t.transfer.share) is None or constant(t.speed) is None:
            yield _no(f"the share or the speed of {t.name} depends on the marking", t.span)
    elif not places_of(t.speed) <= {_source(t)}:
        yield _no(f"the speed of {t.name} depends on other places than the one it takes from", t.span)


def _source(t: Transition) -> str:
    return next((a.place for a in t.arcs if a.kind is ArcKind.INPUT), "")


def _target(t: Transition) -> str:
    return next(a.place for a in t.arcs if a.kind is ArcKind.OUTPUT)


def _memoryless(t: Timed) -> bool:
    return isinstance(t.law, Exponential)


def _enough(servers: Servers, tokens: int) -> bool:
    return servers == INFINITE or servers >= tokens


# --- the transitions of one place, of one link


def takers(net: Net) -> dict[str, list[Transition]]:
    """The transitions that take from each place."""
    found: dict[str, list[Transition]] = {p.name: [] for p in net.places}
    for t in net.transitions:
        found[_source(t)].append(t)
    return found


def _mixed(net: Net) -> Iterator[Diagnostic]:
    for p in net.places:
        if p.capacity is not None and p.capacity < sum(q.initial for q in net.places):
            yield _no(f"place {p.name} may fill up", p.span)
    for place, found in takers(net).items():
        timed = [t for t in found if isinstance(t, Timed)]
        if timed and len(timed) < len(found):
            yield _no(f"timed and immediate transitions take from {place}", timed[0].span)
        elif len(timed) > 1:
            yield from _race(place, timed)
    for link in net.links:
        yield from _sharing(
            link.name, [t for t in net.transitions if isinstance(t, Timed) and t.transfer and link.name in t.transfer.links]
        )


def _race(place: str, timed: Sequence[Timed]) -> Iterator[Diagnostic]:
    """Transitions that race for the tokens of one place are one exponential station."""
    if len({t.servers for t in timed}) > 1 or not all(
        _memoryless(t) and t.memory is not Memory.REPEAT and t.transfer is None and constant(t.speed) is not None for t in timed
    ):
        names = ", ".join(t.name for t in timed)
        yield _no(
            f"{names} race for the tokens of {place} and are not all exponential at constant speed, with equal servers", timed[1].span
        )


def _sharing(link: str, users: Sequence[Timed]) -> Iterator[Diagnostic]:
    transfers = [t.transfer for t in users if t.transfer is not None]
    if len({constant(x.share) for x in transfers}) > 1 or len({x.cap for x in transfers}) > 1:
        yield _no(f"transfers over {link} have different shares or caps", users[1].span)


# --- chains


def _chains(net: Net) -> tuple[Chain, ...] | Diagnostic:
    """The sets of places that tokens never leave, with the tokens that end there."""
    out = takers(net)
    ways = {p: tuple(_hops(p, found)) for p, found in out.items()}
    ends = _Ends(ways)
    tokens: dict[tuple[str, ...], int] = {}
    for p, k in zip(net.places, initial_marking(net), strict=True):
        if not k:
            continue
        end = ends.of(p.name)
        if end is None:
            return _no(f"tokens of {p.name} may stay in different parts of the net for ever", p.span)
        if not ways[end[0]]:
            return _no(f"tokens come to rest in {end[0]}", p.span)
        tokens[end] = tokens.get(end, 0) + k
        if tokens[end] > MOST_TOKENS:
            return _no(f"there are {tokens[end]:,} tokens round {end[0]}, more than {MOST_TOKENS:,}", p.span)
    if not tokens:
        return _no("there are no tokens that go round", net.span)
    return tuple(Chain(tokens=k, places=end, hops=tuple(h for p in end for h in ways[p])) for end, k in tokens.items())


class _Ends:
    """Where tokens stay in the long run: sets of places that can be reached from one another and are never left."""

    def __init__(self, ways: Mapping[str, Sequence[Hop]]) -> None:
        self.order = {p: k for k, p in enumerate(ways)}
        self.onto = {p: [h.target for h in hops] for p, hops in ways.items()}
        self.back: dict[str, list[str]] = {p: [] for p in ways}
        for hops in ways.values():
            for h in hops:
                self.back[h.target].append(h.source)

    def of(self, place: str) -> tuple[str, ...] | None:
        """The set in which every token of a place ends, in the order of the net; None where there are several."""
        inside, at = reached(place, self.onto), place
        found = inside
        while left := found - reached(at, self.back):
            at = min(left, key=self.order.__getitem__)
            found = reached(at, self.onto)
        return tuple(sorted(found, key=self.order.__getitem__)) if inside <= reached(at, self.back) else None


def reached(start: str, ways: Mapping[str, Sequence[str]]) -> set[str]:
    """What can be reached from ``start``, itself included."""
    seen, waiting = {start}, [start]
    while waiting:
        new = set(ways[waiting.pop()]) - seen
        seen |= new
        waiting += new
    return seen


def _hops(place: str, found: Sequence[Transition]) -> Iterator[Hop]:
    first = max((t.priority for t in found if isinstance(t, Immediate)), default=0)
    rates: dict[str, float] = {}
    for t in found:
        if isinstance(t, Timed):
            rates[t.name] = 1.0 / _work(t) if len(found) > 1 else 1.0
        elif t.priority == first:
            rates[t.name] = float(constant(t.weight) or 0)
    total = math.fsum(rates.values())
    for t in found:
        if rates.get(t.name):
            yield Hop(transition=t.name, source=place, target=_target(t), probability=rates[t.name] / total)


# --- stations


def _work(t: Timed) -> float:
    """Mean work at speed 1, or at the speed that is constant."""
    return t.law.mean() * float(constant(t.scale) or 0) / float(constant(t.speed) or 1)


@dataclass(slots=True)
class _Build:
    net: Net
    chains: tuple[Chain, ...]
    found: list[Station] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    links: dict[str, int] = field(default_factory=dict)
    wrong: list[Diagnostic] = field(default_factory=list)

    def network(self) -> Network | tuple[Diagnostic, ...]:
        out = takers(self.net)
        for c, chain in enumerate(self.chains):
            timed = {p: [t for t in out[p] if isinstance(t, Timed)] for p in chain.places}
            for place, found in timed.items():
                if found:
                    self._place(c, place, found)
            laws = [t.law for found in timed.values() for t in found]
            if not any(_mixes(law) for law in laws):
                clocks = [t for found in timed.values() for t in found]
                names = ", ".join(t.name for t in clocks)
                message = f"every law of {names} is bounded or discrete, so that the net may repeat itself for ever"
                self.wrong.append(_no(message, clocks[0].span if clocks else self.net.span))
        if self.wrong:
            return tuple(self.wrong)
        return Network(chains=self.chains, stations=tuple(self.found), stages=tuple(self.stages))

    def _place(self, c: int, place: str, found: Sequence[Timed]) -> None:
        """The stages of a place."""
        first = found[0]
        tokens = self.chains[c].tokens
        if first.transfer is not None:
            self._transfer(c, place, first)
            return
        work = 1.0 / math.fsum(1.0 / _work(t) for t in found)
        if constant(first.speed) is not None and _enough(first.servers, tokens):
            self.stages.append(Stage(place=place, chain=c, station=None, work=work))
            return
        if not (_memoryless(first) or _enough(first.servers, tokens)):
            message = f"{first.name} has {first.servers} servers for {tokens} tokens, and is not exponential"
            self.wrong.append(_no(message, first.law_span or first.span))
            return
        pace = self._pace(first, place, tokens)
        if pace is not None:
            self.stages.append(Stage(place=place, chain=c, station=len(self.found), work=work))
            self.found.append(Station(name=first.name, pace=pace, link=False))

    def _pace(self, t: Timed, place: str, tokens: int) -> tuple[float, ...] | None:
        fixed = constant(t.speed)
        speeds = [1.0 if fixed is not None else _at(t.speed, place, n) for n in range(1, tokens + 1)]
        bad = next((n for n, v in enumerate(speeds, 1) if not 0 < v < math.inf), None)
        if bad is not None:
            self.wrong.append(_no(f"the speed of {t.name} is {speeds[bad - 1]:g} with {bad} tokens in {place}", t.span))
            return None
        return tuple((n if t.servers == INFINITE else min(n, t.servers)) * v for n, v in enumerate(speeds, 1))

    def _transfer(self, c: int, place: str, t: Timed) -> None:
        assert t.transfer is not None
        tokens = self.chains[c].tokens
        if not _enough(t.servers, tokens):
            self.wrong.append(_no(f"{t.name} has {t.servers} servers for {tokens} tokens: transfers wait before their link", t.span))
            return
        if t.transfer.latency:
            self.stages.append(Stage(place=place, chain=c, station=None, work=float(t.transfer.latency)))
        name = t.transfer.links[0]
        if name not in self.links:
            self.links[name] = len(self.found)
            self.found.append(Station(name=name, pace=self._link_pace(name, t.transfer.cap), link=True))
        self.stages.append(Stage(place=place, chain=c, station=self.links[name], work=_work(t)))

    def _link_pace(self, name: str, cap: Fraction | float | None) -> tuple[float, ...]:
        capacity = next(float(link.capacity) for link in self.net.links if link.name == name)
        most = sum(chain.tokens for chain in self.chains)
        return tuple(capacity if cap is None else min(capacity, n * float(cap)) for n in range(1, most + 1))


def _mixes(law: Law) -> bool:
    """Whether a law has a density on an unbounded range."""
    return law.atoms() is None and float(law.quantile(1.0)) == math.inf


def _at(speed: Node, place: str, n: int) -> float:
    if isinstance(speed, Number):
        return float(speed.value)
    try:
        return float(evaluate(speed, {place: n}))
    except (Undefined, OverflowError):
        return math.nan
