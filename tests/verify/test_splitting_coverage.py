"""Coverage of the intervals of splitting and of derivatives by simulation: seeds 0, 1, 2, … against closed forms and the exact solver.

Nominal 95 % intervals; of ``RUNS`` the number that cover is at least ``LEAST``, which one that truly covers with 0.93 misses with
probability below 1e-3 (binomial; 372 of 400 expected, standard deviation 5.1)."""

from __future__ import annotations

import pytest

import spn
from tests.sim.splitting.test_splitting import MACHINES, QUEUE

RUNS, LEAST = 400, 355


@pytest.mark.parametrize(
    ("text", "exact", "options"),
    [
        (QUEUE + "measure x = P(#q >= 12)", 0.5**12 * (1 - 0.5**19) / (1 - 0.5**31), {"precision": 0.15}),
        (QUEUE + "measure x = P(time until #q >= 9 <= 40)", None, {"precision": 0.15}),
        (MACHINES + "measure x = P(#upa <= 1)", None, {"precision": 0.15}),
        (QUEUE + "measure x = throughput(serve)", None, {"importance": "#q", "levels": [2, 4, 5, 7], "precision": 0.03}),
    ],
    ids=["queue", "passage", "machines", "not rare"],
)
def test_intervals_of_splitting_cover(text: str, exact: float | None, options: dict[str, object]) -> None:
    model = spn.parse(text)
    right = spn.solve(model, method="ctmc")["x"] if exact is None else exact
    covered = 0
    for seed in range(RUNS):
        v = spn.splitting(model, seed=seed, **options).measures["x"]  # type: ignore[arg-type]
        assert v.half_width is not None
        covered += abs(v.value - right) <= v.half_width
    assert covered >= LEAST


TWO = """
units none
param r : number = 1
param w : number = 2
place a = 2
place b, c
timed go : a -> c ~ exp(rate = r) servers inf
timed back : b -> a ~ exp(rate = 1)
immediate left : c -> b weight w
immediate right : c -> a
measure x = E(#b)
"""


@pytest.mark.parametrize("name", ["r", "w", "back"])
def test_intervals_of_likelihood_ratios_cover(name: str) -> None:
    model = spn.parse(TWO)
    exact = spn.sensitivity(model)["x", name].derivative
    found = (spn.sensitivity(model, method="simulate", seed=seed, precision=0.1)["x", name] for seed in range(RUNS))
    assert sum(abs(s.derivative - exact) <= s.half_width for s in found) >= LEAST


def test_intervals_of_perturbation_analysis_cover() -> None:
    text = "units none\nparam m : number = 1\nplace a = 2\nplace b\ntimed t : a -> b ~ erlang(2, mean = m)"
    model = spn.parse(text + "\ntimed s : b -> a ~ exp(rate = 1)\nmeasure x = E(#b)")
    exact = spn.sensitivity(model)["x", "m"].derivative
    found = (spn.sensitivity(model, method="simulate", seed=seed, precision=0.2)["x", "m"] for seed in range(RUNS))
    assert sum(abs(s.derivative - exact) <= s.half_width for s in found) >= LEAST
