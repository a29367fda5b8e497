"""Random small nets, and their reachable markings by brute force."""

from __future__ import annotations

from collections import deque

from hypothesis import strategies as st

from spn.expr.nodes import tokens
from spn.net import semantics
from spn.net.builder import NetBuilder
from spn.net.model import Marking, Net, initial_marking

MOST = 3_000


def reachable(net: Net, most: int = MOST) -> list[Marking] | None:
    """All markings reached by any enabled transition of the highest rank, vanishing ones too; None where there are more than ``most``."""
    r = semantics.rules(net)
    first = initial_marking(net)
    seen, waiting = {first}, deque([first])
    while waiting:
        m = waiting.popleft()
        able = [t for t, _ in semantics.enabled_immediates(r, m)] or [t for t in r.timed if semantics.enabling_degree(r, t, m) > 0]
        for after in (semantics.fire(r, t, m) for t in able):
            if after not in seen:
                if len(seen) >= most:
                    return None
                seen.add(after)
                waiting.append(after)
    return list(seen)


@st.composite
def wild(draw: st.DrawFn) -> Net:
    """Any feature: weights, inhibitors, tests, flushes, guards, capacities, immediates, amounts that depend on the marking."""
    b = NetBuilder("wild")
    n = draw(st.integers(2, 4))
    places = [f"p{k}" for k in range(n)]
    for p in places:
        b.place(p, draw(st.integers(0, 2)), capacity=draw(st.sampled_from([None, None, None, 3])))
    one = st.sampled_from(places)
    for k in range(draw(st.integers(1, 4))):
        amount = st.sampled_from([1, 1, 1, 2, tokens(draw(one)), tokens(draw(one)) + 1])
        arcs = st.dictionaries(one, amount, max_size=2)
        more = {
            "tests": draw(st.sampled_from([(), (), (draw(one),)])),
            "inhibitors": draw(st.sampled_from([{}, {}, {draw(one): 2}])),
            "flushes": draw(st.sampled_from([(), (), (draw(one),)])),
            "when": draw(st.sampled_from([None, None, tokens(draw(one)) < 3])),
        }
        inputs, outputs = draw(st.dictionaries(one, st.integers(1, 2), min_size=1, max_size=2)), draw(arcs)
        if draw(st.integers(0, 3)) == 0:
            b.immediate(f"t{k}", inputs, outputs, **more)
        else:
            b.timed(f"t{k}", inputs, outputs, rate=1, **more)
    return b.build()


@st.composite
def plain(draw: st.DrawFn) -> Net:
    """Input and output arcs of weight 1, exponential transitions."""
    b = NetBuilder("plain")
    places = [f"p{k}" for k in range(draw(st.integers(2, 4)))]
    for p in places:
        b.place(p, draw(st.integers(0, 1)))
    one = st.lists(st.sampled_from(places), min_size=1, max_size=2, unique=True)
    for k in range(draw(st.integers(2, 5))):
        b.timed(f"t{k}", draw(one), draw(one), rate=draw(st.integers(1, 4)), servers=1)
    return b.build()


@st.composite
def conserving(draw: st.DrawFn, *, immediates: bool = True) -> Net:
    """Every firing keeps the number of tokens, so that the net is bounded; exponential and immediate transitions, various servers."""
    b = NetBuilder("conserving")
    n = draw(st.integers(2, 4))
    for k in range(n):
        b.place(f"p{k}", draw(st.integers(0, 3)) if k else draw(st.integers(1, 3)))
    count = draw(st.integers(n, n + 3))
    for k in range(count):
        size = draw(st.sampled_from([1, 1, 1, 2]))
        ends = [draw(st.lists(st.integers(0, n - 1), min_size=size, max_size=size)) for _ in range(2)]
        if k < n and size == 1:
            ends = [[k], [(k + 1) % n]]
        inputs, outputs = ({f"p{p}": end.count(p) for p in dict.fromkeys(end)} for end in ends)
        if immediates and k >= n and draw(st.booleans()):
            b.immediate(f"t{k}", inputs, outputs, weight=draw(st.integers(1, 3)), priority=draw(st.integers(1, 2)))
        else:
            b.timed(f"t{k}", inputs, outputs, rate=draw(st.sampled_from([0.5, 1, 3])), servers=draw(st.sampled_from([1, 2, "inf"])))
    return b.build()
