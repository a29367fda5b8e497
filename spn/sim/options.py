"""Options that several kinds of runs have: whether they are of their types."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import get_args

from spn.errors import AnalysisError, refuse
from spn.sim.streams import Choice


def check_types(*, whole: Mapping[str, object], real: Mapping[str, object]) -> None:
    """AnalysisError (E0705) where an option, by its name, is not of its type; None passes."""
    for name, v in whole.items():
        if v is not None and (isinstance(v, bool) or not isinstance(v, Integral) or (name == "workers" and int(v) < 1)):
            raise refuse(AnalysisError, "E0705", f"{name} is {v!r}; it is a whole number{' from 1 on' if name == 'workers' else ''}")
    for name, v in real.items():
        if v is not None and (isinstance(v, bool) or not isinstance(v, Real) or math.isnan(v)):
            raise refuse(AnalysisError, "E0705", f"{name} is {v!r}; it is a number" + _base_unit(name))


def _base_unit(name: str) -> str:
    return " of seconds" if name in ("horizon", "warmup", "max_seconds") else ""


def check_engine(engine: object) -> None:
    """AnalysisError for what is no choice of an engine."""
    if engine not in get_args(Choice):
        raise refuse(AnalysisError, "E0705", f"engine is {engine!r}; it is one of {', '.join(get_args(Choice))}")
