"""Chains of benchmark nets made directly, in a breadth-first order as exploration finds their states; for timing solvers alone."""

from __future__ import annotations

import numpy as np

from spn.reach.space import Floats, Ints, Rates


def ring(tokens: int, rates: tuple[float, ...]) -> tuple[Rates, Ints]:
    """A closed ring of single servers with ``tokens`` customers, all at the first at the start: the chain, and the states (n, stations)."""
    places = len(rates)
    states = _compositions(tokens, places)
    level = states @ np.arange(places)  # firings from the initial state: a breadth-first level
    order = np.argsort(level, kind="stable")
    number = np.empty(len(order), dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    busy = states > 0
    starts = np.concatenate([[0], np.cumsum(busy[order].sum(axis=1))]).astype(np.int64)
    targets = np.empty((len(states), places), dtype=np.int32)
    for k in range(places):
        moved = states.copy()
        moved[:, k] -= 1
        moved[:, (k + 1) % places] += 1
        moved[~busy[:, k]] = states[~busy[:, k]]
        targets[:, k] = np.where(busy[:, k], number[_rank(moved, tokens)], np.iinfo(np.int32).max)
    values = np.broadcast_to(np.array(rates), targets.shape)[order]
    targets = targets[order]
    ascending = np.argsort(targets, axis=1, kind="stable")
    targets, values = np.take_along_axis(targets, ascending, 1), np.take_along_axis(values, ascending, 1)
    kept = targets != np.iinfo(np.int32).max
    return Rates(indptr=starts, columns=targets[kept], values=values[kept]), states[order]  # type: ignore[arg-type]


def product_form(states: Ints, rates: tuple[float, ...]) -> Floats:
    """The stationary probabilities of the ring (Gordon and Newell, Oper. Res. 15 (1967) 254)."""
    logs = states @ -np.log(np.array(rates))
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _compositions(tokens: int, places: int) -> Ints:
    """All ways to put the tokens into the places, in lexicographic order."""
    grid = np.zeros((1, 0), dtype=np.int16)
    left = np.full(1, tokens, dtype=np.int64)
    for _ in range(places - 1):
        width = left + 1
        at = np.repeat(np.arange(len(left)), width)
        value = np.arange(len(at)) - np.repeat(np.cumsum(width) - width, width)
        grid = np.column_stack([grid[at], value.astype(np.int16)])
        left = left[at] - value
    return np.column_stack([grid, left.astype(np.int16)])


def _rank(states: Ints, tokens: int) -> Ints:
    """The position of each state in the lexicographic order."""
    places = states.shape[1]
    ways = np.ones((places, tokens + 2), dtype=np.int64)  # ways[k][t]: t tokens in the last k + 1 places
    for k in range(1, places):
        ways[k, :-1] = np.cumsum(ways[k - 1, :-1])
    rank, left = np.zeros(len(states), dtype=np.int64), np.full(len(states), tokens)
    for k in range(places - 1):
        below = np.concatenate([[0], np.cumsum(ways[places - 2 - k, : tokens + 1])])
        # states whose k-th count is smaller: sum over v < n_k of the ways to place left - v in the rest
        rank += below[left + 1] - below[left + 1 - states[:, k]]
        left = left - states[:, k]
    return rank
