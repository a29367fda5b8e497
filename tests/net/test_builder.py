"""The builder makes what it was told, and says everything that is wrong with a net at once."""

from __future__ import annotations

from fractions import Fraction

import pytest

from spn.dist.families import Deterministic, Exponential
from spn.dist.make import law
from spn.errors import ModelError
from spn.expr.nodes import Number, tokens
from spn.loading import parse
from spn.net.builder import NetBuilder
from spn.net.model import Arc, ArcKind, Timed


def test_a_constant_rate_is_the_law_and_a_marking_dependent_one_is_the_speed():
    b = NetBuilder()
    b.place("q", 2)
    b.timed("constant", "q", rate=0.5)
    b.timed("dependent", "q", rate=0.5 * tokens("q"), speed=2)
    constant, dependent = b.build().transitions
    assert isinstance(constant, Timed) and constant.law == Exponential(rate=0.5) and constant.speed == Number(Fraction(1))
    assert isinstance(dependent, Timed) and dependent.law == Exponential(rate=1.0)
    assert dependent.speed == Number(Fraction(1, 2)) * tokens("q") * 2


def test_decimals_are_exact_and_transfers_default_to_infinite_servers():
    b = NetBuilder()
    b.place("q", 2)
    b.link("nic", 1e9)
    b.timed("send", {"q": 2}, law=0.1, over="nic")
    (send,) = b.build().transitions
    assert isinstance(send, Timed) and send.law == Deterministic(value=Fraction(1, 10)) and send.servers == "inf"
    assert send.arcs == (Arc(kind=ArcKind.INPUT, place="q", multiplicity=Number(Fraction(2))),)


def test_all_problems_are_named_together():
    b = NetBuilder()
    b.place("queue", 3, capacity=2)
    b.place("queue")
    b.timed("serve", {"queu": 0}, rate=-1, over="nic", servers=0, resets=["serv"])
    b.immediate("go", weight=0, priority=0, when=tokens("gone") > 0)
    with pytest.raises(ModelError) as caught:
        b.build()
    text = str(caught.value)
    for part in (
        "place queue is declared twice",
        "3 tokens, above its capacity 2",
        "did you mean queue?",
        "multiplicity of the input arc between queu and serve is 0",
        "speed (or rate) of serve is -1",
        "link nic, which is not declared",
        "serve has 0 servers",
        "did you mean serve?",
        "weight of go is 0",
        "priority of go is 0",
        "place gone, which is not declared",
    ):
        assert part in text, part


def test_a_law_and_a_rate_exclude_each_other():
    b = NetBuilder()
    with pytest.raises(TypeError, match="either a law or a rate"):
        b.timed("t", rate=1, law=1.0)
    with pytest.raises(TypeError, match="either a law or a rate"):
        b.timed("t")


def test_the_builder_makes_the_very_nets_of_the_language():
    model = parse("""
        link up(capacity = 1 MB/s)
        place idle = 3, busy, done, off = 1 capacity 2
        timed work : 2*idle, ?off, !3*done -> busy ~ erlang(2, mean = 20 ms)  servers 2  memory resume  when #done < 5  resets send
        timed send : busy -> done ~ 3 kB over up  share #off + 1  cap 500 kB/s  latency 1 ms
        timed toggle : -> off ~ exp(rate = (#off + 0.5) / 1 s)
        immediate back : done, flush busy -> 2*idle  weight #done + 1  priority 2
    """)
    b = NetBuilder(model.net.name)
    b.link("up", 1_000_000)
    b.place("idle", 3)
    b.place("busy")
    b.place("done")
    b.place("off", 1, capacity=2)
    two_phase = law("erlang", 2, mean=Fraction(2, 100))
    guard = tokens("done") < 5
    b.timed(
        "work", {"idle": 2}, "busy", two_phase, tests="off", inhibitors={"done": 3}, servers=2, memory="resume", when=guard, resets=["send"]
    )
    b.timed("send", "busy", "done", 3000, over="up", share=tokens("off") + 1, cap=500_000, latency=0.001)
    b.timed("toggle", (), "off", rate=(tokens("off") + 0.5) / 1)
    b.immediate("back", "done", {"idle": 2}, flushes=["busy"], weight=tokens("done") + 1, priority=2)
    assert b.build() == model.net
