"""Product form: exact long-run values of closed queueing networks of any size from the means of their laws alone.

What networks these are, :mod:`spn.structural.stations` says; the figures come from normalising constants (:mod:`spn.markov.convolution`).
Conditions on firings use that a token on its way sees the network without itself (Sevcik and Mitrani 1981, J. ACM 28, 358,
doi:10.1145/322248.322257; Lavenberg and Reiser 1980, J. Appl. Probab. 17, 1048).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

import numpy as np

from spn.errors import AnalysisError, Diagnostic
from spn.expr.evaluate import evaluate
from spn.expr.nodes import Binary, BinaryOp, Node, Number, Tokens, Unary, UnaryOp, places_of
from spn.markov.convolution import MOST_WORK, Convolution, Floats, Queue, work
from spn.markov.gth import gth
from spn.measure import FiringRate, LinkRate, Measure, Primitive, RunningClocks, TimeAverage, primitives, value
from spn.model import Model
from spn.net.model import Timed
from spn.provenance import provenance
from spn.reach.space import Rates
from spn.result import Result, Value
from spn.show.text import count
from spn.structural.stations import CODE, Chain, Network, Stage, stations

NAME = "product-form"


class _Joint(Exception):
    """An expression needs a joint distribution that is not computed; internal."""


def may(model: Model) -> list[Diagnostic]:
    """All reasons why the net is no closed network of this kind, or a measure does not follow from it; empty where the method applies."""
    found = stations(model.net)
    if not isinstance(found, Network):
        return list(found)
    merged = _Merged(found)
    cost = work(merged.populations, len(merged.queues))
    if cost > MOST_WORK:
        message = f"the convolution takes {cost:.1e} multiplications for {_said(merged)}, more than {MOST_WORK:.0e}"
        return [Diagnostic(code=CODE, message=message, span=model.net.span, help="lower the populations, or use another method")]
    return [d for m in model.measures for d in _unanswered(m, model, found)]


def markings(model: Model) -> int:
    """How many markings a closed network has, without those of vanishing places; 0 where the net is none."""
    found = stations(model.net)
    if not isinstance(found, Network):
        return 0
    placed = [len({s.place for s in found.stages if s.chain == c}) for c in range(len(found.chains))]
    return math.prod(math.comb(chain.tokens + n - 1, n - 1) for chain, n in zip(found.chains, placed, strict=True))


def _unanswered(m: Measure, model: Model, network: Network) -> Iterator[Diagnostic]:
    answer = _Expressions(network)
    for p in primitives(m.body, model.net):
        try:
            match p:
                case TimeAverage(value=v):
                    answer.check(v)
                case FiringRate(value=v):
                    answer.check(v, given=True)
                case RunningClocks() | LinkRate():
                    pass
                case _:
                    raise _Joint("it is no long-run average")
        except _Joint as why:
            help = "ask for throughputs, utilisations, and averages of one place each; or use another method"
            yield Diagnostic(code=CODE, message=f"measure {m.name} does not follow from the product form: {why}", span=m.span, help=help)
            return


def compute(model: Model, *, reason: str = "") -> Result:
    """The long-run values of a closed product-form network, exact but for rounding.

    AnalysisError E0655, with all reasons, where the net or a measure is not of this kind."""
    began = time.perf_counter()
    refused = may(model)
    if refused:
        raise AnalysisError(*refused)
    network = stations(model.net)
    assert isinstance(network, Network)
    solved = _Solved(model, network)
    values = {m.name: value(m.body, model.net, solved.known([m])) for m in model.measures}
    residual = solved.residual()
    return Result(
        method=NAME,
        reason=reason or "a closed network of product form, in which laws matter by their means alone",
        measures={m.name: Value(value=values[m.name], unit=m.unit, unit_factor=float(m.unit_factor)) for m in model.measures},
        residual=residual,
        converged=residual < 1e-8,
        details={
            "solver": "convolution",
            "chains": len(solved.merged.populations),
            "stations": len(network.stations),
            "tokens": sum(c.tokens for c in network.chains),
        },
        notes=(),
        seconds=time.perf_counter() - began,
        provenance=provenance(model, {"method": NAME}),
    )


# --- the network with like chains as one


class _Merged:
    """Visits and demands, where single tokens with equal demands, in places of their own, count as one chain."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.visits = {p: v for chain in network.chains for p, v in _visits(chain).items()}
        met = [{s.chain for s in network.stages if s.station == i} for i in range(len(network.stations))]
        self.alone = [len(chains) == 1 and network.chains[min(chains)].tokens == 1 for chains in met]
        self.queues = [i for i, alone in enumerate(self.alone) if not alone]
        profiles: dict[object, int] = {}
        self.group: list[int] = []  # of each chain
        self.members: list[list[int]] = []
        self.delays: list[float] = []
        self.demands: list[list[float]] = []
        for c, chain in enumerate(network.chains):
            delay, demands = self._demands(c)
            key: object = (delay, tuple(demands)) if chain.tokens == 1 else c
            if key not in profiles:
                profiles[key] = len(self.members)
                self.members.append([])
                self.delays.append(delay)
                self.demands.append(demands)
            self.group.append(profiles[key])
            self.members[profiles[key]].append(c)
        self.populations = [sum(network.chains[c].tokens for c in members) for members in self.members]

    def seconds(self, s: Stage) -> float | None:
        """Time in a stage that is a delay."""
        if s.station is None:
            return s.work
        return s.work / self.network.stations[s.station].pace[0] if self.alone[s.station] else None

    def demand(self, s: Stage) -> float:
        """Visits times work, or times seconds of a delay."""
        delay = self.seconds(s)
        return self.visits[s.place] * (s.work if delay is None else delay)

    def _demands(self, c: int) -> tuple[float, list[float]]:
        stages = [s for s in self.network.stages if s.chain == c]
        delay = math.fsum(self.demand(s) for s in stages if self.seconds(s) is not None)
        return delay, [math.fsum(self.demand(s) for s in stages if s.station == q) for q in self.queues]

    def convolution(self) -> Convolution:
        demands = np.array(self.demands).reshape(len(self.members), len(self.queues))
        queues = [Queue(demands=demands[:, k], pace=np.array(self.network.stations[i].pace)) for k, i in enumerate(self.queues)]
        return Convolution(self.populations, np.array(self.delays), queues)


