"""Options that make no sense are errors that name them, whatever their type; arithmetic on measures that has no value is nan."""

from __future__ import annotations

import math
from typing import Any

import pytest

import spn
from spn.errors import AnalysisError

SAMPLING: list[dict[str, Any]] = [
    {"seed": -1},
    {"seed": "a"},
    {"seed": 1.5},
    {"precision": "1%"},
    {"confidence": 95},
    {"replications": 2.5},
    {"horizon": "3 s"},
    {"warmup": "x"},
    {"workers": -3},
    {"workers": 0},
    {"workers": "x"},
    {"engine": "foo"},
    {"max_seconds": "x"},
    {"max_firings": math.nan},
]


def mm1k() -> Any:
    return spn.load("models/basics/mm1k.spn")


@pytest.mark.parametrize("options", SAMPLING, ids=str)
def test_of_simulations(options: dict[str, Any]) -> None:
    with pytest.raises(AnalysisError, match=f"E0705.*{next(iter(options))}"):
        spn.simulate(mm1k(), **options)


@pytest.mark.parametrize(
    "options",
    [{"tolerance": "x"}, {"tolerance": -1}, {"tolerance": 0}, {"max_states": 0}, {"max_states": "x"}, {"max_memory": -1}],
    ids=str,
)
def test_of_the_exact_method(options: dict[str, Any]) -> None:
    with pytest.raises(AnalysisError, match=f"E0617.*{next(iter(options))}"):
        spn.solve(mm1k(), **options)


@pytest.mark.parametrize("method", ["ctmc", "simulate"])
def test_arithmetic_without_a_value_is_nan(method: str) -> None:
    """In one of two classes nothing of a ratio ever happens; elsewhere a logarithm of 0 is asked for."""
    model = spn.parse("""
        units none
        place s = 1  place a  place b
        timed x : s -> a ~ exp(rate = 1)
        timed y : s -> b ~ exp(rate = 1)
        timed p : a -> a ~ exp(rate = 2)
        measure ratio = E(#a) / throughput(p)
        measure never = ln(throughput(x))
    """)
    result = spn.solve(model, method=method)
    assert result["ratio"] == pytest.approx(0.5, rel=0.05)
    assert math.isnan(result["never"])
    assert any(note.startswith("never: undefined") for note in result.notes)
    inside = {c.kind: c.measures["ratio"] for c in result.classes}
    assert math.isnan(inside["dead"]) and inside["recurrent"] == pytest.approx(0.5, rel=0.05)
