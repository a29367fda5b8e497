"""What a net means: enabling, firing, choice and speed, in plain Python.

This is the one executable definition. The compiled kernels, the state space and the simulator are compared with it; every
message about a marking that means nothing (a negative rate, weights that sum to 0) is written here.

The order of evaluation is part of the definition, because an expression may be undefined where an earlier condition is false:
guard, inputs, tests, inhibitors, then outputs into places of finite capacity; the first that fails disables the transition and
the rest is not read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from spn.errors import SemanticsError, SpnError, refuse
from spn.expr.evaluate import Undefined, arithmetic
from spn.expr.nodes import Atom, Exact, Node, Number, Tokens
from spn.net.model import INFINITE, Arc, ArcKind, Immediate, Marking, Net, Timed, Transition, place_index
from spn.source import Span

NEARLY_FULL = 1e-12  # relative slack at which a link counts as full while rates rise together


@dataclass(frozen=True, slots=True)
class PlaceArcs:
    """All arcs of one kind between a transition and one place; ``constant`` is their combined multiplicity if it is one."""

    place: int
    arcs: tuple[Arc, ...]
    constant: int | None


@dataclass(frozen=True, slots=True)
class TransitionRules:
    transition: Transition
    inputs: tuple[PlaceArcs, ...]
    tests: tuple[PlaceArcs, ...]
    inhibitors: tuple[PlaceArcs, ...]
    flushes: tuple[int, ...]
    outputs: tuple[PlaceArcs, ...]
    bounded: bool  # some output place has a finite capacity


@dataclass(frozen=True, slots=True)
class Rules:
    """A net with names resolved to indices: ``transitions[i]`` belongs to ``net.transitions[i]``."""

    net: Net
    places: Mapping[str, int]
    capacities: tuple[int | None, ...]
    transitions: tuple[TransitionRules, ...]
    timed: tuple[int, ...]
    immediates: tuple[int, ...]  # highest priority first
    links: Mapping[str, float]


def rules(net: Net) -> Rules:
    """Prepare a net. Names are taken as checked (by the language or the builder); an unknown one is a KeyError."""
    places = place_index(net)
    capacities = tuple(p.capacity for p in net.places)
    prepared = tuple(_prepare(t, places, capacities) for t in net.transitions)
    order = [i for i, t in enumerate(net.transitions) if isinstance(t, Immediate)]
    return Rules(
        net=net,
        places=places,
        capacities=capacities,
        transitions=prepared,
        timed=tuple(i for i, t in enumerate(net.transitions) if isinstance(t, Timed)),
        immediates=tuple(sorted(order, key=lambda i: -net.transitions[i].priority)),
        links={link.name: float(link.capacity) for link in net.links},
    )


def _prepare(t: Transition, places: Mapping[str, int], capacities: tuple[int | None, ...]) -> TransitionRules:
    groups = {kind: _grouped(t.arcs, kind, places) for kind in ArcKind}
    outputs = groups[ArcKind.OUTPUT]
    return TransitionRules(
        transition=t,
        inputs=groups[ArcKind.INPUT],
        tests=groups[ArcKind.TEST],
        inhibitors=groups[ArcKind.INHIBITOR],
        flushes=tuple(g.place for g in groups[ArcKind.FLUSH]),
        outputs=outputs,
        bounded=any(capacities[g.place] is not None for g in outputs),
    )


def _grouped(arcs: tuple[Arc, ...], kind: ArcKind, places: Mapping[str, int]) -> tuple[PlaceArcs, ...]:
    by_place: dict[int, list[Arc]] = {}
    for arc in arcs:
        if arc.kind is kind:
            by_place.setdefault(places[arc.place], []).append(arc)
    return tuple(PlaceArcs(p, tuple(group), _constant(kind, group)) for p, group in by_place.items())


def _constant(kind: ArcKind, group: list[Arc]) -> int | None:
    values = [a.multiplicity.value for a in group if isinstance(a.multiplicity, Number)]
    if len(values) < len(group) or not all(0 <= v < math.inf and v == int(v) for v in values):
        return None  # read in each marking, where a wrong one is reported
    return _combine(kind, [int(v) for v in values])


def _combine(kind: ArcKind, multiplicities: Iterable[int]) -> int:
    """Several arcs of one kind at one place: inputs and outputs add, tests take the largest, inhibitors the smallest present."""
    present = [k for k in multiplicities if k > 0]
    match kind:
        case ArcKind.TEST:
            return max(present, default=0)
        case ArcKind.INHIBITOR:
            return min(present, default=0)
        case _:
            return sum(present)


# --- markings ---------------------------------------------------------------------------------------------------------------


def marking_text(net: Net, m: Marking) -> str:
    """The non-empty places of a marking, ``idle=3, busy=1``; ``(empty)`` where there are none."""
    return ", ".join(f"{p.name}={k}" for p, k in zip(net.places, m, strict=True) if k) or "(empty)"


def value(r: Rules, node: Node, m: Marking) -> Exact:
    """A marking expression in a marking; :class:`spn.expr.evaluate.Undefined` where it has no value."""
    if isinstance(node, Number):
        return node.value

    def leaf(n: Node) -> Exact:
        if isinstance(n, Tokens):
            return Fraction(m[r.places[n.place]])
        assert isinstance(n, Atom)
        raise TypeError("a measure is no marking expression")

    return arithmetic(node, leaf)


def _wrong(r: Rules, t: Transition, m: Marking, what: str, problem: str, span: Span | None) -> SpnError:
    return refuse(
        SemanticsError,
        "E0501",
        f"{what} of {t.name} is {problem} in marking {marking_text(r.net, m)}",
        span=span or t.span,
        help="change the expression, or add a guard (`when`) that excludes this marking",
    )


def _checked(r: Rules, t: Transition, node: Node, m: Marking, what: str) -> Exact:
    """A quantity that must be finite and not negative."""
    if isinstance(node, Number) and isinstance(node.value, Fraction) and node.value >= 0:
        return node.value
    span = getattr(node, "span", None)
    try:
        v = value(r, node, m)
    except Undefined as error:
        raise _wrong(r, t, m, what, f"undefined ({error})", span) from None
    if not v >= 0 or v == math.inf:
        raise _wrong(r, t, m, what, f"{float(v):g}", span)
    return v


# --- enabling and firing ----------------------------------------------------------------------------------------------------


def _multiplicity(r: Rules, t: Transition, kind: ArcKind, group: PlaceArcs, m: Marking) -> int:
    """The combined multiplicity of a group of arcs, read in ``m``; 0 means no arc."""
    if group.constant is not None:
        return group.constant
    return _combine(kind, [_whole(r, t, arc, m) for arc in group.arcs])


def _whole(r: Rules, t: Transition, arc: Arc, m: Marking) -> int:
    what = f"multiplicity of the {arc.kind} arc between {arc.place} and transition"
    v = _checked(r, t, arc.multiplicity, m, what)
    if v != int(v):
        raise _wrong(r, t, m, what, f"{float(v):g}, not a whole number,", arc.span)
    return int(v)


def _guarded(r: Rules, t: Transition, m: Marking) -> bool:
    if t.guard is None:
        return True
    try:
        return value(r, t.guard, m) != 0
    except Undefined as error:
        raise _wrong(r, t, m, "guard", f"undefined ({error})", getattr(t.guard, "span", None)) from None


def enabling_degree(r: Rules, t: int, m: Marking) -> int:
    """How often a transition is enabled: 0 where disabled, else the largest k with k times every input multiplicity present, 1 where
    no input limits it."""
    tr = r.transitions[t]
    transition = tr.transition
    if not _guarded(r, transition, m):
        return 0
    degree = _input_degree(r, tr, m)
    if degree == 0 or not _tests_hold(r, tr, m) or _inhibited(r, tr, m):
        return 0
    if tr.bounded and not _fits(r, t, m):
        return 0
    return 1 if degree is None else degree


def _input_degree(r: Rules, tr: TransitionRules, m: Marking) -> int | None:
    """The largest k that the inputs allow, None where no input arc is present."""
    degree: int | None = None
    for group in tr.inputs:
        a = _multiplicity(r, tr.transition, ArcKind.INPUT, group, m)
        if a > 0:
            k = m[group.place] // a
            if k == 0:
                return 0
            degree = k if degree is None else min(degree, k)
    return degree


def _tests_hold(r: Rules, tr: TransitionRules, m: Marking) -> bool:
    return all(m[g.place] >= _multiplicity(r, tr.transition, ArcKind.TEST, g, m) for g in tr.tests)


def _inhibited(r: Rules, tr: TransitionRules, m: Marking) -> bool:
    for g in tr.inhibitors:
        h = _multiplicity(r, tr.transition, ArcKind.INHIBITOR, g, m)
        if h > 0 and m[g.place] >= h:
            return True
    return False


def _fits(r: Rules, t: int, m: Marking) -> bool:
    after = fire(r, t, m)
    for g in r.transitions[t].outputs:
        capacity = r.capacities[g.place]
        if capacity is not None and after[g.place] > capacity:
            return False
    return True


def fire(r: Rules, t: int, m: Marking) -> Marking:
    """The marking after one firing of an enabled transition. All multiplicities are read in ``m``; all removals come first."""
    tr = r.transitions[t]
    new = list(m)
    for g in tr.inputs:
        new[g.place] -= _multiplicity(r, tr.transition, ArcKind.INPUT, g, m)
    for p in tr.flushes:
        new[p] = 0
    for g in tr.outputs:
        new[g.place] += _multiplicity(r, tr.transition, ArcKind.OUTPUT, g, m)
    return tuple(new)


def running_clocks(r: Rules, t: int, m: Marking) -> int:
    """Clocks of a timed transition that run in a tangible marking: min(servers, enabling degree)."""
    degree = enabling_degree(r, t, m)
    transition = r.transitions[t].transition
    assert isinstance(transition, Timed)
    return degree if transition.servers == INFINITE else min(degree, transition.servers)


# --- immediate transitions --------------------------------------------------------------------------------------------------


def is_vanishing(r: Rules, m: Marking) -> bool:
    return any(enabling_degree(r, t, m) > 0 for t in r.immediates)


def enabled_immediates(r: Rules, m: Marking) -> list[tuple[int, Exact]]:
    """The immediate transitions that may fire, ``(index, weight)`` in the order of the net: those of the highest priority enabled
    whose weight is positive. Empty in a tangible marking; an error where all weights are 0."""
    priority: int | None = None
    enabled: list[int] = []
    for t in r.immediates:
        rank = r.transitions[t].transition.priority
        if priority is not None and rank < priority:
            break
        if enabling_degree(r, t, m) > 0:
            priority = rank
            enabled.append(t)
    return positive_weights(r, sorted(enabled), m)


def positive_weights(r: Rules, candidates: list[int], m: Marking) -> list[tuple[int, Exact]]:
    """Candidates of one choice with their positive weights; an error where there are candidates and all weigh 0."""
    weighted = [(t, tie_weight(r, t, m)) for t in candidates]
    chosen = [(t, w) for t, w in weighted if w > 0]
    if candidates and not chosen:
        names = ", ".join(r.transitions[t].transition.name for t in candidates)
        transition = r.transitions[candidates[0]].transition
        raise refuse(
            SemanticsError,
            "E0502",
            f"the weights of {names} sum to 0 in marking {marking_text(r.net, m)}",
            span=getattr(transition.weight, "span", None) or transition.span,
            help="give at least one of them a positive weight there, or guard them",
        )
    return chosen


def tie_weight(r: Rules, t: int, m: Marking) -> Exact:
    transition = r.transitions[t].transition
    return _checked(r, transition, transition.weight, m, "weight")


# --- time -------------------------------------------------------------------------------------------------------------------


def _timed(r: Rules, t: int) -> Timed:
    transition = r.transitions[t].transition
    assert isinstance(transition, Timed)
    return transition


def speed(r: Rules, t: int, m: Marking) -> Exact:
    """The speed of each running clock of a timed transition, without the links' share."""
    transition = _timed(r, t)
    return _checked(r, transition, transition.speed, m, "speed (or rate)")


