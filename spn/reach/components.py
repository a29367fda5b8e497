"""Strongly connected components of a directed graph in compressed rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from spn.reach.space import Ints, Whole

SMALL = 2_000  # arcs; below, plain Python answers before scipy is even imported
LARGE = 200_000  # arcs; above, a kernel is worth its loading


def strong_components(indptr: Whole, columns: Whole) -> tuple[int, Ints]:
    """How many components there are, and the component (0, 1, …) of each vertex."""
    if len(columns) + len(indptr) <= SMALL:
        return _tarjan(indptr.tolist(), columns.tolist())
    if len(columns) > LARGE and len(columns) < 2**31:
        from spn.reach import kernels

        starts, ends = indptr.astype(np.int32, copy=False), columns.astype(np.int32, copy=False)
        if kernels.is_one_component(starts, ends, np.zeros(len(starts) - 1, dtype=np.uint8)):
            return 1, np.zeros(len(starts) - 1, dtype=np.int64)
        found: Ints = np.full(len(starts) - 1, -1, dtype=np.int64)
        return kernels.components(starts, ends, found), found
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(indptr) - 1
    graph = csr_array((np.ones(len(columns), dtype=np.int8), columns, indptr), shape=(n, n))
    count, label = connected_components(graph, directed=True, connection="strong")
    return int(count), label.astype(np.int64)


def _tarjan(indptr: list[int], columns: list[int]) -> tuple[int, Ints]:
    """Tarjan's algorithm with an explicit stack (SIAM J. Comput. 1 (1972) 146)."""
    n = len(indptr) - 1
    index, low, label = [-1] * n, [0] * n, [-1] * n
    pending: list[int] = []
    clock = count = 0
    for root in range(n):
        if index[root] >= 0:
            continue
        work = [(root, indptr[root])]
        while work:
            v, at = work.pop()
            if at == indptr[v]:
                index[v] = low[v] = clock
                clock += 1
                pending.append(v)
            elif label[columns[at - 1]] < 0:  # back from a child
                low[v] = min(low[v], low[columns[at - 1]])
            while at < indptr[v + 1]:
                w = columns[at]
                at += 1
                if index[w] < 0:
                    work.extend([(v, at), (w, indptr[w])])
                    break
                if label[w] < 0:
                    low[v] = min(low[v], index[w])
            else:
                if low[v] == index[v]:
                    while label[v] < 0:
                        label[pending.pop()] = count
                    count += 1
    return count, np.array(label, dtype=np.int64)


def members(count: int, label: Ints) -> list[Ints]:
    """The vertices of each component, ascending."""
    order = np.argsort(label, kind="stable")
    ends = np.searchsorted(label[order], np.arange(count + 1))
    return [order[a:b] for a, b in pairwise(ends.tolist())]


def closed(count: int, label: Ints, sources: Whole, targets: Whole) -> list[bool]:
    """Whether each component has no arc leaving it."""
    leaving = label[sources] != label[targets]
    escapes = np.bincount(label[sources[leaving]], minlength=count) > 0
    return [not e for e in escapes.tolist()]
