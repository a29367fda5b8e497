"""The event queue in plain C (events.c), where there is a C compiler: what a net of general laws costs there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from spn.compiled import compile_net
from spn.compiled import layout as at
from spn.compiled.dependency import Dependencies
from spn.dist.deterministic import Deterministic
from spn.dist.exponential import Exponential
from spn.dist.gamma import Gamma
from spn.dist.law import Law
from spn.dist.lognormal import Lognormal
from spn.dist.random import NORMAL_TAIL, TAIL, normal_tables, tables
from spn.expr.nodes import constant
from spn.net.model import ArcKind, Net, Timed, Transition
from tests.bench.in_c import build, run

SOURCE = Path(__file__).with_name("events.c")


def coded(law: Law) -> tuple[float, float, float]:
    match law:
        case Exponential(rate=rate):
            return 1, rate, 0
        case Lognormal(mu=mu, sigma=sigma):
            return 2, mu, sigma
        case Gamma(shape=shape, scale=scale):
            return 3, shape, scale
        case Deterministic(value=value):
            return 4, float(value), 0
    raise ValueError(f"the C program has no {law.family}")


def whole(arc: object) -> int:
    k = constant(arc.multiplicity)  # type: ignore[attr-defined]
    assert k is not None and k == int(k)
    return int(k)


def numbers(net: Net, place: str, transition: str, firings: int) -> Iterable[float]:
    """The net as the program reads it. Links are used one at a time, without weights and caps; each transition runs one clock at most."""
    places = {p.name: i for i, p in enumerate(net.places)}
    compiled = compile_net(net)
    reach = compiled.dependencies
    names = [t.name for t in net.transitions]
    for table in ((TAIL,), *tables(), (NORMAL_TAIL,), *normal_tables()):
        yield from table
    yield from (len(places), len(names), len(net.links), len(reach.crowds), places[place], names.index(transition), firings)
    yield from (p.initial for p in net.places)
    yield from (float(link.capacity) for link in net.links)
    for k, crowd in enumerate(reach.crowds):
        record = int(compiled.image[at.H_CROWD]) + k * at.W_SIZE
        place_of, gated, fewest, _ = compiled.image[record : record + at.W_SIZE].tolist()
        yield from (len(crowd.members), *crowd.members, place_of if gated else -1, fewest)
    for i, t in enumerate(net.transitions):
        yield from transition_numbers(net, places, reach, i, t)


def transition_numbers(net: Net, places: dict[str, int], reach: Dependencies, i: int, t: Transition) -> Iterable[float]:
    assert all(a.kind in (ArcKind.INPUT, ArcKind.OUTPUT) for a in t.arcs)
    links = [link.name for link in net.links]
    yield from coded(t.law) if isinstance(t, Timed) else (0, 0, 0)
    yield links.index(t.transfer.links[0]) if isinstance(t, Timed) and t.transfer is not None else -1
    inputs = [(places[a.place], whole(a)) for a in t.arcs if a.kind is ArcKind.INPUT]
    outputs = [(places[a.place], whole(a)) for a in t.arcs if a.kind is ArcKind.OUTPUT]
    bounds = [(p, c - k) for p, k in outputs if (c := net.places[p].capacity) is not None]
    by = {p: sum(k for q, k in outputs if q == p) - sum(k for q, k in inputs if q == p) for p, _ in (*inputs, *outputs)}
    changes = [(p, k) for p, k in by.items() if k]
    crowded = {places[c.place] for c in reach.crowds if i in c.members}
    lists = [inputs, bounds, changes, *([(k,) for k in found[i]] for found in (reach.near_timed, reach.near_immediates, reach.crowds_met))]
    for items in [*lists, *([[x for x in inputs if x[0] not in crowded]] if crowded else [])]:
        yield from (len(items), *(x for item in items for x in item))


def best(net: Net, place: str, transition: str, firings: int = 1_000_000, turns: int = 5) -> tuple[float, float, float] | None:
    """Mean tokens of the place, firings per second of the transition, and the most firings per CPU second; None without a compiler."""
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder, SOURCE)
        if program is None:
            return None
        text = " ".join(repr(x) for x in numbers(net, place, transition, firings))
        rows = [run(program, text) for _ in range(turns)]
        return rows[0][0], rows[0][1], max(speed for _, _, speed in rows)