def scale(r: Rules, t: int, m: Marking) -> Exact:
    """The factor on work drawn in this marking."""
    transition = _timed(r, t)
    return _checked(r, transition, transition.scale, m, "scale")


def clock_rates(r: Rules, m: Marking) -> dict[int, float]:
    """For every timed transition enabled in a tangible marking, the rate at which each of its running clocks works: speed, times for
    a transfer the rate its links give when all running clocks of all transitions are on their links. Frozen clocks (speed 0) are
    listed with 0 and take no share."""
    running = {t: n for t in r.timed if (n := running_clocks(r, t, m)) > 0}
    speeds = {t: float(speed(r, t, m)) for t in running}
    moving = {t: running[t] for t, v in speeds.items() if v > 0 and _timed(r, t).transfer is not None}
    shares = link_rates(r, m, moving) if moving else {}
    return {t: v * shares.get(t, 1.0) for t, v in speeds.items()}


def is_dead(r: Rules, m: Marking) -> bool:
    """No transition at all is enabled."""
    return all(enabling_degree(r, t, m) == 0 for t in range(len(r.transitions)))


def link_rates(r: Rules, m: Marking, transfers: Mapping[int, int]) -> dict[int, float]:
    """Weighted max-min fair rates, bytes/s of ONE transfer of each transition; ``transfers`` counts those on the links.

    All rates rise in proportion to their shares; a transfer stops at its cap or where one of its links is full (progressive
    filling: Bertsekas and Gallager, Data Networks, 2nd ed., section 6.5.2)."""
    weight = {t: float(share(r, t, m)) for t, n in transfers.items() if n > 0}
    rate = {t: 0.0 for t in weight if weight[t] == 0}
    rising = [t for t in weight if weight[t] > 0]
    while rising:
        limits = _limits(r, transfers, weight, rate, rising)
        level = min(limits.values())
        stopped = [t for t in rising if limits[t] <= level * (1 + NEARLY_FULL)]
        for t in stopped:
            rate[t] = min(level * weight[t], _cap(r, t))
        rising = [t for t in rising if t not in stopped]
    return rate


