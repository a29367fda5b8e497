"""What must hold of every net, whoever made it: names, counts and constant quantities."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

from spn.errors import Diagnostic, nearest
from spn.expr.nodes import Exact, Node, Number, places_of
from spn.net.model import INFINITE, Arc, Link, Net, Place, Timed, Transition
from spn.source import Span


def check(net: Net) -> list[Diagnostic]:
    """All that is wrong with a net and can be seen without visiting a marking; empty for a good one.

    Names are unique per kind (a place and a transition may share one); every name used is declared; initial markings are whole, not
    negative and within capacity; no constant multiplicity, rate, weight or speed is 0, negative, infinite or nan.
    """
    places = {p.name for p in net.places}
    links = {link.name for link in net.links}
    transitions = {t.name for t in net.transitions}
    found = [*_duplicates("place", net.places), *_duplicates("link", net.links), *_duplicates("transition", net.transitions)]
    for place in net.places:
        found.extend(_place(place))
    for link in net.links:
        if not 0 < link.capacity < math.inf:
            found.append(_error("E0404", f"the capacity of link {link.name} is {_shown(link.capacity)}; it must be positive", link.span))
    for t in net.transitions:
        found.extend(_transition(t, places, links, transitions))
    return found


def _error(code: str, message: str, span: Span | None, help: str = "") -> Diagnostic:
    return Diagnostic(code=code, message=message, span=span, help=help)


def _shown(value: Exact) -> str:
    return f"{float(value):g}"


def _duplicates(kind: str, items: Iterable[Place | Link | Transition]) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for item in items:
        if item.name in seen:
            yield _error("E0202", f"{kind} {item.name} is declared twice", item.span, "give one of them another name")
        seen.add(item.name)


def _place(place: Place) -> Iterator[Diagnostic]:
    if place.initial < 0:
        yield _error("E0402", f"place {place.name} starts with {place.initial} tokens; a count is never negative", place.span)
    if place.capacity is not None and place.initial > place.capacity:
        yield _error("E0403", f"place {place.name} starts with {place.initial} tokens, above its capacity {place.capacity}", place.span)


def _unknown(kind: str, name: str, user: str, known: set[str], span: Span | None) -> Diagnostic:
    near = nearest(name, known)
    return _error(
        "E0201",
        f"{user} uses the {kind} {name}, which is not declared",
        span,
        f"did you mean {near}?" if near else f"declare {kind} {name}",
    )


def _transition(t: Transition, places: set[str], links: set[str], transitions: set[str]) -> Iterator[Diagnostic]:
    for arc in t.arcs:
        if arc.place not in places:
            yield _unknown("place", arc.place, f"an arc of {t.name}", places, arc.span or t.span)
        yield from _arc(t, arc)
    for name in t.resets:
        if name not in transitions:
            yield _unknown("transition", name, f"`resets` of {t.name}", transitions, t.span)
    for what, node, test in _quantities(t):
        for place in sorted(places_of(node) - places):
            yield _unknown("place", place, f"the {what} of {t.name}", places, getattr(node, "span", None) or t.span)
        if isinstance(node, Number) and not test(node.value):
            yield _error("E0404", f"the {what} of {t.name} is {_shown(node.value)}; it must be positive and finite", node.span or t.span)
    if t.priority < 1:
        yield _error("E0405", f"the priority of {t.name} is {t.priority}; the lowest is 1", t.span)
    if isinstance(t, Timed):
        yield from _timed(t, links)


def _arc(t: Transition, arc: Arc) -> Iterator[Diagnostic]:
    node = arc.multiplicity
    if isinstance(node, Number) and not (0 < node.value < math.inf and node.value == int(node.value)):
        message = f"the multiplicity of the {arc.kind} arc between {arc.place} and {t.name} is {_shown(node.value)}"
        yield _error("E0404", message, node.span or arc.span or t.span, "a constant multiplicity is a whole number of at least 1")


def _positive(value: Exact) -> bool:
    return 0 < value < math.inf


def _anything(value: Exact) -> bool:
    return True


def _quantities(t: Transition) -> Iterator[tuple[str, Node, Callable[[Exact], bool]]]:
    yield "weight", t.weight, _positive
    if t.guard is not None:
        yield "guard", t.guard, _anything
    for arc in t.arcs:
        if not isinstance(arc.multiplicity, Number):
            yield f"multiplicity of the {arc.kind} arc at {arc.place}", arc.multiplicity, _anything
    if isinstance(t, Timed):
        yield "speed (or rate)", t.speed, _positive
        yield "scale", t.scale, _positive
        if t.transfer is not None:
            yield "share", t.transfer.share, _positive


def _timed(t: Timed, links: set[str]) -> Iterator[Diagnostic]:
    if t.servers != INFINITE and t.servers < 1:
        yield _error("E0406", f"{t.name} has {t.servers} servers; it needs at least 1", t.span)
    if t.transfer is None:
        return
    if not t.transfer.links:
        yield _error("E0407", f"the transfer of {t.name} names no link", t.transfer.span or t.span)
    for name in t.transfer.links:
        if name not in links:
            yield _unknown("link", name, f"the transfer of {t.name}", links, t.transfer.span or t.span)
    if len(set(t.transfer.links)) < len(t.transfer.links):
        yield _error("E0407", f"the transfer of {t.name} names a link twice", t.transfer.span or t.span)
    if t.transfer.cap is not None and not _positive(t.transfer.cap):
        yield _error("E0404", f"the cap of {t.name} is {_shown(t.transfer.cap)}; it must be positive", t.transfer.span or t.span)
    if not 0 <= t.transfer.latency < math.inf:
        yield _error(
            "E0404", f"the latency of {t.name} is {_shown(t.transfer.latency)}; it must not be negative", t.transfer.span or t.span
        )
