"""Warnings about nets that are well formed, and the bounds behind them."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.errors import Severity, SpnError
from spn.loading import load, parse
from spn.net import semantics
from spn.net.model import initial_marking
from spn.structural.bounds import bounds, flows

MODELS = sorted((Path(__file__).resolve().parents[2] / "models").rglob("*.spn"))
CYCLE = "place a = 1, b timed t : a -> b ~ exp(mean = 1 s) timed u : b -> a ~ exp(mean = 2 s) "


def warned(text: str) -> list[tuple[str, str]]:
    """Code and first word of the span of every W03 warning."""
    found = parse(text).warnings
    assert all(w.severity is Severity.WARNING and w.span and w.message for w in found)
    named = [(w.code, w.span.text.split()) for w in found if w.span and w.code.startswith("W03")]
    return [(code, words[1] if words[0] in ("timed", "immediate") else words[0]) for code, words in named]


@pytest.mark.parametrize("path", MODELS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_shipped_models_are_quiet(path: Path) -> None:
    assert [w.code for w in load(path).warnings if w.code != "W0401"] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (CYCLE, []),
        # what never happens
        (CYCLE + "place c timed v : a, ?c -> b ~ det(3 s)", [("W0301", "c"), ("W0302", "v")]),
        (CYCLE + "place c timed v : a, !c -> b ~ det(3 s)", [("W0301", "c")]),
        (CYCLE + "place c, d timed v : c -> d ~ det(1 s) timed w : d -> c ~ det(2 s)", [("W0302", "v"), ("W0302", "w")]),
        (CYCLE + "place c, d, e timed v : c -> d ~ det(1 s) timed w : d -> e ~ det(1 s)", [("W0301", "c"), ("W0302", "v"), ("W0302", "w")]),
        (CYCLE + "timed v : a -> b ~ det(3 s) when 1 > 2", [("W0302", "v")]),
        (CYCLE + "timed v : 2*a -> 2*b ~ det(3 s)", [("W0302", "v")]),
        (CYCLE + "place c capacity 2 timed v : a -> a, c ~ det(3 s) immediate w : 3*c -> ", [("W0302", "w")]),
        ("param n : count = 0 place a = n, b timed t : a -> b ~ det(1 s)", []),
        # servers
        ("place a = 2, b timed t : a -> b ~ det(1 s)", [("W0303", "t")]),
        ("place a = 2, b timed t : a -> b ~ det(1 s) servers 1", []),
        ("place a = 2, b timed t : 2*a -> b ~ det(1 s)", []),
        ("place a = 2, b, k = 1 timed t : a, k -> b, k ~ det(1 s)", []),
        ("place a = 2, b timed t : a -> b ~ exp(rate = #a * 1/s)", []),
        ("place q timed t : -> q ~ exp(mean = 1 s) timed u : q -> ~ exp(mean = 1 s)", [("W0303", "u")]),
        ("place q timed t : !q -> q ~ exp(mean = 1 s) timed u : q -> ~ exp(mean = 1 s)", []),
        ("place q timed t : -> q ~ exp(mean = 1 s) when #q < 1 timed u : q -> ~ exp(mean = 1 s)", []),
        ("place q capacity 1 timed t : -> q ~ exp(mean = 1 s) timed u : q -> ~ exp(mean = 1 s)", []),
        ("place q capacity 9 timed t : -> q ~ exp(mean = 1 s) timed u : q -> ~ exp(mean = 1 s) when #q == 1", []),
        ("place a = 1, b timed t : a, flush b -> a, b ~ det(1 s) timed u : b -> ~ det(2 s)", []),
        ("place a = 5, b link up(capacity = 1 MB/s) timed t : a -> b ~ 1 MB over up", []),
        # sources
        ("place q capacity 9 timed t : -> q ~ exp(mean = 1 s) servers inf timed u : q -> ~ exp(mean = 1 s) servers 1", [("W0307", "t")]),
        ("place q capacity 9 timed t : -> q ~ exp(mean = 1 s) servers 3 timed u : q -> ~ exp(mean = 1 s) servers 1", [("W0307", "t")]),
        # twins
        (CYCLE + "timed v : a -> b ~ exp(mean = 1 s)", [("W0304", "v")]),
        (CYCLE + "timed v : a -> b ~ exp(mean = 2 s)", []),
        (CYCLE + "place c timed v : a -> c ~ exp(mean = 1 s)", []),
        (CYCLE + "timed v : a -> b ~ exp(mean = 1 s) servers 1", []),
        # ties
        ("place a = 1, b, c timed t : a -> b ~ det(1 s) timed u : a -> c ~ det(1 s)", [("W0306", "u")]),
        ("place a = 1, b, c timed t : a -> b ~ det(1 s) timed u : a -> c ~ det(2 s)", []),
        ("place a = 1, b, c timed t : a -> b ~ det(1 s) weight 2 timed u : a -> c ~ det(1 s)", []),
        ("place a = 1, b, c timed t : a -> b ~ det(1 s) priority 2 timed u : a -> c ~ det(1 s)", []),
        # confusion
        ("place a = 1, b = 1, c, d, e immediate u : a -> c immediate v : b -> d weight 2 immediate w : b, c -> e", [("W0305", "v")]),
        ("place a = 1, b = 1, c, d, e immediate u : a -> c priority 2 immediate v : b -> d immediate w : b, c -> e", []),
        ("place a = 1, b = 1, c, d immediate u : a -> c immediate v : b -> d", []),
        ("place a = 1, b, c, d, e immediate u : a -> c immediate v : b -> d immediate w : b, c -> e timed x : c -> b ~ det(1 s)", []),
    ],
)  # fmt: skip
def test_warnings(text: str, found: list[tuple[str, str]]) -> None:
    assert warned(text) == found


def test_a_statement_with_many_instances_is_warned_of_once() -> None:
    text = "component w() { place idle = 2, busy timed go : idle -> busy ~ det(1 s) } use w x[i in 1..20]()"
    assert len([c for c, _ in warned(text) if c == "W0303"]) == 1


# --- bounds ---------------------------------------------------------------------------------------------------------------------------


def test_flows_of_a_machine_with_a_token_of_permission() -> None:
    text = "place a = 3, b, c, k = 1 timed t : a -> b ~ det(1 s) timed u : b, k -> c ~ det(1 s) timed v : c -> a, k ~ det(1 s)"
    found = flows(parse(text).net)
    assert found is not None
    assert {tuple(sorted(f.weights.items())): f.total for f in found} == {(("a", 1), ("b", 1), ("c", 1)): 3, (("c", 1), ("k", 1)): 1}


def test_weights_follow_multiplicities() -> None:
    (flow,) = flows(parse("place a = 7, b timed t : 2*a -> 3*b ~ det(1 s)").net) or ()
    assert (dict(flow.weights), flow.total) == ({"a": 3, "b": 2}, 21)
    assert bounds(parse("place a = 7, b timed t : 2*a -> 3*b ~ det(1 s)").net).most["b"] == 10


def test_a_net_with_very_many_flows_is_given_up_in_time() -> None:
    layers = [f"place {', '.join(f'p{k}_{i} = 1' for i in range(6))}" for k in range(8)]
    steps = [
        f"timed t{k} : {', '.join(f'p{k}_{i}' for i in range(6))} -> {', '.join(f'p{k + 1}_{i}' for i in range(6))} ~ det(1 s)"
        for k in range(7)
    ]
    found = bounds(parse("\n".join([*layers, *steps])).net)
    assert not found.complete


@st.composite
def nets(draw: st.DrawFn) -> str:
    places = [f"p{i}" for i in range(draw(st.integers(2, 4)))]
    lines = [f"place {', '.join(f'{p} = {draw(st.integers(0, 2))}' for p in places)}"]
    arc = st.tuples(st.sampled_from(["", "", "", "2*"]), st.sampled_from(places)).map("".join)
    odd = st.sampled_from(["", "", f", !2*{places[0]}", f", ?{places[1]}", f", flush {places[-1]}", ", #p0*p1"])
    for i in range(draw(st.integers(1, 4))):
        guard = draw(st.sampled_from(["", "", " when #p0 < 2", " when #p1 <= 1 and #p0 == 0"]))
        out = draw(st.lists(arc, max_size=2))
        lines.append(
            f"timed t{i} : {', '.join(draw(st.lists(arc, min_size=1, max_size=2)))}{draw(odd)} -> {', '.join(out)} ~ exp(mean = 1 s){guard}"
        )
    return "\n".join(lines)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(nets())
def test_no_reachable_marking_breaks_a_bound_or_a_warning(text: str) -> None:
    """Up to 300 markings of each net: every bound holds, what never happens does not happen, degrees stay at 1 where none is warned of."""
    model = parse(text)
    net, r = model.net, semantics.rules(model.net)
    known = bounds(net)
    empty = {w.message.split()[1] for w in model.warnings if w.code == "W0301"}
    dead = {w.message.split()[0] for w in model.warnings if w.code == "W0302"}
    several = {w.message.split()[0] for w in model.warnings if w.code == "W0303"}
    seen, waiting = {initial_marking(net)}, deque([initial_marking(net)])
    while waiting and len(seen) < 300:
        m = waiting.popleft()
        for p, k in zip(net.places, m, strict=True):
            assert k <= known.most.get(p.name, k) and not (k and p.name in empty)
        for t, tr in enumerate(net.transitions):
            try:
                degree = semantics.enabling_degree(r, t, m)
            except SpnError:
                continue
            assert not (degree and tr.name in dead)
            assert degree <= 1 or tr.name in several or not known.complete
            if degree and (after := semantics.fire(r, t, m)) not in seen:
                seen.add(after)
                waiting.append(after)
