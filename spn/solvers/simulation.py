"""Simulation as a method of :func:`spn.solvers.solve`: takes every model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spn.errors import Diagnostic
from spn.model import Model
from spn.result import Result

NAME = "simulate"


def may(model: Model) -> list[Diagnostic]:
    """The questions that are not estimated, each with its place in the text."""
    from spn.sim.questions import refusals

    return list(refusals(model))


def compute(model: Model, *, reason: str = "", **options: Any) -> Result:
    """Estimates with confidence intervals, by :func:`spn.sim.simulate` (its options)."""
    from spn.sim import simulate

    result = simulate(model, **options)
    return replace(result, reason=reason) if reason else result
