"""What is likely not meant: warnings about a net that is well formed. All of it is read from the structure, before any state space."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from spn.dist.deterministic import Deterministic
from spn.errors import Diagnostic, Severity, SpnError
from spn.expr.nodes import ONE, Number, places_of
from spn.net import semantics
from spn.net.model import ArcKind, Immediate, Net, Timed, Transition, immediates, initial_marking, timed
from spn.source import Span
from spn.structural.bounds import Bounds, allowed, bounds
from spn.structural.incidence import constant

NEEDS = (ArcKind.INPUT, ArcKind.TEST)
LOOKS = 20_000  # of transitions, in the searches that could take long in a large net


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the net does not show of its text: the timed transitions that say how many ``servers`` they have, and the places whose initial
    tokens come from a parameter, so that they may be empty for this value only."""

    servers: Set[str] = frozenset()
    varying: Set[str] = frozenset()


def advise(net: Net, said: Said) -> Iterator[Diagnostic]:
    """Warnings W0301 to W0307, each with its place in the text."""
    known = bounds(net)
    yield from _never(net, said, known)
    yield from _servers(net, said, known)
    yield from _twins(net, said)
    yield from _confusion(net, known)
    yield from _ties(net)
    yield from _sources(net, said)


def _warning(code: str, message: str, span: Span | None, help: str, *notes: str) -> Diagnostic:
    return Diagnostic(code=code, message=message, span=span, help=help, notes=notes, severity=Severity.WARNING)


# --- what never happens -----------------------------------------------------------------------------------------------------------


def _never(net: Net, said: Said, known: Bounds) -> Iterator[Diagnostic]:
    """Places that no token ever reaches, and transitions that never fire."""
    marked = {p.name for p in net.places if p.initial > 0 or p.name in said.varying}
    alive = _alive(net, marked)
    touched = {a.place for t in net.transitions for a in t.arcs}
    filled = {a.place for t in net.transitions for a in t.arcs if a.kind is ArcKind.OUTPUT}
    for p in net.places:
        if p.name in touched and p.name not in marked and p.name not in filled:
            yield _warning(
                "W0301",
                f"place {p.name} can never hold a token: it begins empty and nothing puts one there",
                p.span,
                f"give it tokens, place {p.name} = 1, or an output arc to it",
            )
    for t in net.transitions:
        why = _why_not(t, marked) if t.name not in alive else "" if said.varying else _short(t, known)
        if why:
            yield _warning("W0302", f"{t.name} can never fire: {why}", t.span, "check its arcs, its guard and the initial tokens")


def _alive(net: Net, marked: set[str]) -> set[str]:
    """The transitions that tokens can get to; adds to ``marked`` the places that they can."""
    waiting = {t.name: t for t in net.transitions if not _is_false(t)}
    lacks = {t.name: {a.place for a in t.arcs if a.kind in NEEDS and _positive(a.multiplicity)} - marked for t in waiting.values()}
    users: dict[str, list[str]] = {}
    for name, places in lacks.items():
        for place in places:
            users.setdefault(place, []).append(name)
    ready = [name for name, places in lacks.items() if not places]
    alive: set[str] = set()
    while ready:
        name = ready.pop()
        alive.add(name)
        for arc in waiting[name].arcs:
            if arc.kind is ArcKind.OUTPUT and arc.place not in marked:
                marked.add(arc.place)
                for user in users.get(arc.place, ()):
                    lacks[user].discard(arc.place)
                    if not lacks[user]:
                        ready.append(user)
    return alive


def _positive(multiplicity: object) -> bool:
    return isinstance(multiplicity, Number) and multiplicity.value >= 1


def _is_false(t: Transition) -> bool:
    return isinstance(t.guard, Number) and t.guard.value == 0


def _why_not(t: Transition, marked: Set[str]) -> str:
    if _is_false(t):
        return "its guard is false"
    empty = next((a.place for a in t.arcs if a.kind in NEEDS and _positive(a.multiplicity) and a.place not in marked), None)
    return f"no token ever gets to {empty}" if empty is not None else ""


def _short(t: Transition, known: Bounds) -> str:
    """Why an input has too few tokens for ever."""
    for place, k in _inputs(t).items():
        most = known.most.get(place)
        if most is not None and most < k:
            return f"it needs {k} tokens in {place}, which never holds more than {most}"
    return ""


def _inputs(t: Transition) -> dict[str, int]:
    """The tokens that a transition takes, where that is constant."""
    taken: dict[str, int] = {}
    for a in t.arcs:
        k = constant(a)
        if a.kind is ArcKind.INPUT and k is not None:
            taken[a.place] = taken.get(a.place, 0) + k
    return taken


# --- servers ----------------------------------------------------------------------------------------------------------------------


