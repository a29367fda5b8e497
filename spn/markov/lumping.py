"""Ordinary lumping of a Markov chain by refining a partition of its states: what symmetry finds in the net, found in the chain alone.

A partition is ordinarily lumpable where all states of a block have the same total rate into each other block; the process of blocks is then
a Markov chain whatever the initial distribution is (J. G. Kemeny and J. L. Snell, Finite Markov Chains (1960), section 6.3). The coarsest
such partition that refines a given one is found by splitting blocks whose states differ, until none do (after P. Buchholz, J. Appl. Prob.
31 (1994) 59, and S. Derisavi, H. Hermanns and W. H. Sanders, Inf. Process. Lett. 87 (2003) 309; here all blocks are split at once by
array arithmetic, O(m log m) for m rates in each of as many rounds as differences take to spread).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spn.reach.space import Floats, Ints, Rates, compressed

SAME = 1e-12  # relative difference below which two rates or rewards are one
SEED = 20031130


@dataclass(frozen=True, slots=True, kw_only=True)
class Lumping:
    """``block`` (n): the block of each state, numbered in the order of their first states, ``first`` (blocks). ``rates`` is the chain of
    blocks."""

    block: Ints
    first: Ints
    rates: Rates

    @property
    def n(self) -> int:
        """The number of blocks."""
        return len(self.first)

    def summed(self, over_states: Floats) -> Floats:
        """A distribution over states as one over blocks."""
        return np.bincount(self.block, over_states, self.n).astype(np.float64)

    def picked(self, reward: Floats) -> Floats:
        """A reward that is the same in all states of a block, for each block."""
        return np.asarray(reward[self.first])


def lump(rates: Rates, rewards: Sequence[Floats] = ()) -> Lumping:
    """The coarsest ordinary lumping in whose blocks every one of ``rewards`` (n) is constant; nan is a value like others.

    Rates and rewards that differ by less than 1e-12 of their value count as the same. Without rewards the whole chain is one block."""
    block = np.zeros(rates.n, dtype=np.int64)
    for reward in rewards:
        block = _parted(block, _levels(reward))
    rng = np.random.default_rng(SEED)
    while True:
        rows, columns, values = _into_blocks(rates, block)
        finer = _parted(block, _signatures(rates.n, rows, columns, _levels(values), rng))
        if int(finer.max(initial=-1)) == int(block.max(initial=-1)):
            break
        block = finer
    _, first = np.unique(block, return_index=True)
    if not _constant(block, first, rows, columns, values):  # one hash for two signatures: with other multipliers there is none
        return lump(rates, [*rewards, _apart(rates.n, block, rows, columns, values)])
    order = np.argsort(first)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    head = np.zeros(rates.n, dtype=bool)
    head[first] = True
    mine = head[rows]
    quotient = compressed(len(first), number[block[rows[mine]]], number[columns[mine]], values[mine])
    return Lumping(block=number[block], first=first[order].astype(np.int64), rates=quotient)


def _parted(block: Ints, *by: NDArray[np.int64] | NDArray[np.uint64]) -> Ints:
    """Blocks split by further labels."""
    for labels in by:
        _, dense = np.unique(labels, return_inverse=True)
        _, block = np.unique(block * (int(dense.max(initial=0)) + 1) + dense.reshape(-1), return_inverse=True)
    return block.reshape(-1).astype(np.int64)


def _levels(values: Floats) -> Ints:
    """Equal numbers for values that are the same up to rounding."""
    order = np.argsort(values, kind="stable")
    v = values[order]
    with np.errstate(invalid="ignore"):
        up = np.abs(np.diff(v)) > SAME * np.maximum(np.abs(v[1:]), np.abs(v[:-1]))
    up |= np.isnan(v[1:]) != np.isnan(v[:-1])
    level = np.empty(len(v), dtype=np.int64)
    level[order] = np.concatenate([[0], np.cumsum(up)]) if len(v) else 0
    return level


def _into_blocks(rates: Rates, block: Ints) -> tuple[Ints, Ints, Floats]:
    """Total rates from states into blocks other than their own: rows and blocks ascending, one entry for each pair."""
    source, target = rates.sources(), block[rates.columns]
    out = block[source] != target
    source, target, value = source[out], target[out], rates.values[out]
    many = int(block.max(initial=0)) + 1
    key, inverse = np.unique(source * many + target, return_inverse=True)
    order = np.lexsort((value, inverse))  # added in the order of their size, so that equal rates have equal sums
    total = np.add.reduceat(value[order], np.searchsorted(inverse[order], np.arange(len(key)))) if len(key) else np.zeros(0)
    return key // many, key % many, total


def _signatures(n: int, rows: Ints, columns: Ints, levels: Ints, rng: np.random.Generator) -> NDArray[np.uint64]:
    """A 64-bit hash for each state of the pairs of block and rate."""
    a, b = (rng.integers(0, 2**64 - 1, int(x.max(initial=0)) + 1, dtype=np.uint64, endpoint=True) for x in (columns, levels))
    mixed = (a[columns] ^ (b[levels] << np.uint64(1))) * (a[columns] | np.uint64(1)) + b[levels]
    total = np.zeros(n, dtype=np.uint64)
    np.add.at(total, rows, mixed)
    return total


def _constant(block: Ints, first: Ints, rows: Ints, columns: Ints, values: Floats) -> bool:
    """Whether the rates into blocks are those of the first state of the block, for every state."""
    return not np.any(_apart(len(block), block, rows, columns, values, first))


def _apart(n: int, block: Ints, rows: Ints, columns: Ints, values: Floats, first: Ints | None = None) -> Floats:
    """1 for states whose rates into blocks are not those of the first state of their block, else 0."""
    if first is None:
        _, first = np.unique(block, return_index=True)
    start = np.searchsorted(rows, np.arange(n + 1))
    model = first[block]
    wrong = np.diff(start) != (start[model + 1] - start[model])
    at = np.flatnonzero(~wrong[rows])
    twin = start[model[rows[at]]] + (at - start[rows[at]])
    bad = (columns[at] != columns[twin]) | (np.abs(values[at] - values[twin]) > 100 * SAME * np.abs(values[twin]))
    wrong[rows[at[bad]]] = True
    return np.asarray(wrong.astype(np.float64))
