"""Differences by common random numbers: against the exact method, the gain in variance, coverage, what is in step."""

from __future__ import annotations

import math
from typing import Any

import pytest

import spn
from spn.errors import SpnError
from spn.model import Model
from spn.sim.engine import Floats
from spn.sim.streams import Crew
from spn.sim.synchronised import Key, Runs

HORIZON, WARMUP = 40.0, 4.0


def queue(rate: float, more: str = "") -> Model:
    """M/M/1/5; the questions asked of the exact method are the same averages over the horizon."""
    return spn.parse(
        f"""
        units none
        place free = 5, q
        timed arrive : free -> q ~ exp(rate = 0.8) servers 1
        timed serve : q -> free ~ exp(rate = {rate}) servers 1
        {more}
        measure n = E(#q)
        measure exact = E(#q) over {WARMUP}..{HORIZON}
        measure stay = sojourn(q)
        measure late = E(time until #q == 5)
        """,
        name=f"rate {rate}",
    )


def exactly(rate: float) -> float:
    return spn.solve(queue(rate), method="ctmc")["exact"]


def test_differences_and_their_gain() -> None:
    """Within twice the half-widths of the exact values (false alarms below 1e-3 in all); and closer than by independent runs."""
    models = [queue(r) for r in (1.0, 1.1, 1.3)]
    right = [exactly(r) for r in (1.0, 1.1, 1.3)]
    paired = spn.difference(models, "n", horizon=HORIZON, warmup=WARMUP, seed=1, replications=128)
    apart = spn.difference(models, "n", horizon=HORIZON, warmup=WARMUP, seed=1, replications=128, synchronised=False)
    assert paired.each == pytest.approx(0.975) and paired.replications == 128
    for found in (paired, apart):
        for row, value in zip(found.rows, right[1:], strict=True):
            assert abs(row.difference - (value - right[0])) < 2 * row.half_width
            assert abs(row.ratio - value / right[0]) < 2 * row.ratio_half_width
            assert row.difference == pytest.approx(row.value - row.base_value)
    for near, far in zip(paired.rows, apart.rows, strict=True):
        assert near.gain > 4 and 0.4 < far.gain < 2.5
        assert near.half_width < far.half_width / 2
    assert "rate 1.1" in (text := repr(paired)) and "128 replications with common random numbers, seed 1" in text and "97.5 %" in text


def test_coverage() -> None:
    """Of 300 intervals at 90 % from 8 replications at least 250 hold the exact difference (false alarm 3e-4 at exactly 90 %)."""
    models, right = [queue(1.0), queue(1.5)], exactly(1.5) - exactly(1.0)
    hits = 0
    for seed in range(300):
        (row,) = spn.difference(models, "n", horizon=HORIZON, warmup=WARMUP, seed=seed, replications=8, confidence=0.9).rows
        hits += abs(row.difference - right) <= row.half_width
    assert hits >= 250


def test_equal_activities_stay_in_step() -> None:
    """What is added beside the queue draws from streams of its own: the queue does the same to the last firing."""
    other = "place lamp = 1, dark timed off : lamp -> dark ~ uniform(0, 1) timed on : dark -> lamp ~ erlang(3, mean = 0.2)"
    (row,) = spn.difference([queue(1.0), queue(1.0, other)], "stay", horizon=HORIZON, seed=2, replications=8).rows
    assert (row.difference, row.half_width) == (pytest.approx(0, abs=1e-12), pytest.approx(0, abs=1e-12))  # sums are rounded otherwise
    assert row.ratio == pytest.approx(1, abs=1e-12) and row.gain > 1e20
    (same,) = spn.difference([queue(1.0), queue(1.0)], "stay", horizon=HORIZON, seed=2, replications=8).rows
    assert (same.difference, same.half_width, same.ratio, same.gain) == (0, 0, 1, math.inf)


def test_equal_seeds_give_equal_results() -> None:
    models = [queue(1.0), queue(1.1)]
    one, two, three = (spn.difference(models, "n", horizon=HORIZON, seed=s, replications=4) for s in (5, 5, 6))
    assert one == two and one.rows != three.rows


@pytest.mark.parametrize(
    ("rates", "measure", "options", "code"),
    [
        ((1.0,), "n", {}, "E0705"),
        ((1.0, 2.0), "nix", {}, "E0201"),
        ((1.0, 2.0), "late", {}, "E0624"),
        ((1.0, 2.0), "exact", {}, "E0624"),
        ((1.0, 2.0), "n", {"horizon": math.inf}, "E0705"),
        ((1.0, 2.0), "n", {"warmup": HORIZON}, "E0705"),
        ((1.0, 2.0), "n", {"replications": 1}, "E0705"),
        ((1.0, 2.0), "n", {"confidence": 1.0}, "E0705"),
        ((1.0, 2.0), "n", {"names": ["one"]}, "E0705"),
        ((1.0, 2.0), "n", {"replications": 2.5}, "E0705"),
        ((1.0, 2.0), "n", {"seed": "one"}, "E0705"),
        ((1.0, 2.0), "n", {"max_seconds": math.nan}, "E0705"),
        ((1.0, 2.0), "n", {"max_seconds": 0.0}, "E0706"),
    ],
)
def test_what_is_refused(rates: tuple[float, ...], measure: str, options: dict[str, Any], code: str) -> None:
    with pytest.raises(SpnError) as e:
        spn.difference([queue(r) for r in rates], measure, **{"horizon": HORIZON, **options})  # type: ignore[arg-type]
    assert e.value.diagnostics[0].code == code


def test_an_interruption_keeps_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fifth replication is interrupted: the answer is that of four."""
    whole = spn.difference([queue(1.0), queue(1.1)], "n", horizon=HORIZON, seed=1, replications=4)
    made = Runs._made

    def interrupted(self: Runs, key: Key) -> Floats:
        if key[1] == 4:
            raise KeyboardInterrupt
        return made(self, key)

    monkeypatch.setattr(Runs, "_made", interrupted)
    monkeypatch.setattr(Crew, "use_kernel", lambda self, firings: False)
    found = spn.difference([queue(1.0), queue(1.1)], "n", horizon=HORIZON, seed=1, replications=8)
    assert found.interrupted and found.rows == whole.rows and found.notes == ("interrupted, with 4 replications",)
    best = spn.select_best([queue(1.0), queue(1.1)], "n", horizon=HORIZON, indifference=0.1, seed=1)
    assert best.interrupted and best.best is None
