"""Asymptotic bounds: where the flows of a net have fixed ratios, who is busy longest, and what the tokens allow.

Flow balance and the weights of immediates (and the rates of clocks) in equal conflict may leave one solution v up to a factor: the
*visits*, here relative to one transition. Then the *demand* of a timed transition is its visits times its mean time, and for the throughput
X of the reference (Denning and Buzen 1978, ACM Comput. Surv. 10, 225; Campos and Silva 1992, IEEE Trans. Softw. Eng. 18, 743)

- X <= servers / demand of every transition; the least of these is the *bottleneck*;
- X <= y . m0 / sum over places of y_p * (the most that a transition taking from p holds there, a_p * demand) for every place invariant y.

Both follow from the linear program of :mod:`spn.structural.throughput`, which is as sharp or sharper; these are the ones to read.
Transitions whose running clocks have no fixed relation to their throughput (see there) have no demand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from spn.expr.nodes import Number
from spn.net.model import INFINITE, Immediate, Net, Timed, place_index, timed
from spn.structural.algebra import Clock, TooLong, kernel
from spn.structural.bounds import place_bounds
from spn.structural.conflicts import condition
from spn.structural.incidence import incidence
from spn.structural.semiflows import Limits, place_semiflows
from spn.structural.throughput import inputs, keeps_work, mean_time

LIMITS = Limits(most=500, seconds=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """A place invariant, by weights and total, and the throughput of the reference that its tokens allow."""

    weights: Mapping[str, int]
    total: int
    upper: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Asymptotic:
    """``visits`` of all transitions for one firing of ``reference``, ``demands`` in seconds of those that have one, ``saturation`` the
    throughput of the reference at which ``bottleneck`` is always busy (infinite and empty where none can be), ``populations`` sharpest
    first, ``upper`` the least of all."""

    reference: str
    visits: Mapping[str, float]
    demands: Mapping[str, float]
    saturation: float
    bottleneck: str
    populations: tuple[Population, ...]
    upper: float


def asymptotic(net: Net, reference: str | None = None) -> Asymptotic | None:
    """The asymptotic bounds relative to a transition (the first timed one that fires at all); None where the ratios of flows are not fixed,
    multiplicities vary, or a place is not known to be bounded."""
    visits = _visits(net)
    chosen = reference or next((t.name for t in net.transitions if isinstance(t, Timed) and visits and visits[t.name]), None)
    if visits is None or chosen is None or not visits.get(chosen):
        return None
    relative = {t: float(v / visits[chosen]) for t, v in visits.items()}
    demands = {t.name: relative[t.name] * s for t in net.transitions if (s := _demanded(net, t)) is not None}
    busy = [(t.servers / d, t.name) for t in timed(net) if t.servers != INFINITE and (d := demands.get(t.name, 0.0)) > 0]
    saturation, bottleneck = min(busy, default=(math.inf, ""))
    populations = _populations(net, demands)
    upper = min([saturation, *(p.upper for p in populations)])
    return Asymptotic(
        reference=chosen,
        visits=relative,
        demands=demands,
        saturation=saturation,
        bottleneck=bottleneck,
        populations=populations,
        upper=upper,
    )


def _demanded(net: Net, t: Timed | Immediate) -> float | None:
    """The mean time of a transition whose running clocks number throughput times mean time; None for any other."""
    if isinstance(t, Immediate):
        return None
    mean = mean_time(t)
    return mean if mean is not None and math.isfinite(mean) and keeps_work(net, t) else None


def _visits(net: Net) -> dict[str, Fraction] | None:
    matrix = incidence(net)
    if matrix.varying or not net.transitions or any(b is None for b in place_bounds(net, best=False)):
        return None
    try:
        basis = kernel([*matrix.by_place(), *_ratios(net)], range(len(net.transitions)), Clock(1.0))
    except TooLong:
        return None
    if len(basis) != 1 or min(basis[0].values()) < 0:
        return None
    return {t: Fraction(basis[0].get(k, 0)) for k, t in enumerate(matrix.transitions)}


def _ratios(net: Net) -> list[dict[int, int]]:
    """x_u / r_u = x_v / r_v for transitions in equal conflict, r their weights or rates."""
    first: dict[object, tuple[int, Fraction]] = {}
    rows = []
    for k, t in enumerate(net.transitions):
        rate = _rate(net, t)
        if rate is None:
            continue
        kind = "immediate" if isinstance(t, Immediate) else t.servers
        other, r = first.setdefault((kind, condition(net, t)), (k, rate))
        if other != k:
            scale = math.lcm(r.denominator, rate.denominator)
            rows.append({k: int(r * scale), other: -int(rate * scale)})
    return rows


def _rate(net: Net, t: Timed | Immediate) -> Fraction | None:
    """The weight of an immediate, the rate of a clock whose work is never lost; None where it is not fixed."""
    if isinstance(t, Immediate):
        return Fraction(t.weight.value) if isinstance(t.weight, Number) else None
    mean = _demanded(net, t)
    return 1 / Fraction(repr(mean)) if mean else None


def _populations(net: Net, demands: Mapping[str, float]) -> tuple[Population, ...]:
    index = place_index(net)
    held = [0.0] * len(net.places)  # tokens of each place that are in service, for one firing of the reference a second
    for t in net.transitions:
        for p, a in inputs(t, index).items():
            if t.name in demands and a is not None:
                held[p] = max(held[p], a * demands[t.name])
    found = []
    for y in place_semiflows(incidence(net), LIMITS).vectors:
        total = sum(w * net.places[p].initial for p, w in y.items())
        need = sum(w * held[p] for p, w in y.items())
        if need > 0:
            found.append(Population(weights={net.places[p].name: w for p, w in y.items()}, total=total, upper=total / need))
    return tuple(sorted(found, key=lambda q: q.upper))
