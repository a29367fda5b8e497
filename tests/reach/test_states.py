"""Counts of state spaces against textbook nets, brute force on random nets, and by each way of exploring."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import spn
from spn.errors import AnalysisError
from spn.loading import parse
from spn.net.builder import NetBuilder
from spn.reach import graph, properties
from spn.reach.properties import decide
from spn.reach.space import Limits
from spn.reach.states import states
from tests.reach.test_properties import brute, nets

PHILOSOPHERS = "models/basics/philosophers_deadlock.spn"


def test_philosophers_end_dead_with_a_fork_each() -> None:
    found = states(spn.load(PHILOSOPHERS))
    assert (len(found), found.vanishing, found.dead, found.stuck, found.recurrent, found.home) == (34, 0, 1, 0, 1, 1)
    assert not found.live and not found.reversible and found.never == ()
    (end,) = found.classes
    assert end.kind == "dead" and sorted(end.firings) == ["take1", "take2", "take3", "take4"] and len(end.lost) == 12
    assert set(found.bounds.values()) == {(0, 1)}
    assert next(found.markings()) == {f"{p}{i}": 1 for p in ("fork", "think") for i in range(1, 5)}


def test_two_ends_and_a_transition_that_never_fires() -> None:
    text = """
    place a = 1, b, c, d, e
    timed there : a -> b ~ exp(mean = 1 s)
    immediate left : b -> c weight 1
    immediate right : b -> d weight 2
    timed left_on : c -> c ~ exp(mean = 1 s)
    timed slow : d -> d ~ exp(mean = 1 s) speed #e
    timed never : e -> a ~ exp(mean = 1 s)
    """
    found = states(parse(text))
    assert (found.tangible, found.vanishing, found.timed_firings, found.immediate_firings) == (3, 1, 2, 2)
    assert [(c.kind, c.size, dict(c.marking), c.firings) for c in found.classes] == [
        ("recurrent", 1, {"c": 1}, ("there", "left")),
        ("stuck", 1, {"d": 1}, ("there", "right")),
    ]
    assert (found.dead, found.stuck, found.recurrent, found.home) == (0, 1, 2, 0)
    assert found.never == ("slow", "never")
    assert found.bounds["e"] == (0, 0)


def test_clocks_of_any_law_may_expire_in_any_order() -> None:
    found = states(parse("place a = 1, b = 1, x, y timed t : a -> x ~ det(1 s) timed u : b -> y ~ det(2 s)"))
    assert len(found) == 4 and found.approximate == "t, u"


def test_limits_and_unbounded_nets_are_errors_that_say_what_was_found() -> None:
    b = NetBuilder("queue")
    b.place("q")
    b.timed("arrive", (), "q", rate=1)
    with pytest.raises(AnalysisError, match="arrive puts ever more tokens into q"):
        states(b.build())
    with pytest.raises(AnalysisError, match="limit of 10 states"):
        states(spn.load(PHILOSOPHERS), max_states=10)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(nets())
def test_against_brute_force_by_search_and_by_kernel(text: str) -> None:
    model = parse(text)
    reach, markings, arcs = brute(model)
    both = reach & reach.T
    final = {tuple(np.flatnonzero(both[i]).tolist()) for i in range(len(markings)) if not (reach[i] & ~both[i]).any()}
    fires = [{t for ts in a.values() for t in ts} for a in arcs]
    for compiled in (10**6, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(graph, "kernel_from", lambda compiled=compiled: compiled)
            found = states(model)
        assert len(found) == len(markings)
        assert found.timed_firings + found.immediate_firings == sum(map(len, fires))
        assert found.dead == sum(not f for f in fires) and found.stuck == 0
        assert sorted(c.size for c in found.classes) == sorted(map(len, final))
        assert found.home == int(reach.all(axis=0).sum())
        assert found.reversible == bool(reach[:, 0].all())
        table = np.array(markings)
        assert list(found.bounds.values()) == list(zip(table.min(axis=0).tolist(), table.max(axis=0).tolist(), strict=True))
        assert found.live == all(all(any(t in fires[i] for i in c) for t in range(len(model.net.transitions))) for c in final)


def test_a_large_space_by_kernels() -> None:
    """A ring of 4 stations with 60 jobs, C(63, 3) markings, and a leak out of the ring that can happen once: twice as many."""
    b = NetBuilder("ring")
    for i in range(4):
        b.place(f"p{i}", 60 * (i == 0))
    b.place("whole", 1)
    for i in range(4):
        b.timed(f"t{i}", f"p{i}", f"p{(i + 1) % 4}", rate=1 + i)
    b.timed("leak", ("p3", "whole"), (), rate=1)
    found = states(b.build())
    assert len(found) == 39_711 + 37_820  # C(63, 3) and, with 59 jobs, C(62, 3)
    assert (found.recurrent, found.home, found.live) == (1, 37_820, False)
    assert found.classes[0].firings == ("t0", "t1", "t2", "leak") and found.classes[0].lost == ("leak",)
    assert found.bounds["p2"] == (0, 60)


def test_claims_about_a_large_graph_are_those_about_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels for large graphs give the verdicts of the searches in arrays, with the same ways."""
    claims = ["live", "deadlock_free", "home(#up == 8)", "leads(#up == 8, #down == 8)", "leads(#up == 1, #up == 8)"]
    text = "place up = 8, down, broken timed fail : up -> down ~ exp(mean = 1 s) timed repair : down -> up ~ exp(mean = 1 s) "
    text += "timed lose : down -> broken ~ exp(mean = 1 s) when #down > 5 and #broken < 2"
    model = parse(text + "\n" + "\n".join(f"property c{i} : {c}" for i, c in enumerate(claims)))
    small = decide(model.net, model.properties, Limits())
    monkeypatch.setattr(graph, "kernel_from", lambda: 0)
    monkeypatch.setattr(properties, "LARGE", 0)
    assert decide(model.net, model.properties, Limits()) == small
    assert [v.holds for v in small] == [False, True, False, False, False]
    assert "not after" in small[4].reason or "never" in small[4].reason


def test_what_is_printed_is_also_data() -> None:
    data = states(spn.load(PHILOSOPHERS)).to_dict()
    assert data["markings"] == 34 and data["bounds"]["fork1"] == {"least": 0, "most": 1}
    assert data["classes"][0]["marking"] == {f"left{i}": 1 for i in range(1, 5)}
