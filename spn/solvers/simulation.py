"""Simulation as a method of :func:`spn.solvers.solve`: takes every model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spn.errors import Diagnostic
from spn.model import Model
from spn.result import Result

NAME = "simulate"


def may(model: Model) -> list[Diagnostic]:
    """Nothing is refused before the run."""
    return []


def compute(model: Model, *, reason: str = "", **options: Any) -> Result:
    """Estimates with confidence intervals, by :func:`spn.sim.simulate` (its options)."""
    from spn.sim import simulate

    result = simulate(model, **options)
    return replace(result, reason=reason) if reason else result
