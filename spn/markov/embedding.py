"""Linear systems with the embedded chain of a regenerative process, which is applied and never formed.

On a set of states, the entries x with x = x P (a closed set), or x = b + x P (a transient one). Preconditioner: the process whose clocks
are exponential, of the same means. It solves x (I - P') = r by one linear system with a generator: the times t with t (-G) = r, and then
x = r + what enters during t.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spn.errors import AnalysisError, SpnError, refuse
from spn.markov.direct import flow_matrix
from spn.markov.reduction import plan
from spn.markov.renewal import Renewal
from spn.reach.space import Floats, Ints, Rates, compressed

MOST_VECTORS = 120  # of the Krylov space
STAGES = 4
REDUCED = 1e-9  # of the residual in a stage
MANY = 20_000  # states from which it is found out whether the exponential chain can be factored
MOST_FACTORS = 1_000_000  # states up to which it may
MOST_WORK, MOST_FILL = 3e10, 8e7  # multiplications of the elimination, and entries of the factors, up to which it is
UNLIKELY = 1e4  # of the largest flow to that through a pinned state, from which another is pinned
FLOOR = 1e-15

Apply = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """``times`` and ``expiries`` (n) that belong to the entries found, and the entries ``following`` them. ``residual`` is relative to the
    entries, ``error`` the size of the last correction relative to the times."""

    times: Floats
    expiries: Floats
    following: Floats
    residual: float
    error: float
    products: int


def applied(r: Renewal, chain: Rates, states: Ints, entering: Floats | None, tolerance: float) -> Entered:
    """Solve on ``states``: closed under the ``chain`` of exponential clocks where ``entering`` is None, else transient and entered so."""
    return _System(r, chain, states, entering).solve(tolerance)


class _System:
    def __init__(self, r: Renewal, chain: Rates, states: Ints, entering: Floats | None) -> None:
        self.r, self.states, self.products = r, states, 0
        self.outside = np.ones(r.n, dtype=bool)
        self.outside[states] = False
        self.right = None if entering is None else np.where(self.outside, 0.0, entering)
        self.rate = r.expiry_rates()
        number = np.full(r.n, len(states), dtype=np.int64)
        number[states] = np.arange(len(states))
        sources = chain.sources()
        inside = ~self.outside[sources]
        hub = 0 if entering is None else 1  # where transient states lead to
        rows, columns = number[sources[inside]], number[chain.columns[inside]]
        self.chain = compressed(len(states) + hub, rows, columns, chain.values[inside])
        self.exits = self.chain.exits()
        self.typical = np.zeros(0)
        self.times_of = self._solver(len(states) if hub else None)

    def _solver(self, hub: int | None) -> Apply:
        """How to solve t (-G) = r for rows r (n): by factors, unless they fill up."""
        if self.chain.n > MANY and not self._fits():
            raise too_large(self.chain.n)
        pinned = 0 if hub is None else hub
        lu, flow = self._factors(pinned)
        best = int(np.argmax(flow))
        if hub is None and flow[best] > UNLIKELY * flow[pinned]:
            pinned = best
            lu, flow = self._factors(pinned)
        if hub is None:
            self.typical = np.maximum(flow, 0.0) / self.exits
            self.typical /= self.typical.sum()

        def solve(right: Floats) -> Floats:
            b = np.zeros(self.chain.n)
            b[: len(self.states)] = right[self.states]
            b[pinned] = 0.0
            return self._spread(lu.solve(b))

        return solve

    def _fits(self) -> bool:
        p = plan(self.chain)
        return bool(self.chain.n <= MOST_FACTORS and p.work <= MOST_WORK and p.start[-1] <= MOST_FILL)

    def _factors(self, pinned: int) -> tuple[Any, Floats]:
        """LU factors of the flow equations with one state pinned, and the flows relative to that through it."""
        from scipy.sparse.linalg import splu

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options = {"SymmetricMode": True}
            lu = splu(flow_matrix(self.chain, pinned), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
        unit = np.zeros(self.chain.n)
        unit[pinned] = 1.0
        return lu, np.asarray(lu.solve(unit))

    def _spread(self, flow: Floats) -> Floats:
        times = np.zeros(self.r.n)
        n = len(self.states)
        times[self.states] = flow[:n] / self.exits[:n]
        return times

    def entries_during(self, times: Floats) -> Floats:
        """What enters while the process with exponential clocks spends these times."""
        p = self.r.process
        found = p.events.push(times) + p.completion.push(times * self.rate)
        found[self.outside] = 0.0
        return found

    def left(self, x: Floats) -> Floats:
        """x P - x, plus what enters, inside the set."""
        self.products += 1
        times, expiries = self.r.spend(x[None, :])
        found: Floats = self.r.follow(times, expiries)[0] - x
        if self.right is not None:
            found += self.right
        found[self.outside] = 0.0
        return found

    def corrected(self, residual: Floats) -> Floats:
        return residual + self.entries_during(self.times_of(residual))

    def solve(self, tolerance: float) -> Entered:
        x = self._first()
        size = float(np.abs(x).sum())
        error, worst = math.inf, math.inf
        for _ in range(STAGES):
            residual = self.left(x)
            worst = float(np.abs(residual).sum()) / size
            first = self.corrected(residual)
            error = float(np.abs(first).sum()) / size
            if error <= 0.1 * tolerance or worst <= FLOOR:
                break
            correction = self._gmres(residual, max(REDUCED, 0.02 * tolerance / error))
            x = x + correction
            size = float(np.abs(x).sum())
        residual = self.left(x)
        error = float(np.abs(self.corrected(residual)).sum()) / size
        worst = float(np.abs(residual).sum()) / size
        times, expiries = self.r.spend(x[None, :])
        following = self.r.follow(times, expiries)[0]
        return Entered(
            times=times[0],
            expiries=expiries[0],
            following=following,
            residual=worst,
            error=error,
            products=self.products,
        )

    def _first(self) -> Floats:
        """The entries of the process with exponential clocks."""
        if self.right is not None:
            return self.corrected(self.right)
        times = np.zeros(self.r.n)
        times[self.states] = self.typical
        return self.entries_during(times)

    def _gmres(self, residual: Floats, goal: float) -> Floats:
        """An approximate solution d of d (I - P) = residual, the norm of what is left reduced to ``goal``."""
        start = float(np.linalg.norm(residual))
        basis, corrections = np.empty((MOST_VECTORS + 1, len(residual))), []
        basis[0] = residual / start
        h = np.zeros((MOST_VECTORS + 1, MOST_VECTORS))
        y: Floats = np.zeros(0)
        for k in range(MOST_VECTORS):
            d = self.corrected(basis[k])
            corrections.append(d)
            w = self._homogeneous(d)
            for _ in range(2):  # einsum: threads of a BLAS that wait for one another take many times as long
                part = np.einsum("ij,j->i", basis[: k + 1], w)
                h[: k + 1, k] += part
                w -= np.einsum("i,ij->j", part, basis[: k + 1])
            h[k + 1, k] = math.sqrt(float(np.einsum("i,i->", w, w)))
            right = np.zeros(k + 2)
            right[0] = start
            y = np.asarray(np.linalg.lstsq(h[: k + 2, : k + 1], right, rcond=None)[0], dtype=np.float64)
            left = float(np.linalg.norm(right - h[: k + 2, : k + 1] @ y))
            if left <= goal * start or h[k + 1, k] <= FLOOR * start:
                break
            basis[k + 1] = w / h[k + 1, k]
        found = np.zeros_like(residual)
        for c, d in zip(y.tolist(), corrections, strict=True):
            found += c * d
        return found

    def _homogeneous(self, d: Floats) -> Floats:
        """d (I - P)."""
        right, self.right = self.right, None
        found = -self.left(d)
        self.right = right
        return found


def too_large(states: int) -> SpnError:
    """The preconditioner does not fit."""
    return refuse(
        AnalysisError,
        "E0664",
        f"the equations of {states:,} states with exponential clocks, by which the embedded chain is solved, are too large to be factored",
        help="make the model smaller, or simulate",
    )
