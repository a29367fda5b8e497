"""Stationary vector by sparse LU factors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from spn.markov.balance import imbalance
from spn.reach.space import Floats, Rates

REFINEMENTS = 4


def flow_matrix(rates: Rates, pinned: int) -> Any:
    """I - P^T with the row of one state replaced by that of the identity (scipy CSC), P the jump probabilities.

    Its solution for the unit vector of the pinned state is the flow through every state, relative to that through the pinned one."""
    from scipy.sparse import csc_array

    exits = rates.exits()
    sources = rates.sources()
    keep = rates.columns != pinned
    n = rates.n
    rows = np.concatenate([rates.columns[keep], np.arange(n)])
    columns = np.concatenate([sources[keep], np.arange(n)])
    values = np.concatenate([-(rates.values / exits[sources])[keep], np.ones(n)])
    return csc_array((values, (rows, columns)), shape=(n, n))


def by_lu(rates: Rates, pinned: int = 0) -> Floats:
    """Stationary probabilities of an irreducible chain by sparse LU with a minimum-degree ordering, refined.

    The system is solved for the flows through the states, relative to that through a pinned one; if that proves improbable, again with
    the most probable one pinned. The vector may be inaccurate: the caller measures. Raises MemoryError where the factors do not fit."""
    flow = _solve(rates, pinned)
    best = int(np.argmax(flow))
    if flow[best] > 1e4 * flow[pinned]:
        flow = _solve(rates, best)
    return probabilities(rates, flow)


def _solve(rates: Rates, pinned: int) -> Floats:
    from scipy.sparse.linalg import splu

    matrix = flow_matrix(rates, pinned)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lu = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    unit = np.zeros(rates.n)
    unit[pinned] = 1.0
    flow: Floats = lu.solve(unit)
    for _ in range(REFINEMENTS):
        better = flow + lu.solve(unit - matrix @ flow)
        if not imbalance(rates, np.abs(better) / rates.exits()) < imbalance(rates, np.abs(flow) / rates.exits()):
            break
        flow = better
    return flow


def probabilities(rates: Rates, flow: Floats) -> Floats:
    """Normalised probabilities from flows through states; what rounding made negative counts as 0."""
    pi = np.maximum(flow, 0.0) / rates.exits()
    total = pi.sum()
    return pi / total if total > 0 else pi
