"""All that the structure of a net says, in one record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from spn.errors import AnalysisError, refuse
from spn.net.model import Net
from spn.structural import semiflows as search
from spn.structural.advice import confusions
from spn.structural.algebra import Clock, TooLong, kernel, reduced
from spn.structural.bounds import place_bounds
from spn.structural.classes import classes, obstacles, restrictions
from spn.structural.conflicts import ConflictSet, conflict_sets
from spn.structural.incidence import Incidence, Vector, incidence
from spn.structural.liveness import Commoner, commoner, inapplicable
from spn.structural.product_form import ProductForm, product_form
from spn.structural.programs import moving_certificate, positive_certificate
from spn.structural.proof import weighted_sum
from spn.structural.siphons import Places, Sets, minimal_siphons, minimal_traps
from spn.structural.throughput import ThroughputBound, throughput_bounds

SHOWN = 12  # invariants, and terms of one, in the short form


class HasNet(Protocol):
    @property
    def net(self) -> Net: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """Weightings by name. ``minimal``: the minimal semiflows, all of them where ``stopped`` is empty, else none. ``basis``: of the vector
    space of all flows, with signs; empty where it was too large. ``dimension`` None: not found in time."""

    minimal: tuple[Mapping[str, int], ...]
    stopped: str
    basis: tuple[Mapping[str, int], ...]
    dimension: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant:
    """A weighted sum of tokens that is ``total`` in every reachable marking."""

    weights: Mapping[str, int]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Structure:
    """What the structure of a net says, whatever its rates. True and False are proved (with a certificate that was verified in whole
    numbers), None is not known.

    ``invariants``: one for each minimal P-semiflow, or for each basis vector where those are too many. ``bounds``: by place, None where
    the structure gives none. ``bounded``: every initial marking leaves every place bounded. ``conservative``: some weighting of all places
    is constant. ``consistent``, ``repetitive``: some firing count with every transition gives back the marking, or at least as much; both
    are None where multiplicities vary. ``remarks``: what of this holds with which features of the net.
    """

    net: Net
    rank: int | None
    p_flows: Flows
    t_flows: Flows
    invariants: tuple[Invariant, ...]
    bounds: Mapping[str, int | None]
    bounded: bool | None
    conservative: bool | None
    consistent: bool | None
    repetitive: bool | None
    classes: tuple[str, ...]
    siphons: Sets
    traps: Sets
    commoner: Commoner
    conflicts: tuple[ConflictSet, ...]
    confusions: tuple[tuple[str, str, str], ...]
    product_form: ProductForm
    remarks: tuple[str, ...]

    def __repr__(self) -> str:
        """Classes, invariants and bounds in a few lines; `spn structure` prints all."""
        lines = [f"structure of {self.net.name}: {', '.join(self.classes) or 'not ordinary'}"]
        for i in self.invariants[:SHOWN]:
            lines.append(f"  {weighted_sum(list(i.weights), dict(enumerate(i.weights.values())), SHOWN)} = {i.total}")
        left = len(self.invariants) - SHOWN
        unbounded = [p for p, b in self.bounds.items() if b is None]
        lines += [f"  … {left} more invariants"] * (left > 0)
        lines += [f"no bound: {', '.join(unbounded[:SHOWN])}{', …' if len(unbounded) > SHOWN else ''}"] * bool(unbounded)
        return "\n".join(lines)

    def names(self, places: Places) -> tuple[str, ...]:
        return tuple(self.net.places[p].name for p in sorted(places))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "model": self.net.name,
            "places": len(self.net.places),
            "transitions": len(self.net.transitions),
            "rank": self.rank,
            "invariants": [{"weights": dict(i.weights), "total": i.total} for i in self.invariants],
            "p_flows": _flows_dict(self.p_flows),
            "t_flows": _flows_dict(self.t_flows),
            "bounds": dict(self.bounds),
            **{key: getattr(self, key) for key in ("bounded", "conservative", "consistent", "repetitive")},
            "classes": list(self.classes),
            "siphons": self._sets(self.siphons),
            "traps": self._sets(self.traps),
            "commoner": {
                "holds": self.commoner.holds,
                "uncontrolled_siphons": [list(self.names(s)) for s in self.commoner.uncontrolled],
                "deadlock_free": self.commoner.deadlock_free,
                "live": self.commoner.live,
                "why": self.commoner.why,
            },
            "conflicts": [{"transitions": list(c.transitions), "equal": c.equal, "immediate": c.immediate} for c in self.conflicts],
            "confusions": [{"first": u, "other": v, "decided": w} for u, v, w in self.confusions],
            "product_form": {
                "found": self.product_form.found,
                "any_rates": self.product_form.any_rates,
                "reason": self.product_form.reason,
            },
            "remarks": list(self.remarks),
        }

    def _sets(self, found: Sets) -> dict[str, Any]:
        return {"sets": [list(self.names(s)) for s in found.sets], "stopped": found.stopped}


def _flows_dict(flows: Flows) -> dict[str, Any]:
    return {
        "dimension": flows.dimension,
        "minimal": [dict(y) for y in flows.minimal],
        "stopped": flows.stopped,
        "basis": [dict(y) for y in flows.basis],
    }


def structure(model: Net | HasNet, *, most: int = 2_000, seconds: float = 5.0) -> Structure:
    """What the structure of a model or net says: invariants, bounds, siphons and traps, conflicts, classes.

    ``most`` and ``seconds`` limit each search for minimal semiflows, siphons and traps, which can be exponentially many: where one stops,
    the record says so, and a basis of the flows stands in for the minimal ones. AnalysisError E0682 for limits that are not positive."""
    if isinstance(most, bool) or not isinstance(most, int) or most < 1 or not seconds > 0:
        raise refuse(AnalysisError, "E0682", f"the limits are most = {most!r}, seconds = {seconds!r}; they are positive numbers")
    net = net_of(model)
    matrix, limits = incidence(net), search.Limits(most=most, seconds=seconds)
    p_flows = _place_flows(matrix, limits)
    t_flows = _transition_flows(matrix, limits)
    bounds = place_bounds(net)
    siphons = minimal_siphons(net, limits)
    return Structure(
        net=net,
        rank=_rank(matrix, seconds),
        p_flows=p_flows,
        t_flows=t_flows,
        invariants=_invariants(net, p_flows),
        bounds={p.name: b for p, b in zip(net.places, bounds, strict=True)},
        **_behaviour(matrix),
        classes=classes(net),
        siphons=siphons,
        traps=minimal_traps(net, limits),
        commoner=commoner(net, siphons),
        conflicts=conflict_sets(net),
        confusions=tuple(confusions(net)),
        product_form=product_form(net, bounds),
        remarks=_remarks(net, matrix),
    )


def bounds(model: Net | HasNet, *transitions: str) -> tuple[ThroughputBound, ...]:
    """Lower and upper bounds on the throughput of transitions (all of them, or those named), in firings per second, from mean times
    and the structure alone: no state space is built. See :mod:`spn.structural.throughput`."""
    net = net_of(model)
    known = not inapplicable(net) and commoner(net, minimal_siphons(net, search.Limits(most=500, seconds=1.0))).deadlock_free is True
    return throughput_bounds(net, transitions or None, deadlock_free=known)


def net_of(model: Net | HasNet) -> Net:
    net = model if isinstance(model, Net) else getattr(model, "net", None)
    if not isinstance(net, Net):
        raise TypeError(f"a Model or a Net is due, not {type(model).__name__}")
    return net


# --- parts ------------------------------------------------------------------------------------------------------------------------


def _rank(matrix: Incidence, seconds: float) -> int | None:
    try:
        return len(reduced([c.changes for c in matrix.columns], Clock(seconds)))
    except TooLong:
        return None


def _place_flows(matrix: Incidence, limits: search.Limits) -> Flows:
    found = search.place_semiflows(matrix, limits)
    return _flows(found, [c.changes for c in matrix.columns], range(len(matrix.places)), matrix.places, limits)


def _transition_flows(matrix: Incidence, limits: search.Limits) -> Flows:
    found = search.transition_semiflows(matrix, limits)
    return _flows(found, search.transition_rows(matrix), search.constant_transitions(matrix), matrix.transitions, limits)


def _flows(found: search.Rays, rows: Sequence[Vector], variables: Sequence[int], names: Sequence[str], limits: search.Limits) -> Flows:
    try:
        basis = kernel(rows, variables, Clock(limits.seconds))
    except TooLong:
        return Flows(minimal=_named(found.vectors, names), stopped=found.stopped, basis=(), dimension=None)
    return Flows(minimal=_named(found.vectors, names), stopped=found.stopped, basis=_named(basis, names), dimension=len(basis))


def _named(vectors: Sequence[Vector], names: Sequence[str]) -> tuple[dict[str, int], ...]:
    return tuple({names[k]: v for k, v in sorted(y.items())} for y in vectors)


def _invariants(net: Net, flows: Flows) -> tuple[Invariant, ...]:
    initial = {p.name: p.initial for p in net.places}
    chosen = flows.basis if flows.stopped else flows.minimal
    return tuple(Invariant(weights=y, total=sum(w * initial[p] for p, w in y.items())) for y in chosen)


def _behaviour(matrix: Incidence) -> dict[str, bool | None]:
    """Boundedness and the like, each with a certificate for it or against it."""
    columns = [c.changes for c in matrix.columns]
    rows = matrix.by_place()
    n, m = len(matrix.places), len(columns)
    varies = bool(matrix.varying)

    def decided(yes: object, no: object) -> bool | None:
        return True if yes is not None else False if no is not None and not varies else None

    return {
        "bounded": decided(positive_certificate(columns, n, rising=-1), moving_certificate(rows, m, rising=1, signed=False)),
        "conservative": decided(positive_certificate(columns, n), moving_certificate(rows, m, rising=1, signed=True)),
        "consistent": None if varies else decided(positive_certificate(rows, m), moving_certificate(columns, n, rising=-1, signed=True)),
        "repetitive": None
        if varies
        else decided(positive_certificate(rows, m, rising=1), moving_certificate(columns, n, rising=-1, signed=False)),
    }


def _remarks(net: Net, matrix: Incidence) -> tuple[str, ...]:
    """What holds with the features that plain nets do not have."""
    found = []
    special = obstacles(net)
    if special:
        found.append(
            f"with {', '.join(special)} the place invariants and bounds hold (such features disable firings, or are counted in), siphons "
            "stay empty and traps marked; the classes speak of input and output arcs alone, and theorems on liveness are not used"
        )
    if "inhibitor arcs" in special or "guards" in special or "capacities" in special:
        found.append("transition invariants say what gives back a marking, not that it can fire; a place may be bounded in other ways")
    if matrix.varying:
        names = ", ".join(matrix.transitions[t] for t in sorted(matrix.varying)[:5]) + (", …" if len(matrix.varying) > 5 else "")
        found.append(
            f"{names}: no constant change (flush arcs or marking-dependent multiplicities); the place invariants listed hold whatever the "
            "amounts are, and the transition invariants are those without these transitions"
        )
    limits = restrictions(net)
    if limits:
        found.append(f"the net has {', '.join(limits)}: liveness is not concluded from siphons and traps")
    return tuple(found)
