"""The printing form of what the structure of a net says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from spn.expr.text import name
from spn.show.grid import Align, Column, Grid
from spn.show.text import count, number
from spn.structural.proof import weighted_sum

if TYPE_CHECKING:
    from spn.structural.analysis import Flows, Structure
    from spn.structural.bottleneck import Asymptotic
    from spn.structural.siphons import Places, Sets
    from spn.structural.throughput import ThroughputBound

SHOWN = 12  # lines of a list, and terms of a sum
Section = tuple[str, list[str]]


def heading(found: Structure) -> str:
    """Size, classes and what is proved of boundedness and repetition."""
    net = found.net
    size = f"{net.name}: {count(len(net.places), 'place')}, {count(len(net.transitions), 'transition')}"
    rank = "" if found.rank is None else f", incidence of rank {found.rank}"
    kind = ", ".join(found.classes) or ("no transitions" if not net.transitions else "not ordinary (weights other than 1)")
    return f"{size}{rank}; {kind}"


def bounds_grid(found: Structure, everything: bool) -> Grid:
    """The places with their initial tokens and bounds."""
    places = found.net.places if everything else found.net.places[: 4 * SHOWN]
    rows = [(name(p.name), str(p.initial), "none" if (b := found.bounds[p.name]) is None else str(b)) for p in places]
    left = len(found.net.places) - len(places)
    if left:
        rows.append((f"… {left} more", "", ""))
    return Grid((Column("place"), Column("initial", Align.RIGHT), Column("at most", Align.RIGHT)), tuple(rows))


def sections(found: Structure, everything: bool) -> Iterator[Section]:
    """The lists, each with its title; ``everything``: without cutting them."""
    most = 0 if everything else SHOWN
    yield "proved of the structure", _proved(found)
    yield _invariant_title(found), _cut([_equation(i.weights, i.total, most) for i in found.invariants], most)
    yield _transition_title(found.t_flows), _cut([_sum(x, most) for x in _chosen(found.t_flows)], most)
    yield _sets_title("minimal siphons", found.siphons), _cut([_set(found, s, most) for s in found.siphons.sets], most)
    yield _sets_title("minimal traps", found.traps), _cut([_set(found, s, most) for s in found.traps.sets], most)
    yield "conflict sets", _cut(list(_conflicts(found)), most) or ["none"]
    if found.confusions:
        yield "confusion", _cut([f"if {u} fires before {v}, {w} competes with {v}" for u, v, w in found.confusions], most)
    if found.remarks:
        yield "what this holds for", list(found.remarks)


def _proved(found: Structure) -> list[str]:
    lines = []
    words: Sequence[tuple[bool | None, str, str]] = (
        (found.bounded, "bounded for every initial marking", "some initial marking leaves some place unbounded"),
        (found.conservative, "conservative: a weighted sum of all places is constant", "not conservative"),
        (found.consistent, "consistent: some firing of all transitions gives back the marking", "not consistent"),
        (found.repetitive, "repetitive: some firing of all transitions can be repeated without loss of tokens", "not repetitive"),
    )
    lines += [yes if value else no for value, yes, no in words if value is not None]
    c = found.commoner
    if c.holds is not None:
        lines.append(f"Commoner's condition {'holds: every siphon holds a marked trap' if c.holds else 'fails'}")
    lines += [f"the siphon {_set(found, s, SHOWN)} holds no marked trap" for s in c.uncontrolled[:3]]
    if c.deadlock_free:
        lines.append("deadlock-free: no reachable marking is dead")
    if c.live is not None:
        lines.append(f"{'live' if c.live else 'not live'} ({c.why})")
    else:
        lines.append(c.why)
    p = found.product_form
    lines.append(f"product form: {'yes' if p.found else 'no' if p.found is False else 'not known'} ({p.reason})")
    return lines


def _invariant_title(found: Structure) -> str:
    flows = found.p_flows
    if flows.stopped:
        return f"place invariants: a basis, since the minimal ones are too many ({flows.stopped})"
    space = "" if flows.dimension is None else f"; all flows have dimension {flows.dimension}"
    return f"place invariants: {len(flows.minimal) or 'no'} minimal{space}"


def _transition_title(flows: Flows) -> str:
    if flows.stopped:
        return f"transition invariants: a basis, since the minimal ones are too many ({flows.stopped})"
    space = "" if flows.dimension is None else f"; all flows have dimension {flows.dimension}"
    return f"transition invariants: {len(flows.minimal) or 'no'} minimal{space}"


def _chosen(flows: Flows) -> Sequence[Mapping[str, int]]:
    return flows.basis if flows.stopped else flows.minimal


def _sets_title(what: str, found: Sets) -> str:
    return f"{what}: {len(found.sets) or 'none'}{f' ({found.stopped})' if found.stopped else ''}"


def _equation(weights: Mapping[str, int], total: int, most: int) -> str:
    return f"{_sum(weights, most)} = {total}"


def _sum(weights: Mapping[str, int], most: int) -> str:
    return weighted_sum(list(weights), dict(enumerate(weights.values())), most)


def _set(found: Structure, places: Places, most: int) -> str:
    names = [name(n) for n in found.names(places)]
    shown = names[:most] if 0 < most < len(names) else names
    return "{" + ", ".join(shown) + (f", … ({len(names)} places)" if len(shown) < len(names) else "") + "}"


def _conflicts(found: Structure) -> Iterator[str]:
    for c in found.conflicts:
        kind = ("equal conflict" if c.equal else "not all equal") + (", immediate" if c.immediate else "")
        shown = [name(t) for t in c.transitions[:SHOWN]]
        more = f", … ({len(c.transitions)} transitions)" if len(c.transitions) > SHOWN else ""
        yield f"{', '.join(shown)}{more} ({kind})"


def _cut(lines: list[str], most: int) -> list[str]:
    return [*lines[:most], f"… {len(lines) - most} more (--all shows them)"] if 0 < most < len(lines) else lines


def throughput_grid(found: Sequence[ThroughputBound], unit: str) -> Grid:
    """The bounds as a table."""
    rows = tuple((name(b.transition), number(b.lower), _upper(b.upper), unit, ", ".join(b.limits)) for b in found)
    columns = (Column("transition"), Column("at least", Align.POINT), Column("at most", Align.POINT), Column("unit"), Column("limited by"))
    return Grid(columns, rows)


def _upper(value: float) -> str:
    return "no bound" if math.isinf(value) else number(value)


def asymptotic_lines(found: Asymptotic, unitless: bool) -> Iterator[str]:
    """Who is busiest, and what the tokens allow."""
    second, rate = ("", "") if unitless else (" s", "/s")
    if found.bottleneck:
        demand = f"{number(found.demands[found.bottleneck])}{second} of service for each firing of {name(found.reference)}"
        yield f"bottleneck: {name(found.bottleneck)}, {demand}: at most {number(found.saturation)}{rate}"
    for p in found.populations[:3]:
        yield f"tokens: {_equation(p.weights, p.total, SHOWN)} allows {name(found.reference)} at most {number(p.upper)}{rate}"
