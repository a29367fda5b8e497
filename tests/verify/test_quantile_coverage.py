"""Do 95 % intervals for quantiles hold the right value in at least 95 % of the runs? 200 seeds each.

Intervals for quantiles err on the safe side where the distribution has atoms, so only too many misses are an alarm: more than 22 of 200
have a probability of 2e-04 at a true coverage of 95 %. Runs are ended by firings, early enough
for nearly all intervals to be wide, late enough for the batches of the queue to be independent (with a tenth of the firings they are not,
and the intervals of its mean and of its quantiles alike miss too often; such a run is marked as not converged).
"""

from __future__ import annotations

import math

import pytest

from spn.loading import parse
from spn.result import Value
from spn.sim import load_kernels, simulate

SEEDS = 200
MOST = 22

QUEUE = "units none place q timed arrive : -> q ~ exp(rate = 0.8) timed serve : q -> ~ exp(rate = 1) servers 1"
STEPS = "units none place a = 1, b, c timed s : a -> b ~ exp(rate = 1) timed t : b -> c ~ exp(rate = 2)"
CASES = [
    (QUEUE, "quantile(0.5, #q)", 3.0, 400_000),
    (QUEUE, "quantile(0.9, #q)", 10.0, 400_000),
    (QUEUE, "quantile(0.9, #q | arrive)", 10.0, 400_000),
    (STEPS, "quantile(0.5, time until #c == 1)", -math.log(1 - math.sqrt(0.5)), 400),
    (STEPS, "quantile(0.95, time until #c == 1)", -math.log(1 - math.sqrt(0.95)), 400),
]


def ends(v: Value) -> tuple[float, float]:
    """The ends of the interval; the note has them, to six digits."""
    if not v.note:
        assert v.half_width == 0
        return v.value, v.value
    low, high = v.note.removeprefix("from ").split(" to ")
    return float(low), float(high)


@pytest.mark.parametrize(("net", "question", "right", "firings"), CASES, ids=[c[1] for c in CASES])
def test_coverage(net: str, question: str, right: float, firings: int) -> None:
    load_kernels()
    model = parse(f"{net} measure x = {question}")
    missed = 0
    for seed in range(SEEDS):
        low, high = ends(simulate(model, seed=seed, max_firings=firings, workers=1).measures["x"])
        missed += not low <= right <= high
    assert missed <= MOST, f"{missed} of {SEEDS} intervals miss {right:g}"
