"""The shared cases with known right answers: exponential and phase-type nets by the exact solver, all of them by the simulator.

The exact values must agree to 1e-8, and so must the number of tangible markings where no phases multiply it. A simulated value must lie
in its own interval at the level of 4 standard errors of the normal law, Student's t taken into account: a false alarm has probability
6.4e-5 a value, and the seeds are fixed.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from spn.dist.families import Exponential
from spn.expr.nodes import Node, tokens
from spn.measure import Average, Measure, Throughput
from spn.model import Model
from spn.net.model import Net, timed
from tests.cases.net_json import expression, load

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "cases"
CASES = sorted(f.parent for group in ("analytic", "bench") for f in (SHARED / group).glob("*/net.json")) if SHARED.is_dir() else []
LARGE = {"kanban4"}  # 454,475 markings: checked in tests/verify
FOUR_SIGMA = 0.99993666  # P(|Z| < 4)
PRECISION = 0.008  # of that interval, relative: 0.2 % a standard error
ROUNDING = 1e-9  # of a deterministic cycle, whose interval has no width

needs_cases = pytest.mark.skipif(not CASES, reason="the shared cases are not beside this checkout")


def questions(net: Net, expected: dict[str, Any]) -> dict[str, tuple[Node, float]]:
    """The long-run figures a case gives, as measures with their right values."""
    found: dict[str, tuple[Node, float]] = {}
    for condition, value in (expected.get("prob") or {}).items():
        found[f"P({condition})"] = (Average(expression(condition)), value)
    for place, value in (expected.get("mean_tokens") or {}).items():
        found[f"E({place})"] = (Average(tokens(place)), value)
    for transition, value in (expected.get("throughput") or {}).items():
        found[f"X({transition})"] = (Throughput(transition), value)
    return found


def model(folder: Path) -> tuple[Model, dict[str, float], dict[str, Any]]:
    net, expected = load(folder)
    asked = questions(net, expected)
    measures = tuple(Measure(name=name, body=body) for name, (body, _) in asked.items())
    return Model(name=folder.name, net=net, measures=measures, unitless=True), {n: v for n, (_, v) in asked.items()}, expected


@needs_cases
def test_by_other_exact_methods() -> None:
    """Those that are no Markov chains and yet solved exactly: constant delays, repeated work. There are some, and all are right."""
    from spn.result import Result
    from spn.solvers import may_solve
    from spn.solvers.choose import exactly

    solved = []
    for folder in CASES:
        m, right, _ = model(folder)
        result = exactly(m) if may_solve(m) else None
        if isinstance(result, Result):
            assert {n: result[n] for n in right} == pytest.approx(right, rel=1e-8, abs=1e-12)
            solved.append(folder.name)
    assert {"marked-graph-ring3", "two-deterministic-clocks"} <= set(solved)


@needs_cases
@pytest.mark.parametrize("name", ["md1k-4", "md1k10", "fork-join-det-exp", "rejuvenation-det-clock", "preempt-repeat-det"])
def test_by_phases(name: str) -> None:
    """One general law at a time: 1e-6, and within the error stated."""
    from spn.solvers import solve

    m, right, _ = model(next(f for f in CASES if f.name == name))
    result = solve(m, method="phase-type")
    for n, value in right.items():
        v = result.measures[n]
        assert v.half_width is not None
        assert abs(v.value - value) <= min(1e-6 * max(1.0, abs(value)), v.half_width + 1e-9)


@needs_cases
@pytest.mark.parametrize("folder", CASES, ids=lambda f: f.name)
def test_exact(folder: Path) -> None:
    from spn.solvers import may_solve, solve

    m, right, expected = model(folder)
    if may_solve(m):
        pytest.skip("holds a law that is not phase-type")
    if folder.name in LARGE:
        pytest.skip("large: see tests/verify")
    result = solve(m, method="ctmc")
    assert result.converged
    for name, value in right.items():
        assert result[name] == pytest.approx(value, rel=1e-8, abs=1e-12), name
    if "tangible_states" in expected and all(isinstance(t.law, Exponential) for t in timed(m.net)):
        assert result.details["states"] == expected["tangible_states"]


@needs_cases
@pytest.mark.parametrize("folder", [f for f in CASES if f.name not in LARGE], ids=lambda f: f.name)
def test_simulated(folder: Path) -> None:
    from spn.sim import simulate

    m, right, _ = model(folder)
    if not right:
        pytest.skip("no long-run value")
    result = simulate(m, seed=20261130, precision=PRECISION, confidence=FOUR_SIGMA, max_firings=3_000_000)
    for name, value in right.items():
        found = result.measures[name]
        assert found.half_width is not None and math.isfinite(found.half_width), name
        assert abs(found.value - value) <= found.half_width + ROUNDING * max(1.0, abs(value)), (name, found, value)


EXACTLY = {
    "alternating-renewal-weibull-lognormal": "product-form",
    "fork-join-3-uniform": "fork-join",
    "fork-join-det-exp": "fork-join",
    "marked-graph-ring3": "max-plus",
    "md1k-4": "mrp",
    "md1k10": "mrp",
    "preempt-repeat-det": "mrp",
    "preempt-repeat-different-uniform": "mrp",
    "race-exp-timeout": "mrp",
    "race-two-uniforms": "semi-markov",
    "rejuvenation-det-clock": "mrp",
    "semi-markov-cycle-8dist": "product-form",
    "two-deterministic-clocks": "max-plus",
}


@needs_cases
@pytest.mark.parametrize("name", EXACTLY)
def test_no_law_is_left_to_the_simulator(name: str) -> None:
    """What `auto` takes is exact: every case with laws that are not phase-type, to rounding."""
    from spn.solvers import solve

    m, right, _ = model(next(f for f in CASES if f.name == name))
    result = solve(m)
    assert (result.method, result.converged) == (EXACTLY[name], True)
    assert {n: result[n] for n in right} == pytest.approx(right, rel=1e-9, abs=1e-12)
