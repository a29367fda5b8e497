"""How the time of a token from one transition to another is distributed, exactly.

The stationary distribution of the net weights the states in which a token is brought; from there a net in which this token is followed
(:mod:`spn.net.tagged`) runs until it has left: a first passage. Both are the same net before a token is followed, so that its states there
are those of the net, and the arcs that begin to follow tell where a token arrives how often.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from spn.delay import is_mean
from spn.errors import Diagnostic
from spn.markov import long_run
from spn.markov.passage import Passage
from spn.measure import Delay, Special
from spn.net.expand import expand
from spn.net.model import Immediate, Net
from spn.net.stopped import stopped_when
from spn.net.tagged import Tagged, tagged
from spn.reach import Limits, StateSpace, explore
from spn.reach.space import Floats, compressed
from spn.solvers.questions import Answers
from spn.structural.way import way


def refusals(net: Net, asked: Iterable[Special]) -> Iterator[Diagnostic]:
    """What is left to simulation: tokens that an immediate brings, several perhaps at one instant."""
    immediate = {t.name for t in net.transitions if isinstance(t, Immediate)}
    for q in asked:
        if isinstance(q, Delay) and not is_mean(q) and q.first in immediate:
            yield Diagnostic(
                code="E0627",
                message=f"the exact method does not follow the tokens that {q.first}, an immediate transition, brings",
                span=q.span,
                help="simulate, or ask for the mean",
            )


def delays(asked: Sequence[Delay], net: Net, answers: Answers, limits: Limits, tolerance: float) -> None:
    """Shares and quantiles of the times between two transitions, one and the same pair for all; the way and its order are taken as told."""
    first, second = asked[0].first, asked[0].second
    followed = tagged(net, first, second, way(net, first, second).held)
    plain = explore(expand(net).net, [], limits)
    solved = long_run(plain.rates, plain.initial, tolerance)
    space = explore(expand(stopped_when(followed.net, followed.over)).net, [], limits)
    chain, chance = _passage(space, followed, plain, solved.pi, tolerance)
    answers.residual = max(answers.residual, solved.residual)
    answers.converged = answers.converged and solved.converged
    for q in asked:
        if not chance:
            answers.values[q] = np.nan
        else:
            answers.values[q] = chain.within(float(q.within)) if q.within is not None else chain.quantile(float(q.quantile or 0))
    answers.residual = max(answers.residual, chain.residual)
    answers.converged = answers.converged and chain.converged
    answers.methods.append("a token followed")
    answers.methods.extend(chain.methods)


def _passage(space: StateSpace, followed: Tagged, plain: StateSpace, pi: Floats, tolerance: float) -> tuple[Passage, bool]:
    """The chain of the followed token from where it arrives, and whether any does."""
    columns = {p.name: i for i, p in enumerate(space.net.places)}
    markings = np.asarray(space.markings)
    free, ahead = markings[:, columns[followed.free]], markings[:, columns[followed.ahead]]
    known = {m: i for i, m in enumerate(map(tuple, np.asarray(plain.markings).tolist()))}
    own = markings[:, [columns[p.name] for p in plain.net.places]]
    before = np.flatnonzero(free == 1)
    weight = np.zeros(space.n)
    weight[before] = [pi[known[tuple(m)]] for m in own[before].tolist()]
    sources = space.rates.sources()
    begins = (free[sources] == 1) & (free[space.rates.columns] == 0)
    arrivals = np.bincount(space.rates.columns[begins], (weight[sources] * space.rates.values)[begins], space.n)
    inside = np.flatnonzero(free == 0)
    number = np.full(space.n, -1)
    number[inside] = np.arange(len(inside))
    on = free[sources] == 0
    rates = compressed(len(inside), number[sources[on]], number[space.rates.columns[on]], space.rates.values[on])
    total = float(arrivals.sum())
    initial = arrivals[inside] / total if total > 0 else np.full(len(inside), 1 / max(1, len(inside)))
    return Passage(rates, initial, ahead[inside] == 0, tolerance), total > 0
