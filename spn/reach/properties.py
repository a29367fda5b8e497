"""Claims about all reachable markings, decided on the reachability graph, with a shortest firing sequence where one fails.

Markings are those of the net as it fires, vanishing ones included. The graph lets every running clock expire next. That is what the net
does where clocks may take any time; where several clocks of bounded time run at once (two constants, say) some of the markings may
never be met: then a claim about every marking that holds in the graph holds, and all else is left undecided.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from spn.dist.exponential import Exponential
from spn.dist.law import Law
from spn.errors import AnalysisError, SpnError
from spn.expr.evaluate import Undefined, fold
from spn.expr.linear import added, linear, scaled
from spn.expr.nodes import Binary, BinaryOp, Node, Number, as_node, constant
from spn.model import Property
from spn.net import semantics
from spn.net.model import Marking, Memory, Net, Timed, Transition, initial_marking, timed
from spn.net.semantics import Rules
from spn.reach import batch as many
from spn.reach.components import closed, strong_components
from spn.reach.explore import expression_values
from spn.reach.graph import explore_graph
from spn.reach.growth import SHOWN, path_to
from spn.reach.space import Bools, Graph, Ints, Limits
from spn.reach.vanishing import ranges
from spn.structural.bounds import place_bounds
from spn.structural.incidence import incidence
from spn.structural.liveness import commoner, inapplicable
from spn.structural.proof import prove, unchanged
from spn.structural.semiflows import Limits as SearchLimits
from spn.structural.siphons import minimal_siphons

UNBOUNDED = ("E0600", "E0601")
LARGE = 200_000  # arcs from which a kernel is worth its loading
MARKS = 200_000_000  # states times transitions up to which the nearest marking that shows a net not to be live is sought
SEARCHED = 5_000  # markings looked at for a counterexample where the graph cannot be built
SEARCH = SearchLimits(most=200, seconds=0.5)  # for siphons
ENDLESS = frozenset({"exp", "erlang", "gamma", "hyperexp", "hypoexp", "coxian", "ph", "weibull", "lognormal", "normal"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """``holds`` is None where it is not decided; ``firings`` lead from the initial marking to ``marking``, which shows why it fails."""

    holds: bool | None
    reason: str = ""
    firings: tuple[str, ...] = ()
    marking: Marking | None = None


def decide(net: Net, properties: Sequence[Property], limits: Limits) -> tuple[Verdict, ...]:
    """The verdict on every property, in order."""
    found = [_by_structure(net, p) for p in properties]
    if all(v is not None for v in found):
        return tuple(v for v in found if v is not None)
    try:
        claims = _Claims(net, limits)
    except SpnError as error:
        return tuple(v or _without_graph(net, p, error) for v, p in zip(found, properties, strict=True))
    return tuple(v or claims.verdict(p) for v, p in zip(found, properties, strict=True))


def untimed(net: Net) -> Net:
    """The same net with exponential clocks: every enabled transition whose clocks run may fire next. Links are left out where every
    transfer gets some of them in every marking."""

    def exponential(t: Transition) -> Transition:
        if not isinstance(t, Timed):
            return t
        share = None if t.transfer is None else constant(fold(t.transfer.share))
        transfer = None if share is not None and 0 < share < math.inf else t.transfer
        return replace(t, law=Exponential(rate=1.0), scale=as_node(1), memory=Memory.RESTART, resets=(), transfer=transfer)

    return replace(net, transitions=tuple(exponential(t) for t in net.transitions))


def takes_any_time(law: Law) -> bool:
    """Whether the law may be as short and as long as you like."""
    parts = law.components()
    if parts is None:
        return law.family in ENDLESS
    return any(takes_any_time(part) and shift == 0 and p > 0 for p, _, shift, part in parts)


def time_limited(net: Net, r: Rules, graph: Graph) -> str:
    """The transitions because of whose times some markings of the graph may never be met; empty where there are none. ``r`` are the rules
    of the net without its times."""
    bounded = [i for i, t in enumerate(net.transitions) if isinstance(t, Timed) and is_bounded(t)]
    if not bounded:
        return ""
    b = many.batch(r)
    tangible = graph.markings[~graph.vanishing]
    running = np.sum([many.running(b, i, tangible) for i in bounded], axis=0)
    if running.max(initial=0) <= 1:
        return ""
    names = [net.transitions[i].name for i in bounded]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


# --- without the graph ------------------------------------------------------------------------------------------------------------


def _without_graph(net: Net, p: Property, error: SpnError) -> Verdict:
    first = error.diagnostics[0]
    if p.claim == "bounded" and first.code in UNBOUNDED:
        return Verdict(holds=False, reason="; ".join((first.message, *first.notes)))
    if p.claim in ("always", "invariant"):
        shown = _searched(net, _condition(p))
        if shown is not None:
            return shown
    if not isinstance(error, AnalysisError):
        raise error
    return Verdict(holds=None, reason=first.message)


def _searched(net: Net, condition: Node) -> Verdict | None:
    """A marking that violates the condition among the first few, breadth first."""
    if any(not takes_any_time(t.law) for t in timed(net)):
        return None
    r = semantics.rules(untimed(net))
    first = initial_marking(net)
    found: dict[Marking, tuple[Marking, int] | None] = {first: None}
    waiting = deque([first])
    while waiting and len(found) < SEARCHED:
        m = waiting.popleft()
        try:
            if semantics.value(r, condition, m) == 0:
                return Verdict(holds=False, reason="violated", firings=_way(net, found, m), marking=m)
            steps = list(_steps(r, m))
        except (SpnError, Undefined):
            return None
        for t, after in steps:
            if after not in found:
                found[after] = (m, t)
                waiting.append(after)
    return None


def _steps(r: Rules, m: Marking) -> Iterator[tuple[int, Marking]]:
    chosen = semantics.enabled_immediates(r, m)
    able = [t for t, _ in chosen] or [t for t in r.timed if semantics.enabling_degree(r, t, m) > 0 and semantics.speed(r, t, m) > 0]
    return ((t, semantics.fire(r, t, m)) for t in able)


def _way(net: Net, found: dict[Marking, tuple[Marking, int] | None], m: Marking) -> tuple[str, ...]:
    names: list[str] = []
    while (step := found[m]) is not None:
        m, t = step
        names.append(net.transitions[t].name)
    return tuple(reversed(names))


def _condition(p: Property) -> Node:
    return Binary(BinaryOp.EQ, *p.conditions) if p.claim == "invariant" else p.conditions[0]


# --- by the structure -------------------------------------------------------------------------------------------------------------


def _by_structure(net: Net, p: Property) -> Verdict | None:
    """What the structure proves, so that no state space is needed (nor finite); None where it proves nothing."""
    match p.claim:
        case "invariant":
            return _kept(net, p) or _always_by_structure(net, _condition(p))
        case "always":
            return _always_by_structure(net, p.conditions[0])
        case "bounded":
            return _bounded_by_structure(net)
        case "deadlock_free" | "live":
            return _by_siphons(net, p.claim)
    return None


def _always_by_structure(net: Net, condition: Node) -> Verdict | None:
    why = prove(net, condition)
    return None if why is None else Verdict(holds=True, reason=f"by the structure: {why}")


def _kept(net: Net, p: Property) -> Verdict | None:
    """An invariant that is wrong from the start, and that no firing changes."""
    left, right = p.conditions
    gap = added(linear(fold(left)), scaled(linear(fold(right)), Fraction(-1)))
    if gap is None or not unchanged(incidence(net), gap[0]):
        return None
    initial = {q.name: q.initial for q in net.places}
    if sum((w * initial[place] for place, w in gap[0].items()), gap[1]) == 0:
        return None
    return Verdict(holds=False, reason="no firing changes it, and it is wrong from the start", marking=initial_marking(net))


def _bounded_by_structure(net: Net) -> Verdict | None:
    bounds = place_bounds(net, best=False)
    known = [b for b in bounds if b is not None]
    if len(known) < len(bounds):
        return None
    most = max(known, default=0)
    where = f": no place ever holds more than {most:,}" if known else ""
    return Verdict(holds=True, reason=f"by the structure{where}")


def _by_siphons(net: Net, claim: str) -> Verdict | None:
    """Freedom from deadlock, and for nets with a free choice liveness, by Commoner's condition."""
    if inapplicable(net):
        return None
    found = commoner(net, minimal_siphons(net, SEARCH))
    holds = found.live if claim == "live" else found.deadlock_free
    return Verdict(holds=True, reason="by the structure: every siphon holds a marked trap") if holds else None


