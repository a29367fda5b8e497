"""Phase-type laws with a given mean and coefficient of variation."""

from __future__ import annotations

import math
from dataclasses import dataclass

from spn.dist.deterministic import Deterministic
from spn.dist.erlang import Erlang
from spn.dist.exponential import Exponential
from spn.dist.hyperexponential import balanced
from spn.dist.law import Law
from spn.dist.mixture import Mixture
from spn.errors import DataError, refuse
from spn.expr.nodes import exact

MANY = 100  # stages from which on the number of states is a worry
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """The law, its number of exponential stages (0 for a constant), and a warning or ""."""

    law: Law
    stages: int
    warning: str = ""


def match_moments(mean: float, cv: float) -> Matched:
    """A law with exactly this mean and coefficient of variation that exact solvers can take.

    cv 0: the constant; below 1: a mixture of Erlang(k-1) and Erlang(k) of one rate, 1/k <= cv^2 <= 1/(k-1); 1: exponential; above: two
    exponential branches of balanced means. Source: Tijms, Stochastic Models (1994), appendix B. DataError E0813 for a mean that is not
    positive or a negative cv.
    """
    if not (mean > 0 and math.isfinite(mean)) or not (cv >= 0 and math.isfinite(cv)):
        raise refuse(DataError, "E0813", f"a law needs a positive mean and a cv that is not negative, not {mean:g} and {cv:g}")
    square = cv * cv
    if cv == 0:
        return Matched(law=Deterministic(value=exact(float(mean))), stages=0)
    if abs(square - 1) < ROUNDING:
        return Matched(law=Exponential(rate=1 / mean), stages=1)
    if square > 1:
        return Matched(law=balanced(mean, cv), stages=2)
    return _erlangs(mean, square)


def _erlangs(mean: float, square: float) -> Matched:
    k = math.ceil(1 / square - ROUNDING / square)
    # at cv^2 = 1/k, and by rounding just below it, a single Erlang law is meant: the root is 0 there and p too
    p = (k * square - math.sqrt(max(0.0, k * (1 + square) - k * k * square))) / (1 + square)
    p = min(1.0, max(0.0, p)) if p > ROUNDING else 0.0
    rate = (k - p) / mean
    warning = f"{k} stages: an exact solver multiplies its states by about {k}; a constant is det({mean:g})" if k >= MANY else ""
    if p == 0:
        return Matched(law=Erlang(k=k, rate=rate), stages=k, warning=warning)
    parts = ((p, Erlang(k=k - 1, rate=rate)), (1 - p, Erlang(k=k, rate=rate)))
    return Matched(law=Mixture(parts=parts), stages=2 * k - 1, warning=warning)
