"""Kernels of the iterative solvers: Gauss-Seidel, incomplete LU factors without fill, IDR(s).

Matrices are in compressed rows, columns ascending.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from spn.jit import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel
def gauss_seidel(indptr: Ints, columns: Ints, values: Floats, x: Floats, backward: bool) -> None:
    """One sweep for x = values @ x, where the matrix has no diagonal, in place."""
    n = len(x)
    for k in range(n):
        i = n - 1 - k if backward else k
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += values[p] * x[columns[p]]
        x[i] = total


@kernel
def incomplete_lu(indptr: Ints, columns: Ints, values: Floats, diagonal: Ints) -> bool:
    """ILU(0) in place: afterwards ``values`` hold L below the diagonal (its own is 1) and U from it on. Returns False at a zero pivot.

    Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 10.4."""
    n = len(indptr) - 1
    at = np.full(n, -1, dtype=np.int64)
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            at[columns[p]] = p
        for p in range(indptr[i], diagonal[i]):
            k = columns[p]
            factor = values[p] / values[diagonal[k]]
            values[p] = factor
            for q in range(diagonal[k] + 1, indptr[k + 1]):
                if at[columns[q]] >= 0:
                    values[at[columns[q]]] -= factor * values[q]
        for p in range(indptr[i], indptr[i + 1]):
            at[columns[p]] = -1
        if not abs(values[diagonal[i]]) > 1e-300:
            return False
    return True


@kernel
def lu_solve(indptr: Ints, columns: Ints, values: Floats, diagonal: Ints, x: Floats) -> None:
    """x := U^-1 L^-1 x with the factors of :func:`incomplete_lu`."""
    n = len(x)
    for i in range(n):
        total = x[i]
        for p in range(indptr[i], diagonal[i]):
            total -= values[p] * x[columns[p]]
        x[i] = total
    for i in range(n - 1, -1, -1):
        total = x[i]
        for p in range(diagonal[i] + 1, indptr[i + 1]):
            total -= values[p] * x[columns[p]]
        x[i] = total / values[diagonal[i]]


@kernel
def multiply(indptr: Ints, columns: Ints, values: Floats, x: Floats, y: Floats) -> None:
    """y := A x."""
    for i in range(len(y)):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += values[p] * x[columns[p]]
        y[i] = total


@kernel
def dot(x: Floats, y: Floats) -> float:
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@kernel
def add(x: Floats, factor: float, y: Floats) -> None:
    """x += factor * y."""
    for i in range(len(x)):
        x[i] += factor * y[i]


@kernel
def idr(
    indptr: Ints,
    columns: Ints,
    values: Floats,
    factors: Floats,
    diagonal: Ints,
    b: Floats,
    x: Floats,
    shadow: Floats,
    tolerance: float,
    most: int,
) -> tuple[int, float]:
    """IDR(s), biorthogonal variant, preconditioned by incomplete factors: solves A x = b from the x given, in place.

    Returns (matrix products, Euclidean norm of the residual as recursively updated); stops at ``tolerance``, at ``most`` products, or where
    it breaks down. van Gijzen and Sonneveld, ACM Trans. Math. Softw. 38 (2011) 5."""
    s, n = shadow.shape
    g = np.zeros((s, n))
    u = np.zeros((s, n))
    m = np.eye(s)
    f = np.zeros(s)
    c = np.zeros(s)
    r = np.empty(n)
    v = np.empty(n)
    t = np.empty(n)
    multiply(indptr, columns, values, x, r)
    for i in range(n):
        r[i] = b[i] - r[i]
    omega = 1.0
    norm = math.sqrt(dot(r, r))
    count = 1
    while norm > tolerance and count < most:
        for i in range(s):
            f[i] = dot(shadow[i], r)
        for k in range(s):
            for i in range(k, s):  # solve the lower triangle m[k:, k:] c = f[k:]
                c[i] = f[i]
                for j in range(k, i):
                    c[i] -= m[i, j] * c[j]
                c[i] /= m[i, i]
            v[:] = r
            for i in range(k, s):
                add(v, -c[i], g[i])
            lu_solve(indptr, columns, factors, diagonal, v)
            for i in range(n):
                total = omega * v[i]
                for j in range(k, s):
                    total += c[j] * u[j, i]
                t[i] = total
            u[k, :] = t
            multiply(indptr, columns, values, u[k], g[k])
            count += 1
            for i in range(k):
                alpha = dot(shadow[i], g[k]) / m[i, i]
                add(g[k], -alpha, g[i])
                add(u[k], -alpha, u[i])
            for i in range(k, s):
                m[i, k] = dot(shadow[i], g[k])
            if not abs(m[k, k]) > 1e-290:
                return count, norm
            beta = f[k] / m[k, k]
            add(r, -beta, g[k])
            add(x, beta, u[k])
            norm = math.sqrt(dot(r, r))
            if not norm > tolerance or count >= most:
                return count, norm
            for i in range(k + 1, s):
                f[i] -= beta * m[i, k]
        v[:] = r
        lu_solve(indptr, columns, factors, diagonal, v)
        multiply(indptr, columns, values, v, t)
        count += 1
        tt = math.sqrt(dot(t, t))
        tr = dot(t, r)
        if not tt > 0.0:
            return count, norm
        angle = abs(tr / (tt * norm))
        omega = tr / (tt * tt)
        if angle < 0.7 and angle > 0.0:
            omega *= 0.7 / angle
        if omega == 0.0:
            return count, norm
        add(r, -omega, t)
        add(x, omega, v)
        norm = math.sqrt(dot(r, r))
    return count, norm


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
