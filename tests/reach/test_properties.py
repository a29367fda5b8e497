"""Claims about reachable markings: textbook nets, hand-made counterexamples, and brute force on small random nets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.loading import load, parse
from spn.model import Model
from spn.net import semantics
from spn.net.model import initial_marking, timed
from spn.reach import graph
from spn.reach.properties import Verdict, decide, takes_any_time, untimed
from spn.reach.space import Limits

SMALL = Limits(states=2_000)
CYCLE = "place a = 1, b, c timed t : a -> b ~ exp(mean = 1 s) timed u : b -> a ~ exp(mean = 1 s) "


def verdict(net: str, claim: str) -> Verdict:
    model = parse(f"{net} property p : {claim}")
    return decide(model.net, model.properties, SMALL)[0]


@pytest.mark.parametrize(
    ("net", "claim", "holds", "firings"),
    [
        (CYCLE, "always #a + #b == 1", True, ()),
        (CYCLE, "always #a == 1", False, ("t",)),
        (CYCLE, "always #a == 0", False, ()),
        (CYCLE, "bounded", True, ()),
        (CYCLE, "deadlock_free", True, ()),
        (CYCLE, "live", True, ()),
        (CYCLE, "reversible", True, ()),
        (CYCLE, "home(#b == 1)", True, ()),
        (CYCLE, "home(#c == 1)", False, ()),
        (CYCLE, "leads(#a == 1, #b == 1)", True, ()),
        (CYCLE, "leads(#a == 1, #c == 1)", False, ()),
        (CYCLE, "leads(#c == 1, #b == 2)", True, ()),
        (CYCLE, "invariant #a + #b == 1", True, ()),
        (CYCLE, "invariant #a + #b == 2", False, ()),
        (CYCLE + "timed v : b -> c ~ exp(mean = 1 s)", "deadlock_free", False, ("t", "v")),
        (CYCLE + "timed v : b -> c ~ exp(mean = 1 s)", "live", False, ("t", "v")),
        (CYCLE + "timed v : b -> c ~ exp(mean = 1 s)", "reversible", False, ("t", "v")),
        (CYCLE + "timed v : b -> c ~ exp(mean = 1 s)", "home(#a == 1)", False, ("t", "v")),
        (CYCLE + "timed v : b -> c ~ exp(mean = 1 s)", "home(#c == 1)", True, ()),
        (CYCLE + "timed v : b -> c ~ exp(mean = 1 s)", "leads(#a == 1, #c == 1)", True, ()),
        (CYCLE + "timed v : b -> c ~ exp(mean = 1 s)", "invariant #a + #b == 1", False, ("t", "v")),
        (CYCLE + "immediate v : b -> c", "always #b == 0", False, ("t",)),  # in a vanishing marking
        (CYCLE + "immediate v : b -> a", "live", False, ()),  # u never comes before v
        ("place a = 1 timed t : a -> a ~ exp(mean = 1 s) speed 0 * #a", "deadlock_free", True, ()),
        ("place a, b timed t : a -> b ~ exp(mean = 1 s)", "deadlock_free", False, ()),
        ("place q timed t : -> q ~ exp(mean = 1 s)", "bounded", False, ()),
        ("place q timed t : -> q ~ exp(mean = 1 s)", "always #q < 3", False, ("t", "t", "t")),
        ("place q timed t : -> q ~ exp(mean = 1 s)", "always #q >= 0", True, ()),
        ("place q timed t : -> q ~ exp(mean = 1 s)", "always #q < 10^6", None, ()),
        ("place q timed t : -> q ~ exp(mean = 1 s)", "live", True, ()),
        ("place a = 2, b timed t : #a*a -> #a*b ~ exp(mean = 1 s)", "invariant #a + #b == 2", True, ()),
        ("place a = 2, b timed t : 2*a -> b ~ exp(mean = 1 s)", "invariant #a / 2 + #b == 1", True, ()),
        ("place a = 2, b timed t : 2*a -> b ~ exp(mean = 1 s)", "invariant #a + 2 * #b - 1 == 3 - #b * 0", False, ()),
        ("place a = 2, b timed t : flush a -> b ~ exp(mean = 1 s) when #a > 0", "invariant #a * #b == 0", True, ()),
    ],
)
def test_verdicts(net: str, claim: str, holds: bool | None, firings: tuple[str, ...]) -> None:
    found = verdict(net, claim)
    assert (found.holds, found.firings) == (holds, firings)
    assert found.reason


def test_an_invariant_needs_no_state_space() -> None:
    net = "place a = 10^6, b timed t : a -> b ~ exp(mean = 1 s) timed u : b -> a ~ exp(mean = 1 s) "
    assert verdict(net, "invariant #a + #b == 10^6").reason == "by the structure: a + b = 1000000"
    assert verdict(net, "live").holds is True
    assert verdict(net, "reversible").holds is None


def test_philosophers() -> None:
    model = load("models/basics/philosophers_deadlock.spn")
    text = model.source.text if model.source else ""
    found = verdict(text, "deadlock_free")
    assert len(found.firings) == 4 and found.marking is not None and sum(found.marking) == 4
    assert verdict(text, "bounded").holds


# --- times ----------------------------------------------------------------------------------------------------------------------------

RACE = "place a = 1, b = 1, x, y timed t : a -> x ~ det(1 s) timed u : b -> y ~ det(2 s) "


def test_claims_that_need_an_order_of_two_constants_are_left_open() -> None:
    assert verdict(RACE, "always not (#y == 1 and #x == 0)").holds is None
    assert verdict(RACE, "live").holds is None
    assert verdict(RACE, "always #x <= 1").holds is True
    assert verdict(RACE, "always #a == 0").holds is False  # from the start


def test_one_constant_at_a_time_takes_no_part_in_the_order() -> None:
    net = RACE.replace("det(2 s)", "exp(mean = 2 s)")
    found = verdict(net, "always not (#y == 1 and #x == 0)")
    assert (found.holds, found.firings) == (False, ("u",))


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("exp(mean = 1 s)", True), ("erlang(3, mean = 1 s)", True), ("gamma(mean = 1 s, cv = 2)", True), ("det(1 s)", False),
        ("uniform(0 s, 1 s)", False), ("pareto(alpha = 2, scale = 1 s)", False), ("shift(exp(mean = 1 s), 1 s)", False),
        ("scale(exp(mean = 1 s), 2)", True), ("mix(0.5: det(1 s), 0.5: exp(mean = 1 s))", True), ("lognormal(mean = 1 s, cv = 1)", True),
        ("triangular(low = 1 s, mode = 2 s, high = 3 s)", False), ("mix(0.5: det(1 s), 0.5: uniform(0 s, 1 s))", False),
    ],
)  # fmt: skip
def test_laws_that_take_any_time(text: str, free: bool) -> None:
    (t,) = timed(parse(f"place a = 1 timed t : a -> a ~ {text}").net)
    assert takes_any_time(t.law) is free


# --- brute force ----------------------------------------------------------------------------------------------------------------------


@st.composite
def nets(draw: st.DrawFn) -> str:
    """Small nets of tokens that move, one in one out, so that all are bounded."""
    places = [f"p{i}" for i in range(draw(st.integers(2, 4)))]
    lines = [f"place {', '.join(f'{p} = {draw(st.integers(0, 2))}' for p in places)}"]
    for i in range(draw(st.integers(1, 5))):
        one, two = draw(st.sampled_from(places)), draw(st.sampled_from(places))
        extra = draw(st.sampled_from(["", f", ?{places[0]}", f", !{places[-1]}", f", !2*{places[0]}"]))
        kind, end = draw(st.sampled_from([("timed", " ~ exp(mean = 1 s)"), ("timed", " ~ exp(mean = 1 s)"), ("immediate", "")]))
        lines.append(f"{kind} t{i} : {one}{extra} -> {two}{end}")
    return "\n".join(lines)


def brute(model: Model) -> tuple[np.ndarray, list[tuple[int, ...]], list[dict[int, set[int]]]]:
    """Reachability between all reachable markings; the markings; and for each its firings."""
    r = semantics.rules(untimed(model.net))
    markings = [initial_marking(model.net)]
    arcs: list[dict[int, set[int]]] = []
    for m in markings:
        able = [t for t, _ in semantics.enabled_immediates(r, m)] or [t for t in r.timed if semantics.enabling_degree(r, t, m)]
        arcs.append({})
        for t in able:
            after = semantics.fire(r, t, m)
            if after not in markings:
                markings.append(after)
            arcs[-1].setdefault(markings.index(after), set()).add(t)
    n = len(markings)
    reach = np.eye(n, dtype=bool)
    for i, targets in enumerate(arcs):
        reach[i, list(targets)] = True
    for k in range(n):
        reach |= np.outer(reach[:, k], reach[k])
    return reach, markings, arcs


@settings(max_examples=60, deadline=None, derandomize=True)
@given(nets())
def test_against_brute_force(text: str) -> None:
    claims = ["live", "reversible", "deadlock_free", "home(#p0 > 0)", "always #p0 < 2", "leads(#p0 > 0, #p1 > 0)"]
    model = parse(text + "\n" + "\n".join(f"property c{i} : {c}" for i, c in enumerate(claims)))
    reach, markings, arcs = brute(model)
    n, names = len(markings), range(len(model.net.transitions))
    fires = [{t for ts in a.values() for t in ts} for a in arcs]
    target = [m[1] > 0 for m in markings]
    hopeless = {i for i in range(n) if not any(target[j] for j in np.flatnonzero(reach[i]))}
    expected = [
        all(any(t in fires[j] for j in np.flatnonzero(reach[i])) for i in range(n) for t in names),
        bool(reach[:, 0].all()),
        all(fires),
        all(any(markings[j][0] > 0 for j in np.flatnonzero(reach[i])) for i in range(n)),
        all(m[0] < 2 for m in markings),
        not any(m[0] > 0 and _avoids(i, target, hopeless, arcs) for i, m in enumerate(markings)),
    ]
    witnesses = [
        [i for i in range(n) if any(all(t not in fires[j] for j in np.flatnonzero(reach[i])) for t in names)],
        [i for i in range(n) if not reach[i, 0]],
        [i for i in range(n) if not fires[i]],
        [i for i in range(n) if not any(markings[j][0] > 0 for j in np.flatnonzero(reach[i]))],
        [i for i in range(n) if markings[i][0] >= 2],
        [i for i, m in enumerate(markings) if m[0] > 0 and _avoids(i, target, hopeless, arcs)],
    ]
    far = _distances(arcs)
    for compiled in (10**6, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(graph, "kernel_from", lambda compiled=compiled: compiled)
            verdicts = decide(model.net, model.properties, SMALL)
        assert [v.holds for v in verdicts] == expected
        for v, shown in zip(verdicts, witnesses, strict=True):
            if v.holds is False:
                assert v.marking == _fired(model, v.firings)
                assert markings.index(v.marking) in shown and len(v.firings) == min(far[i] for i in shown)


def _distances(arcs: list[dict[int, set[int]]]) -> list[int]:
    """Firings from the initial marking to each; markings are numbered breadth-first."""
    far = [0] * len(arcs)
    seen = {0}
    for i, targets in enumerate(arcs):
        for j in targets:
            if j not in seen:
                seen.add(j)
                far[j] = far[i] + 1
    return far


def _avoids(start: int, target: list[bool], hopeless: set[int], arcs: list[dict[int, set[int]]]) -> bool:
    """Is there a way from ``start`` past all targets to a marking from which there is none?"""
    seen, stack = set(), [start]
    while stack:
        i = stack.pop()
        if i in seen or target[i]:
            continue
        if i in hopeless:
            return True
        seen.add(i)
        stack.extend(arcs[i])
    return False


def _fired(model: Model, firings: tuple[str, ...]) -> tuple[int, ...]:
    r = semantics.rules(model.net)
    m = initial_marking(model.net)
    for name in firings:
        t = next(i for i, t in enumerate(model.net.transitions) if t.name == name)
        assert semantics.enabling_degree(r, t, m) > 0
        m = semantics.fire(r, t, m)
    return m
