"""Enabling, firing, choice and link rates against values worked out by hand from the semantics."""

from __future__ import annotations

import pytest

from spn.dist.families import Deterministic, Exponential
from spn.errors import SemanticsError
from spn.expr.nodes import Number, Operand, as_node, conditional, tokens
from spn.net.model import Arc, ArcKind, Immediate, Link, Net, Place, Timed, Transfer, Transition, initial_marking
from spn.net.semantics import (
    clock_rates,
    enabled_immediates,
    enabling_degree,
    fire,
    is_dead,
    is_vanishing,
    link_rates,
    rules,
    running_clocks,
    speed,
)

RATE = Exponential(rate=1.0)


def arc(kind: str, place: str, k: Operand = 1) -> Arc:
    return Arc(kind=ArcKind(kind), place=place, multiplicity=as_node(k))


def net(
    places: dict[str, int], *transitions: Transition, links: dict[str, int] | None = None, capacities: dict[str, int] | None = None
) -> Net:
    return Net(
        places=tuple(Place(name=p, initial=k, capacity=(capacities or {}).get(p)) for p, k in places.items()),
        links=tuple(Link(name=n, capacity=as_exact(c)) for n, c in (links or {}).items()),
        transitions=transitions,
    )


def as_exact(value: float):
    node = as_node(value)
    assert isinstance(node, Number)
    return node.value


def degree(places: dict[str, int], *arcs: Arc, guard: Operand | None = None, capacities: dict[str, int] | None = None) -> int:
    t = Timed(name="t", law=RATE, arcs=arcs, guard=None if guard is None else as_node(guard), servers="inf")
    n = net(places, t, capacities=capacities)
    return enabling_degree(rules(n), 0, initial_marking(n))


@pytest.mark.parametrize(
    ("expected", "places", "arcs", "guard", "capacities"),
    [
        (2, {"a": 5}, [arc("input", "a", 2)], None, None),
        (1, {"a": 5, "b": 1}, [arc("input", "a", 2), arc("input", "b")], None, None),
        (1, {"a": 5}, [arc("input", "a", 2), arc("input", "a", 2)], None, None),  # several inputs add: 4 each
        (0, {"a": 3}, [arc("input", "a", 2), arc("input", "a", 2)], None, None),
        (1, {"a": 0}, [], None, None),  # no input: degree 1
        (1, {"a": 0}, [arc("output", "a")], None, None),
        (3, {"a": 3, "b": 2}, [arc("input", "a"), arc("test", "b", 2)], None, None),  # a test switches, it does not limit
        (0, {"a": 3, "b": 1}, [arc("input", "a"), arc("test", "b", 2)], None, None),
        (0, {"a": 3, "b": 2}, [arc("input", "a"), arc("test", "b", 1), arc("test", "b", 3)], None, None),  # largest test
        (3, {"a": 3, "b": 1}, [arc("input", "a"), arc("inhibitor", "b", 2)], None, None),
        (0, {"a": 3, "b": 2}, [arc("input", "a"), arc("inhibitor", "b", 2)], None, None),
        (0, {"a": 3, "b": 2}, [arc("input", "a"), arc("inhibitor", "b", 5), arc("inhibitor", "b", 2)], None, None),  # smallest inhibitor
        (0, {"a": 3}, [arc("input", "a")], tokens("a") > 3, None),
        (3, {"a": 3}, [arc("input", "a")], tokens("a") > 2, None),
        (1, {"a": 1, "b": 0}, [arc("input", "a"), arc("input", "b", tokens("b"))], None, None),  # multiplicity 0: no arc
        (1, {"a": 4}, [arc("input", "a", tokens("a"))], None, None),  # reads the marking before the firing
        (4, {"a": 4, "c": 9}, [arc("input", "a"), arc("flush", "c")], None, None),  # a flush neither needs nor limits
        (0, {"a": 1, "b": 2}, [arc("input", "a"), arc("output", "b")], None, {"b": 2}),
        (1, {"a": 1, "b": 1}, [arc("input", "a"), arc("output", "b")], None, {"b": 2}),
        (2, {"b": 2}, [arc("input", "b"), arc("output", "b")], None, {"b": 2}),  # what is left counts, removals first
        (1, {"b": 2}, [arc("flush", "b"), arc("output", "b", 2)], None, {"b": 2}),
        (1, {"a": 1, "b": 0}, [arc("input", "a"), arc("inhibitor", "b", tokens("b"))], None, None),  # inhibitor of 0: absent
    ],
)
def test_enabling_degree(expected, places, arcs, guard, capacities):
    assert degree(places, *arcs, guard=guard, capacities=capacities) == expected


def test_firing_reads_the_marking_before_and_removes_before_it_adds():
    t = Timed(
        name="t",
        law=RATE,
        arcs=(arc("input", "a", 2), arc("flush", "b"), arc("output", "b", tokens("b")), arc("output", "a"), arc("test", "c")),
    )
    n = net({"a": 5, "b": 7, "c": 1}, t)
    assert fire(rules(n), 0, initial_marking(n)) == (4, 7, 1)


def test_a_flush_takes_what_the_inputs_leave():
    t = Immediate(name="t", arcs=(arc("input", "a", 2), arc("flush", "a"), arc("output", "b", 1)))
    n = net({"a": 5, "b": 0}, t)
    assert fire(rules(n), 0, initial_marking(n)) == (0, 1)


def test_only_the_highest_priority_chooses_and_weights_are_not_scaled_by_degree():
    low = Immediate(name="low", arcs=(arc("input", "a"),), weight=as_node(9))
    first = Immediate(name="first", arcs=(arc("input", "a"),), priority=2, weight=as_node(1))
    second = Immediate(name="second", arcs=(arc("input", "a"),), priority=2, weight=tokens("a"))
    n = net({"a": 3}, low, first, second)
    assert enabled_immediates(rules(n), (3,)) == [(1, 1), (2, 3)]
    assert enabled_immediates(rules(n), (0,)) == []


