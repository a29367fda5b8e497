"""The course of a Markov chain over time, by uniformisation.

With q at least the largest exit rate, P = I + Q / q is a stochastic matrix and p(t) = sum over k of Poisson(k; qt) p(0) P^k; the time
spent in each state over (0, t) is the sum over k of P(N > k) p(0) P^k / q, where N is Poisson(qt). All terms are positive, so nothing is
lost to cancellation. Sources: A. Jensen, Skand. Aktuarietidskr. 36 (1953) 87; W. K. Grassmann, Comput. Oper. Res. 4 (1977) 47. The
Poisson weights run from the mode outwards (Fox and Glynn, Commun. ACM 31 (1988) 440), so that neither under- nor overflow occurs.

Where qt is too large for that many products and the chain is small, the matrices of a step of length 1/q are squared instead: likewise
without subtraction. Large stiff chains take rational Krylov spaces (:mod:`spn.markov.rational`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spn.markov.jumps import Narrow
from spn.markov.rational import Unfit, advance, order_of
from spn.markov.reduction import Plan
from spn.reach.space import Floats, Ints, Rates

TAIL = 1e-16  # of the Poisson distribution that is left out, on each side
AT_REST = 1e-16  # change of the transition probabilities over a doubled step below which they stay
SETTLED = 1e-13  # how far the rest of the products can move the distribution when they are given up
DENSE = 200  # states up to which matrices are dense
SQUARED = 1_000  # states up to which squaring is possible
QUICK_WORK = 2e9  # multiplications of the products up to which nothing else is thought of: some seconds
MOST_WORK = 2e11  # up to which they are a last resort: some minutes
MANY_STEPS = 1e5  # from which small chains are squared


class TooStiff(Exception):
    """The products needed are too many: ``steps`` of them."""

    def __init__(self, steps: float) -> None:
        super().__init__(f"{steps:.2g} steps")
        self.steps = steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """At each of the times: ``at`` (times, n) the distribution; ``spent`` (times, n) the mean time spent in each state since the time
    before (0 for the first). ``residual`` is the largest error of the sums of probabilities, or estimated one of the method. ``method``
    says which, and why."""

    at: Floats
    spent: Floats
    residual: float
    method: str = "uniformisation"


def course(rates: Rates, initial: Floats, times: Sequence[float]) -> Course:
    """The chain at ascending ``times`` (not negative) from ``initial`` (n) on. Raises :class:`TooStiff`."""
    walk = Walk(rates)
    at, spent = np.zeros((len(times), rates.n)), np.zeros((len(times), rates.n))
    p, before, worst = initial.astype(np.float64), 0.0, 0.0
    for i, time in enumerate(times):
        p, spent[i] = walk.go(p, time - before)
        at[i] = p
        worst = max(worst, abs(1.0 - math.fsum(p.tolist())), abs(time - before - math.fsum(spent[i].tolist())) / max(time, 1e-300))
        before = time
    return Course(at=at, spent=spent, residual=max(worst, walk.error), method=walk.method())


class Walk:
    """Steps of a chain, each by the method that suits its length; ``error`` is the worst estimate of those that estimate one."""

    def __init__(self, rates: Rates) -> None:
        self.rates = rates
        self.q = float(rates.exits().max(initial=0.0)) * 1.01
        self._moves: tuple[Ints, Narrow, Floats] | None = None
        self._matrix: Any = None
        self._order: Plan | None = None
        self.error = 0.0
        self.used: dict[str, float] = {}

    def method(self) -> str:
        """The methods used, with the largest number of steps of length 1 / q that each was used for."""
        return ", ".join(f"{name} (q t = {mean:.3g})" for name, mean in self.used.items()) or "uniformisation"

    def go(self, p: Floats, time: float) -> tuple[Floats, Floats]:
        """The distribution after ``time`` from ``p``, and the mean time spent in each state on the way."""
        if time <= 0 or self.q == 0:
            return p, p * max(time, 0.0)
        mean = self.q * time
        work = mean * (len(self.rates.values) + self.rates.n)
        if (mean <= MANY_STEPS and self.rates.n <= SQUARED) or work <= QUICK_WORK:
            return self._noted("uniformisation", mean, self._products(p, mean))
        if self.rates.n <= SQUARED:
            return self._noted("squared uniformisation", mean, self._squares(p, time))
        try:
            return self._noted("rational Krylov", mean, self._rational(p, time))
        except Unfit:
            if work <= MOST_WORK:
                return self._noted("uniformisation", mean, self._products(p, mean))
        raise TooStiff(mean)

    def _noted(self, name: str, mean: float, found: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        self.used[name] = max(self.used.get(name, 0.0), mean)
        return found

    def _rational(self, p: Floats, time: float) -> tuple[Floats, Floats]:
        if self._order is None:
            self._order = order_of(self.rates)
        moved = advance(self._order, p, time)
        self.error = max(self.error, moved.error)
        return moved.after, moved.spent

    def _products(self, p: Floats, mean: float) -> tuple[Floats, Floats]:
        first, weights = poisson(mean)
        beyond = np.concatenate([np.cumsum(weights[::-1])[::-1][1:], [0.0]])  # P(N > first + i)
        after, spent = np.zeros_like(p), np.zeros_like(p)
        if self.rates.n <= DENSE:
            self._small_products(p, first, weights, beyond, after, spent)
        else:
            from spn.markov import kernels

            stay = 1.0 - self.rates.exits() / self.q
            kernels.uniformise(*self._transposed(), stay, p.astype(np.float64), first, weights, beyond, SETTLED, after, spent)
        return after, spent / self.q

    def _small_products(self, x: Floats, first: int, weights: Floats, beyond: Floats, after: Floats, spent: Floats) -> None:
        """The kernel's loop with a dense matrix, for chains not worth its loading."""
        matrix, last = self._dense(), first + len(weights) - 1
        for k in range(last + 1):
            i = k - first
            if i >= 0:
                after += weights[i] * x
            spent += (beyond[i] if i >= 0 else 1.0) * x
            y = x @ matrix
            if k < last and float(np.abs(y - x).sum()) * (last - k) <= SETTLED:
                i = max(0, k + 1 - first)
                after += float(weights[i:].sum()) * y
                spent += (max(0, first - (k + 1)) + float(beyond[i:].sum())) * y
                return
            x = y

    def _transposed(self) -> tuple[Ints, Narrow, Floats]:
        """The moves of P = I + Q / q, by target."""
        if self._moves is None:
            from spn.markov import kernels

            r, n = self.rates, self.rates.n
            starts, sources, moves = np.zeros(n + 1, dtype=np.int64), np.empty(len(r.values), dtype=np.int32), np.empty(len(r.values))
            pace = np.full(n, self.q)
            kernels.transpose_jumps(r.starts, r.columns.astype(np.int32, copy=False), r.values, pace, starts, sources, moves)
            self._moves = starts, sources, moves
        return self._moves

    def _dense(self) -> Floats:
        if self._matrix is None:
            r = self.rates
            self._matrix = np.zeros((r.n, r.n))
            self._matrix[r.sources(), r.columns] = r.values / self.q
            np.fill_diagonal(self._matrix, 1.0 - r.exits() / self.q)
        matrix: Floats = self._matrix
        return matrix

    def _squares(self, p: Floats, time: float) -> tuple[Floats, Floats]:
        """By doubling: P(2h) = P(h)^2, and the time spent L(2h) = L(h) + P(h) L(h)."""
        doublings = max(0, math.ceil(math.log2(self.q) + math.log2(time)))
        h = math.ldexp(time, -doublings)
        first, weights = poisson(self.q * h)
        weights = np.concatenate([np.zeros(first), weights])
        beyond = np.concatenate([np.cumsum(weights[::-1])[::-1][1:], [0.0]])
        power = np.eye(self.rates.n)
        move, spent = np.zeros_like(power), np.zeros_like(power)
        for w, b in zip(weights.tolist(), beyond.tolist(), strict=True):
            move += w * power
            spent += b / self.q * power
            power = power @ self._dense()
        for left in range(doublings, 0, -1):
            spent = spent + move @ spent
            before, move = move, move @ move
            total = move.sum(axis=1)
            move /= total[:, None]
            if np.abs(move - before).max() <= AT_REST:  # all further ones are like it: P P = P, so L(2^k h) = L + (2^k - 1) P L
                lasting = move @ spent
                spent = spent + np.ldexp(lasting, left - 1) - lasting
                break
        return np.asarray(p @ move), np.asarray(p @ spent)


def poisson(mean: float) -> tuple[int, Floats]:
    """The first k and the probabilities of k, k + 1, … of a Poisson distribution, up to tails of about :data:`TAIL`."""
    mode = int(mean)
    width = int(10 * math.sqrt(mean) + 40)
    low = max(0, mode - width)
    below = np.cumprod(np.arange(mode, low, -1) / mean)  # of mode - 1, mode - 2, … relative to the mode
    above = np.cumprod(mean / np.arange(mode + 1, mode + width + 1))
    relative = np.concatenate([below[::-1], [1.0], above])
    weights = relative / math.fsum(relative.tolist())
    kept = np.flatnonzero(weights > TAIL / width)
    return low + int(kept[0]), weights[kept[0] : kept[-1] + 1]
