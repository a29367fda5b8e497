"""The selection of the best: Kim and Nelson's constants, the guarantee in the slippage configuration, what leaves when, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import spn
from spn.errors import SpnError
from spn.model import Model
from spn.sim.selection import kim_nelson, reach


def test_constants() -> None:
    """k = 2 with n0 = 11 at 95 %: eta = (0.1^(-1/5) - 1) / 2, h^2 = 20 eta = 5.8489."""
    found = reach(np.array([[0.0, 4.0], [4.0, 0.0]]), 11, 0.5, 0.95)
    assert found[0, 1] == pytest.approx(5.848931924611133 * 4 / 0.25, rel=1e-12) and found[0, 0] == 0


@pytest.mark.parametrize("shared", [0.0, 0.9])
def test_the_guarantee_in_the_slippage_configuration(shared: float) -> None:
    """Five normal means, the best better by exactly the indifference, independent and with correlation 0.9. Of 400 selections at 90 % at
    least 341 are right (at exactly 90 % the chance of fewer is binomial(400, 0.9): 8e-4)."""
    right = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        rows: list[Any] = []

        def observe(i: int, r: int, rng: np.random.Generator = rng, rows: list[Any] = rows) -> float:
            if r == len(rows):
                rows.append(math.sqrt(1 - shared) * rng.standard_normal(5) + math.sqrt(shared) * rng.standard_normal())
            return float(rows[r][i]) + 0.5 * (i == 3)

        right += kim_nelson(observe, 5, first=12, indifference=0.5, confidence=0.9).alive == [3]
    assert right >= 341


def test_equal_alternatives_end() -> None:
    race = kim_nelson(lambda i, r: math.sin(r) - 5 * (i == 0), 3, first=8, indifference=0.1, confidence=0.95)
    assert race.alive == [1] and set(race.out) == {0, 2}


def queue(servers: int, rate: float) -> Model:
    return spn.parse(
        f"""
        units none
        place free = 8, q
        timed arrive : free -> q ~ exp(rate = 0.8) servers 1
        timed serve : q -> free ~ exp(rate = {rate}) servers {servers}
        measure n = E(#q)
        measure exact = E(#q) over 5..60
        measure late = E(time until #q == 5)
        """,
        name=f"{servers} of rate {rate}",
    )


def test_the_best_queue() -> None:
    """The right answer is the exact one; the worst leaves first; and seeds repeat."""
    models = [queue(1, 1.0), queue(1, 1.6), queue(2, 0.5), queue(1, 1.3)]
    exact = [spn.solve(m, method="ctmc")["exact"] for m in models]
    options: dict[str, Any] = {"horizon": 60.0, "warmup": 5.0, "goal": "min", "seed": 3}
    found = spn.select_best(models, "n", indifference=0.2, **options)
    assert found.best == models[int(np.argmin(exact))].name == "1 of rate 1.6"
    by_name = {c.name: c for c in found.candidates}
    assert (by_name["2 of rate 0.5"].left or 0) <= (by_name["1 of rate 1.3"].left or 0)
    assert by_name["1 of rate 1.6"].left is None and found.remaining == ("1 of rate 1.6",)
    assert found.candidates == spn.select_best(models, "n", indifference=0.2, **options).candidates
    text = repr(found)
    assert "at least 95 %" in text and "by 0.2 or more" in text and "left after" in text
    assert spn.select_best(models, "n", indifference=0.2, **{**options, "goal": "max"}).best == models[int(np.argmax(exact))].name


def test_undecided_where_time_is_short() -> None:
    found = spn.select_best([queue(1, 1.0), queue(1, 1.001)], "n", horizon=60.0, indifference=1e-6, seed=1, max_seconds=0.5)
    assert found.best is None and len(found.remaining) == 2 and "undecided" in repr(found) and "before it was decided" in found.notes[0]


@pytest.mark.parametrize(
    ("measure", "options", "code"),
    [
        ("n", {"indifference": 0.0}, "E0705"),
        ("n", {"goal": "best"}, "E0705"),
        ("n", {"first": 2}, "E0705"),
        ("n", {"horizon": -1.0}, "E0705"),
        ("n", {"names": ["one"]}, "E0705"),
        ("late", {}, "E0624"),
        ("m", {}, "E0201"),
    ],
)
def test_what_is_refused(measure: str, options: dict[str, Any], code: str) -> None:
    with pytest.raises(SpnError) as e:
        spn.select_best([queue(1, 1.0), queue(1, 2.0)], measure, **{"horizon": 9.0, "indifference": 0.1, **options})
    assert e.value.diagnostics[0].code == code


def test_a_measure_that_is_undefined_in_a_replication_is_refused() -> None:
    """Over so short a time there are replications in which nothing is served: 0 / 0 or x / 0 compares with nothing."""
    text = "units none\nplace q = 1\ntimed serve : q -> ~ exp(rate = {})\nmeasure stay = E(#q) / throughput(serve)"
    models = [spn.parse(text.format(r), name=f"rate {r}") for r in (1, 2)]
    with pytest.raises(SpnError, match="measure stay of rate 1 is undefined in a replication"):
        spn.select_best(models, "stay", horizon=0.01, indifference=0.1, seed=1)
