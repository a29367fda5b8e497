"""State reduction without subtraction for sparse chains: the Grassmann-Taksar-Heyman algorithm in a fill-reducing order.

As accurate as the dense algorithm (:mod:`spn.markov.gth`): every probability has a small relative error however stiff the chain is. Its
cost depends on the fill, so that is counted first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spn.reach.space import Floats, Ints, Rates

MOST_FILL = 1.5e8  # entries kept of the reduced chains, 24 bytes each


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything but the numbers: ``order[k]`` is the state eliminated as number k, the permuted symmetric pattern with its rates, the
    elimination tree, and the offsets of the lists of later states. ``work`` counts multiplications."""

    order: Ints
    indptr: Ints
    columns: Ints
    values: Floats
    parent: Ints
    start: Ints
    work: float


def by_reduction(rates: Rates, most_work: float) -> Floats:
    """Stationary probabilities of an irreducible chain.

    Raises MemoryError where more than ``most_work`` multiplications or too much memory would be needed."""
    from spn.markov import kernels

    p = plan(rates)
    if p.work > most_work or p.start[-1] > MOST_FILL:
        raise MemoryError(f"state reduction would take {p.work:.1e} multiplications")
    fill = int(p.start[-1])
    later, lower, upper = np.empty(fill, dtype=np.int64), np.empty(fill), np.empty(fill)
    reduced = np.zeros(rates.n)
    if not kernels.reduce_states(p.indptr, p.columns, p.values, p.parent, p.start, later, lower, upper, reduced):
        raise ZeroDivisionError("a rate of the reduced chain underflows")
    pi = np.empty(rates.n)
    pi[p.order] = reduced / reduced.sum()
    return pi


def plan(rates: Rates) -> Plan:
    """The order of elimination and its cost."""
    from scipy.sparse import coo_array

    from spn.markov import kernels

    n = rates.n
    order = minimum_degree(rates)
    position = np.empty(n, dtype=np.int64)
    position[order] = np.arange(n)
    rows, columns = position[rates.sources()], position[rates.columns]
    both = coo_array((np.r_[rates.values, np.zeros(len(rows))], (np.r_[rows, columns], np.r_[columns, rows])), shape=(n, n)).tocsr()
    both.sort_indices()
    indptr, targets = both.indptr.astype(np.int64), both.indices.astype(np.int64)
    parent, size = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    kernels.elimination_tree(indptr, targets, parent, size)
    start = np.concatenate([[0], np.cumsum(size)])
    return Plan(order, indptr, targets, both.data, parent, start, float((size.astype(float) ** 2).sum()))


def minimum_degree(rates: Rates) -> Ints:
    """A fill-reducing order of the states: SuperLU's multiple minimum degree, had from incomplete factors that drop everything."""
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import spilu

    n = rates.n
    links: Any = csc_array((np.ones(len(rates.columns)), (rates.columns, rates.sources())), shape=(n, n))
    pattern = links + links.T
    pattern.data[:] = 1e-6
    thin = spilu(
        (pattern + eye_array(n)).tocsc(),
        drop_tol=1.0,
        fill_factor=1.0,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    order = np.empty(n, dtype=np.int64)
    order[thin.perm_c] = np.arange(n)
    return order
