"""What is called unbounded is: the firings said to repeat for ever are replayed by the semantics, and each round adds the same tokens."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from spn.errors import AnalysisError, SemanticsError, SpnError
from spn.expr.nodes import conditional, tokens
from spn.net import semantics
from spn.net.builder import NetBuilder
from spn.net.model import Marking, Net, initial_marking
from spn.net.semantics import Rules
from spn.reach import Limits, explore, growth

ROUNDS = 25


class Shown(Exception):
    """Carries what the search has found in place of the error for the user."""


@st.composite
def nets(draw: st.DrawFn) -> Net:
    """Nets without capacities: many unbounded, many kept finite by guards, inhibitors, flushes, priorities, weights or speeds."""
    places = ("a", "b", "c")
    b = NetBuilder()
    for p in places:
        b.place(p, draw(st.integers(0, 2)))
    some = st.dictionaries(st.sampled_from(places), st.sampled_from([1, 1, 2]), max_size=2)
    limit = st.sampled_from([3, 40, 150])
    for i in range(draw(st.integers(2, 5))):
        bound = draw(limit)
        watched = draw(st.sampled_from(places))
        common = {
            "inputs": draw(some),
            "outputs": draw(some),
            "tests": draw(st.sampled_from([(), (), ("a",), {"b": 2}])),
            "inhibitors": draw(st.sampled_from([(), (), (), {watched: bound}])),
            "flushes": draw(st.sampled_from([(), (), (), (), (watched,)])),
            "when": draw(st.sampled_from([None, None, None, tokens(watched) < bound])),
        }
        falling = conditional(tokens(watched) < bound, 1, 0)
        if draw(st.booleans()):
            b.immediate(f"t{i}", **common, weight=draw(st.sampled_from([1, 1, 1 + falling])), priority=draw(st.integers(1, 2)))
        else:
            b.timed(f"t{i}", **common, rate=draw(st.sampled_from([1, 1, 2, falling])))
    return b.build()


def possible(r: Rules, m: Marking) -> dict[int, float]:
    immediates = semantics.enabled_immediates(r, m)
    return {t: float(w) for t, w in immediates} if immediates else semantics.clock_rates(r, m)


def capture(r: Rules, found: growth.Growth, path: growth.Path, before: Sequence[int]) -> SpnError:
    raise Shown(found, (*before, *path.firings[: found.start]), path.markings[found.start])


@settings(max_examples=200, deadline=None)
@given(nets(), st.sampled_from([10**6, 0]))
def test_the_sequence_shown_can_be_repeated(net: Net, compiled: int) -> None:
    """By the search in Python, and by the kernel, which knows of no vanishing marking."""
    r = semantics.rules(net)
    try:
        with patch.object(growth, "_unbounded", capture):
            explore(net, limits=Limits(states=400), compiled=compiled)
    except Shown as shown:
        found, firings, start = shown.args
    except (AnalysisError, SemanticsError):
        return
    else:
        return
    m = initial_marking(net)
    for t in firings:
        assert possible(r, m).get(t, 0) > 0
        m = semantics.fire(r, t, m)
    assert m == start
    for _ in range(ROUNDS):
        before = m
        for t in found.cycle:
            assert possible(r, m).get(t, 0) > 0
            m = semantics.fire(r, t, m)
        grown = tuple(p for p, (x, y) in enumerate(zip(before, m, strict=True)) if y > x)
        assert grown == found.places
        assert all(y >= x for x, y in zip(before, m, strict=True))
