"""Exact steady state: phase-type expansion, state space, Markov chain, rewards."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain

import numpy as np

from spn.delay import with_means
from spn.errors import AnalysisError, Diagnostic, nearest, refuse
from spn.expr.nodes import Node, Number
from spn.markov import METHODS, Class, LongRun, long_run
from spn.measure import Delay, Horizon, Measure, Passage, Primitive, Quantile, Special, TimeAverage, primitives, value
from spn.model import Model
from spn.net.model import Memory, Net, Timed, timed
from spn.net.stopped import stopped_when
from spn.provenance import provenance
from spn.reach import Limits
from spn.reach.space import LARGE, Floats
from spn.result import RecurrentClass, Result, Value
from spn.solvers import delays, plausible, questions
from spn.solvers.chain import Explored, linear_in, state_space
from spn.symmetry.groups import reasons, symmetry

NAME = "ctmc"
TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """``tolerance`` on the residual; ``max_states`` counts the markings stored, phases included; ``max_memory`` in bytes, None for
    most of what is available. ``solver`` of the stationary vector: ``"auto"``, or one of gth, lu, sparse-gth, aggregation, idr, sor and
    power, which is then the only one tried. ``lump`` is "auto" for interchangeable replicas to be lumped, or "off"."""

    tolerance: float = TOLERANCE
    max_states: int = 20_000_000
    max_memory: float | None = None
    solver: str = "auto"
    lump: str = "auto"

    def __post_init__(self) -> None:
        if self.solver not in ("auto", *METHODS):
            near = nearest(str(self.solver), ["auto", *METHODS])
            known = f"{f'did you mean {near}? ' if near else ''}known are auto, {', '.join(METHODS)}"
            raise refuse(AnalysisError, "E0616", f"unknown solver: {self.solver}", help=known)
        if self.lump not in ("auto", "off"):
            raise refuse(AnalysisError, "E0617", f"lump is {self.lump!r}; it is auto or off")
        least = (("tolerance", self.tolerance, 0), ("max_states", self.max_states, 1), ("max_memory", self.max_memory, 0))
        for name, given, low in least:
            if given is None and name == "max_memory":
                continue
            if isinstance(given, bool) or not isinstance(given, int | float) or not low <= given < math.inf or given == 0:
                raise refuse(AnalysisError, "E0617", f"{name} is {given!r}; it is a positive number{' from 1 on' if low else ''}")

    def limits(self) -> Limits:
        return Limits(states=self.max_states) if self.max_memory is None else Limits(states=self.max_states, memory=self.max_memory)


def may(model: Model) -> list[Diagnostic]:
    """All reasons why the net is no Markov chain, each with its place in the text; empty where the method applies.

    That the net is bounded shows only while its state space is built."""
    own = chain.from_iterable(refusals_of(t) for t in timed(model.net))
    return [*own, *questions.refusals(model), *delays.refusals(model.net, questions.asked(model))]


def refusals_of(t: Timed) -> Iterator[Diagnostic]:
    """Why the clock of a transition is not one of a Markov chain."""
    if t.law.phase_type() is None:
        yield Diagnostic(
            code="E0610",
            message=f"the law of {t.name} is {t.law.describe()}: not phase-type",
            span=t.law_span or t.span,
            label="no Markov chain",
            help="use an exponential, Erlang, hypo-, hyperexponential, Coxian or phase-type law, or simulate",
        )
    if t.memory is Memory.REPEAT:
        yield Diagnostic(
            code="E0611",
            message=f"{t.name} repeats its drawn work (memory repeat), so that the drawn work is part of the state",
            span=t.span,
            help="use memory restart or resume, or simulate",
        )
    if t.transfer is not None and t.transfer.latency > 0:
        yield Diagnostic(
            code="E0614",
            message=f"the transfer of {t.name} has a latency, a constant delay: not phase-type",
            span=t.transfer.span or t.span,
            help="leave the latency out, model it as a transition of its own with a phase-type law, or simulate",
        )
    yield from _scale_refusals(t)


def _scale_refusals(t: Timed) -> Iterator[Diagnostic]:
    span = getattr(t.scale, "span", None) or t.span
    if not isinstance(t.scale, Number):
        yield Diagnostic(
            code="E0612",
            message=f"the work of {t.name} is scaled by the marking in which it is drawn",
            span=span,
            help="let the marking change the speed instead, or simulate",
        )
    elif not 0 < t.scale.value < math.inf:
        yield Diagnostic(
            code="E0613",
            message=f"the work of {t.name} is scaled by {float(t.scale.value):g}",
            span=span,
            help="use a positive scale, or an immediate transition",
        )


def compute(model: Model, options: Options | None = None, *, reason: str = "") -> Result:
    """The exact long-run values of all measures.

    Raises AnalysisError where the method does not apply (all refusals at once), the net is unbounded, or a limit is reached;
    SemanticsError where the net means nothing. An answer that misses the tolerance is returned with ``converged`` False.
    """
    began = time.perf_counter()
    options = options or Options()
    model = with_means(model)
    refused = may(model)
    if refused:
        raise AnalysisError(*refused)
    found = _Answer(model, options)
    if found.converged() and found.first is not None:
        plausible.check(model.net, {p: found.known[p] for p in found.long_run if p in found.known}, found.first.space.n)
    return Result(
        method=NAME,
        reason=reason or "all laws are exponential or phase-type",
        measures={m.name: Value(value=found.value(m), unit=m.unit, unit_factor=float(m.unit_factor)) for m in model.measures},
        residual=found.residual(),
        converged=found.converged(),
        classes=found.classes(),
        details=found.details(),
        notes=tuple(found.notes()),
        seconds=time.perf_counter() - began,
        provenance=provenance(model, {"method": NAME, **asdict(options)}),
    )


class _Answer:
    """The values of all primitives: long-run averages and what is asked at times from one chain, first passages from chains that stop."""

    def __init__(self, model: Model, options: Options) -> None:
        self.model, self.options = model, options
        wanted = tuple(dict.fromkeys(chain.from_iterable(primitives(m.body, model.net) for m in model.measures)))
        special = questions.asked(model)
        self.long_run = tuple(p for p in wanted if not isinstance(p, Special))
        self.others = questions.Answers()
        self.symmetry = symmetry(model.net, model.measures) if options.lump == "auto" else None
        self.first: Explored | None = None
        self.solved: LongRun | None = None
        self.solvers: list[str] = []
        self.rewards: Mapping[Primitive, Floats] = {}
        self.known: dict[Primitive, float] = {}
        if self.long_run or not special or any(not isinstance(q, Passage | Delay) for q in special):
            self._course(special)
        for condition, asked in questions.by_condition(special).items():
            self._passages(condition, asked)
        for about in questions.by_ends(special):
            delays.delays(about, model.net, self.others, options.limits(), options.tolerance)
            self.solvers.append("first passage")
        self.known.update(self.others.values)

    def _course(self, special: Sequence[Special]) -> None:
        """Answer what is asked of the net as it is."""
        net, options = self.model.net, self.options
        lasting = [q for q in special if isinstance(q, Quantile)]
        found = self._explored(net, (*self.long_run, *questions.needed(special, net)))
        self.first, self.rewards = found, found.rewards
        space, rewards = found.space, found.rewards
        timed = [q for q in special if isinstance(q, Horizon)]
        questions.at_times(timed, net, space, rewards, self.others)
        if self.long_run or lasting or not special:
            self.solved = long_run(space.rates, space.initial, options.tolerance, solver=options.solver)
            self.known = averages(rewards, self.long_run, self.solved.pi, found.alike)
            questions.quantiles(lasting, rewards, self.solved.pi, self.others)
            self.solvers.append(self.solved.method)

    def _passages(self, condition: Node, asked: Sequence[Passage]) -> None:
        met = TimeAverage(condition)
        found = self._explored(stopped_when(self.model.net, condition), (met,))
        questions.passages(asked, found.space, found.rewards[met] != 0, self.others, self.options.tolerance)
        self.first = self.first or found
        self.solvers.append("first passage")

    def _explored(self, net: Net, wanted: Sequence[Primitive]) -> Explored:
        groups = self.symmetry.groups if self.symmetry is not None else ()
        return state_space(net, wanted, self.options.limits(), groups)

    def value(self, m: Measure) -> float:
        return value(m.body, self.model.net, self.known)

    def residual(self) -> float:
        return max(self.others.residual, self.solved.residual if self.solved is not None else 0.0)

    def converged(self) -> bool:
        return self.others.converged and (self.solved is None or self.solved.converged)

    def classes(self) -> tuple[RecurrentClass, ...]:
        if self.solved is None or self.first is None:
            return ()
        lasting = tuple(m for m in self.model.measures if not any(isinstance(p, Special) for p in primitives(m.body, self.model.net)))
        told = tuple(m for m in lasting if linear_in(m.body, self.model.net, self.first.averaged))
        return _classes(replace(self.model, measures=told), self.first, self.rewards, self.solved)

    def details(self) -> dict[str, object]:
        if self.first is None:
            return {}
        details = _details(self.first, ", ".join(dict.fromkeys([*self.solvers, *self.others.methods])))
        if self.solved is not None:
            details.update(flow_balance=self.solved.balance, estimated_error=self.solved.error)
            details.update(choice=self.solved.reasons, tried=self.solved.tried)
        return details

    def notes(self) -> list[str]:
        own = _notes(self.first, self.solved) if self.first is not None else []
        broken = reasons(self.symmetry) if self.symmetry is not None else []
        return [*_undefined({m.name: self.value(m) for m in self.model.measures}), *own, *broken, *self.others.notes]


def _measures(model: Model, rewards: Mapping[Primitive, Floats], pi: Floats, alike: Mapping[Primitive, Primitive]) -> dict[str, float]:
    known = averages(rewards, rewards, pi, alike)
    return {m.name: value(m.body, model.net, known) for m in model.measures}


def averages(
    rewards: Mapping[Primitive, Floats], wanted: Iterable[Primitive], pi: Floats, alike: Mapping[Primitive, Primitive]
) -> dict[Primitive, float]:
    """The means of the rewards wanted over a distribution; primitives that are ``alike``, as those of replicas, cost one mean."""
    done: dict[Primitive, float] = {}
    for p in wanted:
        first = alike.get(p, p)
        if first not in done:
            done[first] = average(rewards[p], pi)
        done[p] = done[first]
    return {p: done[p] for p in wanted}


def average(reward: Floats, pi: Floats) -> float:
    """The mean of a reward over a distribution; what is undefined in a state of probability 0 does not matter."""
    seen = pi > 0
    if len(pi) > LARGE:
        return float(np.sum(np.where(seen, reward, 0.0) * pi))  # in pairs: as good, and much faster
    return math.fsum((reward[seen] * pi[seen]).tolist())


def _classes(model: Model, found: Explored, rewards: Mapping[Primitive, Floats], solved: LongRun) -> tuple[RecurrentClass, ...]:
    space = found.space
    kinds = {**dict.fromkeys(space.dead.tolist(), "dead"), **dict.fromkeys(space.stuck.tolist(), "stuck")}
    if len(solved.classes) == 1 and not kinds:
        return ()
    rewards = dict(rewards)
    return tuple(_class(model, found, rewards, kinds.get(int(c.states[0]), "recurrent"), c) for c in solved.classes)


def _class(model: Model, found: Explored, rewards: Mapping[Primitive, Floats], kind: str, c: Class) -> RecurrentClass:
    parts = {p: rewards[p][c.states] for p in rewards if found.alike.get(p, p) == p}
    inside = {p: parts[found.alike.get(p, p)] for p in rewards}
    return RecurrentClass(
        probability=c.probability,
        size=len(c.states),
        kind=kind,
        marking=found.shown(int(c.states[0])),
        measures=_measures(model, inside, c.solution.pi, found.alike),
    )


def _details(found: Explored, solver: str) -> dict[str, object]:
    space = found.space
    details: dict[str, object] = {"states": space.n, "arcs": space.arcs, "vanishing": space.vanishing, "solver": solver}
    if space.vanishing is None:  # passed over, and not counted
        del details["vanishing"]
    if found.stands_for > space.n:
        details["lumped"] = f"for {_short(found.stands_for)} unlumped"
    if found.phases:
        details["phases"] = dict(found.phases)
    return details


def _short(many: int) -> str:
    """A count, by its order of magnitude where it is beyond reading."""
    return f"{many:,}" if many < 10**12 else f"10^{len(str(many)) - 1}" if many < 10**4000 else "very many"


def _undefined(measures: Mapping[str, float]) -> list[str]:
    names = [name for name, v in measures.items() if math.isnan(v)]
    return [f"{', '.join(names)}: undefined, a division by 0 or the like"] if names else []


def _notes(found: Explored, solved: LongRun | None) -> list[str]:
    space = found.space
    notes = list(found.notes)
    if found.phases:
        phases = ", ".join(f"{t} ({n})" for t, n in found.phases.items())
        notes.append(f"expanded exactly into phases: {phases}; states count markings with the phases of the clocks")
    if solved is None:
        return notes
    if len(solved.classes) > 1:
        notes.append(f"{len(solved.classes)} recurrent classes: values are mixed with the probabilities of ending in each")
    for kind, states in (("dead", space.dead), ("stuck", space.stuck)):
        notes.extend(_absorbed(kind, found.shown(i)) for i in states[:3].tolist())
        if len(states) > 3:
            notes.append(f"{len(states) - 3} more {kind} markings")
    if not solved.converged:
        missed = f"the residual {solved.residual:.1e} and the estimated error {solved.error:.1e} miss the tolerance"
        notes.append(f"not converged: {missed}; the figures are not to be trusted")
    if solved.tried:
        notes.append(f"solved by {solved.method} after other methods fell short ({'; '.join(solved.tried)})")
    return notes


def _absorbed(kind: str, marking: Mapping[str, int]) -> str:
    shown = ", ".join(f"{p}={k}" for p, k in marking.items()) or "(empty)"
    why = "no transition is enabled" if kind == "dead" else "transitions are enabled, but every speed is 0"
    return f"{kind} marking {shown}: {why}"


def unsolved(result: Result) -> AnalysisError:
    """The error for a result that did not converge, where none but a right figure will do."""
    error = refuse(
        AnalysisError,
        "E0615",
        f"the steady state was not reached: residual {result.residual:.1e} with {result.details.get('solver')}",
        help="raise the tolerance, or simulate",
    )
    assert isinstance(error, AnalysisError)
    return error
