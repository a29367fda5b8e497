"""Do 95 % intervals hold the right value in 95 % of the runs?

400 seeds each. With a true coverage of 95 % the number of intervals that miss is binomial(400, 0.05): more than 38 of them have a
probability of 7e-5, fewer than 6 of 6e-5. The relative-precision rule is on, as users have it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spn.loading import load
from spn.sim import load_kernels, simulate

MODELS = Path(__file__).resolve().parents[2] / "models"
SEEDS = 400
MOST, LEAST = 38, 6

CASES = [
    ("basics/mm1k", "mean", {}, 2.9663142664841535),
    ("basics/md1k", "rate", {}, 1 - 0.282639192),
    ("basics/shared_link", "rate", {}, 38 / 21),
    ("basics/machine_repairman", "wait", {}, 3600 * 1.6573846808014858 / 1.3027845957595543),
]


@pytest.mark.parametrize(("name", "measure", "parameters", "right"), CASES)
def test_coverage(name: str, measure: str, parameters: dict[str, float], right: float) -> None:
    load_kernels()
    model = load(MODELS / f"{name}.spn", params=parameters)
    model = replace(model, measures=tuple(m for m in model.measures if m.name == measure))
    missed = 0
    for seed in range(SEEDS):
        found = simulate(model, seed=seed, precision=0.02).measures[measure]
        assert found.half_width is not None
        missed += abs(found.value - right) > found.half_width
    assert LEAST <= missed <= MOST, f"{missed} of {SEEDS} intervals miss {right:g}"
