"""Wrong arguments to the builder and to measures made in Python: errors that name the thing and what is due, at the call that is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import spn
from spn.errors import ModelError
from spn.expr.nodes import tokens
from spn.measure import Average, Measure, Sojourn, Throughput, Utilisation
from spn.model import Model
from spn.net.builder import NetBuilder
from spn.net.model import Timed

Build = Callable[[NetBuilder], Any]

WRONG: list[tuple[str, Build, str]] = [
    ("tokens text", lambda b: b.place("c", "3"), "initial marking of place c is '3'"),
    ("tokens fraction", lambda b: b.place("c", 1.5), "initial marking of place c is 1.5"),
    ("tokens bool", lambda b: b.place("c", True), "is True; it is a whole number"),
    ("capacity", lambda b: b.place("c", 1, capacity="x"), "capacity of place c is 'x'"),
    ("capacity fraction", lambda b: b.place("c", 1, capacity=1.5), "capacity of place c is 1.5"),
    ("name", lambda b: b.place(3), "name of a place is 3"),
    ("empty name", lambda b: b.timed("", "a", "b", rate=1), "name of a transition is ''"),
    ("backquote", lambda b: b.link("a`b", 1), "without a backquote"),
    ("link capacity", lambda b: b.link("k", "1"), "capacity of link k is '1'"),
    ("rate inf", lambda b: b.timed("t", "a", "b", rate=math.inf), "rate\\) of t is inf"),
    ("law text", lambda b: b.timed("t", "a", "b", law="exp(1)"), "law of t is 'exp\\(1\\)'"),
    ("law negative", lambda b: b.timed("t", "a", "b", law=-1), "law of t is -1"),
    ("law nan", lambda b: b.timed("t", "a", "b", law=math.nan), "law of t is nan"),
    ("servers text", lambda b: b.timed("t", "a", "b", rate=1, servers="many"), "t has 'many' servers"),
    ("servers fraction", lambda b: b.timed("t", "a", "b", rate=1, servers=1.5), "t has 1.5 servers"),
    ("memory", lambda b: b.timed("t", "a", "b", rate=1, memory="foo"), "restart, resume, repeat"),
    ("links", lambda b: b.timed("t", "a", "b", law=1, over=3), "links of t"),
    ("latency", lambda b: b.timed("t", "a", "b", law=1, over="l", latency="1 s"), "latency of t is '1 s'"),
    ("cap", lambda b: b.timed("t", "a", "b", law=1, over="l", cap="x"), "cap of t is 'x'"),
    ("arcs", lambda b: b.timed("t", 3, "b", rate=1), "input arcs: 3"),
    ("arcs list", lambda b: b.timed("t", ["a", 3], "b", rate=1), "input arcs"),
    ("priority", lambda b: b.immediate("t", "a", "b", priority="1"), "priority of t is '1'"),
    ("priority fraction", lambda b: b.immediate("t", "a", "b", priority=1.5), "priority of t is 1.5"),
    ("resets", lambda b: b.immediate("t", "a", "b", resets=3), "resets of t"),
]


def base() -> NetBuilder:
    b = NetBuilder("x")
    b.place("a", 1)
    b.place("b")
    b.link("l", capacity=10)
    return b


@pytest.mark.parametrize(("build", "text"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_wrong_arguments_name_the_thing(build: Build, text: str) -> None:
    b = base()
    with pytest.raises(ModelError, match=text):
        build(b)
        b.build()


def test_a_single_name_will_do_wherever_names_are_due() -> None:
    b = base()
    b.timed("t", "a", "b", rate=1, servers=math.inf)
    b.immediate("go", tests="a", inhibitors="b", flushes="b", resets="t")
    t, go = b.build().transitions
    assert isinstance(t, Timed) and t.servers == "inf"
    assert go.resets == ("t",)


QUESTIONS: list[tuple[Any, str]] = [
    (Throughput("srve"), "transition srve.*did you mean serve"),
    (Average(tokens("quee")), "place quee"),
    (Average(tokens("queue"), given="srve"), "transition srve"),
    (Utilisation("x"), "transition or link x"),
    (Sojourn("x"), "place x"),
    (tokens("queue") + Throughput("serve"), "#queue stands outside"),
    (Average(Throughput("serve")), "inside of E"),
]


@pytest.mark.parametrize(("body", "text"), QUESTIONS)
@pytest.mark.parametrize("method", ["ctmc", "simulate"])
def test_measures_that_the_net_cannot_answer(body: Any, text: str, method: str) -> None:
    net = spn.load("models/basics/mm1k.spn").net
    model = Model(name="m", net=net, measures=(Measure(name="q", body=body),))
    with pytest.raises(ModelError, match="(?s)" + text):
        spn.solve(model, method=method)


def test_two_measures_of_one_name() -> None:
    net = spn.load("models/basics/mm1k.spn").net
    m = Measure(name="q", body=Throughput("serve"))
    with pytest.raises(ModelError, match="two measures q"):
        spn.solve(Model(name="m", net=net, measures=(m, m)))


@pytest.mark.parametrize("function", [spn.solve, spn.simulate, spn.draw])
@pytest.mark.parametrize("wrong", ["net.spn", None, 3])
def test_what_is_no_model(function: Callable[[Any], Any], wrong: object) -> None:
    with pytest.raises(TypeError, match=r"spn\.load"):
        function(wrong)


def test_what_is_no_text_and_no_family() -> None:
    with pytest.raises(TypeError, match=r"spn\.load"):
        spn.parse(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="by its name"):
        spn.law(3)  # type: ignore[arg-type]
