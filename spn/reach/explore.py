"""From a net with exponential laws to the Markov chain on its tangible markings, with reward rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from spn.expr.evaluate import Undefined
from spn.expr.nodes import Node, places_of
from spn.measure import FiringRate, LinkRate, Primitive, RunningClocks, TimeAverage
from spn.net import semantics
from spn.net.model import Marking, Net, transition_index
from spn.net.semantics import Rules
from spn.reach import batch as many
from spn.reach.graph import NARROW, Canonical, large_graph, small_graph
from spn.reach.packing import Markings
from spn.reach.rewards import Rewards
from spn.reach.space import LARGE, Floats, Graph, Ints, Limits, Rates, StateSpace, compressed
from spn.reach.vanishing import Passages, passages


def explore(
    net: Net,
    rewards: Sequence[Primitive] = (),
    limits: Limits | None = None,
    *,
    narrow: int = NARROW,
    compiled: int | None = None,
    canonical: Canonical | None = None,
) -> StateSpace:
    """The state space of a net all of whose laws are exponential, vanishing markings eliminated exactly.

    ``rewards`` are the primitives whose mean per second in each state is wanted. ``narrow`` (states) is the width of a search level up to
    which markings are expanded one by one, ``compiled`` the number of states from which a kernel passes over vanishing markings as it meets
    them; they change the order of the states, not the chain. ``canonical`` is that of :func:`spn.reach.graph.explore_graph`. Raises
    SemanticsError for a timeless trap and for markings in which the net means nothing, AnalysisError for an unbounded net and for one
    beyond the limits.
    """
    limits = limits or Limits()
    graph = small_graph(net, limits, narrow=narrow, compiled=compiled, canonical=canonical)
    if graph is not None:
        return state_space_of(net, graph, rewards, limits)
    from spn.reach.large import chain

    return chain(semantics.rules(net), rewards, limits) or state_space_of(net, large_graph(net, limits), rewards, limits)


def state_space_of(net: Net, graph: Graph, rewards: Sequence[Primitive], limits: Limits) -> StateSpace:
    """The chain on the tangible markings of a reachability graph."""
    r = semantics.rules(net)
    firing = [p for p in dict.fromkeys(rewards) if isinstance(p, FiringRate)]
    values = firing_values(r, graph, firing)
    passing = passages(r, graph, values, limits.memory)
    number = np.cumsum(~graph.vanishing) - 1  # of a tangible state among the tangible ones
    tangible = np.flatnonzero(~graph.vanishing)
    markings = graph.markings.rows(tangible)
    timed = np.flatnonzero(~graph.vanishing[graph.source])
    dead, stuck = absorbing(r, markings, np.bincount(number[graph.source[timed]], minlength=len(tangible)))
    known: dict[Primitive, Floats] = dict(zip(firing, _firing_rates(graph, timed, number, values, passing, len(tangible)).T, strict=True))
    known.update(state_rewards(net, markings, [p for p in rewards if not isinstance(p, FiringRate)]))
    return StateSpace(
        net=net,
        markings=markings,
        initial=initial_distribution(graph, passing, number, len(tangible)),
        rates=_rates(graph, timed, passing, number, len(tangible)),
        rewards=known,
        dead=dead,
        stuck=stuck,
        arcs=len(timed),
        vanishing=int(graph.vanishing.sum()),
    )


def _rates(graph: Graph, timed: Ints, passing: Passages, number: Ints, n: int) -> Rates:
    """Rates between tangible states: direct firings, and firings into a vanishing state times its passages."""
    source, target, weight = graph.source[timed], graph.target[timed], graph.weight[timed]
    into = np.flatnonzero(graph.vanishing[target])
    straight = np.flatnonzero(~graph.vanishing[target])
    arc, at = passing.spread(target[into])
    rows = np.concatenate([source[straight], source[into[arc]]])
    columns = np.concatenate([target[straight], passing.targets[at]])
    values = np.concatenate([weight[straight], weight[into[arc]] * passing.probabilities[at]])
    return compressed(n, number[rows], number[columns], values)


def initial_distribution(graph: Graph, passing: Passages, number: Ints, n: int) -> Floats:
    initial = np.zeros(n)
    if not graph.vanishing[0]:
        initial[0] = 1.0
        return initial
    _, at = passing.spread(np.array([0]))
    initial[number[passing.targets[at]]] = passing.probabilities[at]
    return initial


# --- rewards ----------------------------------------------------------------------------------------------------------------


def firing_values(r: Rules, graph: Graph, firing: Sequence[FiringRate]) -> Floats:
    """What each arc's firing counts for each firing rate: the value in the marking just before, 0 for other transitions."""
    index = transition_index(r.net)
    values = np.zeros((len(graph.source), len(firing)))
    for column, primitive in enumerate(firing):
        at = np.flatnonzero(graph.transition == index[primitive.transition])
        values[at, column] = expression_values(r, primitive.value, graph.markings[graph.source[at]])
    return values


