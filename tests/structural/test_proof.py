"""Proofs by structure: what is proved holds in every reachable marking, and huge and unbounded nets get one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.expr.evaluate import truth
from spn.expr.nodes import Node, Operators, equal, tokens
from spn.loading import parse
from spn.net.model import Net
from spn.solvers import solve
from spn.structural.proof import prove
from tests.structural.nets import reachable, wild

MUTEX = """place idle1 = 1, busy1, idle2 = 1, busy2, key = 1, log
timed in1 : idle1, key -> busy1 ~ exp(rate = 1/s) servers 1
timed in2 : idle2, key -> busy2 ~ exp(rate = 1/s) servers 1
timed out1 : busy1 -> idle1, key, log ~ exp(rate = 1/s) servers 1
timed out2 : busy2 -> idle2, key, log ~ exp(rate = 1/s) servers 1
"""


def verdicts(text: str) -> dict[str, tuple[bool | None, str]]:
    return {name: (f.holds, f.reason) for name, f in solve(parse(text)).properties.items()}


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ("invariant #key + #busy1 + #busy2 == 1", "busy1 + busy2 + key = 1"),
        ("always #busy1 + #busy2 <= 1", "busy1 + busy2 + key = 1"),
        ("always not (#busy1 > 0 and #busy2 > 0)", "busy1 + busy2 + key = 1"),
        ("always #busy1 == 0 or #key == 0", "busy1 + busy2 + key = 1"),
        ("always 2 * #busy1 < 3", "idle1 + busy1 = 1"),
        ("always #log >= 0", "true by itself"),
        ("always #busy1 != 2", "idle1 + busy1 = 1"),
    ],
)
def test_an_unbounded_net_gets_a_proof(claim: str, why: str) -> None:
    holds, reason = verdicts(MUTEX + f"property p : {claim}")["p"]
    assert holds is True and reason.startswith("by the structure") and why in reason


def test_what_is_no_consequence_is_not_proved() -> None:
    net = parse(MUTEX).net
    for condition in (tokens("log") < 9, tokens("busy1") < 1, equal(tokens("key"), 1), tokens("busy1") * tokens("busy2") < 1):
        assert prove(net, condition) is None


def test_a_huge_net_needs_no_state_space() -> None:
    text = "place a = 10^9, b timed t : a -> 2*b ~ exp(rate = 1/s) servers inf timed u : 2*b -> a ~ exp(rate = 1/s) servers inf\n"
    found = verdicts(text + "property p : always 2 * #a + #b == 2 * 10^9\nproperty q : always #a <= 10^9\nproperty r : bounded")
    assert found["p"] == (True, "by the structure: 2 a + b = 2000000000")
    assert found["q"][0] and found["r"] == (True, "by the structure: no place ever holds more than 2,000,000,000")


def test_sums_that_only_fall_and_capacities() -> None:
    falling = "place a = 4, b timed t : a -> b ~ exp(rate = 1/s) timed u : b -> ~ exp(rate = 1/s)\n"
    assert verdicts(falling + "property p : always #a + #b <= 4")["p"] == (True, "by the structure: a + b <= 4")
    full = "place q capacity 5, r timed t : -> q ~ exp(rate = 1/s) timed u : q -> r ~ exp(rate = 1/s)\n"
    assert verdicts(full + "property p : always #q <= 5")["p"] == (True, "by the structure: q <= 5")


def test_an_invariant_that_is_wrong_from_the_start() -> None:
    holds, reason = verdicts(MUTEX + "property p : invariant #key + #busy1 + #busy2 == 2")["p"]
    assert holds is False and "wrong from the start" in reason


def test_siphons_prove_freedom_from_deadlock_and_liveness() -> None:
    text = "place a = 10^9, b timed t : a -> b ~ exp(rate = 1/s) timed u : b -> a ~ exp(rate = 1/s)\n"
    found = verdicts(text + "property p : deadlock_free\nproperty q : live")
    assert found["p"] == found["q"] == (True, "by the structure: every siphon holds a marked trap")


def test_liveness_is_not_concluded_where_times_or_priorities_leave_firings_out() -> None:
    race = "place a = 1, b timed t : a -> b ~ det(1 s) timed u : a -> b ~ det(2 s) timed v : b -> a ~ exp(rate = 1/s) property p : live"
    assert verdicts(race)["p"][0] is not True  # u never fires: t always comes first
    first = "place a = 1, b immediate t : a -> b priority 2 immediate u : a -> b timed v : b -> a ~ exp(rate = 1/s) property p : live"
    assert verdicts(first)["p"][0] is False


@st.composite
def conditions(draw: st.DrawFn, places: int = 2) -> Node:
    p = st.sampled_from([tokens(f"p{k}") for k in range(places)])

    def atom() -> Operators:
        left = draw(st.integers(-2, 2)) * draw(p) + draw(st.integers(1, 3)) * draw(p)
        return draw(st.sampled_from([left < 3, left <= 4, left > 0, left >= 1, equal(left, 2), ~equal(left, 5)]))

    node = atom()
    for _ in range(draw(st.integers(0, 2))):
        node = draw(st.sampled_from([node & atom(), node | atom(), ~node]))
    assert isinstance(node, Node)
    return node


@settings(max_examples=150, deadline=None)
@given(wild(), conditions())
def test_what_is_proved_holds(net: Net, condition: Node) -> None:
    if prove(net, condition) is not None:
        names = [p.name for p in net.places]
        assert all(truth(condition, dict(zip(names, m, strict=True))) for m in reachable(net) or [])
