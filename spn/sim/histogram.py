"""Histograms: how an expression over markings is distributed over time, or over the firings of a transition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from spn.errors import AnalysisError, refuse
from spn.expr.nodes import Binary, BinaryOp, Number, Operators, exact
from spn.expr.text import to_text
from spn.measure import Average, Measure
from spn.model import Model, checked
from spn.result import Provenance, plain
from spn.sim.classes import marking_graph
from spn.sim.control import Control
from spn.sim.questions import mean_of
from spn.sim.run import chosen_seed, simulate
from spn.sim.values import Trial

MOST = 40  # values that have a bin each, and bins where there are more
PRECISION = 0.002  # half-width of a share
WIDE = 1e-9  # relative: values that are no whole numbers are equal but for rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """The ``share`` of time (or of firings) at which the expression is at least ``low`` and less than ``high``, either of which may be
    infinite; with ``single`` it is ``low`` itself. ``half_width`` is that of the confidence interval."""

    low: float
    high: float
    share: float
    half_width: float
    single: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Histogram:
    """The answer of :func:`histogram`: the ``bins`` by rising values, whose shares sum to 1. ``given``: over the firings of that
    transition, in the marking just before; else over time. The intervals hold for each bin alone."""

    expression: str
    bins: tuple[Bin, ...]
    confidence: float
    given: str | None = None
    converged: bool = True
    reason: str = ""
    notes: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    provenance: Provenance | None = None

    def __repr__(self) -> str:
        from spn.show.histogram import histogram_text

        return histogram_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; infinite ends as the strings ``"inf"``, ``"-inf"``."""
        return plain(self)


def histogram(
    model: Model, of: str | Operators, *, bins: Sequence[float] | int | None = None, precision: float = PRECISION, **options: Any
) -> Histogram:
    """How an expression over markings is distributed in the long run (or, with ``horizon``, over that time), by simulation.

    ``of`` is a text as the language has it (``"#q"``, ``"#q + 2*#r"``, ``"#q | serve"``: over the firings of serve) or a tree
    (``spn.tokens("q")``, ``spn.Average(spn.tokens("q"), "serve")``). Every value has a bin where there are at most ``bins`` (40) of them,
    else so many bins of equal width, which a short trial run places; a sequence gives the edges. What is below the first or from the last
    edge on is in bins of its own.

    The run ends when every share is known to ± ``precision`` (0.002: of all time 0.2 %), or at the limits of :func:`spn.simulate`, whose
    ``options`` (seed, confidence, horizon, max_seconds …) these are. Raises what it raises, and ModelError where the text is no expression.
    """
    _check(bins)
    average, text = _asked(checked(model), of)
    options = {**options, "seed": chosen_seed(options.get("seed"), options.get("checkpoint"))}
    ranges = _ranges(model, average, bins, options)
    measures = tuple(Measure(name=f"bin {k}", body=_share(average, r)) for k, r in enumerate(ranges))
    result = simulate(replace(model, measures=measures, properties=()), absolute=precision, **options)
    values = list(result.measures.values())
    found = [
        Bin(low=r.low, high=r.high, share=v.value, half_width=math.nan if v.half_width is None else v.half_width, single=r.single)
        for r, v in zip(ranges, values, strict=True)
    ]
    return Histogram(
        expression=text,
        given=average.given,
        bins=tuple(_trimmed(found)),
        confidence=values[0].confidence or math.nan,
        converged=result.converged,
        reason=result.reason,
        notes=tuple(n for n in result.notes if not n.startswith("bin ")),
        details=dict(result.details),
        seconds=result.seconds,
        provenance=result.provenance,
    )


def _check(bins: object) -> None:
    if bins is None or (isinstance(bins, int) and not isinstance(bins, bool) and bins >= 1):
        return
    given = list(bins) if isinstance(bins, Sequence) and not isinstance(bins, str) else []
    numbers = all(isinstance(x, int | float) and math.isfinite(x) for x in given)
    if not given or not numbers or any(a >= b for a, b in pairwise(given)):
        raise refuse(AnalysisError, "E0705", f"bins is {bins!r}; it is a whole number from 1 on, or rising edges")


def _asked(model: Model, of: str | Operators) -> tuple[Average, str]:
    """The mean whose distribution is asked for, and its text."""
    body = mean_of(model, of)
    if not isinstance(body, Average):
        raise refuse(AnalysisError, "E0705", f"a histogram is of an expression over markings, not of {of!r}", help="for instance of '#q'")
    checked(replace(model, measures=(Measure(name="the histogram", body=body),)))
    return body, of if isinstance(of, str) else to_text(body.value)


# --- bins -------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Range:
    low: float
    high: float
    single: bool = False


def _ranges(model: Model, average: Average, bins: Sequence[float] | int | None, options: dict[str, Any]) -> list[_Range]:
    """The bins: the edges given, or one a value, or of equal width over the values that are possible or were met."""
    if isinstance(bins, Sequence):
        return [_Range(a, b) for a, b in pairwise([-math.inf, *map(float, bins), math.inf])]
    most = bins or MOST
    control = Control(workers=1, max_seconds=options.get("max_seconds", 60.0), max_firings=math.inf)
    horizon, engine = options.get("horizon"), options.get("engine", "auto")
    trial = Trial(model.net, average.value, average.given, options["seed"], horizon, control, engine)
    support = trial.support(marking_graph(model.net))
    low, high = support.values[0], support.values[-1]
    known = [float(x) for x in range(round(low), round(high) + 1)] if support.whole and high - low < most else list(support.values)
    if len(known) <= most and (support.complete or support.whole):
        singles = [_Range(x, x, single=True) for x in known]
        return singles if support.complete else [_Range(-math.inf, low), *singles, _Range(high + 1, math.inf)]
    width = (high - low) / most or 1.0
    if support.whole:
        width = math.ceil((high - low + 1) / most)
    edges = [low + k * width for k in range(most + 1) if k == 0 or low + (k - 1) * width <= high]
    return [_Range(a, b) for a, b in pairwise([-math.inf, *edges, math.inf])]


def _share(average: Average, r: _Range) -> Average:
    """The measure P(low <= expression < high)."""
    e = average.value
    if r.single:
        slack = 0.0 if r.low.is_integer() else WIDE * abs(r.low)
        low, high = Binary(BinaryOp.GE, e, _number(r.low - slack)), Binary(BinaryOp.LE, e, _number(r.low + slack))
        return Average(Binary(BinaryOp.EQ, e, _number(r.low)) if not slack else Binary(BinaryOp.AND, low, high), average.given)
    above, below = Binary(BinaryOp.GE, e, _number(r.low)), Binary(BinaryOp.LT, e, _number(r.high))
    if math.isinf(r.low):
        return Average(below, average.given)
    return Average(above if math.isinf(r.high) else Binary(BinaryOp.AND, above, below), average.given)


def _number(x: float) -> Number:
    return Number(exact(0.0 if math.isinf(x) else x))


def _trimmed(bins: list[Bin]) -> list[Bin]:
    """Without empty bins at either end (one that is empty between others says something)."""
    filled = [k for k, b in enumerate(bins) if b.share != 0]
    return bins[filled[0] : filled[-1] + 1] if filled else bins
