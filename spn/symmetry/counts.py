"""Folding replicas to counts: a net in which a place says how many of n identical replicas are in one local state.

A replica's local state is the marking of its own places. A transition of a replica becomes one transition for each local state that
enables it, whose rate (or weight) is multiplied by the number of replicas in that state; sums, conjunctions, minima … over all replicas
become expressions over the counts. What replicas share stays as it is. The chain of the folded net is the lumped chain of the symmetric net
(P. Buchholz, J. Appl. Prob. 31 (1994) 59; W. H. Sanders and J. F. Meyer, IEEE JSAC 9 (1991) 25), with C(n + k - 1, k - 1) markings for k
local states instead of k^n.

All laws must be exponential (:mod:`spn.net.expand` comes first). The symmetry must have been checked (:mod:`spn.symmetry.groups`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from spn.errors import SpnError
from spn.expr.evaluate import fold
from spn.expr.nodes import Binary, BinaryOp, Call, Conditional, Function, Node, Number, Tokens, children
from spn.measure import FiringRate, LinkRate, Primitive, TimeAverage
from spn.net import semantics
from spn.net.model import INFINITE, Arc, ArcKind, Immediate, Marking, Net, Place, Timed, Transition
from spn.symmetry.facts import Keys, expression, operands, total
from spn.symmetry.groups import Group, Part
from spn.symmetry.trees import mapped, rebuilt

MOST_LOCAL = 1_000  # local states of a replica

Terms = tuple[tuple[float, Primitive], ...]  # a weighted sum of primitives
_CHAINS: dict[BinaryOp | Function, str] = {
    BinaryOp.ADD: "sum",
    BinaryOp.AND: "all",
    BinaryOp.OR: "any",
    Function.MIN: "min",
    Function.MAX: "max",
}


class NotFoldable(Exception):
    """The replicas act on one another in a way that counts do not express; the message says which."""


@dataclass(frozen=True, slots=True)
class Folded:
    """``net`` with counts in place of the replicas of one group. ``terms`` gives each primitive of the net before as a weighted sum of
    primitives of this one. ``states`` are the local states, ``places`` their counts' names, in the same order."""

    net: Net
    terms: Mapping[Primitive, Terms]
    states: tuple[Marking, ...]
    places: tuple[str, ...]
    transitions: tuple[str, ...]


def folded(net: Net, group: Group, wanted: Iterable[Primitive], late: frozenset[str] = frozenset()) -> Folded:
    """The net with one group of replicas folded to counts; NotFoldable where that cannot be.

    ``late`` names the immediates that an expansion into phases added: they come after all others and touch only what is their own, so that
    a local state in which they alone can fire need not be kept."""
    return _Folder(net, group, late).result(wanted)


@dataclass(frozen=True, slots=True)
class _Move:
    """What a firing does to a replica in some local state: ``after`` is the state it goes to, ``degree`` how often it is enabled."""

    degree: int
    after: int


