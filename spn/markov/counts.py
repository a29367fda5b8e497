"""How many jumps of a uniformised chain fall into the life of a clock.

For a Poisson process of rate q and an independent lifetime X of law F, N counts the jumps in (0, X): P(N = k) is the integral of
Poisson(k; q x) dF(x), and P(N > k) / q that of Poisson(k; q x) (1 - F(x)) dx. So the state of a chain with P = I + Q / q when the clock
expires is the sum of P(N = k) p P^k, and the time spent in each state until then the sum of P(N > k) p P^k / q: the subordinated chain of
Lindemann (Perform. Eval. 18 (1993) 79) and, for general laws, German and Lindemann (Perform. Eval. 20 (1994) 317).

Discrete parts of a law give Poisson probabilities, exact to rounding. For the rest the second integral is found by Gauss-Legendre rules on
panels bisected until the survival function and the Poisson probabilities are resolved: it needs no density, and its integrand is bounded by
1, so that endpoints at which the density is infinite do no harm. All terms are positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spn.dist.law import Law
from spn.dist.leaves import Leaf, leaves
from spn.dist.triangular import Triangular
from spn.markov.transient import poisson
from spn.reach.space import Floats

NODES = 16
TAIL = 1e-15  # probability beyond the last panel
RESOLVED = 1e-15  # relative to the mean: what two rules of a panel may differ by, in its integral and first moment
MOST_PANELS = 20_000
MOST_COUNTS = 100_000.0  # jumps after which a law is cut off, unless its mean is of that order
MEANS = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """``exactly`` (K) are P(N = k), ``beyond`` (K) P(N > k) for k = 0 … K - 1, of a lifetime that ends at a time beyond which lie only
    ``rest`` of its probability and ``later`` of its mean, in jumps: the sum of all P(N > k), and ``later``, is q E[X]."""

    exactly: Floats
    beyond: Floats
    rest: float
    later: float


def counts(law: Law, q: float, scale: float = 1.0) -> Counts:
    """The jumps at rate ``q`` within ``scale`` times a draw of ``law``, whose mean is finite."""
    mean = q * scale * law.mean()
    if mean == 0:
        return Counts(exactly=np.ones(1), beyond=np.zeros(1), rest=0.0, later=0.0)
    parts = [(leaf.prob, *_beyond(leaf, q * scale)) for leaf in leaves(law)]
    beyond = np.zeros(max(len(b) for _, b, _ in parts))
    for prob, b, _ in parts:
        beyond[: len(b)] += prob * b
    beyond = np.minimum.accumulate(np.clip(beyond, 0.0, 1.0))
    exactly = np.maximum(-np.diff(np.concatenate([[1.0], beyond])), 0.0)
    later = mean - math.fsum(beyond.tolist())
    rest = math.fsum(prob * lost for prob, _, lost in parts)
    return Counts(exactly=exactly, beyond=beyond, rest=rest, later=later if later > 1e-13 * mean else 0.0)


def _beyond(leaf: Leaf, q: float) -> tuple[Floats, float]:
    """P(N > k) for k = 0, 1, … of one leaf of a law, and the probability that it is cut off."""
    atoms = leaf.law.atoms()
    if atoms is not None:
        points = [(float(leaf.shift) + float(leaf.scale) * float(v), p) for v, p in atoms]
        return _mixed([_poisson_beyond(q * x) for x, _ in points], [p for _, p in points]), 0.0
    return _continuous(leaf, q)


def _mixed(parts: list[Floats], weights: list[float]) -> Floats:
    total = np.zeros(max(map(len, parts)))
    for part, w in zip(parts, weights, strict=True):
        total[: len(part)] += w * part
    return total


def _poisson_beyond(mean: float) -> Floats:
    if mean == 0:
        return np.zeros(1)
    first, weights = poisson(mean)
    return np.concatenate([np.ones(first), np.cumsum(weights[::-1])[::-1][1:], [0.0]])


def _continuous(leaf: Leaf, q: float) -> tuple[Floats, float]:
    """In units of the mean time between jumps: the integral of Poisson(k; y) S(y) dy."""
    shift, unit = float(leaf.shift) * q, float(leaf.scale) * q

    def survival(y: Floats) -> Floats:
        return 1.0 - leaf.law.cdf(np.maximum(y - shift, 0.0) / unit)

    low = shift + unit * float(leaf.law.quantile(0.0))
    most = max(MOST_COUNTS, MEANS * (shift + unit * leaf.law.mean()))
    high = min(shift + unit * float(leaf.law.quantile(1.0 - TAIL)), most)
    inner = [shift + unit * float(leaf.law.mode)] if isinstance(leaf.law, Triangular) else []
    edges = [low, *(e for e in inner if low < e < high), high]
    before = _poisson_beyond(low)
    if high <= low:
        return before, 0.0
    points, weights = _rule(survival, edges)
    lost = float(survival(np.array([high]))[0])
    return _mixed([before, _poisson_sums(points, weights)], [1.0, 1.0]), lost if lost > 2 * TAIL else 0.0


def _rule(survival: Callable[[Floats], Floats], edges: list[float]) -> tuple[Floats, Floats]:
    """Nodes y and weights w S(y) on panels over which S and the Poisson probabilities are smooth.

    A Poisson probability as a function of its mean y varies over a width of about the root of y: no panel is wider than a few of these."""
    x, w = np.polynomial.legendre.leggauss(NODES)
    a, b = _cut(edges)
    points: list[Floats] = []
    weights: list[Floats] = []
    panels, total = 0, 0.0
    while len(a):
        middle, half = (a + b) / 2, (b - a) / 2
        nodes = middle[:, None] + half[:, None] * x
        values = survival(nodes) * w
        whole, first = half * values.sum(axis=1), half * (values @ x)
        parts, firsts = np.zeros(len(a)), np.zeros(len(a))
        for side in (-0.5, 0.5):
            inner = survival((middle + side * half)[:, None] + half[:, None] / 2 * x) * w
            part = half / 2 * inner.sum(axis=1)
            parts += part
            firsts += half / 4 * (inner @ x) + side * part
        total = max(total, float(whole.sum()))
        panels += len(a)
        fine = np.maximum(np.abs(whole - parts), np.abs(first - firsts)) <= RESOLVED * total
        fine |= half <= 1e-16 * np.maximum(b, total)
        if panels > MOST_PANELS:
            fine[:] = True
        points.append(nodes[fine].ravel())
        weights.append((half[:, None] * values)[fine].ravel())
        a, b = (np.concatenate([lo[~fine], hi[~fine]]) for lo, hi in ((a, middle), (middle, b)))
    return np.concatenate(points), np.concatenate(weights)


def _cut(edges: list[float]) -> tuple[Floats, Floats]:
    """Panels between the edges, none wider than a few roots of its right end."""
    cuts = [edges[0]]
    for edge in edges[1:]:
        while cuts[-1] < edge:
            step = 2.0 + 4.0 * math.sqrt(cuts[-1])
            cuts.append(edge if cuts[-1] + 1.5 * step >= edge else cuts[-1] + step)
    ends = np.array(cuts)
    return ends[:-1], ends[1:]


def _poisson_sums(points: Floats, weights: Floats) -> Floats:
    """The sums of weight Poisson(k; y) over all nodes, for k = 0, 1, …"""
    order = np.argsort(points)
    points, weights = points[order], weights[order]
    top = float(points[-1])
    total = np.zeros(int(top + 10 * math.sqrt(top) + 60))
    at = 0
    while at < len(points):
        y = float(points[at])
        end = max(at + 1, int(np.searchsorted(points, y + 0.25 * math.sqrt(y) + 0.25)))
        last = float(points[end - 1])
        low = max(0, int(y - 8.5 * math.sqrt(y) - 40))
        high = min(len(total), int(last + 8.5 * math.sqrt(last) + 60))
        total[low:high] += weights[at:end] @ _poisson_table(points[at:end], low, high)
        at = end
    return total


def _poisson_table(means: Floats, low: int, high: int) -> Floats:
    """Poisson(k; mean) for each mean (> 0) and k = low … high - 1, which hold all but a tail of 1e-16: from the mode outwards, and
    scaled to sum to 1."""
    mode = int(np.clip(means.mean(), low, high - 1))
    up = np.cumprod(means[:, None] / np.arange(mode + 1, high)[None, :], axis=1)
    down = np.cumprod(np.arange(mode, low, -1)[None, :] / means[:, None], axis=1)
    table = np.concatenate([down[:, ::-1], np.ones((len(means), 1)), up], axis=1)
    found: Floats = table / table.sum(axis=1)[:, None]
    return found