def _visits(chain: Chain) -> dict[str, float]:
    """Visits to each place, 1 to the first that is visited."""
    if len(chain.places) == 1:
        return {chain.places[0]: 1.0}
    index = {p: k for k, p in enumerate(chain.places)}
    rates: dict[tuple[int, int], float] = {}
    for h in chain.hops:
        at = (index[h.source], index[h.target])
        if at[0] != at[1]:
            rates[at] = rates.get(at, 0.0) + h.probability
    ordered = sorted(rates)
    counts = np.bincount([a for a, _ in ordered], minlength=len(index))
    pi = gth(
        Rates(
            indptr=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            columns=np.array([b for _, b in ordered], dtype=np.int64),
            values=np.array([rates[at] for at in ordered]),
        )
    )
    return {p: float(pi[k] / pi.max()) for p, k in index.items()}


def _said(merged: _Merged) -> str:
    return f"{count(len(merged.populations), 'chain')} of {', '.join(f'{n:,}' for n in merged.populations)} tokens"


# --- expressions over one place each


class _Expressions:
    """Splits the average of an expression into averages of functions of one place."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.chain = {p: c for c, chain in enumerate(network.chains) for p in chain.places}
        self.stages: dict[str, list[Stage]] = {}
        for s in network.stages:
            self.stages.setdefault(s.place, []).append(s)

    def check(self, e: Node, *, given: bool = False) -> None:
        """_Joint where the average of ``e`` (``given`` a firing) is not computed."""
        for _, part in terms(e):
            for p in self.varying(part):
                if not is_tokens(part) and len(self.stages[p]) > 1 and self._tokens(p) > 1:
                    raise _Joint(f"the tokens of {p} are at two stages, of latency and transfer, of which only the mean is known")
                if given and self._tokens(p) == 1 and len(self.network.chains) > 1 and not isinstance(part, Number):
                    raise _Joint("averages over firings are not computed where a token goes round alone beside others")

    def varying(self, part: Node) -> list[str]:
        """The places of a term that can hold tokens in the long run and do so for a while: one at most."""
        found = [p for p in sorted(places_of(part)) if p in self.stages]
        if len(found) > 1:
            raise _Joint(f"{' and '.join(found)} stand in one term, whose joint distribution is not computed")
        return found

    def _tokens(self, place: str) -> int:
        return self.network.chains[self.chain[place]].tokens


def terms(e: Node, factor: float = 1.0) -> Iterator[tuple[float, Node]]:
    """An expression as a weighted sum, as far as its additions go."""
    match e:
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB as op, left=a, right=b):
            yield from terms(a, factor)
            yield from terms(b, factor if op is BinaryOp.ADD else -factor)
        case Unary(op=UnaryOp.NEGATE, operand=a):
            yield from terms(a, -factor)
        case Binary(op=BinaryOp.MUL, left=Number(value=v), right=a) | Binary(op=BinaryOp.MUL, left=a, right=Number(value=v)):
            yield from terms(a, factor * float(v))
        case Binary(op=BinaryOp.DIV, left=a, right=Number(value=v)) if v:
            yield from terms(a, factor / float(v))
        case _:
            yield factor, e


def is_tokens(e: Node) -> bool:
    """Whether an expression is the number of tokens of a place, or a number."""
    return isinstance(e, Number | Tokens)


# --- the answer


class _Solved:
    def __init__(self, model: Model, network: Network) -> None:
        self.model = model
        self.network = network
        self.merged = _Merged(network)
        self.expressions = _Expressions(network)
        self.constants = self.merged.convolution()
        self.transitions = {t.name: t for t in model.net.transitions}
        self.hops = {h.transition: h for chain in network.chains for h in chain.hops}

    def known(self, measures: Sequence[Measure]) -> dict[Primitive, float]:
        found: dict[Primitive, float] = {}
        for m in measures:
            for p in primitives(m.body, self.model.net):
                found[p] = self._value(p)
        return found

    def residual(self) -> float:
        """How far the mean tokens of all places are from the tokens that there are, relative."""
        return max(
            abs(sum(self.mean(p) for p in chain.places if p in self.expressions.stages) - chain.tokens) / chain.tokens
            for chain in self.network.chains
        )

    def _value(self, p: Primitive) -> float:
        match p:
            case TimeAverage(value=v):
                return self._average(v, None)
            case FiringRate(transition=t, value=v):
                rate = self.throughput(t)
                return rate * self._average(v, t) if rate else 0.0
            case RunningClocks(transition=t):
                return self._running(t)
            case LinkRate(link=name):
                return sum(self.flow(s.place) * s.work for s in self.network.stages if self._at(s) == name)
        raise TypeError(f"no long-run average: {p!r}")

    def _at(self, s: Stage) -> str:
        return self.network.stations[s.station].name if s.station is not None and self.network.stations[s.station].link else ""

    # --- flows

    def flow(self, place: str, less: Sequence[int] = ()) -> float:
        """Tokens per second through a place; ``less`` are groups of chains that have a token less."""
        c = self.expressions.chain.get(place)
        if c is None:
            return 0.0
        g = self.merged.group[c]
        share = self.network.chains[c].tokens / self.merged.populations[g]
        return self.constants.throughput(g, less) * self.merged.visits[place] * share

    def throughput(self, transition: str) -> float:
        hop = self.hops.get(transition)
        return self.flow(hop.source) * hop.probability if hop else 0.0

    def _running(self, transition: str) -> float:
        t = self.transitions[transition]
        assert isinstance(t, Timed)
        hop = self.hops.get(transition)
        if hop is None:
            return 0.0
        servers = t.servers
        if servers == "inf" or servers >= self.network.chains[self.expressions.chain[hop.source]].tokens:
            return self.mean(hop.source)
        p = self.distribution(hop.source)
        return float(np.minimum(np.arange(len(p)), servers) @ p)

    # --- tokens

    def mean(self, place: str, less: Sequence[int] = ()) -> float:
        """Mean tokens of a place."""
        return math.fsum(self._stage_mean(s, less) for s in self.expressions.stages.get(place, ()))

    def _stage_mean(self, s: Stage, less: Sequence[int]) -> float:
        delay = self.merged.seconds(s)
        if delay is not None:
            return self.flow(s.place, less) * delay
        assert s.station is not None
        g = self.merged.group[s.chain]
        queue = self.merged.queues.index(s.station)
        p = self.constants.marginal(queue, less)
        held = float((np.arange(p.shape[g]) @ np.moveaxis(p, g, 0).reshape(p.shape[g], -1)).sum())
        members = self.merged.populations[g] / self.network.chains[s.chain].tokens
        return held * self.merged.demand(s) / self.merged.demands[g][queue] / members

    def distribution(self, place: str, less: Sequence[int] = ()) -> Floats:
        """P(#place = n) for n = 0, 1, …"""
        stages = self.expressions.stages[place]
        c = stages[0].chain
        if self.network.chains[c].tokens == 1:
            mean = self.mean(place, less)
            return np.array([1.0 - mean, mean])
        (s,) = stages
        g = self.merged.group[c]
        if self.merged.seconds(s) is not None:
            rest = np.array(self.merged.delays)
            rest[g] = max(0.0, rest[g] - self.merged.demand(s))
            return self.constants.delayed_marginal(g, self.merged.demand(s), rest, less)
        assert s.station is not None
        queue = self.merged.queues.index(s.station)
        joint = self.constants.marginal(queue, less)
        held = np.moveaxis(joint, g, 0).reshape(joint.shape[g], -1).sum(axis=1)
        return _thinned(held, self.merged.demand(s) / self.merged.demands[g][queue])

    def _average(self, e: Node, given: str | None) -> float:
        """The average of an expression over time, or over the firings of a transition, in the marking just before."""
        source = self.hops[given].source if given else ""
        less = (self.merged.group[self.expressions.chain[source]],) if given else ()
        parts = [factor * self._term(part, source, less) for factor, part in terms(e)]
        return math.fsum(parts)

    def _term(self, part: Node, source: str, less: Sequence[int]) -> float:
        places = self.expressions.varying(part)
        passing = source not in self.expressions.stages  # the token is on its way through a vanishing place
        rest = {q: int(passing and q == source) for q in places_of(part)}
        if not places:
            return float(evaluate(part, rest))
        (place,) = places
        more = int(place == source)
        if is_tokens(part):
            return self.mean(place, less) + more
        chances = enumerate(self.distribution(place, less).tolist())
        return math.fsum(p * float(evaluate(part, {**rest, place: n + more})) for n, p in chances if p > 0)


def _thinned(held: Floats, share: float) -> Floats:
    """The tokens of one place among those at a station: each is of that place with probability ``share``, independently."""
    if share >= 1.0 - 1e-15:
        return held
    made = np.zeros(len(held))
    row = np.array([1.0])  # of a binomial law
    for n, p in enumerate(held.tolist()):
        made[: n + 1] += p * row
        row = np.convolve(row, [1.0 - share, share])
    return made
