"""Runs with common random numbers: the kernel makes those of plain Python to the last bit; mirrored ones; works that run out; excess."""

from __future__ import annotations

import math

import numpy as np
import pytest

import spn
import spn.sim.synchronised as module
from spn.compiled import compile_net
from spn.model import Model
from spn.sim import load_kernels
from spn.sim.control import Control
from spn.sim.engine import Floats
from spn.sim.recorded import FIRST, recordable
from spn.sim.run import questions
from spn.sim.synchronised import Key, Runs, Span, Works, all_done

MANY = """
link line(capacity = 100 B/s)
place a = 3, b, c, d, pool = 4, hot
place f = 2, g
timed send  : a -> b ~ gamma(mean = 40 B, cv = 0.5) over line latency 0.1 s
timed think : b -> c ~ lognormal(mean = 300 ms, cv = 0.8) servers inf
immediate left    : c -> d weight 2
immediate right   : c -> a weight 1
timed back  : d -> a ~ hyperexp(mean = 1 s, cv = 2) memory resume
timed tick  : pool -> hot ~ det(0.2 s) servers 2
timed tock  : hot -> pool ~ empirical([0.2 s, 0.4 s])
timed hold  : f -> g ~ exp(rate = 1/s * (1 + #g)) servers 2
timed free  : g -> f ~ weibull(shape = 2, scale = 1 s)
measure n = E(#b)
measure rate = throughput(back)
measure used = utilisation(line)
"""


def runs(model: Model, seed: int, horizon: float = 60.0) -> Runs:
    span = Span(horizon=horizon, warmup=5.0, seed=seed)
    wanted = questions([m.body for m in model.measures], model)
    return Runs(model, model.measures, wanted, span, Control(workers=1, max_seconds=600, max_firings=math.inf))


def test_the_kernel_makes_the_same_runs() -> None:
    """Every law, a link with latency, choices, ties, memory: rows and excesses are equal to the last bit (a link's rate but for rounding),
    those of mirrored runs too."""
    load_kernels()
    model = spn.parse(MANY)
    compiled, python = runs(model, 1), runs(model, 1)
    python.crew.engine, compiled.crew.engine = "python", "compiled"
    for k in range(6):
        for mirrored in (False, True):
            one, two = python.row(k, mirrored=mirrored), compiled.row(k, mirrored=mirrored)
            assert one[:2].tolist() == two[:2].tolist() and one[3:].tolist() == two[3:].tolist()
            assert one[2] == pytest.approx(two[2], rel=1e-12)  # the rate used on a link is summed in another order
    assert python.firings == compiled.firings > 3000
    assert compiled._recorder is not None and max(compiled._recorder.counts.values()) > FIRST  # lists that were too short were made longer


def test_what_is_not_recorded() -> None:
    """A law of several parts goes to plain Python, even where the kernel is asked for."""
    model = spn.parse("place p = 1\ntimed t : p -> p ~ mix(0.5: det(1 s), 0.5: exp(mean = 1 s))\nmeasure r = throughput(t)")
    assert not recordable(model.net, compile_net(model.net))
    asked = runs(model, 2)
    asked.crew.engine = "compiled"
    assert 30 < asked.row(0)[0] * 55 < 90 and asked._recorder is None


def test_mirrored_works() -> None:
    key = (1, 2, False)
    plain, mirrored = (Works((*key[:2], m), "t", lambda u: u) for m in (False, True))
    pairs = np.array([(plain.next(), mirrored.next()) for _ in range(5000)])
    assert np.allclose(pairs.sum(axis=1), 1) and pairs.min() > 0 and pairs.max() < 1
    assert abs(pairs[:, 0].mean() - 0.5) < 4 * math.sqrt(1 / 12 / 5000)
    assert pairs[0, 0] == Works(key, "t", lambda u: u).next() != Works((1, 3, False), "t", lambda u: u).next()


def test_the_excess_has_mean_0() -> None:
    """Over 200 short runs, in each of which a run ends in the midst of works: within four standard errors."""
    model = spn.parse("place p = 1\ntimed t : p -> p ~ lognormal(mean = 3 s, cv = 1)\nmeasure r = throughput(t)")
    made = runs(model, 3, horizon=20.0)
    excess = np.array([made.row(k)[1] for k in range(200)])
    assert abs(excess.mean()) < 4 * excess.std(ddof=1) / math.sqrt(200)
    assert excess.std() > 0


def test_models_with_equal_names_get_equal_works() -> None:
    """Of a law twice as long the works are twice as long: half as many of them in the same time, about."""
    fast, slow = (spn.parse(f"place p = 1\ntimed t : p -> p ~ gamma(mean = {m} s, cv = 0.3)\nmeasure r = throughput(t)") for m in (1, 2))
    a, b = runs(fast, 4, horizon=500.0), runs(slow, 4, horizon=1000.0)
    assert a.row(0)[0] * 495 == pytest.approx(b.row(0)[0] * 995, abs=8)  # the same works, but for the warm-up


def test_threads_make_the_same_runs_and_limits_end_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 replications by two threads and by one are equal; an interruption in the midst keeps those before it."""
    load_kernels()
    model = spn.parse(MANY)
    one, two = runs(model, 5, horizon=20.0), runs(model, 5, horizon=20.0)
    two.crew.control.workers = 2
    assert all_done([one], 40) == all_done([two], 40) == 40
    assert one.rows(40).tolist() == two.rows(40).tolist()
    broken, made = runs(model, 5, horizon=20.0), Runs._made

    def interrupted(self: Runs, key: Key) -> Floats:
        if key[1] == 7:
            raise KeyboardInterrupt
        return made(self, key)

    monkeypatch.setattr(Runs, "_made", interrupted)
    assert 1 <= all_done([broken], 40) <= 7 and broken.crew.control.interrupted


def test_too_many_works_are_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    load_kernels()
    model = spn.parse(MANY)
    right = runs(model, 6, horizon=20.0).row(0)
    monkeypatch.setattr(module, "MOST_WORKS", 300)
    assert runs(model, 6, horizon=20.0).row(0).tolist() == pytest.approx(right.tolist(), rel=1e-12)
