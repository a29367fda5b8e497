"""Stationary vector by sparse LU factors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from spn.markov.jumps import Solved
from spn.reach.space import Floats, Rates

REFINEMENTS = 4
ROUNDING = 2.3e-16


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


def by_lu(rates: Rates, pinned: int = 0) -> Solved:
    """Stationary probabilities of an irreducible chain by sparse LU with a minimum-degree ordering, refined.

    The system is solved for the flows through the states, relative to that through a pinned one; if that proves improbable, again with
    the most probable one pinned. The error stated is the last correction. Raises MemoryError where the factors do not fit, RuntimeError
    where they are singular."""
    flow, error = _solve(rates, pinned)
    best = int(np.argmax(flow))
    if flow[best] > 1e4 * flow[pinned]:
        flow, error = _solve(rates, best)
    pi = np.maximum(flow, 0.0) / rates.exits()
    return Solved(pi / pi.sum(), error)


def _solve(rates: Rates, pinned: int) -> tuple[Floats, float]:
    """The flows, and the relative size of the correction that was left when it stopped shrinking."""
    from scipy.sparse.linalg import splu

    matrix = flow_matrix(rates, pinned)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lu = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    unit = np.zeros(rates.n)
    unit[pinned] = 1.0
    flow: Floats = lu.solve(unit)
    error = np.inf
    for _ in range(REFINEMENTS):
        correction = lu.solve(unit - matrix @ flow)
        left = float(np.abs(correction).sum() / np.abs(flow).sum())
        if not left < error:
            break
        flow, error = flow + correction, left
    return flow, max(error, ROUNDING)
