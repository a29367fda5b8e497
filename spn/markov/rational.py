"""The course of a stiff chain over a long time: Krylov spaces of (I - g Q)^-1, whose size does not grow with the fastest rate.

p exp(h Q) is taken from the space spanned by p, p S, p S^2, … with S = (I - g Q)^-1 and g a fraction of h, into which the matrix is
projected (van den Eshof and Hochbruck, SIAM J. Sci. Comput. 27 (2006) 1438; Moret and Novati, BIT 44 (2004) 595). The time spent in the
states comes from the same space. What a Krylov space says of its own error can be wrong, so everything is done twice with different g, and
the difference of the two answers is the error stated; where it is too large the time is halved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spn.markov.reduction import Plan, plan
from spn.reach.space import Floats, Ints, Rates

POLES = (1.0 / 7.0, 1.0 / 11.0)  # g as fractions of h
MOST = 70  # vectors of a space
LOOK = 5  # vectors between two looks at the error
HALVINGS = 6
MOST_STATES = 300_000
MOST_FILL = 1.2e8  # entries of factors
MOST_WORK = 1e11  # multiplications to make them
TOLERANCE = 1e-11


class Unfit(Exception):
    """Too large to be factored, or the two answers do not agree."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The distribution after the time, the time spent in each state, and the estimated sum of the errors of the first."""

    after: Floats
    spent: Floats
    error: float


def order_of(rates: Rates) -> Plan:
    """The order of elimination that :func:`advance` needs. Raises :class:`Unfit` where that would be too costly."""
    if rates.n > MOST_STATES:
        raise Unfit("too many states to look for an order")
    order = plan(rates)
    if order.start[-1] > MOST_FILL or order.work > MOST_WORK:
        raise Unfit("the factors are too large")
    return order


def advance(order: Plan, p: Floats, time: float, tolerance: float = TOLERANCE) -> Moved:
    """``p`` (n) after ``time``. Raises :class:`Unfit`."""
    error = math.inf
    for halvings in range(HALVINGS):
        steps = 2**halvings
        one, other = (_course(order, p, time / steps, steps, pole, tolerance / steps) for pole in POLES)
        error = float(np.abs(one[0] - other[0]).sum())
        drift = float(np.abs(one[1] - other[1]).sum()) / time
        if max(error, drift) <= tolerance:
            return _clean(other, time, max(error, drift))
    raise Unfit(f"two answers differ by {error:.1e}")


def _clean(found: tuple[Floats, Floats], time: float, error: float) -> Moved:
    """Without what rounding made negative, and with the sums that are known."""
    after, spent = (np.maximum(part, 0.0) for part in found)
    return Moved(after / after.sum(), spent * (time / spent.sum()), error)


