"""What is told on the way."""

from __future__ import annotations

import math
import time

import pytest

import spn
from spn.result import Value
from spn.sim.progress import Progress, Reporter, span


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (59.6, "60 s"), (180, "3 min"), (5940, "99 min"), (7800, "2 h 10 min"), (86400 * 4, "4 days"), (86400 * 2, "2 days")],
)
def test_spans(seconds: float, text: str) -> None:
    assert span(seconds) == text


def state(worst: float, firings: int, seconds: float) -> Progress:
    measures = {"lost": Value(value=0.02349, half_width=worst * 0.02349)}
    return Progress(firings=firings, seconds=seconds, measures=measures, worst=worst, precision=0.001, measure="lost")


def test_time_to_go_by_the_square_of_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as wide as wanted: four times the work, three quarters of it to do; at 10^6 firings a second, as measured."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    seen: list[Progress] = []
    r = Reporter(seen.append, limit=1000.0)
    r.tell(state(0.005, 1_000_000, 1.0))
    assert math.isnan(seen[-1].left) and seen[-1].share == pytest.approx(1 / 25)  # no rate is known yet
    now[0] += 2.0
    r.tell(state(0.002, 3_000_000, 3.0))
    assert seen[-1].rate == pytest.approx(1e6)
    assert seen[-1].share == pytest.approx(0.25) and seen[-1].left == pytest.approx(9.0)
    assert str(seen[-1]) == "lost 0.02349 ±0.2 % (wanted 0.1 %), 9 s to go, 1 M/s"
    now[0] += 3.0
    r.tick(6_000_000, 6.0)
    assert seen[-1].left == pytest.approx(6.0) and seen[-1].share == pytest.approx(0.5) and seen[-1].firings == 6_000_000
    r.tick(6_100_000, 6.1)
    assert len(seen) == 3  # not yet


def test_a_limit_that_comes_first_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    seen: list[Progress] = []
    r = Reporter(seen.append, limit=60.0)
    r.tick(0, 1.0)
    now[0] += 1.0
    r.tell(state(0.02, 1_000_000, 2.0))
    assert "7 min to go but stops in 58 s" in str(seen[-1])


def test_a_fixed_number_of_replications() -> None:
    seen: list[Progress] = []
    r = Reporter(seen.append, limit=math.inf, goal=lambda: (25, 100))
    r.tick(1000, 10.0)
    assert seen[-1].share == 0.25 and seen[-1].left == pytest.approx(30.0)
    assert str(seen[-1]) == "30 s to go, 1e+03 firings"


def test_a_run_tells_where_it_is() -> None:
    seen: list[Progress] = []
    result = spn.simulate(spn.load("basics/mm1k.spn"), seed=1, precision=0.05, estimator="batches", progress=seen.append)
    assert result.converged and len(seen) > 2
    assert seen[-1].worst <= 0.05 and seen[-1].share == 1.0
    assert seen[-1].measure in result.measures
    shares = [p.share for p in seen if math.isfinite(p.share)]
    assert shares[0] < shares[-1]
