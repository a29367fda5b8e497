"""Large state spaces: what the kernels are given, and the chain on tangible markings without a graph in between."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spn.compiled import compile_net
from spn.expr.nodes import Node
from spn.measure import Primitive
from spn.net.semantics import Rules
from spn.reach import batch as many
from spn.reach.compiled import Explored, Search
from spn.reach.graph import law_array
from spn.reach.rewards import Rewards
from spn.reach.space import Floats, Ints, Limits, Rates, StateSpace
from spn.reach.watch import Watch
from spn.structural.bounds import bounds


def search(r: Rules, law: Floats, limits: Limits, *, chain: bool, expressions: Sequence[Node] = ()) -> Search:
    """An exploration of a net with exponential laws, prepared: places packed by the bounds that the net's structure gives."""
    known = bounds(r.net).most
    most = [known.get(p.name, max(1, p.initial)) for p in r.net.places]
    watch = Watch(r, limits, known)
    return Search(r, compile_net(r.net, expressions), law, watch, most, chain=chain)


def chain(r: Rules, rewards: Sequence[Primitive], limits: Limits) -> StateSpace | None:
    """The state space with vanishing markings passed over as they are met: they are not stored.

    None where that is not possible: immediates lead round in circles, or one firing leads through very many vanishing markings."""
    law = law_array(r.net)
    found = search(r, law, limits, chain=True).run()
    if found is None:
        return None
    dead, stuck = absorbing(r, found)
    initial = np.zeros(len(found.markings))
    initial[found.starts] = found.chances
    return StateSpace(
        net=r.net,
        markings=found.markings,
        initial=initial,
        rates=Rates(indptr=found.indptr, columns=found.columns, values=found.values),
        rewards=Rewards(r, found.markings, rewards, law),
        dead=dead,
        stuck=stuck,
        arcs=found.firings,
        vanishing=None if r.immediates else 0,
    )


def absorbing(r: Rules, found: Explored) -> tuple[Ints, Ints]:
    """The states where nothing is enabled, and those where something is, at speed 0."""
    still = np.flatnonzero(np.diff(found.indptr) == 0)
    if not len(still):
        return still, still
    clocks = many.clocks(many.batch(r), found.markings[still])
    enabled = clocks.run.sum(axis=1) > 0
    moving = ((clocks.run > 0) & (clocks.rate > 0)).any(axis=1)
    return still[~enabled], still[enabled & ~moving]
