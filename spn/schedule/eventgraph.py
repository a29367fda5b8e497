"""Timed event graphs: nets in which every place has one transition before and one after it, so that nothing competes for tokens.

The n-th completion of a transition u is the latest of what its input places wait for, plus its delay: with m tokens in a place from t to u,
x_u(n) >= x_t(n - m) + d_u, and k servers are a place from u to u with k tokens. These are linear equations over (max, +); in a strongly
connected part the mean time between completions is the largest ratio of delays to tokens over its cycles, and a part fed by slower ones
goes at their pace.

Source: F. Baccelli, G. Cohen, G. J. Olsder and J.-P. Quadrat, Synchronization and Linearity (Wiley, 1992), chapters 2 and 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from spn.errors import Diagnostic
from spn.expr.nodes import ONE, Number, exact
from spn.net.model import INFINITE, Arc, ArcKind, Immediate, Net, Timed, Transition
from spn.reach.components import members, strong_components
from spn.schedule.howard import Cycle, Edge, maximum_cycle_ratio, tokenless_cycle
from spn.source import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """Of each transition (by index) the mean time between completions: None where it stops for good. ``slowest``: of each transition the
    critical cycle that sets its pace, None where nothing limits it or it stops; ``stopped``: a cycle without tokens or a place that nothing
    fills, which stops it."""

    between: tuple[Fraction | None, ...]
    slowest: tuple[Cycle | None, ...]
    stopped: tuple[str, ...]


def obstacles(net: Net) -> Iterator[Diagnostic]:
    """Why a net is no event graph with constant delays, each with its place in the text."""
    for t in net.transitions:
        yield from (_refusal(what, span or t.span) for what, span in _odd(t))
    for p in net.places:
        if p.capacity is not None:
            yield _refusal(f"place {p.name} has a capacity", p.span)
    for kind, role in ((ArcKind.OUTPUT, "put tokens into"), (ArcKind.INPUT, "take tokens from")):
        users: dict[str, dict[str, None]] = {}
        for t in net.transitions:
            for a in t.arcs:
                if a.kind is kind:
                    users.setdefault(a.place, {})[t.name] = None
        spans = {p.name: p.span for p in net.places}
        for place, names in users.items():
            if len(names) > 1:
                yield _refusal(f"{', '.join(list(names)[:4])} all {role} {place}", spans[place])


def _refusal(what: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="E0673",
        message=f"no timed event graph: {what}",
        span=span,
        help="use --method schedule, which takes every net of constant delays, or simulate",
    )


def _odd(t: Transition) -> Iterator[tuple[str, Span | None]]:
    if t.guard is not None:
        yield f"{t.name} has a guard", getattr(t.guard, "span", None)
    if t.resets:
        yield f"{t.name} resets clocks", t.span
    for a in t.arcs:
        if a.kind not in (ArcKind.INPUT, ArcKind.OUTPUT):
            yield f"{t.name} has {'an' if a.kind is ArcKind.INHIBITOR else 'a'} {a.kind} arc", a.span
        elif a.multiplicity != ONE:
            yield f"an arc of {t.name} moves other than one token", a.span
    for kind in (ArcKind.INPUT, ArcKind.OUTPUT):
        places = [a.place for a in t.arcs if a.kind is kind]
        if len(set(places)) < len(places):
            yield f"{t.name} has two {kind} arcs at one place", t.span
    if isinstance(t, Timed):
        yield from _odd_clock(t)
    elif not t.arcs or not any(a.kind is ArcKind.INPUT for a in t.arcs):
        yield f"{t.name}, an immediate transition, has no input", t.span


def _odd_clock(t: Timed) -> Iterator[tuple[str, Span | None]]:
    if delay(t) is None:
        constants = t.law.family == "det"
        yield (f"the pace of {t.name} depends on the marking" if constants else f"the delay of {t.name} is {t.law.describe()}"), t.law_span
    if t.transfer is not None:
        yield f"{t.name} shares a link", t.transfer.span


def delay(t: Transition) -> Fraction | None:
    """The constant delay of a transition, 0 of an immediate one; None where it is none."""
    if isinstance(t, Immediate):
        return Fraction(0)
    atoms = t.law.atoms()
    if atoms is None or len(atoms) > 1 or not isinstance(t.speed, Number) or not isinstance(t.scale, Number) or not t.speed.value > 0:
        return None
    found, pace = exact(atoms[0][0]), exact(t.speed.value)
    scale = exact(t.scale.value)
    if not (isinstance(found, Fraction) and isinstance(pace, Fraction) and isinstance(scale, Fraction)):
        return None
    return found * scale / pace


def edges_of(net: Net) -> tuple[list[Edge], dict[int, str]]:
    """The edges, and the transitions that stop because one of their input places is never filled."""
    before, after = _ends(net.transitions, ArcKind.OUTPUT), _ends(net.transitions, ArcKind.INPUT)
    found, starved = [], {}
    for p in net.places:
        if p.name in after:
            if p.name not in before:
                starved[after[p.name]] = f"nothing puts tokens into {p.name}"
            else:
                u = after[p.name]
                found.append(Edge(before[p.name], u, delay(net.transitions[u]) or Fraction(0), p.initial, p.name))
    for k, t in enumerate(net.transitions):
        if isinstance(t, Timed):
            inputs = any(a.kind is ArcKind.INPUT for a in t.arcs)
            servers = t.servers if t.servers != INFINITE else 0 if inputs else 1  # without inputs its degree is 1
            if servers:
                found.append(Edge(k, k, delay(t) or Fraction(0), servers if inputs else 1, f"servers of {t.name}"))
    return found, starved


def _ends(transitions: tuple[Transition, ...], kind: ArcKind) -> dict[str, int]:
    return {a.place: k for k, t in enumerate(transitions) for a in t.arcs if _joins(a, kind)}


def _joins(a: Arc, kind: ArcKind) -> bool:
    return a.kind is kind


def rhythm(net: Net) -> Rhythm:
    """The pace of every transition of an event graph (:func:`obstacles` is empty)."""
    edges, starved = edges_of(net)
    n = len(net.transitions)
    ordered = sorted(edges, key=lambda e: e.tail)
    indptr = np.searchsorted([e.tail for e in ordered], np.arange(n + 1)).astype(np.int64)
    count, label = strong_components(indptr, np.array([e.head for e in ordered], dtype=np.int64))
    groups = [g.tolist() for g in members(count, label)]
    pace: list[Fraction | None] = [Fraction(0)] * n
    slowest: list[Cycle | None] = [None] * n
    stopped = [""] * n
    for c in _upstream_first(count, label, edges):
        _paced(groups[c], c, label, edges, starved, net, pace, slowest, stopped)
    return Rhythm(between=tuple(pace), slowest=tuple(slowest), stopped=tuple(stopped))


def _upstream_first(count: int, label: np.ndarray[tuple[int], np.dtype[np.int64]], edges: list[Edge]) -> list[int]:
    into: dict[int, set[int]] = {c: set() for c in range(count)}
    for e in edges:
        if label[e.tail] != label[e.head]:
            into[int(label[e.head])].add(int(label[e.tail]))
    from graphlib import TopologicalSorter

    return list(TopologicalSorter(into).static_order())


def _paced(
    group: list[int],
    c: int,
    label: np.ndarray[tuple[int], np.dtype[np.int64]],
    edges: list[Edge],
    starved: dict[int, str],
    net: Net,
    pace: list[Fraction | None],
    slowest: list[Cycle | None],
    stopped: list[str],
) -> None:
    """The pace of one strongly connected part: its own, or that of the slowest part before it."""
    inside = [e for e in edges if label[e.tail] == c and label[e.head] == c]
    feeding = [e.tail for e in edges if label[e.head] == c and label[e.tail] != c]
    number = {v: k for k, v in enumerate(group)}
    local = [Edge(number[e.tail], number[e.head], e.weight, e.tokens, e.label) for e in inside]
    why = next((starved[v] for v in group if v in starved), "") or next((stopped[t] for t in feeding if stopped[t]), "")
    empty = tokenless_cycle(len(group), local)
    if empty:
        why = why or f"the cycle {', '.join(e.label for e in empty)} holds no token"
    own = maximum_cycle_ratio(len(group), local) if local and not why else None
    if own is not None:
        own = Cycle(own.ratio, tuple(Edge(group[e.tail], group[e.head], e.weight, e.tokens, e.label) for e in own.edges))
    candidates = [(pace[t] or Fraction(0), slowest[t]) for t in feeding] + ([(own.ratio, own)] if own else [])
    best = max(candidates, key=lambda x: x[0], default=(Fraction(0), None))
    for v in group:
        stopped[v] = why
        pace[v], slowest[v] = (None, None) if why else best
