"""Bounds on throughput from the incidence, the initial marking and mean times alone, by linear programming.

Unknowns are long-run means: tokens M of places, firings x per unit time of transitions, running clocks u of timed ones. Every constraint is
an equation or an inequality that the true means satisfy (Chiola, Anglano, Campos, Colom and Silva 1993, PNPM, 212; Campos and Silva 1992,
IEEE Trans. Softw. Eng. 18, 743), so that the least and the largest x over all solutions bound the true one:

- M = m0 + C z with z >= 0: a mean of reachable markings;
- what flows into a place flows out of it, where it is bounded; else at least as much flows in;
- immediates in equal conflict with constant weights fire in their ratio; timed ones in equal conflict have equal u;
- u = x s (Little) for a clock of mean s whose work is never lost: an exponential one, one that nothing interrupts, one that resumes;
  u >= x s for a constant delay that starts anew; no relation where lost work may have been drawn longer or shorter than the mean;
- u <= servers, u <= M_p / a_p for inputs; and where nothing but the inputs disables the transition, at least what bounded places force;
- in markings where time passes no immediate is enabled: its input place holds less than it needs;
- transfers use no more of a link than its capacity;
- where no marking is dead and every clock is as above, at least one clock runs.

The long run is that from the initial marking: with several recurrent classes the means are mixed, and the constraints hold for the mixture.
A speed or scale that depends on the marking gives no relation between u and x for that transition; all others stay.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from spn.errors import AnalysisError, nearest, refuse
from spn.expr.nodes import Number
from spn.net.model import INFINITE, ArcKind, Immediate, Memory, Net, Timed, Transition, place_index
from spn.structural.bounds import bounds as quick_bounds
from spn.structural.bounds import place_bounds
from spn.structural.conflicts import condition
from spn.structural.incidence import Incidence, constant, incidence
from spn.structural.programs import Solution, minimum

STIFF = 1e6  # ratio of mean times beyond which a program in floating point is not relied upon
MOST_SIZE = 2_000  # places and transitions together
MOST_CHECKED = 300  # of a net whose results are checked


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputBound:
    """``lower`` <= mean firings per second <= ``upper`` (infinite where nothing limits it); ``limits`` names what the upper bound rests
    on: servers that are always busy, links that are full, tokens that are all in use."""

    transition: str
    lower: float
    upper: float
    limits: tuple[str, ...] = ()


@dataclass(slots=True)
class _Program:
    """The constraints, by name of variable: ("M", p), ("z", c), ("x", t), ("a", c), ("u", t). Times are in units of ``unit``."""

    unit: float
    number: dict[tuple[str, int], int] = field(default_factory=dict)
    at_most: list[dict[int, float]] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    equal: list[dict[int, float]] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def variable(self, kind: str, k: int) -> int:
        return self.number.setdefault((kind, k), len(self.number))

    def below(self, row: Mapping[tuple[str, int], float], limit: float, name: str = "") -> None:
        self.at_most.append({self.variable(*v): c for v, c in row.items()})
        self.limits.append(limit)
        self.names.append(name)

    def equals(self, row: Mapping[tuple[str, int], float], value: float) -> None:
        self.equal.append({self.variable(*v): c for v, c in row.items()})
        self.values.append(value)


def throughput_bounds(net: Net, transitions: tuple[str, ...] | None = None, *, deadlock_free: bool = False) -> tuple[ThroughputBound, ...]:
    """Bounds on the throughput of transitions (all, or those named), in firings per second.

    ``deadlock_free``: that no reachable marking is dead is known from elsewhere, and may be used.
    AnalysisError E0681 for an unknown transition, a net too large, or a program that the solver does not solve."""
    index = {t.name: k for k, t in enumerate(net.transitions)}
    chosen = tuple(index) if transitions is None else transitions
    for name in chosen:
        if name not in index:
            near = nearest(name, index)
            raise refuse(AnalysisError, "E0681", f"there is no transition {name}", help=f"did you mean {near}?" if near else "")
    program = constraints(net, deadlock_free=deadlock_free)
    return tuple(_bound(program, net, name, index[name]) for name in chosen)


def _bound(program: _Program, net: Net, name: str, t: int) -> ThroughputBound:
    x = program.variable("x", t)
    low = _solved(program, {x: 1.0}, name)
    high = _solved(program, {x: -1.0}, name)
    upper = math.inf if high.status == "unbounded" else max(0.0, -high.value) / program.unit
    binding = [n for n, d in zip(program.names, high.duals, strict=False) if n and d < -1e-9]
    binding += [f"the tokens in {p.name}" for p, d in zip(net.places, high.prices, strict=False) if p.initial and d < -1e-9]
    limits = tuple(dict.fromkeys(binding))
    return ThroughputBound(transition=name, lower=max(0.0, low.value) / program.unit, upper=upper, limits=limits)


def _solved(program: _Program, cost: Mapping[int, float], name: str) -> Solution:
    n = len(program.number)
    found = minimum(cost, n, at_most=program.at_most, limits=program.limits, equal=program.equal, values=program.values)
    if found.status in ("optimal", "unbounded"):
        return found
    raise refuse(AnalysisError, "E0681", f"the linear program that bounds the throughput of {name} was not solved: {found.status}")


def violation(net: Net, means: Mapping[str, float], tokens: Mapping[str, float]) -> float | None:
    """How far throughputs (by transition) and mean tokens (by place) are from satisfying the constraints: the least relative change of
    them that makes a solution, 0 for the true means up to rounding. None where the check does not apply: no relation to time, means too far
    apart for floating point, a net too large, or a program that was not solved."""
    if len(net.places) + len(net.transitions) > MOST_CHECKED or _spread(net) > STIFF:
        return None
    known = quick_bounds(net).most
    program = constraints(net, bounds=tuple(known.get(p.name) for p in net.places))
    slack = program.variable("slack", 0)
    places = place_index(net)
    for k, t in enumerate(net.transitions):
        if t.name in means:
            _near(program, ("x", k), means[t.name] * program.unit, slack)
    for name, value in tokens.items():
        _near(program, ("M", places[name]), value, slack)
    n = len(program.number)
    found = minimum({slack: 1.0}, n, at_most=program.at_most, limits=program.limits, equal=program.equal, values=program.values)
    return found.value if found.status == "optimal" else None


def _near(program: _Program, variable: tuple[str, int], value: float, slack: int) -> None:
    """|variable - value| <= slack * max(1, value)."""
    if not math.isfinite(value):
        return
    wide = max(1.0, abs(value))
    at = program.variable(*variable)
    for sign in (1.0, -1.0):
        program.at_most.append({at: sign, slack: -wide})
        program.limits.append(sign * value)
        program.names.append("")


# --- constraints ------------------------------------------------------------------------------------------------------------------


def constraints(net: Net, *, deadlock_free: bool = False, bounds: tuple[int | None, ...] | None = None) -> _Program:
    """The linear program of a net, without an objective; ``bounds`` on places default to the best that the structure gives."""
    if len(net.places) + len(net.transitions) > MOST_SIZE:
        raise refuse(AnalysisError, "E0681", f"throughput is bounded for nets of at most {MOST_SIZE:,} places and transitions")
    matrix = incidence(net)
    if bounds is None:
        bounds = place_bounds(net)
    means = sorted(s for t in net.transitions if isinstance(t, Timed) and (s := mean_time(t)) is not None and 0 < s < math.inf)
    program = _Program(unit=means[len(means) // 2] if means else 1.0)
    for k in range(len(net.transitions)):
        program.variable("x", k)
    _state_equation(program, matrix, bounds)
    _balance(program, matrix, bounds)
    _conflicts(program, net)
    for k, t in enumerate(net.transitions):
        if isinstance(t, Timed):
            _clocks(program, net, k, t, bounds)
        else:
            _vanishing(program, net, t, bounds)
    _links(program, net)
    if deadlock_free and all(isinstance(t, Immediate) or _is_positive(t.speed) for t in net.transitions):
        program.below({("u", k): -1.0 for k, t in enumerate(net.transitions) if isinstance(t, Timed)}, -1.0)
    return program


def _state_equation(program: _Program, matrix: Incidence, bounds: tuple[int | None, ...]) -> None:
    for p, row in enumerate(matrix.by_place()):
        program.equals({("M", p): 1.0, **{("z", c): -float(v) for c, v in row.items()}}, float(matrix.initial[p]))
        limit = bounds[p]
        if limit is not None:
            program.below({("M", p): 1.0}, float(limit), f"the room in {matrix.places[p]}")


def _balance(program: _Program, matrix: Incidence, bounds: tuple[int | None, ...]) -> None:
    """Into each place flows what flows out; of an unbounded one no more flows out."""
    for p, row in enumerate(matrix.by_place()):
        flow = {_flow(matrix, c): v / matrix.columns[c].scale for c, v in row.items()}
        if bounds[p] is not None:
            program.equals(flow, 0.0)
        else:
            program.below({v: -c for v, c in flow.items()}, 0.0)


def _flow(matrix: Incidence, column: int) -> tuple[str, int]:
    c = matrix.columns[column]
    return ("x", c.transition) if c.amount is None else ("a", column)


def _conflicts(program: _Program, net: Net) -> None:
    alike: dict[object, int] = {}
    for k, t in enumerate(net.transitions):
        if isinstance(t, Immediate):
            if isinstance(t.weight, Number):
                first = alike.setdefault(("immediate", condition(net, t)), k)
                other = net.transitions[first].weight
                assert isinstance(other, Number)
                if first != k:
                    program.equals({("x", k): float(other.value), ("x", first): -float(t.weight.value)}, 0.0)
            continue
        first = alike.setdefault((condition(net, t), t.servers), k)
        if first != k:
            program.equals({("u", k): 1.0, ("u", first): -1.0}, 0.0)


def _clocks(program: _Program, net: Net, k: int, t: Timed, bounds: tuple[int | None, ...]) -> None:
    """What holds of the running clocks of one timed transition."""
    u = ("u", k)
    needs = inputs(t, place_index(net))
    known = {p: (a, bounds[p]) for p, a in needs.items() if a is not None}
    most = min([math.inf if t.servers == INFINITE else t.servers, *(b // a for a, b in known.values() if b is not None)])
    if not needs:
        most = min(most, 1)
    if most < math.inf:
        program.below({u: 1.0}, float(most), f"the servers of {t.name}" if most == t.servers else f"the clocks of {t.name}")
    for p, (a, _) in known.items():
        program.below({u: float(a), ("M", p): -1.0}, 0.0)
    if _onlyinputs(net, t):
        _forced(program, u, known, most)
    _little(program, net, k, t)


def _forced(program: _Program, u: tuple[str, int], known: Mapping[int, tuple[int, int | None]], most: float) -> None:
    """The clocks that tokens force to run: min over inputs of min(most, floor(m / a)), bounded below by lines."""
    row: dict[tuple[str, int], float] = {u: -1.0}
    total = (len(known) - 1) * most if len(known) > 1 else 0.0
    if not known:
        program.below(row, -1.0)
        return
    for p, (a, b) in known.items():
        slope = _slope(a, b, most)
        if slope is None:
            return
        row[("M", p)] = row.get(("M", p), 0.0) + slope
        total += slope * (a - 1)
    if total < math.inf:
        program.below(row, total)


def _slope(a: int, b: int | None, most: float) -> float | None:
    """The slope of a line through (a - 1, 0) below min(most, floor(m / a)) for m from 0 to b; None where there is none but 0."""
    if b is None:
        return 1 / a if most == math.inf else None
    if b < a:
        return None
    return min(1 / a, min(most, b // a) / (b - a + 1))


def _little(program: _Program, net: Net, k: int, t: Timed) -> None:
    mean = mean_time(t) if t.transfer is None else _fastest(net, t)
    if mean is None or not 0 < mean < math.inf:
        return
    s = mean / program.unit
    if keeps_work(net, t):
        program.equals({("u", k): 1.0, ("x", k): -s}, 0.0)
    elif _never_short(net, t):
        program.below({("x", k): s, ("u", k): -1.0}, 0.0)


def keeps_work(net: Net, t: Timed) -> bool:
    """Whether the mean number of running clocks is throughput times mean time (Little): no work that was drawn is lost, or it is
    exponential. Never said of a transfer, whose speed the link decides."""
    memoryless = t.law.family == "exp" and t.memory is not Memory.REPEAT
    resumes = t.memory is Memory.RESUME and t.servers != INFINITE and not _is_reset(net, t)
    return t.transfer is None and (memoryless or resumes or not _interrupted(net, t))


def _never_short(net: Net, t: Timed) -> bool:
    """Whether every completed firing takes its mean time at least, on average."""
    exponential = t.law.family == "exp" and t.memory is not Memory.REPEAT and (t.transfer is None or t.transfer.latency == 0)
    return t.law.family == "det" or exponential or not _interrupted(net, t)


def _vanishing(program: _Program, net: Net, t: Immediate, bounds: tuple[int | None, ...]) -> None:
    """Where time passes, an immediate lacks tokens in one of its inputs."""
    needs = inputs(t, place_index(net))
    if not needs or not _onlyinputs(net, t):
        return
    row: dict[tuple[str, int], float] = {}
    total = float(len(needs) - 1)
    for p, a in needs.items():
        b = bounds[p]
        assert a is not None
        if len(needs) == 1:
            program.below({("M", p): 1.0}, float(a - 1))
            return
        if b is None or b < a:
            return
        row[("M", p)] = 1 / (b - a + 1)
        total += (a - 1) / (b - a + 1)
    program.below(row, total)


def _links(program: _Program, net: Net) -> None:
    """Bytes sent per second, over links by transfers whose completed ones have on average the mean size or more."""
    for link in net.links:
        row: dict[tuple[str, int], float] = {}
        for k, t in enumerate(net.transitions):
            if (
                isinstance(t, Timed)
                and t.transfer is not None
                and link.name in t.transfer.links
                and _is_one(t.speed)
                and _never_short(net, t)
            ):
                size = _size(t)
                if size is not None and math.isfinite(size):
                    row[("x", k)] = size / float(link.capacity) / program.unit
        if row:
            program.below(row, 1.0, f"the capacity of {link.name}")


# --- transitions ------------------------------------------------------------------------------------------------------------------


def inputs(t: Transition, index: Mapping[str, int]) -> dict[int, int | None]:
    """What a transition takes from each input place, None where that varies."""
    found: dict[int, int | None] = {}
    for a in t.arcs:
        if a.kind is ArcKind.INPUT:
            p, k = index[a.place], constant(a)
            before = found.get(p, 0)
            found[p] = None if k is None or before is None else before + k
    return found


def _onlyinputs(net: Net, t: Transition) -> bool:
    """Whether constant inputs alone decide if a transition is enabled."""
    limited = {p.name for p in net.places if p.capacity is not None}
    return t.guard is None and not any(_disables(a.kind, constant(a), a.place in limited) for a in t.arcs)


def _disables(kind: ArcKind, multiplicity: int | None, limited: bool) -> bool:
    if kind is ArcKind.INPUT:
        return multiplicity is None
    return kind in (ArcKind.TEST, ArcKind.INHIBITOR) or (kind is ArcKind.OUTPUT and limited)


def _interrupted(net: Net, t: Timed) -> bool:
    """Whether a running clock may be stopped before it expires: by another transition that takes or flushes what it needs, or resets it, or
    because something beside its inputs disables it. Cautious: it may say yes where it never happens."""
    needs = {a.place for a in t.arcs if a.kind is ArcKind.INPUT}
    rivals = (u for u in net.transitions if u is not t)
    taken = any(a.place in needs and a.kind in (ArcKind.INPUT, ArcKind.FLUSH) for u in rivals for a in u.arcs)
    own = any(a.kind is ArcKind.FLUSH and a.place in needs for a in t.arcs)
    return taken or own or _is_reset(net, t) or not _onlyinputs(net, t)


def _is_reset(net: Net, t: Timed) -> bool:
    return any(t.name in u.resets for u in net.transitions)


def _size(t: Timed) -> float | None:
    """The mean work of a clock; None where its scale varies."""
    return t.law.mean() * float(t.scale.value) if isinstance(t.scale, Number) else None


def mean_time(t: Timed) -> float | None:
    """The mean time of an uninterrupted clock; None for a transfer, and where it depends on the marking."""
    size = _size(t)
    if size is None or not _is_positive(t.speed):
        return None
    assert isinstance(t.speed, Number)
    time = size / float(t.speed.value)
    return time if t.transfer is None else None


def _fastest(net: Net, t: Timed) -> float | None:
    """The mean time of a transfer that has its links to itself."""
    assert t.transfer is not None
    size = _size(t)
    if size is None or not _is_one(t.speed):
        return None
    rates = [float(link.capacity) for link in net.links if link.name in t.transfer.links]
    return size / min([*rates, *([float(t.transfer.cap)] if t.transfer.cap is not None else [])]) + float(t.transfer.latency)


def _is_positive(speed: object) -> bool:
    return isinstance(speed, Number) and 0 < speed.value < math.inf


def _is_one(speed: object) -> bool:
    return isinstance(speed, Number) and speed.value == 1


def _spread(net: Net) -> float:
    means = list(_means(net))
    return max(means) / min(means) if means else 1.0


def _means(net: Net) -> Iterator[float]:
    return (s for t in net.transitions if isinstance(t, Timed) and (s := mean_time(t)) is not None and 0 < s < math.inf)