class _Resolvent:
    """S = (I - g Q)^-1 applied to row vectors, by factors that hold no subtraction.

    The chain also leaves every state for a sink at rate 1 / g, and is eliminated in the order of ``plan`` as in
    :mod:`spn.markov.reduction`; so the smallest rates keep all their digits beside the fastest."""

    def __init__(self, p: Plan, shift: float) -> None:
        from spn.markov import kernels

        n = len(p.order)
        self.order, self.shift = p.order, shift
        indptr, columns, values = _with_sink(p, 1.0 / shift)
        parent, size = np.empty(n + 1, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
        kernels.elimination_tree(indptr, columns, parent, size)
        self.start = np.concatenate([[0], np.cumsum(size)])
        fill = int(self.start[-1])
        self.later, self.lower, self.upper = np.empty(fill, dtype=np.int64), np.empty(fill), np.empty(fill)
        kernels.reduce_states(indptr, columns, values, parent, self.start, self.later, self.lower, self.upper, np.empty(n + 1))
        self.exits = np.add.reduceat(self.upper, self.start[:n])

    def __call__(self, v: Floats) -> Floats:
        from spn.markov import kernels

        b = np.append(v[self.order], 0.0)
        kernels.reduced_solve(self.start, self.later, self.lower, self.upper, self.exits, b)
        x = np.empty_like(v)
        x[self.order] = b[:-1] / self.shift
        return x


def _with_sink(p: Plan, rate: float) -> tuple[Ints, Ints, Floats]:
    """The permuted symmetric pattern with one more state, to which all others lead at ``rate`` and which leads nowhere (explicit zeros)."""
    n = len(p.order)
    ends = p.indptr[1:]
    columns = np.concatenate([np.insert(p.columns, ends, n), np.arange(n)])
    values = np.concatenate([np.insert(p.values, ends, rate), np.zeros(n)])
    indptr = np.concatenate([p.indptr + np.arange(n + 1), [len(columns)]])
    return indptr, columns, values


def _course(p: Plan, start: Floats, h: float, steps: int, pole: float, tolerance: float) -> tuple[Floats, Floats]:
    resolvent = _Resolvent(p, pole * h)
    after, spent = start, np.zeros_like(start)
    for _ in range(steps):
        after, more = _step(resolvent, after, h, pole, tolerance)
        spent = spent + more
    return after, spent


def _step(resolvent: _Resolvent, p: Floats, h: float, pole: float, tolerance: float) -> tuple[Floats, Floats]:
    """p exp(h Q) and its integral over (0, h) from a space that grows until both stand still."""
    size = float(np.sqrt(np.einsum("i,i", p, p)))
    basis = np.empty((MOST + 1, len(p)))
    basis[0] = p / size
    small = np.zeros((MOST + 1, MOST))
    last: tuple[Floats, Floats] | None = None
    for k in range(MOST):
        w = resolvent(basis[k])
        for _ in range(2):  # twice, so that the vectors stay orthogonal
            along = np.einsum("ij,j->i", basis[: k + 1], w)
            w = w - np.einsum("i,ij->j", along, basis[: k + 1])
            small[: k + 1, k] += along
        small[k + 1, k] = np.sqrt(np.einsum("i,i", w, w))
        closed = small[k + 1, k] <= 1e-14
        if closed or (k + 1) % LOOK == 0 or k == MOST - 1:
            coefficients = _projected(small[: k + 1, : k + 1], h, pole)
            now = tuple(size * np.einsum("i,ij->j", c, basis[: k + 1]) for c in coefficients)
            moved = math.inf if last is None else float(np.abs(now[0] - last[0]).sum() + np.abs(now[1] - last[1]).sum() / h)
            last = now[0], now[1]
            if closed or moved <= 0.1 * tolerance:
                break
        basis[k + 1] = w / small[k + 1, k]
    assert last is not None
    return last


def _projected(small: Floats, h: float, pole: float) -> tuple[Floats, Floats]:
    """The first columns of exp(h B) and of its integral over (0, h), where (I - g B)^-1 is the matrix projected (g = ``pole`` h).

    As functions of that matrix, whose values are all of the size of 1: B itself holds the fastest rates and would drown the slow ones."""
    values, vectors = np.linalg.eig(small)
    along = np.linalg.solve(vectors, np.eye(len(small))[0])
    with np.errstate(all="ignore"):
        x = (1.0 - 1.0 / values) / pole
        grown = np.where(x.real > -700, np.exp(x), 0.0)
        # (e^x - 1) / x, by its series near 0, where the difference would lose digits
        mean = np.where(np.abs(x) > 1e-5, (grown - 1.0) / x, 1.0 + x / 2.0 + x * x / 6.0)
    if not (np.all(np.isfinite(grown)) and np.all(np.isfinite(mean))) or float(x.real.max()) > 1.0:
        raise Unfit("the projected matrix has a growing mode")
    after, spent = (vectors @ (f * along) for f in (grown, h * mean))
    return np.ascontiguousarray(after.real), np.ascontiguousarray(spent.real)
