"""Where runs regenerate: proved step by step, against the clocks of the reference; and estimates by cycles against exact values."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spn
from spn.errors import AnalysisError
from spn.net.model import Net
from spn.sim import simulate
from spn.sim.engine import Ending
from spn.sim.reference import Trajectory
from spn.sim.regenerative import Entries
from spn.sim.setup import prepare
from tests.sim.nets import random_nets

RESUMING = "place a = 1, b timed t : a -> b ~ det(1) memory resume timed v : b -> a ~ exp(rate = 1)"
TWO_WAYS = "place a = 1, b place c = 1 timed t : a -> b ~ det(1) timed v : a -> b ~ exp(rate = 1) timed w : b -> a ~ exp(rate = 1)"

STEPS = [  # net, marking before, marking after, is nothing but the marking left?
    ("place f = 3, q timed arr : f -> q ~ exp(rate = 1) timed out : q -> f ~ det(1)", (3, 0), (2, 1), True),
    ("place f = 3, q timed arr : f -> q ~ exp(rate = 1) timed out : q -> f ~ det(1)", (2, 1), (1, 2), False),  # served on
    ("place f = 3, q timed arr : f -> q ~ exp(rate = 1) timed out : q -> f ~ det(1)", (1, 2), (2, 1), True),  # a new service
    ("place f = 3, q timed arr : f -> q ~ exp(rate = 1) timed out : q -> f ~ det(1) servers 2", (1, 2), (2, 1), False),  # another goes on
    ("place f = 3, q timed arr : f -> q ~ exp(rate = 1) timed out : q -> f ~ det(1) servers 2", (2, 1), (1, 2), False),
    ("place f = 3, q timed arr : f -> q ~ exp(rate = 1) timed out : q -> f ~ exp(rate = 1)", (2, 1), (1, 2), True),
    ("place f = 3, q timed arr : f -> q ~ exp(rate = 1) timed out : q -> f ~ exp(rate = 1) scaled 1 + #q", (2, 1), (1, 2), False),
    ("place f = 3, q timed arr : f -> q ~ exp(rate = 1) timed out : q -> f ~ exp(rate = 1) scaled 2", (2, 1), (1, 2), True),
    ("place f = 3, q timed arr : f -> q ~ exp(rate = 1) timed out : q -> f ~ exp(rate = 1) memory repeat", (2, 1), (1, 2), False),
    (RESUMING, (1, 0), (0, 1), True),  # t itself fired: its single clock is gone
    (RESUMING, (0, 1), (1, 0), False),  # v fired, and t may have been parked, for what a marking tells
    (RESUMING.replace("exp(rate = 1)", "exp(rate = 1) resets t"), (0, 1), (1, 0), True),
    ("place f = 3, q timed arr : f -> q ~ exp(rate = 1) resets out timed out : q -> f ~ det(1)", (2, 1), (1, 2), True),
    (TWO_WAYS, (1, 0, 1), (0, 1, 1), True),  # whichever fired, no clock of t runs on
    (TWO_WAYS + " timed x : c -> c ~ uniform(0, 1)", (1, 0, 1), (0, 1, 1), False),
    (TWO_WAYS + " timed x : c, a -> c, b ~ uniform(0, 1)", (1, 0, 1), (0, 1, 1), True),
    (TWO_WAYS + " timed x : c -> c ~ uniform(0, 1)", (1, 0, 1), (1, 0, 1), False),  # x fired, but t goes on
]


@pytest.mark.parametrize(("text", "before", "after", "clean"), STEPS)
def test_steps(text: str, before: tuple[int, ...], after: tuple[int, ...], clean: bool) -> None:
    assert Entries(spn.parse(f"units none {text}").net).clean(before, after) is clean


def check_regenerations(net: Net, seed: int, firings: int) -> int:
    """Follow the reference: at each step that is called a regeneration point no clock but memoryless ones was there before, and none is
    parked. How many there were."""
    compiled = prepare(net, ())
    engine, entries = Trajectory(compiled, (), np.random.default_rng(seed)), Entries(net)
    found = 0
    ageing = [engine.stations[i] for i in entries.ageing]
    if engine.run(0, np.inf) is Ending.STILL:
        return 0
    for _ in range(firings):
        before, old = engine.marking, [c for s in ageing for c in s.running]
        if engine.run(1, np.inf) is Ending.STILL:
            break
        if entries.clean(before, engine.marking):
            found += 1
            assert not any(s.parked for s in ageing)
            assert not any(c is o for s in ageing for c in s.running for o in old)
    return found


@settings(max_examples=30, deadline=None)
@given(random_nets(), st.integers(0, 2**32))
def test_no_age_is_carried_over(net: Net, seed: int) -> None:
    with suppress(spn.SpnError):  # a marking in which the net means nothing
        check_regenerations(net, seed, 60)


def test_regenerations_are_found() -> None:
    text = "units none place f = 3, q timed arr : f -> q ~ exp(rate = 0.8) timed out : q -> f ~ det(1)"
    assert check_regenerations(spn.parse(text).net, 1, 500) > 200


MD1K = """units none place free = 10, q
    timed arrive : free -> q ~ exp(rate = 0.8)  timed serve : q -> free ~ det(1)
    measure n = E(#q)  measure wait = E(#q) / throughput(serve)  measure full = P(#free == 0)"""


def test_cycles_against_the_exact_values() -> None:
    """M/D/1/10: the embedded chain's 2.25558 and the flow 0.797089; 99.99 % intervals, so a false alarm has a probability of 2e-4."""
    result = simulate(spn.parse(MD1K), seed=3, precision=0.06, confidence=0.9999)
    assert "regenerative cycles" in result.reason and result.converged
    for name, right in (("n", 2.25558023687956), ("wait", 2.25558023687956 / 0.797088615087796)):
        v = result.measures[name]
        assert v.half_width is not None and abs(v.value - right) <= v.half_width
    assert result.details["warm_up"] < 1000


def test_both_engines_and_any_number_of_threads_agree() -> None:
    results = [
        simulate(spn.parse(MD1K), seed=5, precision=0.2, engine=engine, workers=workers).measures
        for engine, workers in (("python", 1), ("compiled", 1), ("compiled", 2))
    ]
    assert results[0] == results[1] == results[2]


TWO_CLOCKS = """units none place a = 1, b place c = 1, d
    timed t : a -> b ~ det(1) timed u : b -> a ~ det(1)
    timed v : c -> d ~ uniform(0, 1) timed w : d -> c ~ uniform(0, 1)
    measure x = throughput(v)"""


def test_without_regeneration_points_batches_are_taken() -> None:
    model = spn.parse(TWO_CLOCKS)
    assert "batches" in simulate(model, seed=1, precision=0.1).reason
    with pytest.raises(AnalysisError, match=r"E0708.*carry their age"):
        simulate(model, seed=1, precision=0.1, estimator="regenerative")


@pytest.mark.parametrize(
    "options",
    [{"estimator": "cycles"}, {"estimator": "batches", "horizon": 5.0}, {"estimator": "regenerative", "warmup": 1.0}],
)
def test_options_that_do_not_go_together(options: dict[str, object]) -> None:
    with pytest.raises(AnalysisError, match="E0705"):
        simulate(spn.parse(MD1K), **options)  # type: ignore[arg-type]


def test_a_given_estimator_is_used() -> None:
    assert "batches" in simulate(spn.parse(MD1K), seed=1, precision=0.2, estimator="batches").reason
    assert "cycles" in simulate(spn.parse(MD1K), seed=1, precision=0.2, estimator="regenerative").reason