def share(r: Rules, t: int, m: Marking) -> Exact:
    """The weight of one transfer of a transition on its links."""
    transfer = _timed(r, t).transfer
    assert transfer is not None
    return _checked(r, _timed(r, t), transfer.share, m, "share")


def _cap(r: Rules, t: int) -> float:
    transfer = _timed(r, t).transfer
    return math.inf if transfer is None or transfer.cap is None else float(transfer.cap)


def _limits(
    r: Rules, transfers: Mapping[int, int], weight: Mapping[int, float], rate: Mapping[int, float], rising: list[int]
) -> dict[int, float]:
    """The common level (rate per share) at which each rising transfer must stop, if all still rising go on to it."""
    level = {name: _full_at(r, name, transfers, weight, rate, rising) for name in r.links}
    return {t: min([_cap(r, t) / weight[t], *(level[name] for name in _links(r, t))]) for t in rising}


def _full_at(
    r: Rules, link: str, transfers: Mapping[int, int], weight: Mapping[int, float], rate: Mapping[int, float], rising: list[int]
) -> float:
    used = sum(transfers[t] * v for t, v in rate.items() if link in _links(r, t))
    demand = sum(transfers[t] * weight[t] for t in rising if link in _links(r, t))
    return max(0.0, r.links[link] - used) / demand if demand else math.inf


def _links(r: Rules, t: int) -> tuple[str, ...]:
    transfer = _timed(r, t).transfer
    assert transfer is not None
    return transfer.links
