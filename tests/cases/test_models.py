"""Every model file of the project: its own expectations by the exact solver or by simulation, and the two engines against each other.

Exact values must meet the file's tolerance. The interval of a simulated difference of both sides must hold 0, at the level of 4 standard
errors of the normal law, Student's t taken into account (false-alarm probability 6.4e-5 a value; seeds are fixed). Models with general
laws are also turned into an exponential twin (same means, no latency) that both engines can take.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from spn.dist.families import Exponential
from spn.expr.nodes import Binary, BinaryOp
from spn.loading import load
from spn.measure import Expectation, Measure
from spn.model import Model
from spn.net.model import Memory, Net, Timed, Transition
from spn.sim import simulate
from spn.solvers import may_solve, solve

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted([*ROOT.glob("models/**/*.spn"), *ROOT.glob("tests/cases/nets/*.spn")])
LARGE = {"kanban4"}
SEED = 20261130
FOUR_SIGMA = 0.99993666  # P(|Z| < 4)
ROUNDING = 1e-9  # of a deterministic cycle, whose interval has no width


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


FAST = [pytest.param(f, id=name(f)) for f in FILES if f.stem not in LARGE]


def sides(model: Model) -> Model:
    """The model with, for each expectation, the measures ``right K`` and ``gap K`` (left - right) in place of its own."""
    measures = []
    for k, e in enumerate(model.expectations):
        measures.append(Measure(name=f"right {k}", body=e.right))
        measures.append(Measure(name=f"gap {k}", body=Binary(BinaryOp.SUB, e.left, e.right)))
    return replace(model, measures=tuple(measures))


def holds(e: Expectation, gap: float, right: float, slack: float) -> bool:
    match e.op:
        case "==":
            band = float(e.tolerance) * (1 if e.absolute else abs(right))
            return abs(gap) <= max(band, slack)
        case ">=" | ">":
            return gap >= -slack
        case _:
            return gap <= slack


@pytest.mark.parametrize("path", FAST)
def test_every_model_expects_something(path: Path) -> None:
    assert load(path).expectations


@pytest.mark.parametrize("path", FAST)
def test_expectations_hold_exactly(path: Path) -> None:
    model = load(path)
    if may_solve(model):
        pytest.skip("holds a law that is not phase-type")
    result = solve(sides(model), method="ctmc")
    assert result.converged
    for k, e in enumerate(model.expectations):
        assert holds(e, result[f"gap {k}"], result[f"right {k}"], 0.0), (k, result[f"gap {k}"], result[f"right {k}"])


@pytest.mark.parametrize("path", FAST)
def test_expectations_hold_in_simulation(path: Path) -> None:
    model = load(path)
    result = simulate(sides(model), seed=SEED, precision=0.01, confidence=FOUR_SIGMA, max_firings=2_000_000)
    for k, e in enumerate(model.expectations):
        gap = result.measures[f"gap {k}"]
        right = result[f"right {k}"]
        assert gap.half_width is not None and math.isfinite(gap.half_width)
        slack = gap.half_width + ROUNDING * abs(right)
        assert holds(replace(e, tolerance=Fraction(0)) if e.op == "==" else e, gap.value, right, slack), (k, gap, right)


def exponential(t: Transition) -> Transition:
    if not isinstance(t, Timed) or t.law.phase_type() is not None or not 0 < t.law.mean() < math.inf:
        return replace(t, memory=Memory.RESTART) if isinstance(t, Timed) else t
    transfer = None if t.transfer is None else replace(t.transfer, latency=Fraction(0))
    return replace(t, law=Exponential(rate=1 / t.law.mean()), transfer=transfer, memory=Memory.RESTART)


def twin(net: Net) -> Net:
    return replace(net, transitions=tuple(exponential(t) for t in net.transitions))


@pytest.mark.parametrize("path", [pytest.param(f, id=name(f)) for f in FILES if f.parent.parent.name == "models" or f.parent.name == "sgd"])
def test_solver_and_simulator_agree(path: Path) -> None:
    model = load(path)
    model = replace(model, net=twin(model.net))
    if not model.measures:
        model = sides(model)
    exact = solve(model, method="ctmc")
    estimate = simulate(model, seed=SEED, precision=0.02, confidence=FOUR_SIGMA, max_firings=2_000_000)
    for m in model.measures:
        found = estimate.measures[m.name]
        assert found.half_width is not None and math.isfinite(found.half_width)
        slack = found.half_width + ROUNDING * max(1.0, abs(exact[m.name]))
        if math.isfinite(exact[m.name]):
            assert abs(found.value - exact[m.name]) <= slack, (m.name, found, exact[m.name])
