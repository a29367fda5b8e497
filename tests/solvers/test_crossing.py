"""Crossings of curves: closed forms of queues, whole numbers, none and several, simulated intervals, what is refused."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest

import spn
from spn.errors import SpnError
from spn.model import Model
from spn.solvers.crossing import Gap, _Inversion

QUEUE = """
units none
param load : number = 0.5
place free = {room}, q
timed arrive : free -> q ~ exp(rate = load) servers 1
timed serve : q -> free ~ {law} servers {servers}
measure n = E(#q)
measure served = throughput(serve)
measure wait = sojourn(q)
measure busy = utilisation(serve)
measure late = E(time until #q == 2)
"""


def queue(servers: int, law: str, room: int = 60) -> Model:
    return spn.parse(QUEUE.format(servers=servers, law=law, room=room), name=f"{servers} of {law}")


FAST, TWO = queue(1, "exp(rate = 1.6)"), queue(2, "exp(rate = 1)")
EQUAL_QUEUES = 2 * (1 - math.sqrt(0.4))  # M/M/1 holds l / (1.6 - l), M/M/2 l / (1 - l^2 / 4)


def test_one_fast_server_against_two_slow_ones() -> None:
    found = spn.crossing(FAST, TWO, "load", 0.1, 1.5, "n")
    (crossing,) = found.crossings
    assert found.method == "exact" and found.confidence is None and found.complete
    assert crossing.at == crossing.low == crossing.high == pytest.approx(EQUAL_QUEUES, rel=1e-9)
    assert (crossing.below, crossing.above) == (TWO.name, FAST.name)
    assert "cross once" in (text := repr(found)) and "0.73508893" in text and "(exact)" in text


def test_the_long_run_and_ratios() -> None:
    """Waiting times are equal where queues are, by Little's law."""
    assert spn.crossing(FAST, TWO, "load", 0.1, 1.5, "wait").crossings[0].at == pytest.approx(EQUAL_QUEUES, rel=1e-9)
    with pytest.raises(SpnError, match="in the long run only") as e:
        spn.crossing(FAST, TWO, "load", 0.1, 1.5, "busy", horizon=9.0, method="exact")
    assert e.value.diagnostics[0].code == "E0624"


def test_over_a_time_both_methods_ask_the_same() -> None:
    """The interval by simulation holds the crossing of the exact averages over the same time; at another seed it is another interval."""
    exact = spn.crossing(FAST, TWO, "load", 0.3, 1.3, "n", horizon=60.0, warmup=10.0)
    found = spn.crossing(FAST, TWO, "load", 0.3, 1.3, "n", horizon=60.0, warmup=10.0, method="simulate", seed=4, replications=32)
    (right,), (crossing,) = exact.crossings, found.crossings
    assert exact.method == "exact" and right.at is not None
    assert crossing.low < right.at < crossing.high and crossing.at is not None and crossing.low < crossing.at < crossing.high
    assert crossing.high - crossing.low < 0.6
    assert (crossing.below, crossing.above) == (right.below, right.above)
    assert "with 95 %" in repr(found) and "32 replications at each value with common random numbers, seed 4" in repr(found)


def test_whole_numbers_exactly() -> None:
    """A room of c customers: M/M/1 of rate 1.6 serves more than M/M/2 of rate 1 each (load 1.7) for small c, less for large ones."""
    text = QUEUE.replace("param load : number = 0.5", "param load : number = 1.7\nparam room : count = 3 in 1..40").replace(
        "{room}", "room"
    )
    one, two = (spn.parse(text.format(servers=s, law=law), name=f"{s}") for s, law in ((1, "exp(rate = 1.6)"), (2, "exp(rate = 1)")))

    def rate(c: int, services: list[float]) -> float:
        weights = [1.0]
        for n in range(c):
            weights.append(weights[-1] * 1.7 / services[min(n, len(services) - 1)])
        return 1.7 * (1 - weights[-1] / sum(weights))

    signs = [math.copysign(1, rate(c, [1.0, 2.0]) - rate(c, [1.6])) for c in range(1, 13)]
    turn = next(c for c in range(1, 12) if signs[c] != signs[c - 1])
    found = spn.crossing(one, two, "room", 1, 12, "served")
    (crossing,) = found.crossings
    assert (crossing.low, crossing.high, crossing.at) == (turn, turn + 1, None) and found.whole
    assert (crossing.below, crossing.above) == ("1", "2")
    fine = spn.crossing(one, two, "room", 1, 40, "served")  # more than all are looked at, so in rounds
    assert fine.crossings == found.crossings and len(fine.points) < 40
    drawn = spn.crossing(one, two, "room", 1, 6, "served", horizon=400.0, warmup=10.0, method="simulate", seed=1, replications=8)
    assert drawn.crossings[0].low <= turn and turn + 1 <= drawn.crossings[0].high


def test_none_and_equal_ones() -> None:
    none = spn.crossing(FAST, queue(1, "exp(rate = 2)"), "load", 0.1, 1.0, "n")
    assert not none.crossings and "no crossing is seen" in repr(none) and "of 1 of exp(rate = 1.6) is larger" in repr(none)
    same = spn.crossing(FAST, FAST, "load", 0.1, 1.0, "n")
    assert not same.crossings and "both are equal" in same.notes[0] and (same.first, same.second) == (f"{FAST.name}#1", f"{FAST.name}#2")


def test_several() -> None:
    """(x - 1)(x - 2)(x - 3) = x^3 - 6 x^2 + 11 x - 6, as two rates of production."""

    def made(rate: str) -> Model:
        return spn.parse(f"units none\nparam x : number = 1\nplace p = 1\ntimed t : p -> p ~ exp(rate = {rate})\nmeasure r = throughput(t)")

    found = spn.crossing(made("x*x*x + 11*x"), made("6*x*x + 6"), "x", 0.55, 3.6, "r")
    assert [c.at for c in found.crossings] == pytest.approx([1, 2, 3], rel=1e-9) and "cross 3 times" in repr(found)
    tie = spn.crossing(made("x"), made("2"), "x", 1, 3, "r").crossings[0]  # a point of the scan is the crossing itself
    assert (tie.low, tie.at, tie.high) == (2, 2, 2)


def test_no_exact_answer_takes_a_horizon() -> None:
    steady = queue(2, "det(1.25)")  # two constant clocks beside arrivals at random
    with pytest.raises(SpnError, match="--horizon") as e:
        spn.crossing(steady, TWO, "load", 0.1, 1.5, "n")
    assert e.value.diagnostics[0].code == "E0705"
    found = spn.crossing(steady, TWO, "load", 0.5, 1.4, "n", horizon=100.0, seed=1, replications=8)
    assert found.method == "simulate" and "simulated" in found.reason


def test_differences_without_a_spread_are_named() -> None:
    """Two clocks tick differently often, the same in every replication."""
    clocks = [
        spn.parse(f"units none\nparam x : number = 1\nplace p = 1\ntimed t : p -> p ~ det({law})\nmeasure r = throughput(t)", name=law)
        for law in ("x", "2")
    ]
    found = spn.crossing(clocks[0], clocks[1], "x", 1, 3.5, "r", horizon=40.0, method="simulate", seed=1, replications=3)
    assert found.crossings and "one and the same difference" in found.notes[-1]


def test_time_runs_out() -> None:
    def slow(*_: object) -> None:
        time.sleep(0.2)

    found = spn.crossing(FAST, TWO, "load", 0.1, 1.5, "n", horizon=20.0, method="simulate", seed=1, max_seconds=0.9, progress=slow)
    assert not found.complete and "before all was looked at" in found.notes[-1] and len(found.points) < 9


def test_the_inversion_of_a_straight_line_is_fieller() -> None:
    """The difference x - 2 with standard error 0.5 everywhere and critical value 2: all of 1 to 3."""
    inside = _Inversion(gap=lambda x: Gap(at=x, first=0, second=x - 2, error=0.5, freedom=9), sign=1, critical=2.0)
    for x in (0.0, 7.0):
        inside.look(x)
    low, at, high = inside.found()
    assert 0.88 < low <= 1 and 3 <= high < 3.12 and at == pytest.approx(2, abs=0.02)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"over": "lod"}, "E0201"),
        ({"measure": "m"}, "E0201"),
        ({"measure": "late"}, "E0624"),
        ({"low": 2.0}, "E0705"),
        ({"high": math.inf}, "E0705"),
        ({"method": "magic"}, "E0616"),
        ({"horizon": 10.0, "warmup": 11.0}, "E0705"),
        ({"confidence": 1.0}, "E0705"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], code: str) -> None:
    options: dict[str, Any] = {"first": FAST, "second": TWO, "over": "load", "low": 0.1, "high": 1.5, "measure": "n", **changed}
    with pytest.raises(SpnError) as e:
        spn.crossing(**options)
    assert e.value.diagnostics[0].code == code
