"""Classes, conflicts, liveness and product form on textbook nets; product forms against the exact solution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

from spn.expr.nodes import ONE, tokens
from spn.loading import load, parse
from spn.net.builder import NetBuilder
from spn.net.model import Net, Timed
from spn.structural.analysis import structure
from spn.structural.bounds import place_bounds
from spn.structural.classes import classes, obstacles
from spn.structural.conflicts import conflict_sets
from spn.structural.product_form import product_form
from tests.structural.nets import conserving


def timed(text: str) -> str:
    """``a b > c; …`` as a net of exponential transitions over marked places."""
    rows = [[side.split() for side in row.split(">")] for row in text.split(";")]
    places = sorted({p for row in rows for side in row for p in side})
    lines = [f"place {', '.join(f'{p} = 1' for p in places)}"]
    lines += [f"timed t{k} : {', '.join(i)} -> {', '.join(o)} ~ exp(rate = 1/s) servers 1" for k, (i, o) in enumerate(rows)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("net", "narrowest"),
    [
        ("a > b; b > a", {"state machine", "marked graph"}),
        ("a > b; a > c; b > a; c > a", {"state machine"}),
        ("a > b c; b > d; c > e; d e > a", {"marked graph"}),
        ("a > b; a > c; b c > a", {"free choice"}),
        ("a b > c; a b > d; c > a b; d > a b", {"extended free choice"}),
        ("a b > c; a > d; c > a b; d > a", {"asymmetric choice"}),
        ("a b > c; a > d; b > d; c > a b; d > a", {"ordinary"}),
    ],
)
def test_classes(net: str, narrowest: set[str]) -> None:
    found = classes(parse(timed(net)).net)
    order = ["ordinary", "asymmetric choice", "extended free choice", "free choice"]
    assert found[0] == "ordinary"
    if narrowest <= {"state machine", "marked graph"}:
        assert set(found) - set(order) == narrowest and set(order) <= set(found)
    else:
        assert found == tuple(order[: order.index(*narrowest) + 1])


def test_weights_are_in_no_class_and_features_are_named() -> None:
    assert classes(parse("place a = 2, b timed t : 2*a -> b ~ exp(rate = 1/s)").net) == ()
    net = parse("place a = 2 capacity 3, b timed t : a, !b, ?a -> b ~ exp(rate = 1/s) when #a > 0").net
    assert obstacles(net) == ("inhibitor arcs", "test arcs", "guards", "capacities")


def test_conflicts() -> None:
    net = parse(
        "place a = 1, b, c, d timed t : a -> b ~ exp(rate = 1/s) servers 1 timed u : a -> c ~ exp(rate = 2/s) servers 1 "
        "immediate v : b -> d immediate w : b, ?c -> d timed x : d -> a ~ exp(rate = 1/s)"
    ).net
    assert [(c.transitions, c.equal, c.immediate) for c in conflict_sets(net)] == [(("t", "u"), True, False), (("v", "w"), False, True)]


def test_a_flush_takes() -> None:
    text = "place a = 1, b = 1 timed t : a -> a ~ exp(rate = 1/s) timed u : b, flush a -> b ~ exp(rate = 1/s) timed v : b -> b ~ det(1 s)"
    net = parse(text).net
    assert [c.transitions for c in conflict_sets(net)] == [("t", "u", "v")]
    quiet = parse("place a = 1, b = 1 timed u : b, flush a -> b ~ exp(rate = 1/s) timed w : -> a ~ exp(rate = 1/s)").net
    assert conflict_sets(quiet) == ()


def test_confusion_is_reported() -> None:
    net = parse(
        "place a = 1, b = 1, c, d, e immediate first : a -> c immediate second : b -> d immediate third : b, c -> e "
        "timed back : d -> a, b ~ exp(mean = 1 s) timed again : e -> a, b ~ exp(mean = 1 s)"
    ).net
    assert structure(net).confusions == (("first", "second", "third"),)


def test_commoner_on_the_philosophers() -> None:
    s = structure(load("models/basics/philosophers_deadlock.spn"))
    assert s.commoner.holds is False and s.commoner.deadlock_free is None
    (bad,) = s.commoner.uncontrolled
    assert {n.rstrip("1234") for n in s.names(bad)} == {"fork", "eat"} and len(bad) == 8
    assert structure(load("models/basics/philosophers.spn")).commoner.deadlock_free is True


@pytest.mark.parametrize(
    ("text", "found", "any_rates"),
    [
        ("place a = 3, b, c timed t : a -> b ~ exp(rate = 1/s) servers 2 timed u : b -> c ~ exp(rate = 2/s) servers inf "
         "timed v : c -> a ~ exp(rate = 5/s) servers 1", True, True),
        ("place a = 3, b timed t : a -> b ~ exp(rate = 1/s) servers 1 timed u : a -> b ~ exp(rate = 1/s) servers 2 "
         "timed v : b -> a ~ exp(rate = 1/s) servers 1", False, False),
        ("place a = 2, b = 1, c timed t : a, b -> c ~ exp(rate = 1/s) servers 1 timed u : c -> a, b ~ exp(rate = 2/s) servers 1 ",
         True, True),
        ("place a = 3, b timed t : a -> b ~ erlang(2, mean = 1 s) timed u : b -> a ~ exp(rate = 1/s)", False, False),
        ("place a = 3, b timed t : a, !b -> b ~ exp(rate = 1/s) timed u : b -> a ~ exp(rate = 1/s)", False, False),
    ],
)  # fmt: skip
def test_product_forms(text: str, found: bool, any_rates: bool) -> None:
    net = parse(text).net
    p = product_form(net, place_bounds(net))
    assert (p.found, p.any_rates) == (found, any_rates) and p.reason


def two_ways(r: float) -> Net:
    """a <-> b at rates 1, 2 and 2a <-> 2b at r, 1: four bags, two parts, rank 1: deficiency 1; a product form for r = 1/4 alone."""
    b = NetBuilder("two ways")
    b.place("a", 4), b.place("b")
    b.timed("t", "a", "b", rate=1), b.timed("u", "b", "a", rate=2)
    b.timed("tt", {"a": 2}, {"b": 2}, rate=r), b.timed("uu", {"b": 2}, {"a": 2}, rate=1)
    return b.build()


def test_a_product_form_for_some_rates_only() -> None:
    right, wrong = (product_form(two_ways(r), (4, 4)) for r in (0.25, 0.3))
    assert right.found and not right.any_rates
    assert wrong.found is False
    assert log_gap(two_ways(0.25)) < 1e-9
    assert log_gap(two_ways(0.3)) > 1e-3


def log_gap(net: Net) -> float:
    """How far the logarithm of the exact steady state is from linear in the marking, server factors taken out."""
    from spn.markov import long_run
    from spn.reach import Limits
    from spn.solvers.chain import state_space

    space = state_space(net, (), Limits()).space
    solved = long_run(space.rates, space.initial, 1e-12)
    if len(solved.classes) > 1:
        return math.inf
    own = solved.pi > 1e-14
    alone = [(t, [a for a in t.arcs if a.kind == "input"]) for t in net.transitions if isinstance(t, Timed)]
    servers = {inputs[0].place: t.servers for t, inputs in alone if len(inputs) == 1 and inputs[0].multiplicity == ONE}
    y = np.log(solved.pi[own])
    m = space.markings[own][:, : len(net.places)].astype(float)
    for p, place in enumerate(net.places):
        k = servers.get(place.name, 1)
        most = 10**9 if k == "inf" else k
        y = y + np.array([sum(math.log(min(most, j)) for j in range(1, int(n) + 1)) for n in m[:, p]])
    design = np.column_stack([np.ones(len(m)), m])
    fit = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(np.abs(fit - y).max())


@settings(max_examples=40, deadline=None)
@given(conserving(immediates=False))
def test_a_product_form_found_is_the_exact_solution(net: Net) -> None:
    if product_form(net, place_bounds(net)).found:
        gap = log_gap(net)
        assert gap < 1e-6 or math.isinf(gap)


def test_an_empty_net_and_what_is_none() -> None:
    net = NetBuilder("empty").build()
    s = structure(net)
    assert s.invariants == () and s.classes == () and s.commoner.live is None and s.bounded is True
    with pytest.raises(TypeError):
        structure(tokens("p"))  # type: ignore[arg-type]