class _Folder:
    def __init__(self, net: Net, group: Group, late: frozenset[str]) -> None:
        self.net, self.group, self.late, self.n = net, group, late, len(group.parts)
        self.part: Part = group.parts[0]
        self.place = {p: (i, k) for i, part in enumerate(group.parts) for k, p in enumerate(part.places)}
        self.transition = {t: (i, k) for i, part in enumerate(group.parts) for k, t in enumerate(part.transitions)}
        self.by_name = {t.name: t for t in net.transitions}
        self.keys = Keys()
        self._members: dict[int, tuple[Node, frozenset[int]]] = {}
        self._refuse_links()
        self.own = [self.by_name[t] for t in self.part.transitions]
        self.outside = [t for t in net.transitions if t.name not in self.transition]
        self.touching = [t for t in self.outside if any(a.place in self.place for a in t.arcs)]
        self.states: list[Marking] = []
        self.moves: dict[str, dict[int, _Move]] = {}
        try:
            self._search()
        except SpnError as error:  # perhaps in a state that no replica is ever in
            raise NotFoldable(f"not every local state of {group.family} has a meaning: {error.diagnostics[0].message}") from None
        self.first = 0
        self.next: dict[int, list[tuple[Fraction | float, int]]] = {}
        self._pass_by()
        if len(self.states) > max(16, 2 * self.n * max(1, len(self.part.places))):
            raise NotFoldable(f"a replica of {group.family} has {len(self.states)} local states, too many to be counted")
        self.names = self._count_names()
        self.made: dict[str, tuple[tuple[str, int], ...]] = {}  # of an own transition: the folded ones and their local states

    def _refuse_links(self) -> None:
        own = {name for part in self.group.parts for name in part.links}
        for t in self.net.transitions:
            for name in t.transfer.links if isinstance(t, Timed) and t.transfer is not None else ():
                if name in own:
                    raise NotFoldable(f"{t.name} goes over {name}, a link of one replica")
        for t in self.net.transitions:
            if t.name in self.transition and any(
                self.place.get(a.place, (self.transition[t.name][0],))[0] != self.transition[t.name][0] for a in t.arcs
            ):
                raise NotFoldable(f"{t.name} has an arc to a place of another replica")

    # --- local states

    def _search(self) -> None:
        local = self._local_net()
        rules = semantics.rules(local)
        first = tuple(p.initial for p in local.places)
        number = {first: 0}
        self.states.append(first)
        self.moves = {t.name: {} for t in (*self.own, *self.touching)}
        at = 0
        while at < len(self.states):
            m = self.states[at]
            passing = any(
                isinstance(t, Immediate) and self._alone(t, at) and semantics.enabling_degree(rules, i, m) for i, t in enumerate(self.own)
            )
            for i, t in enumerate((*self.own, *self.touching)):
                if passing and isinstance(t, Timed):
                    continue
                degree = semantics.enabling_degree(rules, i, m)
                if degree == 0 or (i < len(self.own) and self._never(t, at)):
                    continue
                after = semantics.fire(rules, i, m)
                if after not in number:
                    number[after] = len(self.states)
                    self.states.append(after)
                self.moves[t.name][at] = _Move(degree, number[after])
            at += 1
            if len(self.states) > MOST_LOCAL:
                raise NotFoldable(f"a replica of {self.group.family} has more than {MOST_LOCAL:,} local states")

    # --- local states that take no time

    def _pass_by(self) -> None:
        """Leave out local states in which nothing but late immediates happens: ``next`` says where they lead to, with what probabilities.

        One that is reached by all replicas at once, or at first, is left out only where it leads to one state for certain."""
        for s in range(len(self.states)):
            found = self._leads(s, 0)
            if found is not None:
                self.next[s] = found
        together = {0} | {m.after for t in self.touching for m in self.moves[t.name].values()}
        for s in [s for s in self.next if s in together and len(self.next[s]) > 1]:
            del self.next[s]
        kept = [s for s in range(len(self.states)) if s not in self.next]
        number = {s: k for k, s in enumerate(kept)}
        self.next = {s: [(p, number[r]) for p, r in ends] for s, ends in self.next.items()}
        self.next |= {s: [(Fraction(1), number[s])] for s in kept}
        self.first = self.next[0][0][1]
        self.states = [self.states[s] for s in kept]
        self.moves = {t: {number[s]: m for s, m in moves.items() if s in number} for t, moves in self.moves.items()}

    def _leads(self, s: int, depth: int) -> list[tuple[Fraction | float, int]] | None:
        """The states in which a replica in state s ends at once, by late immediates alone; None where it stays or something else may
        happen."""
        enabled = [t for t in (*self.own, *self.touching) if isinstance(t, Immediate) and s in self.moves[t.name]]
        if not enabled or depth > len(self.own) or not all(t.name in self.late and self._alone(t, s) for t in enabled):
            return None
        first = [t for t in enabled if t.priority == max(u.priority for u in enabled)]
        weights = [self.at(t.weight, s) for t in first]
        if not all(isinstance(w, Number) and w.value > 0 for w in weights):
            return None
        values = [w.value for w in weights if isinstance(w, Number)]
        ends: dict[int, Fraction | float] = {}
        for t, w in zip(first, values, strict=True):
            after = self.moves[t.name][s].after
            for p, r in self._leads(after, depth + 1) or [(Fraction(1), after)]:
                ends[r] = ends.get(r, Fraction(0)) + p * w / sum(values)
        return [(p, r) for r, p in ends.items()]

    def _local_net(self) -> Net:
        """The places of one replica with what its own and outside transitions do there; guards are looked at elsewhere."""
        own = set(self.part.places)

        def restricted(t: Transition) -> Transition:
            arcs = tuple(a for a in t.arcs if a.place in own)
            for a in arcs:
                if any(self.place.get(p, (-1,))[0] != 0 for p in _places(a.multiplicity)):
                    raise NotFoldable(f"the multiplicity of an arc between {a.place} and {t.name} depends on more than the replica")
            return replace(t, arcs=arcs, guard=None)

        places = {p.name: p for p in self.net.places}
        return Net(places=tuple(places[p] for p in self.part.places), transitions=tuple(restricted(t) for t in (*self.own, *self.touching)))

    def _alone(self, t: Transition, s: int) -> bool:
        """An immediate that is enabled whenever its replica is in state s, whatever the rest of the net does."""
        if any(a.place not in self.place for a in t.arcs if a.kind is not ArcKind.OUTPUT):
            return False
        bounded = {p.name for p in self.net.places if p.capacity is not None}
        if any(a.place in bounded and a.place not in self.place for a in t.arcs if a.kind is ArcKind.OUTPUT):
            return False
        guard = t.guard if t.guard is None else self.at(t.guard, s)
        return guard is None or (isinstance(guard, Number) and guard.value != 0)

    def _never(self, t: Transition, s: int) -> bool:
        if t.guard is None or self.mentions(t.guard) - {0}:
            return False
        guard = self.at(t.guard, s)
        return isinstance(guard, Number) and guard.value == 0

    def at(self, node: Node, s: int) -> Node:
        """An expression that reads one replica's own places and shared ones, where that replica is in state s."""
        return fold(self._put(node, 0, s))

    def _put(self, node: Node, member: int, s: int) -> Node:
        def leaf(n: Tokens) -> Node:
            i, k = self.place.get(n.place, (-1, 0))
            return Number(Fraction(self.states[s][k])) if i == member else n

        return mapped(node, leaf)

    # --- names

    def _count_names(self) -> list[str]:
        taken = {p.name for p in self.net.places}
        return [_free(f"{self._all(self.part.label)}{self._local_text(s)}", taken) for s in self.states]

    def _all(self, name: str) -> str:
        """The name of something of the first replica, for all: ``w[1].idle`` is ``w[*].idle``."""
        index = self.part.label[len(self.group.family) :]
        return name.replace(index, "[*]", 1) if index else name

    def _local_text(self, s: Marking) -> str:
        short = [p.removeprefix(f"{self.part.label}.") for p in self.part.places]
        inside = ", ".join(p if k == 1 else f"{p}={k}" for p, k in zip(short, s, strict=True) if k)
        return f"{{{inside}}}"

    # --- expressions over counts

    def mentions(self, node: Node) -> frozenset[int]:
        """The replicas whose places an expression reads."""
        known = self._members.get(id(node))
        if known is None:
            if isinstance(node, Tokens):
                found = self.place.get(node.place)
                members = frozenset() if found is None else frozenset([found[0]])
            else:
                members = frozenset().union(*(self.mentions(c) for c in children(node)))
            known = self._members[id(node)] = (node, members)  # the node is kept, so that no other gets its id
        return known[1]

    def counts(self, node: Node, own: int | None = None) -> Node:
        """An expression over replicas as one over counts; ``own`` is the local state of the first replica, if the expression speaks of it
        alone as well."""
        return fold(self._counts(node, own))

    def _counts(self, node: Node, own: int | None) -> Node:
        if not self.mentions(node):
            return node
        match node:
            case Tokens(place=p):
                i, k = self.place[p]
                if i != 0 or own is None:
                    raise NotFoldable(f"an expression reads {p}, a place of one replica")
                return Number(Fraction(self.states[own][k]))
            case Binary(op=op) if op in _CHAINS:
                return self._chain(node, op, own)
            case Call(function=f) if f in _CHAINS:
                return self._chain(node, f, own)
        return rebuilt(node, lambda c: self._counts(c, own))

    def _chain(self, node: Node, op: BinaryOp | Function, own: int | None) -> Node:
        """A sum (or all, any, min, max) whose operands come once for each replica, or for each but the first."""
        found: list[Node] = []
        patterns: dict[int, dict[int, list[Node]]] = {}
        for x in operands(node, op):
            members = self.mentions(x)
            if len(members) == 1:
                (i,) = members
                patterns.setdefault(self._pattern(x, i), {}).setdefault(i, []).append(x)
            else:
                found.append(self._counts(x, own))
        for group in patterns.values():
            found += self._operands(op, group, own)
        return _joined(op, found)

    def _pattern(self, node: Node, member: int) -> int:
        def naming(name: tuple[str, str]) -> object:
            i, k = self.place.get(name[1], (-1, 0))
            return ("self", k) if i == member else name

        return self.keys.key(expression(node), naming)

    def _operands(self, op: BinaryOp | Function, group: dict[int, list[Node]], own: int | None) -> list[Node]:
        times = {len(x) for x in group.values()}
        everyone, others = set(range(self.n)), set(range(1, self.n))
        if own is not None and set(group) == {0}:
            return [self._counts(x, own) for x in group[0]]
        if len(times) != 1 or set(group) not in (everyone, others) or (set(group) == others and own is None):
            raise NotFoldable(f"an expression reads places of some replicas of {self.group.family} only")
        without = own if set(group) == others else None
        member, nodes = next(iter(group.items()))
        return self._over_all(op, nodes[0], member, without) * times.pop()

    def _over_all(self, op: BinaryOp | Function, node: Node, member: int, without: int | None) -> list[Node]:
        """The operands that stand for ``node`` taken over all replicas, or all but one in state ``without``."""
        bodies = [fold(self._put(node, member, s)) for s in range(len(self.states))]
        many = [self._many(s, without) for s in range(len(self.states))]
        match op:
            case BinaryOp.ADD:
                return [_times(k, body) for k, body in zip(many, bodies, strict=True) if body != _ZERO]
            case BinaryOp.AND:
                return [_or(_is_zero(k), body) for k, body in zip(many, bodies, strict=True) if not _is_true(body)]
            case BinaryOp.OR:
                return [_and(_is_positive(k), body) for k, body in zip(many, bodies, strict=True) if body != _ZERO]
        return [self._extreme(op, many, bodies)]

    def _many(self, s: int, without: int | None) -> Node:
        k = Tokens(self.names[s])
        return Binary(BinaryOp.SUB, k, Number(Fraction(1))) if s == without else k

    def _extreme(self, op: BinaryOp | Function, many: list[Node], bodies: list[Node]) -> Node:
        """The least or greatest value that a replica has: the first one, in order of value, that some replica has."""
        if not all(isinstance(b, Number) for b in bodies):
            raise NotFoldable("a minimum or maximum over replicas reads shared places as well")
        values: dict[Fraction | float, list[Node]] = {}
        for k, body in zip(many, bodies, strict=True):
            assert isinstance(body, Number)
            values.setdefault(body.value, []).append(k)
        ordered = sorted(values, reverse=op is Function.MIN)  # the one that wins comes last, outermost
        node: Node = Number(ordered[0])
        for v in ordered[1:]:
            node = Conditional(_is_positive(_joined(BinaryOp.ADD, values[v])), Number(v), node)
        return node

    # --- the net

    def result(self, wanted: Iterable[Primitive]) -> Folded:
        taken = {t.name for t in self.net.transitions}
        own = set(self.place)
        transitions: list[Transition] = []
        added: list[str] = []
        for t in self.net.transitions:
            i, _ = self.transition.get(t.name, (-1, 0))
            if i == 0:
                made = list(self._replica(t, taken))
                transitions += made
                added += [u.name for u in made]
            elif i < 0:
                transitions.append(self._outside(t))
        counted = [
            Place(name=name, initial=self.n if s == self.first else 0, span=self.net.places[0].span) for s, name in enumerate(self.names)
        ]
        places = tuple(p for p in self.net.places if p.name not in own) + tuple(counted)
        net = replace(self.net, places=places, transitions=tuple(transitions), replicas=())
        terms = {p: self._terms(p) for p in wanted}
        return Folded(net, terms, tuple(self.states), tuple(self.names), tuple(added))

    def _replica(self, t: Transition, taken: set[str]) -> Iterator[Transition]:
        made: list[tuple[str, int]] = []
        base = self._all(t.name)
        for s, move in self.moves[t.name].items():
            guard = None if t.guard is None else self.counts(t.guard, s)
            if isinstance(guard, Number):
                if guard.value == 0:
                    continue
                guard = None
            shared = tuple(replace(a, multiplicity=self.counts(a.multiplicity, s)) for a in t.arcs if a.place not in self.place)
            for p, after in self.next[move.after]:
                name = _free(f"{base}{self._local_text(self.states[s])}", taken)
                made.append((name, s))
                arcs = (
                    Arc(kind=ArcKind.INPUT, place=self.names[s], span=t.span),
                    *shared,
                    Arc(kind=ArcKind.OUTPUT, place=self.names[after], span=t.span),
                )
                many = self._many_times(replace(t, name=name, arcs=arcs, guard=guard, resets=()), s, move, shared)
                yield many if p == 1 else _sometimes(many, p)
        self.made[t.name] = tuple(made)

    def _many_times(self, t: Transition, s: int, move: _Move, shared: tuple[Arc, ...]) -> Transition:
        """The transition of as many replicas as are in state s."""
        many = Tokens(self.names[s])
        weight = self.counts(t.weight, s)
        if isinstance(t, Immediate):
            return replace(t, weight=_times(many, weight))
        clocks = move.degree if t.servers == INFINITE else min(t.servers, move.degree)
        speed = self.counts(t.speed, s)
        if not any(a.kind is ArcKind.INPUT for a in shared):
            if clocks > 1 and t.transfer is not None:
                raise NotFoldable(f"{t.name}: a replica has several transfers at once")
            transfer = None if t.transfer is None else replace(t.transfer, share=self.counts(t.transfer.share, s))
            speed = speed if clocks == 1 else fold(Binary(BinaryOp.MUL, Number(Fraction(clocks)), speed))
            return replace(t, speed=speed, weight=weight, servers=INFINITE, transfer=transfer)
        if clocks > 1 or t.transfer is not None:
            raise NotFoldable(f"{t.name} has an input that all replicas share, and several clocks or a transfer")
        return replace(t, speed=_times(many, speed), weight=weight, servers=1)

    def _outside(self, t: Transition) -> Transition:
        """A transition of the rest of the net: what it does to one replica it does to all."""
        guard = None if t.guard is None else self.counts(t.guard)
        changed = replace(t, guard=guard, weight=self.counts(t.weight))
        if isinstance(changed, Timed):
            share = changed.transfer and replace(changed.transfer, share=self.counts(changed.transfer.share))
            changed = replace(changed, speed=self.counts(changed.speed), transfer=share)
        shared = tuple(replace(a, multiplicity=self.counts(a.multiplicity)) for a in t.arcs if a.place not in self.place)
        if t not in self.touching:
            return replace(changed, arcs=shared)
        moves = self.moves[t.name]
        if isinstance(changed, Timed) and changed.servers != 1:
            if any(m.degree > 1 for m in moves.values()):
                raise NotFoldable(f"{t.name} has several clocks that take from all replicas")
            changed = replace(changed, servers=1)  # every replica limits it to one clock
        if len(moves) == 1:
            ((s, move),) = moves.items()
            return replace(changed, arcs=(*self._arcs(s, self._then(move), Number(Fraction(self.n))), *shared))
        blocked = [Tokens(self.names[s]) for s in range(len(self.states)) if s not in moves]
        free = _is_zero(_joined(BinaryOp.ADD, blocked)) if blocked else None
        guard = free if guard is None else guard if free is None else Binary(BinaryOp.AND, free, guard)
        ways = [(s, self._then(move)) for s, move in moves.items()]
        arcs = [a for s, after in ways if after != s for a in self._arcs(s, after, Tokens(self.names[s]), flush=True)]
        return replace(changed, arcs=(*arcs, *shared), guard=guard)

    def _then(self, move: _Move) -> int:
        ((_, after),) = self.next[move.after]
        return after

    def _arcs(self, s: int, after: int, many: Node, flush: bool = False) -> tuple[Arc, ...]:
        take = Arc(kind=ArcKind.FLUSH, place=self.names[s]) if flush else Arc(kind=ArcKind.INPUT, place=self.names[s], multiplicity=many)
        return take, Arc(kind=ArcKind.OUTPUT, place=self.names[after], multiplicity=many)

    # --- primitives

    def _terms(self, p: Primitive) -> Terms:
        """A primitive as a weighted sum; of one replica's, the mean over all of them."""
        match p:
            case TimeAverage(value=v):
                return self._averages(v, TimeAverage)
            case FiringRate(transition=t, value=v):
                return self._firings(t, v)
            case LinkRate():
                return ((1.0, p),)
        raise TypeError(f"not a long-run average, or not of counts: {p!r}")

    def _averages(self, v: Node, make: Callable[[Node], Primitive]) -> Terms:
        if not self.mentions(v):
            return ((1.0, make(v)),)
        try:
            return ((1.0, make(self.counts(v))),)
        except NotFoldable:
            return ((1.0 / self.n, make(self._summed(v))),)

    def _summed(self, v: Node) -> Node:
        """The sum over all replicas of an expression that singles one of them out."""
        v = self._of_first(v)
        parts = []
        for s, name in enumerate(self.names):
            body = self.counts(v, s)
            if body != _ZERO:
                parts.append(_times(Tokens(name), body))
        return _joined(BinaryOp.ADD, parts) if parts else _ZERO

    def _of_first(self, v: Node) -> Node:
        """The same said of the first replica instead of the one singled out."""
        for i in sorted(self.mentions(v)):
            exchanged = self._exchanged(v, i)
            try:
                self.counts(exchanged, 0)
            except NotFoldable:
                continue
            return exchanged
        raise NotFoldable("a measure reads places of several replicas at once")

    def _exchanged(self, v: Node, i: int) -> Node:
        if i == 0:
            return v

        def leaf(n: Tokens) -> Node:
            j, k = self.place.get(n.place, (-1, 0))
            return Tokens(self.group.parts[i if j == 0 else 0].places[k]) if j in (0, i) else n

        return mapped(v, leaf)

    def _firings(self, t: str, v: Node) -> Terms:
        if t not in self.transition:
            return self._averages(v, lambda x: FiringRate(t, x))
        i, k = self.transition[t]
        v = self._exchanged(v, i) if self.mentions(v) else v
        return tuple((1.0 / self.n, FiringRate(name, self.counts(v, s))) for name, s in self.made[self.part.transitions[k]])