def _servers(net: Net, said: Said, known: Bounds) -> Iterator[Diagnostic]:
    """Transitions that are single-server without saying so, where more tokens can wait."""
    silent = [t for t in timed(net) if t.name not in said.servers and t.transfer is None and t.servers == 1]
    crowded = _crowded(net)
    degrees = {t.name: _degree(t, crowded, known) for t in silent if not places_of(t.speed) & _inputs(t).keys()}
    doubtful = {name for name, degree in degrees.items() if degree != 1}
    shown_once = once_at_most(net, doubtful) if doubtful else frozenset()
    for t in silent:
        if t.name in doubtful - shown_once:
            degree = degrees[t.name]
            most = "more than once" if degree is None else f"up to {degree} times"
            yield _warning(
                "W0303",
                f"{t.name} can be enabled {most} at once, and does not say how many `servers` it has",
                t.span,
                "write `servers 1` if one token is served at a time, `servers inf` if all are",
            )


def once_at_most(net: Net, names: Set[str]) -> frozenset[str]:
    """Those of some timed transitions that are never enabled more than once, where so few markings can be reached that all are seen.

    Times are left out of account, so that no marking is missed."""
    r = semantics.rules(net)
    open_ = {t for t in r.timed if net.transitions[t].name in names}
    waiting = deque([initial_marking(net)])
    seen, looks = set(waiting), 0
    try:
        while waiting and open_:
            m = waiting.popleft()
            looks += len(r.transitions)
            if looks > LOOKS:
                return frozenset()
            able = [t for t, _ in semantics.enabled_immediates(r, m)]
            if not able:
                degrees = {t: semantics.enabling_degree(r, t, m) for t in r.timed}
                able = [t for t, k in degrees.items() if k > 0]
                open_ -= {t for t, k in degrees.items() if k > 1}
            for after in (semantics.fire(r, t, m) for t in able):
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
    except SpnError:  # told where a run gets there
        return frozenset()
    return frozenset(net.transitions[t].name for t in open_)


