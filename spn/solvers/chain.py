"""The Markov chain of a net with exponential and phase-type laws: expanded, lumped where replicas are interchangeable, explored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from spn.errors import SpnError
from spn.expr.nodes import Atom, Binary, BinaryOp, Node, Unary, UnaryOp, walk
from spn.measure import FiringRate, Primitive, ratio
from spn.net.expand import Expansion, expand, skeleton
from spn.net.model import Marking, Net
from spn.reach import Limits, StateSpace, explore
from spn.reach.explore import state_rewards
from spn.reach.graph import Covered, explore_graph
from spn.reach.rewards import Sums
from spn.reach.space import Floats
from spn.symmetry.groups import Group
from spn.symmetry.images import TooMany
from spn.symmetry.reduce import Reduction, described, reduction, stands_for, unfolded

LIMITS = frozenset({"E0602", "E0605"})  # too many states, too little memory: no matter of names
RETRIED = 20_000  # states of the unlumped net in which an error is looked for again
COUNTED = 20_000  # states up to which the unlumped ones are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """``rewards``: of every primitive asked for, its mean per second in each state. ``averaged`` are those which, in a lumped chain, are
    the mean over interchangeable replicas; ``alike`` names for each primitive the first with the same reward, as those of replicas have.
    ``shown`` gives the non-empty places of a state, in the terms of the model."""

    space: StateSpace
    rewards: Mapping[Primitive, Floats]
    phases: Mapping[str, int]
    shown: Callable[[int], dict[str, int]]
    averaged: frozenset[Primitive] = frozenset()
    alike: Mapping[Primitive, Primitive] = field(default_factory=dict)
    stands_for: int = 0
    notes: tuple[str, ...] = field(default=())


def state_space(net: Net, wanted: Sequence[Primitive], limits: Limits, groups: Sequence[Group] = ()) -> Explored:
    """The expansion of a net, its state space, lumped by ``groups``, and the primitives in each state.

    ``groups`` are symmetries of the net and of all that is wanted (:func:`spn.symmetry.groups.symmetry`). An error that speaks of markings
    is looked for again in the net as it is, so that it has the names and firings of the model."""
    if not groups:
        return _plain(net, wanted, limits)
    try:
        return _lumped(net, wanted, limits, groups)
    except TooMany:
        return _plain(net, wanted, limits)
    except (Covered, SpnError) as error:
        if isinstance(error, SpnError) and error.diagnostics[0].code in LIMITS:
            raise
        return _again(net, wanted, limits, error)


def _again(net: Net, wanted: Sequence[Primitive], limits: Limits, first: Covered | SpnError) -> Explored:
    """The net as it is, as far as its size allows: where its error is not met in time, the one of the lumped net is raised."""
    try:
        return _plain(net, wanted, replace(limits, states=min(limits.states, RETRIED)))
    except SpnError as error:
        if error.diagnostics[0].code in LIMITS and isinstance(first, SpnError):
            raise first from None
        raise


def _plain(net: Net, wanted: Sequence[Primitive], limits: Limits) -> Explored:
    """Boundedness and traps are looked at in the net as the user wrote it before phases are added, so that errors speak of it."""
    expansion = expand(net)
    if expansion.phases:
        explore_graph(skeleton(net), limits)
    firing = {p: _completions(expansion, p) for p in wanted if isinstance(p, FiringRate)}
    space = explore(expansion.net, list(chain.from_iterable(firing.values())), limits)
    own, others = space.markings.first(len(net.places)), [p for p in wanted if not isinstance(p, FiringRate)]
    inside = state_rewards(skeleton(net) if expansion.phases else net, own, others)  # what is enabled, and how fast, no law changes
    known = Sums({p: (space.rewards, parts) for p, parts in firing.items()} | {p: (inside, (p,)) for p in others})
    return Explored(space=space, rewards=known, phases=expansion.phases, shown=lambda i: _non_empty(net, tuple(own[i].tolist())))


def _non_empty(net: Net, marking: Marking) -> dict[str, int]:
    return {p.name: k for p, k in zip(net.places, marking, strict=True) if k}


def _completions(expansion: Expansion, p: FiringRate) -> list[FiringRate]:
    """The firing rates in the expanded net whose sum is the one of the model."""
    return [FiringRate(t, p.value) for t in expansion.completions.get(p.transition, (p.transition,))]


# --- lumped -----------------------------------------------------------------------------------------------------------------------


def _lumped(net: Net, wanted: Sequence[Primitive], limits: Limits, groups: Sequence[Group]) -> Explored:
    expansion = expand(net)
    parts: dict[Primitive, list[Primitive]] = {p: list(_completions(expansion, p)) if isinstance(p, FiringRate) else [p] for p in wanted}
    small = reduction(net, expansion, groups, chain.from_iterable(parts.values()))
    terms = {p: tuple(t for q in below for t in small.terms[q]) for p, below in parts.items()}
    space = explore(small.net, list(dict.fromkeys(q for t in terms.values() for _, q in t)), limits, canonical=small.canonical)
    first: dict[frozenset[tuple[tuple[float, Primitive], int]], Primitive] = {}
    alike = {p: first.setdefault(frozenset(Counter(weighted).items()), p) for p, weighted in terms.items()}
    own = {p: _weighted(terms[p], space) for p in first.values()}
    return Explored(
        space=space,
        rewards={p: own[alike[p]] for p in terms},
        alike=alike,
        phases=expansion.phases,
        shown=lambda i: unfolded(small, net, tuple(space.markings[i].tolist())),
        averaged=frozenset(p for p, below in parts.items() if any(q in small.averaged for q in below)),
        stands_for=_unlumped(small, space),
        notes=(*described(small), *small.notes),
    )


def _weighted(terms: Sequence[tuple[float, Primitive]], space: StateSpace) -> Floats:
    """A weighted sum of rewards."""
    total = np.zeros(space.n)
    for f, q in terms:
        total += space.rewards[q] if f == 1.0 else f * space.rewards[q]
    return total


def _unlumped(small: Reduction, space: StateSpace) -> int:
    return stands_for(small, np.asarray(space.markings)) if space.n <= COUNTED and not small.orbits else 0


def linear_in(body: Node, net: Net, averaged: frozenset[Primitive]) -> bool:
    """Whether a measure adds up its averaged primitives, so that its value within one recurrent class is right as well: the classes that
    permutations map to one another are one class of the lumped chain, and a sum over replicas is the same in all of them."""

    def free(node: Node) -> bool:
        found = [ratio(n, net) for n in walk(node) if isinstance(n, Atom)]
        return not any(p in averaged for r in found for p in (*r.numerators, *(r.denominators or ())))

    if not averaged or free(body):
        return True
    match body:
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB, left=a, right=b):
            return linear_in(a, net, averaged) and linear_in(b, net, averaged)
        case Binary(op=BinaryOp.MUL, left=a, right=b):
            return (free(a) and linear_in(b, net, averaged)) or (free(b) and linear_in(a, net, averaged))
        case Binary(op=BinaryOp.DIV, left=a, right=b):
            return free(b) and linear_in(a, net, averaged)
        case Unary(op=UnaryOp.NEGATE, operand=x):
            return linear_in(x, net, averaged)
        case Atom():
            return ratio(body, net).denominators is None
    return False
