"""Differences between models by common random numbers (:mod:`spn.sim.synchronised`): what chance does to one it does to the other, and much
of it cancels in the difference. The gain in variance is measured from the same runs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spn.errors import AnalysisError, refuse
from spn.model import Model, checked
from spn.result import plain
from spn.sim.control import Control, all_cores
from spn.sim.engine import Floats
from spn.sim.estimate import Function, Interval, averages, interval
from spn.sim.run import questions
from spn.sim.streams import fresh_seed
from spn.sim.synchronised import Runs, Span, all_done, asked, check_span

REPLICATIONS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An alternative against the first model: the measure's value of both in base units, ``difference`` and ``ratio`` (alternative minus,
    and over, the first) each ± a half-width. ``gain``: how many times smaller the variance of the difference is than of one between
    independent runs; below 1 it is larger; inf where all chance cancels, nan where there was none."""

    base: str
    alternative: str
    base_value: float
    value: float
    difference: float
    half_width: float
    ratio: float
    ratio_half_width: float
    gain: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Differences:
    """The answer of :func:`difference`. All intervals for differences hold at once with ``confidence``, and so do all for ratios; each
    alone holds at ``each`` (Bonferroni). ``complete``: all replications asked for were made."""

    measure: str
    rows: tuple[Difference, ...]
    confidence: float
    each: float
    replications: int
    horizon: float
    warmup: float
    seed: int
    unit: str = ""
    unit_factor: float = 1.0
    synchronised: bool = True
    notes: tuple[str, ...] = ()
    complete: bool = True
    interrupted: bool = False

    def __repr__(self) -> str:
        from spn.show.differences import differences_text

        return differences_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, values in base units."""
        return plain(self)


def difference(
    models: Sequence[Model],
    measure: str,
    *,
    horizon: float,
    warmup: float = 0.0,
    names: Sequence[str] | None = None,
    seed: int | None = None,
    replications: int = REPLICATIONS,
    confidence: float = 0.95,
    synchronised: bool = True,
    max_seconds: float = 60.0,
) -> Differences:
    """How a measure of each further model differs from that of the first, averaged over ``warmup`` to ``horizon`` (seconds), by
    ``replications`` runs of every model with common random numbers (``synchronised`` False: independent ones, for comparison).

    ``names`` tell the models apart (default: their own). At ``max_seconds``, or interrupted, it ends with what is done by then and says so.
    The jackknife over replications gives the intervals, which for ratios holds too; with several alternatives each is at 1 - (1 -
    confidence) / alternatives (Bonferroni). AnalysisError for fewer than two models, a measure that one does not have or that is no
    long-run average, options out of range, or fewer than two replications done.
    """
    seed = fresh_seed() if seed is None else seed
    _check(models, names)
    check_span(horizon, warmup, replications, confidence, seed, max_seconds)
    control = Control(workers=all_cores(), max_seconds=max_seconds, max_firings=math.inf)
    span = Span(horizon=horizon, warmup=warmup, seed=seed)
    runs = [paired_runs(m, measure, span, control) for m in models]
    control.started = time.monotonic()
    offsets = [0 if synchronised else k * replications for k in range(len(models))]
    n = all_done(runs, replications, offsets=offsets)
    if n < 2:
        if control.interrupted:
            raise refuse(AnalysisError, "E0706", "interrupted before two replications of every model were done")
        help = "allow more seconds, or a shorter horizon"
        raise refuse(AnalysisError, "E0706", "fewer than two replications of every model were done in time", help=help)
    each = 1 - (1 - confidence) / (len(models) - 1)
    labels = list(names) if names is not None else [m.name for m in models]
    samples = [(r.rows(n, first=k), r.function) for r, k in zip(runs, offsets, strict=True)]
    asked_for = asked(models[0], measure)
    rows = tuple(_against(samples[0], other, labels[0], label, each) for other, label in zip(samples[1:], labels[1:], strict=True))
    return Differences(
        measure=measure,
        rows=rows,
        confidence=confidence,
        each=each,
        replications=n,
        horizon=horizon,
        warmup=warmup,
        seed=seed,
        unit=asked_for.unit,
        unit_factor=float(asked_for.unit_factor),
        synchronised=synchronised,
        notes=tuple(_notes(rows, n, control.exhausted() if n < replications else "")),
        complete=n == replications,
        interrupted=control.interrupted,
    )


def _notes(rows: Sequence[Difference], replications: int, stopped: str) -> Iterator[str]:
    if stopped:
        yield f"{stopped}, with {replications} replications"
    if same := [d.alternative for d in rows if d.half_width == 0]:
        yield (
            f"{', '.join(same)}: all {replications} replications gave one and the same difference; unless nothing is drawn, "
            "more replications or a longer horizon tell how wide the interval is"
        )


def _check(models: Sequence[Model], names: Sequence[str] | None) -> None:
    if len(models) < 2:
        raise refuse(AnalysisError, "E0705", f"there is {len(models)} model; a difference takes two")
    if names is not None and len(names) != len(models):
        raise refuse(AnalysisError, "E0705", "there is not one name for each model")


def paired_runs(model: Model, measure: str, span: Span, control: Control) -> Runs:
    """The replications of a model for one measure, by name."""
    m = asked(checked(model), measure)
    return Runs(model, (m,), questions([m.body], model), span, control)


Paired = tuple[Floats, Function]  # rows (1, averages of the primitives), and the measure as a function of these


def apart(first: Paired, other: Paired, confidence: float, *, ratio: bool = False) -> Interval:
    """The jackknife interval of ``other`` minus ``first``, or of their ratio, from rows that belong together."""
    a, b = first[0], other[0]
    split = a.shape[1] - 1
    both = np.concatenate([a, b[:, 1:]], axis=1)

    def minus(known: Floats) -> float:
        return other[1](known[split:]) - first[1](known[:split])

    def over(known: Floats) -> float:
        bottom = first[1](known[:split])
        return other[1](known[split:]) / bottom if bottom else math.nan

    return interval(both, over if ratio else minus, confidence)


def _against(first: Paired, other: Paired, base: str, alternative: str, confidence: float) -> Difference:
    minus, ratio = apart(first, other, confidence), apart(first, other, confidence, ratio=True)
    alone = [sum(p.variance for p in interval(rows, f, confidence).parts) for rows, f in (first, other)]
    together = sum(p.variance for p in minus.parts)
    return Difference(
        base=base,
        alternative=alternative,
        base_value=first[1](averages(first[0])),
        value=other[1](averages(other[0])),
        difference=minus.value,
        half_width=minus.half_width,
        ratio=ratio.value,
        ratio_half_width=ratio.half_width,
        gain=gain(sum(alone), together),
    )


def gain(alone: float, together: float) -> float:
    """How many times smaller one variance is than another; inf where all of it is gone, nan where there was none."""
    return alone / together if together > 0 else (math.inf if alone > 0 else math.nan)
