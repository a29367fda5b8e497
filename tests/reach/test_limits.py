"""Nets that have no finite state space, or too large a one, or no meaning: each is an error that says why, and no sound net is accused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from spn.errors import AnalysisError, SemanticsError, SpnError
from spn.expr.nodes import tokens
from spn.net.builder import NetBuilder
from spn.net.semantics import rules
from spn.reach import Limits, explore, vanishing
from spn.reach.graph import explore_graph


def error(b: NetBuilder, limits: Limits | None = None, narrow: int = 12) -> SpnError:
    with pytest.raises((AnalysisError, SemanticsError)) as caught:
        explore(b.build(), limits=limits, narrow=narrow)
    return caught.value


def queue(**arrival) -> NetBuilder:
    b = NetBuilder()
    b.place("Q")
    b.timed("arrive", (), "Q", rate=0.9, **arrival)
    b.timed("serve", "Q", (), rate=1)
    return b


@pytest.mark.parametrize("narrow", [0, 12])
def test_an_unbounded_queue_names_place_and_source(narrow):
    found = error(queue(), narrow=narrow)
    assert isinstance(found, AnalysisError) and found.diagnostics[0].code == "E0600"
    assert "arrive puts ever more tokens into Q" in str(found)
    assert "the firings arrive can be repeated" in str(found)


def test_the_sequence_that_grows_is_shown_from_where_it_starts():
    b = NetBuilder()
    for place, k in (("a", 1), ("b", 0), ("c", 0), ("heap", 0)):
        b.place(place, k)
    b.timed("start", "a", "b", rate=1)
    b.timed("there", "b", "c", rate=1)
    b.timed("back", "c", ["b", "heap"], rate=1)
    text = str(error(b))
    assert "back puts ever more tokens into heap" in text
    assert "from marking b=1 the firings there, back can be repeated" in text
    assert "reached by start" in text


def test_growth_past_immediates_is_seen():
    b = NetBuilder()
    for place in ("door", "Q"):
        b.place(place)
    b.timed("arrive", (), "door", rate=1)
    b.immediate("enter", "door", "Q")
    b.timed("serve", "Q", (), rate=1)
    assert error(b).diagnostics[0].code == "E0600"


@pytest.mark.parametrize("limit", ["guard", "inhibitor", "capacity", "speed", "immediate", "weight", "flush"])
def test_a_net_bounded_by_a_limit_beyond_the_first_search_is_not_accused(limit):
    """The queue stops at 1,000, far beyond the first markings that cover earlier ones, by each of the ways a net can stop."""
    b = NetBuilder()
    b.place("Q", capacity=1000 if limit == "capacity" else None)
    b.place("other", 1)
    options = {"guard": {"when": tokens("Q") < 1000}, "inhibitor": {"inhibitors": {"Q": 1000}}}.get(limit, {})
    if limit == "weight":
        b.place("door")
        b.timed("arrive", (), "door", rate=1, when=tokens("door") < 1)
        b.immediate("enter", "door", "Q", weight=1000 - tokens("Q"))
        b.immediate("leave", "door", (), weight=1)
    else:
        b.timed("arrive", (), "Q", rate=1000 - tokens("Q") if limit == "speed" else 1, **options)
    b.timed("serve", "Q", (), rate=1)
    if limit == "immediate":
        b.immediate("full", {"Q": 1001}, {"Q": 1000})
    if limit == "flush":
        b.immediate("full", {"Q": 1001}, (), flushes=["Q"])
    assert explore(b.build()).n == 1001


def test_a_net_of_exactly_the_limit_is_complete_and_one_more_is_an_error():
    b = NetBuilder()
    b.place("p", 99)
    b.place("q")
    b.timed("there", "p", "q", rate=1)
    assert explore(b.build(), limits=Limits(states=100)).n == 100
    found = error(b, Limits(states=99))
    assert isinstance(found, AnalysisError) and found.diagnostics[0].code == "E0602"
    assert "limit of 99 states" in str(found) and "100 markings" in str(found)


@pytest.mark.parametrize("limits", [Limits(states=3000), Limits(memory=1e5)])
def test_the_kernel_keeps_the_limits_too(limits):
    b = NetBuilder()
    b.place("p", 5000)
    b.place("q")
    b.timed("there", "p", "q", rate=1)
    with pytest.raises(AnalysisError, match="the state space is larger than"):
        explore_graph(b.build(), limits, compiled=0)
    with pytest.raises(AnalysisError, match="arrive puts ever more tokens into Q"):
        explore_graph(queue().build(), limits, compiled=0)


def test_what_may_be_unbounded_but_is_not_shown_is_said_with_care():
    net, limits = queue(when=tokens("Q") < 10**9).build(), Limits(states=2000)
    for compiled, why in ((10**6, "if it has no bound the net is unbounded"), (0, "the net's structure lets it have 1,000,000,000")):
        with pytest.raises(AnalysisError) as caught:
            explore(net, limits=limits, compiled=compiled)
        assert caught.value.diagnostics[0].code == "E0602"
        assert re.search(rf"Q has grown to \d+ tokens; {why}", str(caught.value))


def test_a_memory_limit_is_kept():
    b = NetBuilder()
    b.place("p", 5000)
    b.place("q")
    b.timed("there", "p", "q", rate=1)
    assert "memory" in str(error(b, Limits(memory=100_000)))


@pytest.mark.parametrize("narrow", [0, 12])
def test_a_timeless_trap_names_its_loop_and_the_way_to_it(narrow):
    b = NetBuilder()
    for place, k in (("Z", 1), ("P", 0), ("V1", 0), ("V2", 0)):
        b.place(place, k)
    b.timed("first", "Z", "P", rate=1)
    b.timed("go", "P", "V1", rate=2)
    b.immediate("t1", "V1", "V2")
    b.immediate("t2", "V2", "V1")
    found = error(b, narrow=narrow)
    assert isinstance(found, SemanticsError) and found.diagnostics[0].code == "E0604"
    assert "zero-time loop without exit: t1, t2" in str(found)
    assert "reached by first, go" in str(found)


def test_an_immediate_that_consumes_nothing_is_a_loop_that_grows():
    b = NetBuilder()
    b.place("P", 1)
    b.place("C")
    b.immediate("spawn", "P", ["P", "C"])
    found = error(b)
    assert isinstance(found, SemanticsError)
    assert "zero-time loop without exit: spawn" in str(found) and "C grows without bound" in str(found)


def test_a_loop_through_too_many_vanishing_markings_is_refused(monkeypatch):
    b = NetBuilder()
    for place, k in (("P", 1), ("V1", 0), ("V2", 0)):
        b.place(place, k)
    b.timed("go", "P", "V1", rate=2)
    b.immediate("there", "V1", "V2")
    b.immediate("back", "V2", "V1")
    b.immediate("exit", "V1", "P")
    monkeypatch.setattr(vanishing, "LARGEST_LOOP", 1)
    assert "a zero-time loop runs through 2 vanishing markings, V1=1 among them; at most 1 are solved" in str(error(b))


def test_an_immediate_that_changes_nothing_is_a_trap():
    b = NetBuilder()
    b.place("P", 1)
    b.immediate("spin", "P", "P")
    assert "zero-time loop without exit: spin" in str(error(b))


@pytest.mark.parametrize("narrow", [0, 12])
@pytest.mark.parametrize(
    ("rate", "weight", "text"),
    [
        (2 * tokens("p") - 3, 1, "speed (or rate) of t is -1"),
        (1, tokens("q") - 1, "weights of i sum to 0"),
        (1, tokens("q") - 3, "weight of i is -1"),
    ],
)
def test_a_marking_without_meaning_is_named(narrow, rate, weight, text):
    b = NetBuilder()
    for place, k in (("p", 3), ("q", 0), ("r", 0)):
        b.place(place, k)
    b.timed("t", "p", "q", rate=rate)
    b.immediate("i", "q", "r", weight=weight, when=tokens("p") < 2)
    assert text in str(error(b, narrow=narrow))


def test_more_tokens_than_can_be_counted_is_an_error() -> None:
    """A marking that doubles with every firing, by a multiplicity that no constant shows."""
    b = NetBuilder()
    b.place("a", 1)
    b.timed("t", (), {"a": tokens("a")}, rate=1)
    assert "E0603" in str(error(b)) and "place a gets more than" in str(error(b))


@pytest.mark.parametrize("narrow", [12, 0], ids=["plain", "arrays"])
@pytest.mark.parametrize("grown", [2**62, tokens("a")], ids=["constant", "by marking"])
def test_the_last_token_that_can_be_counted(narrow, grown) -> None:
    """2^62 + 2^62 tokens are one more than int64 holds: no wrap-around, in arrays as in the plain search."""
    b = NetBuilder()
    b.place("go", 1)
    b.place("a", 2**62)
    b.timed("t", "go", {"a": grown}, rate=1)
    assert "E0603" in str(error(b, narrow=narrow)) and "place a gets more than" in str(error(b, narrow=narrow))


def test_ways_through_vanishing_markings_keep_the_memory_limit():
    """30 tokens, each of which goes left or right at once: all of their orders are told apart."""
    b = NetBuilder()
    for place in ("ready", "sent", "left", "right"):
        b.place(place, int(place == "ready"))
    b.timed("send", "ready", {"sent": 30}, rate=1)
    b.immediate("l", "sent", "left")
    b.immediate("r", "sent", "right")
    net = b.build()
    graph = explore_graph(net, Limits())
    values = np.zeros((len(graph.source), 0))
    assert vanishing.passages(rules(net), graph, values, 1e6).count.max() == 31
    with pytest.raises(AnalysisError, match="vanishing markings take more than"):
        vanishing.passages(rules(net), graph, values, 5e4)