# --- on the graph -----------------------------------------------------------------------------------------------------------------


class _Claims:
    """The reachability graph and what it says."""

    def __init__(self, net: Net, limits: Limits) -> None:
        self.net = net
        self.rules = semantics.rules(untimed(net))
        self.graph: Graph = explore_graph(self.rules.net, limits)
        self.n = len(self.graph.markings)
        self.indptr = np.concatenate([[0], np.cumsum(np.bincount(self.graph.source, minlength=self.n))])
        self._parts: tuple[int, Ints, list[bool]] | None = None
        self.approximate = time_limited(net, self.rules, self.graph)

    def verdict(self, p: Property) -> Verdict:
        match p.claim:
            case "always" | "invariant":
                found = self._always(_condition(p))
            case "bounded":
                found = self._bounded()
            case "deadlock_free":
                found = self._deadlock_free()
            case "reversible":
                found = self._reversible()
            case "live":
                found = self._live()
            case "home":
                found = self._home(p.conditions[0])
            case _:
                found = self._leads(*p.conditions)
        return self._timed(p.claim, found)

    def _timed(self, claim: str, found: Verdict) -> Verdict:
        """What of a verdict holds for the net with its times."""
        if not self.approximate or (found.holds and claim in ("always", "invariant", "bounded", "deadlock_free")):
            return found
        if claim in ("always", "invariant") and found.marking == initial_marking(self.net):
            return found
        said = "holds" if found.holds else "fails"
        return Verdict(holds=None, reason=f"{said} if the times of {self.approximate} are left out of account")

    # --- paths

    def _to(self, state: int) -> tuple[str, ...]:
        path = path_to(state, self.graph.parent)
        return tuple(self.net.transitions[int(self.graph.via[s])].name for s in path[1:])

    def _fails(self, state: int, reason: str) -> Verdict:
        marking: Marking = tuple(self.graph.markings[state].tolist())
        return Verdict(holds=False, reason=reason, firings=self._to(state), marking=marking)

    def _where(self, condition: Node) -> Bools:
        return np.asarray(expression_values(self.rules, condition, self.graph.markings) != 0)

    def _components(self) -> tuple[int, Ints, list[bool]]:
        """Strongly connected components: how many, of each state, and which are never left."""
        if self._parts is None:
            count, label = strong_components(self.indptr, self.graph.target)
            self._parts = count, label, closed(count, label, self.graph.source, self.graph.target)
        return self._parts

    # --- claims

    def _always(self, condition: Node) -> Verdict:
        violated = np.flatnonzero(~self._where(condition))
        if len(violated):
            return self._fails(int(violated[0]), "violated")
        return Verdict(holds=True, reason=f"in all {self.n:,} markings")

    def _bounded(self) -> Verdict:
        most = self.graph.markings.most() if self.graph.markings.places else np.zeros(1, dtype=np.int64)
        where = self.net.places[int(most.argmax())].name if self.net.places else ""
        shown = f"; at most {int(most.max())} tokens in a place, {where}" if where else ""
        return Verdict(holds=True, reason=f"{self.n:,} markings{shown}")

    def _deadlock_free(self) -> Verdict:
        ends = np.flatnonzero(np.diff(self.indptr) == 0).tolist()
        markings = self.graph.markings
        dead = next((s for s in ends if semantics.is_dead(self.rules, tuple(markings[s].tolist()))), None)
        if dead is not None:
            return self._fails(dead, "no transition is enabled")
        stuck = f"; {len(ends)} of them stuck, where every speed is 0" if ends else ""
        return Verdict(holds=True, reason=f"in all {self.n:,} markings a transition is enabled{stuck}")

    def _reversible(self) -> Verdict:
        count, label, _ = self._components()
        if count == 1:
            return Verdict(holds=True, reason=f"from all {self.n:,} markings there is a way back")
        lost = int(np.flatnonzero(label != label[0])[0])
        return self._fails(lost, "somewhere there is no way back to the initial marking")

    def _live(self) -> Verdict:
        _, label, never_left = self._components()
        transitions = len(self.net.transitions)
        final = np.flatnonzero(never_left)
        missing = ~firing_in(final, label, self.graph, transitions)
        lost = np.flatnonzero(missing.any(axis=0))
        if not len(lost):
            return Verdict(holds=True, reason=f"all {transitions} transitions can always fire again")
        if self.n * len(lost) <= MARKS:
            never = {int(t): self._never(self.graph.transition == t) for t in lost}
            state = min(int(np.argmax(states)) for states in never.values())
            names = [self.net.transitions[t].name for t, states in never.items() if states[state]]
        else:
            row = np.full(len(never_left), -1)
            row[final] = np.arange(len(final))
            failing = np.append(missing.any(axis=1), False)  # the last for components that are left again
            state = int(np.flatnonzero(failing[row[label]])[0])
            names = [self.net.transitions[int(t)].name for t in np.flatnonzero(missing[row[label[state]]])]
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        return self._fails(state, f"from some marking on {shown} can never fire again")

    def _never(self, arcs: Bools) -> Bools:
        """The states from which none of the arcs can be reached."""
        sources = np.zeros(self.n, dtype=bool)
        sources[self.graph.source[arcs]] = True
        return ~self._reaching(sources, np.ones(self.n, dtype=bool))

    def _home(self, condition: Node) -> Verdict:
        never = np.flatnonzero(~self._reaching(self._where(condition), np.ones(self.n, dtype=bool)))
        if not len(never):
            return Verdict(holds=True, reason=f"it can be reached from all {self.n:,} markings")
        return self._fails(int(never[0]), "from some marking it can never be reached")

    def _leads(self, first: Node, then: Node) -> Verdict:
        """Whenever ``first`` holds, ``then`` holds at once or later with probability 1."""
        target = self._where(then)
        everywhere = np.ones(self.n, dtype=bool)
        hopeless = ~self._reaching(target, everywhere)
        doubtful = self._reaching(hopeless, ~target) & ~target
        states = np.flatnonzero(self._where(first) & doubtful)
        if not len(states):
            return Verdict(holds=True, reason="always, then or later, with probability 1")
        first_of_all = int(states[0])
        way = self._forwards(first_of_all, hopeless, ~target)
        if not way:
            return self._fails(first_of_all, "the first may hold, and the second never hold from then on")
        shown = f"{', '.join(way[:SHOWN])}{f' and {len(way) - SHOWN} more firings' if len(way) > SHOWN else ''}"
        return self._fails(first_of_all, f"the first may hold, and the second need never hold from then on: not after {shown}")

    def _forwards(self, state: int, goal: Bools, through: Bools) -> list[str]:
        """The firings of a shortest way from a state to a goal by states in ``through``."""
        found: dict[int, tuple[int, int]] = {}
        waiting = deque([state])
        at = state
        while not goal[at]:
            at = waiting.popleft()
            for arc in range(int(self.indptr[at]), int(self.indptr[at + 1])):
                new = int(self.graph.target[arc])
                if new != state and new not in found and (through[new] or goal[new]):
                    found[new] = at, arc
                    waiting.append(new)
        names: list[str] = []
        while at != state:
            at, arc = found[at]
            names.append(self.net.transitions[int(self.graph.transition[arc])].name)
        return names[::-1]

    def _reaching(self, goal: Bools, through: Bools) -> Bools:
        """The states from which ``goal`` can be reached by states in ``through`` (the goal included)."""
        if len(self.graph.target) > LARGE:
            from spn.reach import kernels

            marked = goal.copy()
            source, target = self.graph.source.astype(np.int32, copy=False), self.graph.target.astype(np.int32, copy=False)
            kernels.backwards(source, target, through, marked)
            return marked
        order = np.argsort(self.graph.target, kind="stable")
        sources = self.graph.source[order]
        starts = np.searchsorted(self.graph.target[order], np.arange(self.n + 1))
        reached = goal.copy()
        front = np.flatnonzero(goal)
        while len(front):
            _, at = ranges(starts[front], starts[front + 1] - starts[front])
            before = np.unique(sources[at])
            front = before[~reached[before] & through[before]]
            reached[front] = True
        return reached


def firing_in(final: Ints, label: Ints, graph: Graph, transitions: int) -> Bools:
    """Which transitions fire in each of some components that are never left (components, transitions); ``label``: that of each state."""
    row = np.full(int(label.max(initial=0)) + 1, -1)
    row[final] = np.arange(len(final))
    fired = np.zeros((len(final), transitions), dtype=bool)
    at = row[label[graph.source]]
    inside = at >= 0
    fired[at[inside], graph.transition[inside]] = True
    return fired


def is_bounded(t: Timed) -> bool:
    """Whether the time that a clock takes is bounded below or above, or read from the marking."""
    scaled = not isinstance(t.scale, Number) or not t.scale.value > 0
    delayed = t.transfer is not None and t.transfer.latency > 0
    return scaled or delayed or not takes_any_time(t.law)