def _degree(t: Timed, crowded: Set[str], known: Bounds) -> int | None:
    """The most that a transition can be enabled at once; None where no bound is known and several tokens may be there."""
    limits = []
    for place, k in _inputs(t).items():
        most = min((b for b in (known.most.get(place), allowed(t, place)) if b is not None), default=None)
        if most is not None and k > 0:
            limits.append(most // k)
    if limits:
        return max(1, min(limits))
    return 1 if not _inputs(t) or not (known.complete or _inputs(t).keys() <= crowded) else None


def _crowded(net: Net) -> Set[str]:
    """The places with several tokens in plain sight."""
    outputs = (a for t in net.transitions for a in t.arcs if a.kind is ArcKind.OUTPUT)
    return {p.name for p in net.places if p.initial > 1} | {a.place for a in outputs if constant(a) != 1}


def _sources(net: Net, said: Said) -> Iterator[Diagnostic]:
    """A transition without inputs has one clock, whatever its servers."""
    for t in timed(net):
        if t.name in said.servers and t.servers != 1 and not any(a.kind is ArcKind.INPUT for a in t.arcs):
            yield _warning(
                "W0307",
                f"{t.name} has no input arc, so that it has one clock and not {'ever more' if t.servers == 'inf' else t.servers}",
                t.span,
                "leave `servers` out, and give the rate of all arrivals together",
            )


def _twins(net: Net, said: Said) -> Iterator[Diagnostic]:
    """Two transitions that are alike in all, as if there were one for every server."""
    seen: dict[object, Timed] = {}
    for t in timed(net):
        if t.name in said.servers or t.transfer is not None or not _inputs(t):
            continue
        arcs = frozenset((a.kind, a.place, a.multiplicity) for a in t.arcs)
        first = seen.setdefault((arcs, t.guard, t.law, t.speed, t.scale, t.servers, t.resets), t)
        if first is not t:
            yield _warning(
                "W0304",
                f"{first.name} and {t.name} are alike: both start on one token, and the first to end takes it",
                t.span,
                f"for two servers write one transition with `servers 2`; if this is meant, write `servers 1` for {t.name}",
            )


# --- choices that depend on the order ---------------------------------------------------------------------------------------------


def _confusion(net: Net, known: Bounds) -> Iterator[Diagnostic]:
    """Immediates that are in no conflict, and yet the order of their firing decides between what."""
    spans = {t.name: t.span for t in immediates(net)}
    for u, v, w in _confused(net, known):
        yield _warning(
            "W0305",
            f"{u} and {v} are in no conflict, but if {u} fires first, {w} competes with {v}: confusion",
            spans[v],
            "give one of them a higher `priority`, so that the order is no matter of their weights",
        )


def confusions(net: Net) -> Iterator[tuple[str, str, str]]:
    """Immediates u, v, w by name: u and v are in no conflict and may be enabled at once, but if u fires first, w competes with v."""
    return _confused(net, bounds(net)) if len(immediates(net)) > 2 else iter(())


def _confused(net: Net, known: Bounds) -> Iterator[tuple[str, str, str]]:
    all_ = {t.name: t for t in immediates(net)}
    takes = _by_place(all_, (ArcKind.INPUT,))
    reads = _by_place(all_, NEEDS)
    gives = _by_place(all_, (ArcKind.OUTPUT,))
    told: set[frozenset[str]] = set()
    looks = 0
    for v in all_.values():
        for w in _rivals(v, all_, takes, reads):
            for u in _feeders(w, all_, gives):
                looks += 1
                if looks > LOOKS:
                    return
                pair = frozenset((u.name, v.name))
                if u.name in (v.name, w.name) or u.priority != v.priority or w.priority < v.priority or pair in told:
                    continue
                if _in_conflict(u, v) or _in_conflict(u, w) or _exclusive(u, v, known):
                    continue
                told.add(pair)
                yield u.name, v.name, w.name


def _by_place(all_: Mapping[str, Immediate], kinds: tuple[ArcKind, ...]) -> dict[str, list[Immediate]]:
    found: dict[str, list[Immediate]] = {}
    for t in all_.values():
        for place in dict.fromkeys(a.place for a in t.arcs if a.kind in kinds):
            found.setdefault(place, []).append(t)
    return found


def _rivals(
    v: Immediate, all_: Mapping[str, Immediate], takes: Mapping[str, list[Immediate]], reads: Mapping[str, list[Immediate]]
) -> list[Immediate]:
    """The immediates that can take from v what it needs, or lose to it what they need."""
    needed = [a.place for a in v.arcs if a.kind in NEEDS]
    taken = [a.place for a in v.arcs if a.kind is ArcKind.INPUT]
    names = [w.name for p in needed for w in takes.get(p, ())] + [w.name for p in taken for w in reads.get(p, ())]
    return [all_[name] for name in dict.fromkeys(names) if name != v.name]


def _feeders(w: Immediate, all_: Mapping[str, Immediate], gives: Mapping[str, list[Immediate]]) -> list[Immediate]:
    """The immediates that put tokens where w needs them."""
    names = dict.fromkeys(u.name for a in w.arcs if a.kind in NEEDS for u in gives.get(a.place, ()))
    return [all_[name] for name in names]


def _in_conflict(u: Transition, v: Transition) -> bool:
    """Whether one takes what the other needs."""
    return bool(_places(u, (ArcKind.INPUT,)) & _places(v, NEEDS) or _places(v, (ArcKind.INPUT,)) & _places(u, NEEDS))


def _places(t: Transition, kinds: tuple[ArcKind, ...]) -> set[str]:
    return {a.place for a in t.arcs if a.kind in kinds}


def _exclusive(u: Transition, v: Transition, known: Bounds) -> bool:
    """Whether both can be shown not to be enabled at once: an inhibitor, or a flow with too few tokens for both."""
    needs = [_needed(u), _needed(v)]
    for t, other in ((u, needs[1]), (v, needs[0])):
        if any((limit := allowed(t, place)) is not None and k > limit for place, k in other.items()):
            return True
    both = {p: max(needs[0].get(p, 0), needs[1].get(p, 0)) for p in {*needs[0], *needs[1]}}
    return any(sum(flow.weights.get(p, 0) * k for p, k in both.items()) > flow.total for flow in known.flows)


def _needed(t: Transition) -> dict[str, int]:
    need = _inputs(t)
    for a in t.arcs:
        k = constant(a)
        if a.kind is ArcKind.TEST and k is not None:
            need[a.place] = max(need.get(a.place, 0), k)
    return need


def _ties(net: Net) -> Iterator[Diagnostic]:
    """Constants of equal length that race for one token: every time a tie, settled by weights that nobody gave."""
    racing: dict[str, list[Timed]] = {}
    for t in timed(net):
        if isinstance(t.law, Deterministic) and t.transfer is None and t.speed == ONE and t.scale == ONE:
            for place in sorted(_places(t, (ArcKind.INPUT,))):
                racing.setdefault(place, []).append(t)
    told: set[frozenset[str]] = set()
    for place, rivals in racing.items():
        first: dict[object, Timed] = {}
        for t in rivals:
            other = first.setdefault((t.law, t.priority, t.weight), t)
            pair = frozenset((other.name, t.name))
            if other is not t and t.weight == ONE and pair not in told:
                told.add(pair)
                yield _warning(
                    "W0306",
                    f"{other.name} and {t.name} race for {place} and end at the same instant: chance decides, 1 : 1",
                    t.span,
                    "say how ties end: a `priority`, or a `weight` for each",
                )
