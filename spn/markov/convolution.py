"""Normalising constants of closed product-form networks of several chains by convolution.

The constant G(n) of a population vector n is the sum over all ways to spread the tokens over the stations of the product of the
stations' terms (Buzen 1973, Commun. ACM 16, 527, doi:10.1145/362342.362345; Reiser and Kobayashi 1975, IBM J. Res. Dev. 19, 283). Terms are
positive, so nothing cancels. Demands are scaled by the throughput that fills the network on average, which changes no ratio of constants
that is used here and keeps all terms that matter within the range of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MOST_WORK = 2e10  # multiplications of the convolutions


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """``demands`` (chains): visits times work; ``pace`` (n): work per second with 1, 2, … tokens, the last for all beyond."""

    demands: Floats
    pace: Floats


class Convolution:
    """All constants up to ``populations`` (chains), for the total ``delays`` (chains, seconds) and the ``queues``.

    Time O(L^2) a queue, memory O(L) a queue, with L the product of (populations + 1)."""

    def __init__(self, populations: Sequence[int], delays: Floats, queues: Sequence[Queue]) -> None:
        self.populations = tuple(populations)
        self.shape = tuple(n + 1 for n in populations)
        self.scale = np.array([_scale(n, delays[c], [_alone(q, c) for q in queues]) for c, n in enumerate(populations)])
        self.counts = np.indices(self.shape)
        self.factorials = log_factorials(sum(populations))
        self.queues = list(queues)
        self.terms = [self._queue(q) for q in queues]
        self._without: dict[int, Floats] = {}
        self.delay = self.delayed(delays)
        self.total = self.delay
        for term in self.terms:
            self.total = self.convolved(self.total, term)

    def throughput(self, chain: int, less: Sequence[int] = ()) -> float:
        """Of one visit a cycle, with the tokens of the chains ``less`` taken away."""
        whole = self._index(less)
        if whole[chain] == 0:
            return 0.0
        return float(self.scale[chain] * self.total[self._index([*less, chain])] / self.total[whole])

    def marginal(self, queue: int, less: Sequence[int] = ()) -> Floats:
        """Joint distribution of the tokens of every chain at a queue, over the lattice of the population."""
        others = self.without(queue)
        at = self._index(less)
        box = tuple(slice(0, k + 1) for k in at)
        p = self.terms[queue][box] * np.flip(others[box])
        return np.asarray(p / p.sum())

    def delayed_marginal(self, chain: int, demand: float, rest: Floats, less: Sequence[int] = ()) -> Floats:
        """Distribution of the tokens of a chain in a part of its delays with this ``demand``; ``rest`` are the delays without it."""
        others = self.delayed(rest)
        for term in self.terms:
            others = self.convolved(others, term)
        at = self._index(less)
        n = np.arange(at[chain] + 1)
        logs = n * math.log(demand * self.scale[chain]) - self.factorials[n]
        line = others[tuple(slice(None, at[chain] + 1) if c == chain else k for c, k in enumerate(at))]
        p = np.exp(logs - logs.max()) * line[::-1]
        return np.asarray(p / p.sum())

    def without(self, queue: int) -> Floats:
        """Constants of the network without one queue."""
        if queue not in self._without:
            others = self.delay
            for k, term in enumerate(self.terms):
                if k != queue:
                    others = self.convolved(others, term)
            self._without[queue] = others
        return self._without[queue]

    def delayed(self, delays: Floats) -> Floats:
        """The terms of delays."""
        return _positive(
            sum((_powers(d * y, k) - self.factorials[k] for d, y, k in zip(delays, self.scale, self.counts, strict=True)), np.zeros(1))
        )

    def _queue(self, q: Queue) -> Floats:
        together = self.counts.sum(axis=0)
        paces = np.concatenate([q.pace, np.full(max(0, sum(self.populations) - len(q.pace)), q.pace[-1])])
        slow = np.concatenate([[0.0], np.cumsum(np.log(paces))])[together]
        logs = self.factorials[together] - slow
        for d, y, k in zip(q.demands, self.scale, self.counts, strict=True):
            logs = logs + _powers(d * y, k) - self.factorials[k]
        return _positive(logs)

    def convolved(self, a: Floats, b: Floats) -> Floats:
        """The part of a convolution within the lattice, relative to its largest entry."""
        if a.ndim == 1:
            made = np.convolve(a, b)[: len(a)]
        else:
            made = np.zeros(self.shape)
            for at in zip(*np.nonzero(a), strict=True):
                left = tuple(slice(None, n - int(k)) for n, k in zip(self.shape, at, strict=True))
                made[tuple(slice(int(k), None) for k in at)] += a[at] * b[left]
        return np.asarray(made / made.max())

    def _index(self, less: Sequence[int]) -> tuple[int, ...]:
        at = list(self.populations)
        for c in less:
            at[c] -= 1
        return tuple(at)


def work(populations: Sequence[int], queues: int) -> float:
    """Multiplications of all convolutions."""
    return math.prod(float(n + 1) for n in populations) ** 2 * max(1, queues) ** 2


def log_factorials(most: int) -> Floats:
    """Logarithms of n! for n = 0 .. most."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, most + 1.0)))])


def _powers(base: float, k: NDArray[np.int_]) -> Floats:
    """Logarithms of base^k, that of 0^0 being 0."""
    return np.asarray(k * math.log(base) if base > 0 else np.where(k > 0, -math.inf, 0.0), dtype=np.float64)


def _positive(logs: Floats) -> Floats:
    return np.asarray(np.exp(logs - logs.max()))


def _alone(q: Queue, chain: int) -> tuple[float, Floats]:
    return float(q.demands[chain]), q.pace


def _scale(tokens: int, delay: float, queues: Sequence[tuple[float, Floats]]) -> float:
    """The factor of the demands of a chain, alone in the network, at which independent stations hold ``tokens`` tokens on average."""
    logs = [_logs(tokens, delay, None)] if delay > 0 else []
    logs += [_logs(tokens, d, pace) for d, pace in queues if d > 0]
    n = np.arange(tokens + 1)

    def held(y: float) -> float:
        total = 0.0
        for row in logs:
            tilted = row + n * y
            p = np.exp(tilted - tilted.max())
            total += float(p @ n / p.sum())
        return total

    low, high = -1.0, 1.0
    while held(low) > tokens / 2:
        low *= 2
    while held(high) < tokens / 2:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if held(middle) < tokens else (low, middle)
    return math.exp(high)


def _logs(tokens: int, demand: float, pace: Floats | None) -> Floats:
    n = np.arange(tokens + 1)
    if pace is None:
        return np.asarray(n * math.log(demand) - log_factorials(tokens))
    paces = np.concatenate([pace[:tokens], np.full(max(0, tokens - len(pace)), pace[-1])])
    return np.asarray(n * math.log(demand) - np.concatenate([[0.0], np.cumsum(np.log(paces))]))