def test_weight_zero_leaves_the_choice_but_holds_its_priority():
    low = Immediate(name="low", arcs=(arc("input", "a"),))
    high = Immediate(name="high", arcs=(arc("input", "a"),), priority=2, weight=tokens("b"))
    n = net({"a": 1, "b": 0}, low, high)
    assert is_vanishing(rules(n), (1, 0))
    with pytest.raises(SemanticsError, match=r"weights of high sum to 0 in marking a=1"):
        enabled_immediates(rules(n), (1, 0))
    assert enabled_immediates(rules(n), (1, 2)) == [(1, 2)]


def test_servers_cap_the_running_clocks():
    k3 = Timed(name="k3", law=RATE, arcs=(arc("input", "a"),), servers=3)
    everyone = Timed(name="inf", law=RATE, arcs=(arc("input", "a"),), servers="inf")
    n = net({"a": 5}, k3, everyone)
    assert [running_clocks(rules(n), t, (5,)) for t in (0, 1)] == [3, 5]
    assert [running_clocks(rules(n), t, (2,)) for t in (0, 1)] == [2, 2]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (tokens("a") - 2, r"speed \(or rate\) of t is -1 in marking a=1"),
        (1 / (tokens("a") - 1), r"speed \(or rate\) of t is undefined \(division by zero\) in marking a=1"),
        (as_node(float("inf")), r"speed \(or rate\) of t is inf in marking a=1"),
        (as_node(float("nan")), r"speed \(or rate\) of t is nan in marking a=1"),
    ],
)
def test_a_speed_that_means_nothing_names_transition_and_marking(expression, message):
    n = net({"a": 1}, Timed(name="t", law=RATE, arcs=(arc("input", "a"),), speed=expression))
    with pytest.raises(SemanticsError, match=message):
        speed(rules(n), 0, (1,))


@pytest.mark.parametrize("k", [tokens("a") - 5, as_node(0.5), 1 / (tokens("a") - 2)])
def test_a_multiplicity_that_means_nothing_names_the_arc(k):
    n = net({"a": 2}, Timed(name="t", law=RATE, arcs=(arc("input", "a", k),)))
    with pytest.raises(SemanticsError, match=r"multiplicity of the input arc between a and transition of t"):
        enabling_degree(rules(n), 0, (2,))


def test_an_undefined_expression_behind_a_false_guard_is_not_read():
    t = Timed(name="t", law=RATE, arcs=(arc("input", "a", 1 / tokens("a")),), guard=tokens("a") > 0)
    n = net({"a": 0}, t)
    assert enabling_degree(rules(n), 0, (0,)) == 0
    assert is_dead(rules(n), (0,))


def transfer(name: str, *links: str, share: Operand = 1, cap: float | None = None, speed: Operand = 1) -> Timed:
    path = Transfer(links=links, share=as_node(share), cap=None if cap is None else as_exact(cap))
    return Timed(
        name=name, law=Deterministic(value=as_exact(1)), arcs=(arc("input", "a"),), servers="inf", transfer=path, speed=as_node(speed)
    )


@pytest.mark.parametrize(
    ("expected", "links", "transfers"),
    [
        ({0: 2.5}, {"x": 10}, [(4, transfer("t", "x"))]),
        ({0: 2.0, 1: 6.0}, {"x": 10}, [(2, transfer("t", "x")), (1, transfer("u", "x", share=3))]),
        ({0: 3.0, 1: 7.0}, {"x": 10}, [(1, transfer("t", "x", cap=3)), (1, transfer("u", "x"))]),  # the capped one's rest goes on
        ({0: 3.0}, {"x": 10}, [(1, transfer("t", "x", cap=3))]),
        # two links, the classic line: one long flow over both, one short on each
        ({0: 2.5, 1: 2.5, 2: 7.5}, {"x": 5, "y": 10}, [(1, transfer("t", "x", "y")), (1, transfer("u", "x")), (1, transfer("v", "y"))]),
        # weights over a network: x gives 2 per share, u is stopped there, v takes what y has left
        (
            {0: 4.0, 1: 2.0, 2: 16.0},
            {"x": 6, "y": 20},
            [(1, transfer("t", "x", "y", share=2)), (1, transfer("u", "x")), (1, transfer("v", "y", share=3))],
        ),
        ({0: 0.0, 1: 10.0}, {"x": 10}, [(1, transfer("t", "x", share=tokens("b"))), (1, transfer("u", "x"))]),  # a share of 0
    ],
)
def test_links_give_weighted_max_min_fair_rates(expected, links, transfers):
    n = net({"a": 9, "b": 0}, *(t for _, t in transfers), links=links)
    rates = link_rates(rules(n), (9, 0), {i: k for i, (k, _) in enumerate(transfers)})
    assert rates == pytest.approx(expected)


def test_a_frozen_transfer_takes_no_share_and_speed_multiplies_the_rate():
    n = net({"a": 1, "b": 0}, transfer("t", "x", speed=tokens("b")), transfer("u", "x", speed=2), links={"x": 10})
    assert clock_rates(rules(n), (1, 0)) == pytest.approx({0: 0.0, 1: 20.0})
    assert clock_rates(rules(n), (1, 1)) == pytest.approx({0: 5.0, 1: 10.0})


def test_a_conditional_evaluates_only_the_branch_taken():
    n = net({"a": 0}, Timed(name="t", law=RATE, speed=conditional(tokens("a") > 0, 1 / tokens("a"), 3)))
    assert speed(rules(n), 0, (0,)) == 3
