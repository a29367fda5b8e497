"""Kernels of the sparse solvers of Markov chains: the transposed jump chain, sweeps, preconditioned IDR(2), elimination.

Matrices are in compressed rows, columns ascending. T is the transposed jump matrix, T(i, j) = rate(j, i) / exit rate(j), without a
diagonal; the flows x through the states (probability times exit rate) satisfy x = T x.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from spn.jit import kernel, summing

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Narrow = NDArray[np.int32]
Signs = NDArray[np.int8]
Bools = NDArray[np.bool_]

LEAST_PIVOT = 1e-8


# --- the chain ----------------------------------------------------------------------------------------------------------------


@kernel
def exit_rates(indptr: Ints, values: Floats, exits: Floats) -> None:
    """The sum of every row."""
    for i in range(len(exits)):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += values[p]
        exits[i] = total


@kernel
def transpose_jumps(indptr: Ints, columns: Narrow, values: Floats, exits: Floats, starts: Ints, sources: Narrow, jumps: Floats) -> None:
    """T from rates and exit rates: ``starts`` (n + 1, zeros on entry), ``sources`` and ``jumps`` are filled."""
    n = len(exits)
    for p in range(len(columns)):
        starts[columns[p] + 1] += 1
    for i in range(n):
        starts[i + 1] += starts[i]
    for i in range(n):
        exit = exits[i]
        for p in range(indptr[i], indptr[i + 1]):
            q = starts[columns[p]]
            starts[columns[p]] = q + 1
            sources[q] = i
            jumps[q] = values[p] / exit
    for i in range(n, 0, -1):
        starts[i] = starts[i - 1]
    starts[0] = 0


@kernel
def reach(indptr: Ints, columns: Narrow, start: int, queue: Narrow, seen: Bools) -> tuple[int, int]:
    """Breadth-first search: how many vertices can be reached from ``start``, and in how many levels; ``seen`` marks them."""
    seen[:] = False
    seen[start] = True
    queue[0] = start
    head, tail, levels = 0, 1, 0
    while head < tail:
        levels += 1
        end = tail
        while head < end:
            i = queue[head]
            head += 1
            for p in range(indptr[i], indptr[i + 1]):
                j = columns[p]
                if not seen[j]:
                    seen[j] = True
                    queue[tail] = j
                    tail += 1
    return tail, levels


@kernel
def unbalance(starts: Ints, sources: Narrow, jumps: Floats, x: Floats) -> tuple[float, float]:
    """The sums over the states of |T x - x| and of |x|."""
    error, total = 0.0, 0.0
    for i in range(len(x)):
        into = 0.0
        for p in range(starts[i], starts[i + 1]):
            into += jumps[p] * x[sources[p]]
        error += abs(into - x[i])
        total += abs(x[i])
    return error, total


# --- sweeps -------------------------------------------------------------------------------------------------------------------


@kernel
def sweep(starts: Ints, sources: Narrow, jumps: Floats, x: Floats, factor: float, backward: bool) -> None:
    """One sweep of successive over-relaxation for x = T x in place, ``factor`` 1 being Gauss-Seidel. Flows stay non-negative."""
    n = len(x)
    for k in range(n):
        i = n - 1 - k if backward else k
        into = 0.0
        for p in range(starts[i], starts[i + 1]):
            into += jumps[p] * x[sources[p]]
        x[i] = max(x[i] + factor * (into - x[i]), 0.0)


@kernel
def power_step(indptr: Ints, columns: Narrow, values: Floats, stay: Floats, pace: float, x: Floats, y: Floats) -> float:
    """y := x (I + Q / pace) from the rates themselves, ``stay`` the diagonal of that matrix; returns the sum of |y - x|."""
    n = len(x)
    for i in range(n):
        y[i] = x[i] * stay[i]
    for i in range(n):
        share = x[i] / pace
        for p in range(indptr[i], indptr[i + 1]):
            y[columns[p]] += share * values[p]
    change = 0.0
    for i in range(n):
        change += abs(y[i] - x[i])
    return change


@kernel
def uniformise(
    starts: Ints,
    sources: Narrow,
    moves: Floats,
    stay: Floats,
    x: Floats,
    first: int,
    weights: Floats,
    beyond: Floats,
    settled: float,
    after: Floats,
    spent: Floats,
) -> int:
    """The sums of weight(k) x P^k into ``after`` and of beyond(k) x P^k into ``spent``; P has ``moves`` (transposed) and ``stay`` on its
    diagonal. ``weights`` and ``beyond`` begin at k = ``first``; before, they are 0 and 1. x is used up.

    Returns the number of products. Where one changes x by so little that all to come could not change it by ``settled``, x is taken
    for the rest (a product never changes x by more than the one before did)."""
    n = len(x)
    y = np.empty(n)
    last = first + len(weights) - 1
    for k in range(last + 1):
        weight = weights[k - first] if k >= first else 0.0
        share = beyond[k - first] if k >= first else 1.0
        change = 0.0
        for i in range(n):
            after[i] += weight * x[i]
            spent[i] += share * x[i]
            into = stay[i] * x[i]
            for p in range(starts[i], starts[i + 1]):
                into += moves[p] * x[sources[p]]
            y[i] = into
            change += abs(into - x[i])
        if k < last and change * (last - k) <= settled:
            weight, share = 0.0, 0.0
            for j in range(k + 1, last + 1):
                weight += weights[j - first] if j >= first else 0.0
                share += beyond[j - first] if j >= first else 1.0
            for i in range(n):
                after[i] += weight * y[i]
                spent[i] += share * y[i]
            return k + 1
        x, y = y, x
    return last


# --- IDR(2) with incomplete factors -------------------------------------------------------------------------------------------
# A = I - T = L + I + U. The factors are (D + L) D^-1 (D + U), where the diagonal D makes the diagonal of the product that of A; no entry
# but D is stored. On patterns without triangles, as those of most nets, this is ILU(0).


@kernel
def pivots(
    indptr: Ints, columns: Narrow, values: Floats, exits: Floats, starts: Ints, sources: Narrow, jumps: Floats, d: Floats, split: Ints
) -> None:
    """The diagonal D, and for each row of T where its entries above the diagonal begin.

    d(i) = 1 - sum over k < i of P(i, k) T(i, k) / d(k), where P is the jump matrix: both rows are walked together."""
    for i in range(len(d)):
        p, end = indptr[i], indptr[i + 1]
        q, last = starts[i], starts[i + 1]
        left = 1.0
        while q < last and sources[q] < i:
            k = sources[q]
            while p < end and columns[p] < k:
                p += 1
            if p < end and columns[p] == k:
                left -= values[p] / exits[i] * jumps[q] / d[k]
            q += 1
        split[i] = q
        d[i] = max(left, LEAST_PIVOT)


@kernel
def crossings(starts: Ints, sources: Narrow, split: Ints) -> None:
    """For each row where its entries above the diagonal begin."""
    for i in range(len(split)):
        q = starts[i]
        while q < starts[i + 1] and sources[q] < i:
            q += 1
        split[i] = q


@kernel
def upper_solve(starts: Ints, sources: Narrow, jumps: Floats, split: Ints, d: Floats, y: Floats) -> None:
    """y := (D + U)^-1 y."""
    for i in range(len(y) - 1, -1, -1):
        total = y[i]
        for p in range(split[i], starts[i + 1]):
            total += jumps[p] * y[sources[p]]
        y[i] = total / d[i]


@kernel
def lower_residual(
    starts: Ints, sources: Narrow, jumps: Floats, split: Ints, d: Floats, right: Floats, x: Floats, r: Floats
) -> tuple[float, float]:
    """r := (D + L)^-1 (right - A x); returns the sums of |right - A x| and of |x|."""
    error, total = 0.0, 0.0
    for i in range(len(x)):
        left = right[i] - x[i]
        for p in range(starts[i], starts[i + 1]):
            left += jumps[p] * x[sources[p]]
        error += abs(left)
        total += abs(x[i])
        r[i] = left
    for i in range(len(x)):
        left = r[i]
        for p in range(starts[i], split[i]):
            left += jumps[p] * r[sources[p]]
        r[i] = left / d[i]
    return error, total


@kernel
def split_product(
    starts: Ints, sources: Narrow, jumps: Floats, split: Ints, d: Floats, v: Floats, z: Floats, w: Floats, out: Floats, shadow: Signs
) -> tuple[float, float]:
    """out := (D + L)^-1 A (D + U)^-1 v for the price of one product with A; returns its products with the two shadow vectors.

    With z = (D + U)^-1 v it is z + (D + L)^-1 (v + (I - 2 D) z) (Eisenstat, SIAM J. Sci. Stat. Comput. 2 (1981) 1)."""
    n = len(v)
    for i in range(n - 1, -1, -1):
        total = v[i]
        for p in range(split[i], starts[i + 1]):
            total += jumps[p] * z[sources[p]]
        z[i] = total / d[i]
    first, second = 0.0, 0.0
    for i in range(n):
        total = v[i] + (1.0 - 2.0 * d[i]) * z[i]
        for p in range(starts[i], split[i]):
            total += jumps[p] * w[sources[p]]
        w[i] = total / d[i]
        out[i] = w[i] + z[i]
        first += shadow[0, i] * out[i]
        second += shadow[1, i] * out[i]
    return first, second


@summing
def first_direction(omega: float, a: float, b: float, r: Floats, g0: Floats, g1: Floats, u0: Floats, u1: Floats) -> None:
    for i in range(len(r)):
        u0[i] = omega * (r[i] - a * g0[i] - b * g1[i]) + a * u0[i] + b * u1[i]


@summing
def second_direction(omega: float, b: float, r: Floats, g1: Floats, u1: Floats) -> None:
    for i in range(len(r)):
        u1[i] = omega * (r[i] - b * g1[i]) + b * u1[i]


@summing
def first_step(beta: float, g: Floats, u: Floats, r: Floats, y: Floats) -> float:
    """r -= beta g, y += beta u; returns the square of the norm of r."""
    total = 0.0
    for i in range(len(r)):
        left = r[i] - beta * g[i]
        r[i] = left
        y[i] += beta * u[i]
        total += left * left
    return total


@summing
def second_step(alpha: float, beta: float, g0: Floats, u0: Floats, g1: Floats, u1: Floats, r: Floats, y: Floats) -> float:
    """The same for the second direction, made biorthogonal to the first shadow vector on the way."""
    total = 0.0
    for i in range(len(r)):
        g, u = g1[i] - alpha * g0[i], u1[i] - alpha * u0[i]
        g1[i], u1[i] = g, u
        left = r[i] - beta * g
        r[i] = left
        y[i] += beta * u
        total += left * left
    return total


@summing
def both_products(t: Floats, r: Floats) -> tuple[float, float]:
    """t.t and t.r"""
    own, other = 0.0, 0.0
    for i in range(len(r)):
        own += t[i] * t[i]
        other += t[i] * r[i]
    return own, other


@summing
def minimal_step(omega: float, t: Floats, r: Floats, y: Floats, shadow: Signs) -> tuple[float, float, float]:
    """y += omega r, r -= omega t; returns r.r and the products of r with the two shadow vectors."""
    own, first, second = 0.0, 0.0, 0.0
    for i in range(len(r)):
        left = r[i]
        y[i] += omega * left
        left -= omega * t[i]
        r[i] = left
        own += left * left
        first += shadow[0, i] * left
        second += shadow[1, i] * left
    return own, first, second


@kernel
def idr(
    starts: Ints, sources: Narrow, jumps: Floats, split: Ints, d: Floats, r: Floats, y: Floats, shadow: Signs, goal: float, most: int
) -> tuple[int, float]:
    """IDR(2), biorthogonal variant, for (D + L)^-1 A (D + U)^-1 y = r: on entry ``y`` is 0 and ``r`` the right side, then the residual.

    ``shadow`` (2, n) holds random signs. Returns (products, norm of r); stops at the norm ``goal``, at ``most`` products, or where it
    breaks down. van Gijzen and Sonneveld, ACM Trans. Math. Softw. 38 (2011) 5."""
    n = len(r)
    g0, g1, u0, u1 = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    z, w, t = np.empty(n), np.empty(n), np.empty(n)
    m00, m10, m11, omega = 1.0, 0.0, 1.0, 1.0
    square, f0, f1 = minimal_step(0.0, g0, r, y, shadow)
    norm = math.sqrt(square)
    count = 0
    while norm > goal and count < most:
        a = f0 / m00
        first_direction(omega, a, (f1 - m10 * a) / m11, r, g0, g1, u0, u1)
        m00, m10 = split_product(starts, sources, jumps, split, d, u0, z, w, g0, shadow)
        count += 1
        if not abs(m00) > 1e-290:
            break
        beta = f0 / m00
        norm = math.sqrt(first_step(beta, g0, u0, r, y))
        if not norm > goal:
            break
        f1 -= beta * m10
        second_direction(omega, f1 / m11, r, g1, u1)
        f0, m11 = split_product(starts, sources, jumps, split, d, u1, z, w, g1, shadow)
        count += 1
        alpha = f0 / m00
        m11 -= alpha * m10
        if not abs(m11) > 1e-290:
            break
        norm = math.sqrt(second_step(alpha, f1 / m11, g0, u0, g1, u1, r, y))
        if not norm > goal:
            break
        split_product(starts, sources, jumps, split, d, r, z, w, t, shadow)
        count += 1
        tt, tr = both_products(t, r)
        if not tt > 0.0 or tr == 0.0:
            break
        omega = tr / tt
        angle = abs(tr) / (math.sqrt(tt) * norm)
        if angle < 0.7:
            omega *= 0.7 / angle
        square, f0, f1 = minimal_step(omega, t, r, y, shadow)
        norm = math.sqrt(square)
    return count, norm


# --- elimination --------------------------------------------------------------------------------------------------------------


@kernel
def elimination_tree(indptr: Ints, columns: Ints, parent: Ints, size: Ints) -> None:
    """For a symmetric pattern: the elimination tree (-1 at roots), and how many later states each state meets when it is eliminated.

    Davis, Direct Methods for Sparse Linear Systems (2006), section 4.1; the sizes by walking the row subtrees."""
    n = len(indptr) - 1
    ancestor = np.full(n, -1, dtype=np.int64)
    for i in range(n):
        parent[i] = -1
        for p in range(indptr[i], indptr[i + 1]):
            k = columns[p]
            while k != -1 and k < i:
                after = ancestor[k]
                ancestor[k] = i
                if after == -1:
                    parent[k] = i
                k = after
    seen = np.full(n, -1, dtype=np.int64)
    for i in range(n):
        seen[i] = i
        for p in range(indptr[i], indptr[i + 1]):
            k = columns[p]
            while k < i and seen[k] != i:
                seen[k] = i
                size[k] += 1
                k = parent[k]


@kernel
def reduce_states(
    indptr: Ints, columns: Ints, values: Floats, parent: Ints, start: Ints, later: Ints, lower: Floats, upper: Floats, pi: Floats
) -> bool:
    """Stationary vector by eliminating states in their order without subtraction, on a symmetric pattern with explicit zeros.

    ``start`` are the offsets of each state's list of later states in ``later``, ``lower`` (rates into the state, over its exit rate) and
    ``upper`` (rates out of it), all of them filled here. Returns False where a state has no way out (underflow)."""
    n = len(indptr) - 1
    filled = start[:n].copy()
    exits = np.zeros(n)
    w = np.zeros(n)
    seen = np.full(n, -1, dtype=np.int64)
    stack = np.empty(n, dtype=np.int64)
    path = np.empty(n, dtype=np.int64)
    for i in range(n):  # the pattern: i is a later state of all in its row subtree
        seen[i] = i
        for p in range(indptr[i], indptr[i + 1]):
            k = columns[p]
            while k < i and seen[k] != i:
                seen[k] = i
                later[filled[k]] = i
                filled[k] += 1
                k = parent[k]
    filled[:] = start[:n]
    seen[:] = -1
    for i in range(n):
        top = n
        seen[i] = i
        for p in range(indptr[i], indptr[i + 1]):
            k = columns[p]
            w[k] += values[p]
            length = 0
            while k < i and seen[k] != i:
                seen[k] = i
                path[length] = k
                length += 1
                k = parent[k]
            while length > 0:
                length -= 1
                top -= 1
                stack[top] = path[length]
        for t in range(top, n):  # earlier states that i leads to, each before those it leads to itself
            k = stack[t]
            factor = w[k] / exits[k]
            w[k] = 0.0
            lower[filled[k]] = factor
            filled[k] += 1
            if factor > 0.0:
                for p in range(start[k], start[k + 1]):
                    w[later[p]] += factor * upper[p]
        w[i] = 0.0
        total = 0.0
        for p in range(start[i], start[i + 1]):
            upper[p] = w[later[p]]
            w[later[p]] = 0.0
            total += upper[p]
        exits[i] = total
        if not total > 0.0 and i < n - 1:
            return False
    pi[n - 1] = 1.0
    for k in range(n - 2, -1, -1):
        total = 0.0
        for p in range(start[k], start[k + 1]):
            total += pi[later[p]] * lower[p]
        pi[k] = total
        if total > 1e150:
            for j in range(k, n):
                pi[j] /= total
    return True


@kernel
def reduced_solve(start: Ints, later: Ints, lower: Floats, upper: Floats, exits: Floats, b: Floats) -> None:
    """b := x with x (D - A) = b, D the exit rates, from the lists of :func:`reduce_states` and what its states leave by (``exits``).

    The last state is a sink: it takes part in the exit rates alone."""
    sink = len(b) - 1
    for k in range(sink):
        share = b[k] / exits[k]
        for p in range(start[k], start[k + 1]):
            b[later[p]] += share * upper[p]
    b[sink] = 0.0
    for k in range(sink - 1, -1, -1):
        total = b[k] / exits[k]
        for p in range(start[k], start[k + 1]):
            total += lower[p] * b[later[p]]
        b[k] = total