# --- small trees ------------------------------------------------------------------------------------------------------------------

_ZERO = Number(Fraction(0))
_ONE = Number(Fraction(1))


def _places(node: Node) -> Iterator[str]:
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Tokens):
            yield top.place
        stack.extend(children(top))


def _joined(op: BinaryOp | Function, nodes: Sequence[Node]) -> Node:
    """One operation over several operands; sums and the like balanced, so that they are not deep."""
    if isinstance(op, Function):
        return nodes[0] if len(nodes) == 1 else Call(op, tuple(nodes))
    if not nodes:
        return _ONE if op is BinaryOp.AND else _ZERO
    if len(nodes) == 1:
        return nodes[0]
    half = (len(nodes) + 1) // 2
    return Binary(op, _joined(op, nodes[:half]), _joined(op, nodes[half:]))


def _times(many: Node, body: Node) -> Node:
    """many * body, and 0 where many is 0 even if body has no value there."""
    if body == _ONE:
        return many
    product = Binary(BinaryOp.MUL, many, body)
    return product if total(body) else Conditional(_is_positive(many), product, _ZERO)


def _sometimes(t: Transition, p: Fraction | float) -> Transition:
    """The transition with the part p of its rate or weight."""
    if isinstance(t, Immediate):
        return replace(t, weight=fold(Binary(BinaryOp.MUL, Number(p), t.weight)))
    return replace(t, speed=fold(Binary(BinaryOp.MUL, Number(p), t.speed)))


def _is_zero(many: Node) -> Node:
    return Binary(BinaryOp.EQ, many, _ZERO)


def _is_positive(many: Node) -> Node:
    return Binary(BinaryOp.GT, many, _ZERO)


def _is_true(node: Node) -> bool:
    return isinstance(node, Number) and node.value != 0


def _or(left: Node, right: Node) -> Node:
    return left if right == _ZERO else Binary(BinaryOp.OR, left, right)


def _and(left: Node, right: Node) -> Node:
    return left if _is_true(right) else Binary(BinaryOp.AND, left, right)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    taken.add(name)
    return name
