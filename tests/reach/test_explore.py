"""The state space against an independent oracle over the rationals, for random nets and by both ways of expanding a level."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spn.errors import SemanticsError
from spn.expr.nodes import as_node, conditional, equal, tokens
from spn.measure import FiringRate, LinkRate, RunningClocks, TimeAverage
from spn.net import semantics
from spn.net.builder import NetBuilder
from spn.net.model import Net, Timed
from spn.reach import StateSpace, explore
from spn.reach.graph import Covered, explore_graph
from spn.reach.space import Limits
from tests.oracles import gspn

PLACES = ("a", "b", "c")
ALWAYS_WIDE, ALWAYS_NARROW = 0, 10**9


@st.composite
def nets(draw: st.DrawFn, varying: bool = False) -> Net:
    """Bounded nets of three places with every kind of arc, guards, priorities, and rates and weights that depend on the marking; with
    ``varying`` multiplicities too."""
    b = NetBuilder()
    for place in PLACES:
        b.place(place, draw(st.integers(0, 2)), capacity=2)
    place, count = st.sampled_from(PLACES), st.sampled_from([1, 1, 1, 2])
    many = st.sampled_from([1, 1, 1, 2, tokens("a"), 2 - tokens("b"), conditional(tokens("c") > 0, 1, 2)]) if varying else count
    some = st.dictionaries(place, many, max_size=2)
    quantity = st.sampled_from([1, 2, 5, 1 + tokens("a"), tokens("b") * 3, conditional(tokens("c") > 1, 1, 2)])
    for i in range(draw(st.integers(2, 5))):
        common = {
            "inputs": {draw(place): draw(count), **draw(st.dictionaries(place, many, max_size=1))},
            "outputs": draw(some),
            "tests": draw(st.sampled_from([(), (), ("a",), ("b",)])),
            "inhibitors": draw(st.sampled_from([(), (), {"c": 2}, {"a": 1}])),
            "flushes": draw(st.sampled_from([(), (), (), ("b",)])),
            "when": draw(st.sampled_from([None, None, tokens("a") < 2, equal(tokens("b"), tokens("c"))])),
        }
        if draw(st.booleans()) and i:
            b.immediate(f"t{i}", **common, weight=draw(quantity), priority=draw(st.sampled_from([1, 1, 2])))
        else:
            b.timed(f"t{i}", **common, rate=draw(quantity), servers=draw(st.sampled_from([1, 2, "inf"])))
    return b.build()


def matrix(space: StateSpace) -> np.ndarray:
    dense = np.zeros((space.n, space.n))
    dense[space.rates.sources(), space.rates.columns] = space.rates.values
    return dense


@settings(max_examples=120, deadline=None)
@given(nets(varying=True), st.sampled_from([ALWAYS_NARROW, 0]))
def test_random_nets_agree_with_the_oracle(net: Net, compiled: int) -> None:
    """Through the graph, and by the kernel that passes over vanishing markings."""
    rewards = [FiringRate(t.name) for t in net.transitions]
    try:
        right = gspn.chain(net)
    except (gspn.Trap, SemanticsError):
        with pytest.raises(SemanticsError):
            explore(net, compiled=compiled)
        return
    space = explore(net, rewards, compiled=compiled)
    markings = [tuple(m) for m in space.markings.tolist()]
    assert sorted(markings) == sorted(right.rates)
    index = {m: k for k, m in enumerate(markings)}
    rates, initial = np.zeros((space.n, space.n)), np.zeros(space.n)
    for m, row in right.rates.items():
        for to, rate in row.items():
            rates[index[m], index[to]] = float(rate)
    for m, p in right.initial.items():
        initial[index[m]] = float(p)
    np.testing.assert_allclose(matrix(space), rates, rtol=1e-12)
    np.testing.assert_allclose(space.initial, initial, rtol=1e-12)
    for t, reward in enumerate(rewards):
        np.testing.assert_allclose(space.rewards[reward], [float(right.firings[m].get(t, 0)) for m in markings], rtol=1e-12, atol=1e-15)


@settings(max_examples=100, deadline=None)
@given(nets(varying=True))
def test_semantics_arrays_and_kernel_give_the_same_graph(net: Net) -> None:
    ways = {"arrays": {"narrow": ALWAYS_WIDE}, "kernel": {"compiled": 0}, "kernel later": {"compiled": 3}}
    try:
        right = explore_graph(net, Limits(), narrow=ALWAYS_NARROW)
    except SemanticsError as error:
        for way in ways.values():
            with pytest.raises(SemanticsError) as caught:
                explore_graph(net, Limits(), **way)
            assert str(caught.value) == str(error)
        return
    for name, way in ways.items():
        found = explore_graph(net, Limits(), **way)
        for part in ("markings", "vanishing", "parent", "via", "source", "target", "transition"):
            np.testing.assert_array_equal(getattr(found, part), getattr(right, part), err_msg=f"{name}: {part}")
        np.testing.assert_allclose(found.weight, right.weight, rtol=1e-15, err_msg=name)


@settings(max_examples=100, deadline=None)
@given(nets(varying=True))
def test_rewards_found_when_read_are_those_found_at_once(net: Net) -> None:
    """Of every kind, with values read in the marking before a firing, vanishing ones included; and the absorbing markings."""
    value = conditional(tokens("a") > 0, tokens("b") + 3, 1 / (1 + tokens("c")))
    wanted = [TimeAverage(tokens("a")), TimeAverage(value), TimeAverage(as_node(2))]
    wanted += [f for t in net.transitions for f in (FiringRate(t.name), FiringRate(t.name, value))]
    wanted += [RunningClocks(t.name) for t in net.transitions if isinstance(t, Timed)]
    try:
        right = explore(net, wanted, compiled=ALWAYS_NARROW)
    except SemanticsError:
        assume(False)
    found = explore(net, wanted, compiled=0)
    assert set(found.rewards) == set(right.rewards) and found.arcs == right.arcs
    place = {tuple(m): i for i, m in enumerate(found.markings.tolist())}
    order = [place[tuple(m)] for m in right.markings.tolist()]
    for p in wanted:
        np.testing.assert_allclose(found.rewards[p][order], right.rewards[p], rtol=1e-13, err_msg=str(p))
    for kind in ("dead", "stuck"):
        assert {tuple(found.markings[i]) for i in getattr(found, kind)} == {tuple(right.markings[i]) for i in getattr(right, kind)}


def test_the_kernel_finds_room_as_it_goes() -> None:
    """A closed tandem of 4 stations and 40 jobs: C(43, 3) = 12,341 markings, far more than the kernel is given room for at first."""
    b = NetBuilder()
    for i in range(4):
        b.place(f"p{i}", 40 * (i == 0))
    for i in range(4):
        b.timed(f"t{i}", f"p{i}", f"p{(i + 1) % 4}", rate=1 + i, servers=i + 1)
    net = b.build()
    by_kernel, by_arrays = explore_graph(net, Limits(), compiled=0), explore_graph(net, Limits(), narrow=ALWAYS_WIDE)
    assert len(by_kernel.markings) == 12_341
    for part in ("markings", "parent", "via", "source", "target", "transition", "weight"):
        np.testing.assert_array_equal(getattr(by_kernel, part), getattr(by_arrays, part), err_msg=part)


@settings(max_examples=50, deadline=None)
@given(nets(varying=True))
def test_the_graph_is_breadth_first(net: Net) -> None:
    try:
        g = explore_graph(net, Limits())
    except SemanticsError:
        assume(False)
    r = semantics.rules(net)
    assert (np.diff(g.parent) >= 0).all()
    for s in range(1, len(g.parent)):
        before, after = (tuple(g.markings[k].tolist()) for k in (g.parent[s], s))
        assert semantics.fire(r, int(g.via[s]), before) == after


def test_links_and_clocks_in_every_state() -> None:
    b = NetBuilder()
    b.link("nic", 100)
    b.place("think", 3)
    b.place("out")
    b.timed("ask", "think", "out", rate=1, servers=2)
    b.timed("send", "out", "think", rate=0.1, over="nic", cap=40)
    rewards = [RunningClocks("ask"), RunningClocks("send"), LinkRate("nic"), FiringRate("send"), TimeAverage(tokens("out") ** 2)]
    for narrow in (ALWAYS_WIDE, ALWAYS_NARROW):
        space = explore(b.build(), rewards, narrow=narrow)
        assert space.markings.tolist() == [[3, 0], [2, 1], [1, 2], [0, 3]]
        got = [space.rewards[p].tolist() for p in rewards]
        assert got == [[2, 2, 1, 0], [0, 1, 2, 3], [0, 40, 80, 100], [0, 4, 8, pytest.approx(10)], [0, 1, 4, 9]]


def test_a_value_at_a_firing_is_read_in_the_vanishing_marking() -> None:
    b = NetBuilder()
    for place, k in (("p", 1), ("v", 0)):
        b.place(place, k)
    b.timed("go", "p", {"v": 3}, rate=2)
    b.immediate("drop", {"v": 1}, (), when=tokens("v") > 1)
    b.immediate("end", {"v": 1}, "p", when=equal(tokens("v"), 1))
    value = FiringRate("drop", tokens("v"))
    assert explore(b.build(), [value]).rewards[value].tolist() == [pytest.approx(2 * (3 + 2))]


def test_a_vanishing_loop_left_once_in_1e18_turns_is_exact() -> None:
    """Sequential choice between two exits, each of weight w against 1 for going round: the exits share by their own odds."""
    b = NetBuilder()
    for place, k in (("p", 1), ("x", 0), ("y", 0), ("l", 0), ("r", 0)):
        b.place(place, k)
    b.timed("go", "p", "x", rate=1)
    b.immediate("xy", "x", "y", weight=10**18)
    b.immediate("yx", "y", "x", weight=10**18)
    b.immediate("left", "x", "l", weight=1)
    b.immediate("right", "y", "r", weight=3)
    b.timed("lp", "l", "p", rate=1)
    b.timed("rp", "r", "p", rate=1)
    space = explore(b.build(), [FiringRate("left"), FiringRate("right"), FiringRate("xy")])
    start = space.markings.tolist().index([1, 0, 0, 0, 0])
    assert space.rewards[FiringRate("left")][start] == pytest.approx(1 / 4, rel=1e-14)
    assert space.rewards[FiringRate("right")][start] == pytest.approx(3 / 4, rel=1e-14)
    assert space.rewards[FiringRate("xy")][start] == pytest.approx(1e18 / 4, rel=1e-13)


def test_a_net_without_places_has_one_marking() -> None:
    b = NetBuilder()
    b.timed("tick", rate=3)
    space = explore(b.build(), [FiringRate("tick")])
    assert (space.n, space.rewards[FiringRate("tick")].tolist(), len(space.dead)) == (1, [3.0], 0)


def test_dead_and_stuck_markings_are_told_apart() -> None:
    b = NetBuilder()
    for place, k in (("s", 1), ("d", 0), ("f", 0)):
        b.place(place, k)
    b.timed("die", "s", "d", rate=1)
    b.timed("freeze", "s", "f", rate=1)
    b.timed("frozen", "f", "s", rate=tokens("d"))
    space = explore(b.build())
    assert [space.markings[i].tolist() for i in space.dead] == [[0, 1, 0]]
    assert [space.markings[i].tolist() for i in space.stuck] == [[0, 0, 1]]


@pytest.mark.parametrize("compiled", [ALWAYS_NARROW, 0])
def test_a_vanishing_loop_that_can_be_left(compiled: int) -> None:
    """From p3 the token goes round p3, p5, p6, p4 and is back, or at p4 leaves for p2, with odds of one to one."""
    b = NetBuilder()
    for place in ("p1", "p2", "p3", "p4", "p5", "p6"):
        b.place(place, int(place == "p1"))
    b.timed("in", "p1", "p3", rate=2)
    for t, before, after in (("a", "p3", "p5"), ("b", "p5", "p6"), ("c", "p6", "p4"), ("back", "p4", "p3"), ("out", "p4", "p2")):
        b.immediate(t, before, after)
    b.timed("on", "p2", "p1", rate=7.1)
    space = explore(b.build(), [FiringRate("on"), FiringRate("back")], compiled=compiled)
    assert space.n == 2
    rate = 1 / (1 / 2 + 1 / 7.1)
    assert rate == pytest.approx(1.5604395604, rel=1e-10)
    pi = np.array([rate / 2, rate / 7.1])
    assert pi @ space.rewards[FiringRate("on")] == pytest.approx(rate, rel=1e-14)
    assert pi @ space.rewards[FiringRate("back")] == pytest.approx(rate, rel=1e-14)  # once on average: one to one


@pytest.mark.parametrize("sent", [5, 1500])
def test_many_vanishing_markings_after_one_firing(sent: int) -> None:
    """More of them than the kernel keeps at a time are left to the graph: the last four tokens go left or are lost, by their own choice."""
    b = NetBuilder()
    for place, k in (("ready", 1), ("sent", 0), ("left", 0)):
        b.place(place, k)
    b.timed("send", "ready", {"sent": sent}, rate=1)
    b.immediate("l", "sent", "left", weight=3)
    b.immediate("r", "sent", (), weight=1, when=tokens("sent") < 5)
    space = explore(b.build(), [FiringRate("l"), FiringRate("r")], compiled=0)
    place = {tuple(m): i for i, m in enumerate(space.markings.tolist())}
    start = place[1, 0, 0]
    for lost, chance in enumerate([81 / 256, 108 / 256, 54 / 256, 12 / 256, 1 / 256]):
        assert matrix(space)[start, place[0, 0, sent - lost]] == pytest.approx(chance, rel=1e-13)
    assert space.rewards[FiringRate("l")][start] == pytest.approx(sent - 1, rel=1e-13)
    assert space.rewards[FiringRate("r")][start] == pytest.approx(1, rel=1e-13)


def test_long_rows_are_sorted_and_merged() -> None:
    """One token that jumps among 90 places, to some of them by two transitions: rows far longer than those kept in order as they grow."""
    b = NetBuilder()
    rng = np.random.default_rng(5)
    rates = np.zeros((90, 90))
    for i in range(90):
        b.place(f"p{i}", int(i == 0))
    for k, (i, j) in enumerate(rng.integers(0, 90, size=(9000, 2)).tolist()):
        b.timed(f"t{k}", f"p{i}", f"p{j}", rate=k % 7 + 1)
        rates[i, j] += (k % 7 + 1) * (i != j)
    space = explore(b.build(), compiled=0)
    order = np.argmax(space.markings[:], axis=1)
    np.testing.assert_allclose(matrix(space), rates[np.ix_(order, order)], rtol=1e-13)
    for i in range(90):
        columns = space.rates.columns[space.rates.indptr[i] : space.rates.indptr[i + 1]]
        assert (np.diff(columns) > 0).all() and len(columns) > 40


def test_markings_replaced_by_canonical_ones() -> None:
    """Three machines of their own, up or down each: sorted, 8 markings are 4, and one fails or is mended at the rate of all its like."""
    b = NetBuilder()
    for i in range(3):
        b.place(f"up{i}", 1)
        b.place(f"down{i}")
        b.timed(f"fail{i}", f"up{i}", f"down{i}", rate=1)
        b.timed(f"mend{i}", f"down{i}", f"up{i}", rate=5)

    def canonical(rows: np.ndarray) -> np.ndarray:
        up = np.sort(rows[:, ::2], axis=1)
        return np.stack([up, 1 - up], axis=2).reshape(len(rows), 6)

    space = explore(b.build(), canonical=canonical, compiled=0)
    down = space.markings[:, 1::2].sum(axis=1)
    assert sorted(down.tolist()) == [0, 1, 2, 3]
    right = np.zeros((4, 4))
    for k in range(4):
        right[k, [k - 1, (k + 1) % 4]] = 5 * k, 3 - k
    right[0, 3] = 0
    np.testing.assert_allclose(matrix(space), right[np.ix_(down, down)], rtol=1e-14)


def test_a_canonical_net_that_grows_is_said_to_be_covered() -> None:
    b = NetBuilder()
    b.place("q")
    b.place("r")
    b.timed("in", (), "q", rate=1)
    b.timed("on", (), "r", rate=1)
    with pytest.raises(Covered):
        explore(b.build(), canonical=lambda rows: np.sort(rows, axis=1))