def _firing_rates(graph: Graph, timed: Ints, number: Ints, values: Floats, passing: Passages, n: int) -> Floats:
    """Mean reward per second in each tangible state (states, rewards): its own firings, and those of immediates that follow at once."""
    per_firing = values[timed] + passing.rewards[graph.target[timed]]
    source, weight = number[graph.source[timed]], graph.weight[timed]
    columns = [np.bincount(source, weight * per_firing[:, k], n) for k in range(values.shape[1])]
    return np.array(columns, dtype=np.float64).T.reshape(n, values.shape[1])


def expression_values(r: Rules, node: Node, markings: Ints | Markings) -> Floats:
    """A marking expression in each marking; an undefined one (0/0 in a marking where it does not matter) is nan."""

    def f(m: Marking) -> float:
        try:
            return float(semantics.value(r, node, m))
        except Undefined:
            return float("nan")

    return many.tabulate(markings, sorted(r.places[p] for p in places_of(node)), f)


def state_rewards(net: Net, markings: Ints | Markings, wanted: Sequence[Primitive]) -> Mapping[Primitive, Floats]:
    """Time averages, running clocks and link rates in each tangible marking (rows); of many packed markings found when they are read.
    Firing rates are none of these: TypeError."""
    r = semantics.rules(net)
    if isinstance(markings, Markings):
        if len(markings) > LARGE and not any(isinstance(p, LinkRate) for p in wanted):
            return Rewards(r, markings, wanted)
        markings = markings[:]
    b = many.batch(r)
    index = transition_index(net)
    known: dict[Primitive, Floats] = {}
    links = any(isinstance(p, LinkRate) for p in wanted)
    clocks = many.clocks(b, markings) if links else None
    for p in wanted:
        match p:
            case TimeAverage(value=v):
                known[p] = expression_values(r, v, markings)
            case RunningClocks(transition=t):
                known[p] = many.running(b, index[t], markings).astype(np.float64)
            case LinkRate(link=name) if clocks is not None:
                known[p] = _link_rate(r, name, clocks)
            case _:
                raise TypeError(f"not a state reward: {p!r}")
    return known


def _link_rate(r: Rules, link: str, clocks: many.Clocks) -> Floats:
    """Bytes/s that the transfers obtain from a link, before their own speeds."""
    total = np.zeros(len(clocks.run))
    for column, t in enumerate(r.timed):
        transfer = getattr(r.net.transitions[t], "transfer", None)
        if transfer is not None and link in transfer.links:
            total += clocks.share[:, column] * clocks.run[:, column]
    return total


def absorbing(r: Rules, markings: Markings, firings: Ints) -> tuple[Ints, Ints]:
    """The states without a firing: dead where nothing is enabled, stuck where something is, at speed 0."""
    still = np.flatnonzero(firings == 0)
    dead = np.array([semantics.is_dead(r, tuple(markings[i].tolist())) for i in still.tolist()], dtype=bool)
    return still[dead], still[~dead]
