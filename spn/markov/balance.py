"""How far a vector is from the stationary one, computed from the rates alone and without cancellation."""

from __future__ import annotations

import numpy as np

from spn.markov.jumps import Jumps, unbalance
from spn.reach.components import strong_components
from spn.reach.space import Floats, Ints, Rates, compressed

DECADES = 3  # between the rate thresholds at which aggregates are formed
NEGLIGIBLE = 1e-12  # probability of an aggregate whose weight matters to nobody
LEVELS = 6  # thresholds looked at, from the slowest up


def imbalance(rates: Rates, pi: Floats, jumps: Jumps | None = None) -> float:
    """Sum over states of |flow in - flow out|, relative to the total flow: 0 for the stationary vector.

    nan where the vector holds a nan. ``jumps`` of the same chain make it faster."""
    if jumps is not None:
        return unbalance(jumps, pi * jumps.exits)
    flow = pi[rates.sources()] * rates.values
    into = np.bincount(rates.columns, flow, rates.n)
    out = pi * rates.exits()
    total = out.sum()
    return float(np.abs(into - out).sum() / total) if total != 0 else 0.0


def aggregate_imbalance(rates: Rates, pi: Floats) -> float:
    """The worst relative difference between flow into and out of an aggregate of states.

    Aggregates are the strongly connected components under the rates above a threshold, for several thresholds: the groups among which a
    stiff chain moves seldom. The flows across their borders are summed by themselves, so that an error in the weights of the groups shows
    even where the global residual is drowned by the fast rates inside."""
    return max((_border(rates, pi, label) for label in aggregates(rates)), default=0.0)


def aggregates(rates: Rates) -> list[Ints]:
    """Partitions of the states (labels), finest first: components under the rates above each of some thresholds; trivial ones left out."""
    if rates.n < 2 or len(rates.values) == 0:
        return []
    low, high = np.log10(rates.values.min()), np.log10(rates.values.max())
    sources = rates.sources()
    found: dict[int, Ints] = {}
    for threshold in np.arange(high, low, -DECADES)[1:][-LEVELS:]:
        fast = rates.values >= 10.0**threshold
        kept = compressed(rates.n, sources[fast], rates.columns[fast], rates.values[fast])
        count, label = strong_components(kept.indptr, kept.columns)
        if 1 < count < rates.n:
            found.setdefault(count, label)
    return [found[count] for count in sorted(found, reverse=True)]


def _border(rates: Rates, pi: Floats, label: Ints) -> float:
    sources = rates.sources()
    crossing = label[sources] != label[rates.columns]
    flow = pi[sources[crossing]] * rates.values[crossing]
    count = int(label.max()) + 1
    into = np.bincount(label[rates.columns[crossing]], flow, count)
    out = np.bincount(label[sources[crossing]], flow, count)
    mass = np.bincount(label, pi, count)
    seen = (mass > NEGLIGIBLE * mass.sum()) & (np.maximum(into, out) > 0)
    return float((np.abs(into - out)[seen] / np.maximum(into, out)[seen]).max(initial=0.0))
