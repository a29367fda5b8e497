"""One marking for all that the permutations of replicas make of it.

Under all permutations of a group's members the canonical marking has the members' parts sorted; under rotations it is the least rotation.
Inner groups come before those whose members contain them: sorting inside first makes the parts comparable, so that the result is the same
for every marking of an orbit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from spn.net.model import Net, place_index
from spn.symmetry.groups import Group

Ints = NDArray[np.int64]

WIDEST = 2**62


def canonical(net: Net, groups: Sequence[Group]) -> Callable[[Ints], Ints]:
    """The function that maps markings (rows) to their canonical ones; ``groups`` with inner ones first."""
    index = place_index(net)
    columns = [(np.array([[index[p] for p in part.places] for part in g.parts], dtype=np.int64), g.step) for g in groups]
    columns = [(c, step) for c, step in columns if c.size]

    def mapped(markings: Ints) -> Ints:
        rows = markings.copy()
        if len(rows):
            for at, step in columns:
                blocks = rows[:, at]
                rank = _ranks(blocks)
                order = _least_rotation(rank, step) if step else np.argsort(rank, axis=1, kind="stable")
                rows[:, at] = np.take_along_axis(blocks, order[:, :, None], axis=1)
        return rows

    return mapped


def _ranks(blocks: Ints) -> Ints:
    """Numbers of the parts (rows, members) of markings (rows, members, places): equal for equal parts and ordered always in one way."""
    most = blocks.max(axis=(0, 1)) + 1
    if np.prod(most.astype(np.float64)) < WIDEST and blocks.min() >= 0:
        key = np.zeros(blocks.shape[:2], dtype=np.int64)
        for k, m in enumerate(most.tolist()):
            key = key * m + blocks[:, :, k]
        return key  # positional numbers: in lexicographic order whatever the bases are
    _, rank = np.unique(blocks.reshape(-1, blocks.shape[2]), axis=0, return_inverse=True)
    return np.asarray(rank, dtype=np.int64).reshape(blocks.shape[:2])


def _least_rotation(rank: Ints, step: int) -> Ints:
    """For each row the order of members that makes it least among its rotations by multiples of ``step``."""
    n = rank.shape[1]
    base = np.arange(n)
    best = np.broadcast_to(base, rank.shape).copy()
    least = rank.copy()
    for shift in range(step, n, step):
        order = (base + shift) % n
        turned = rank[:, order]
        differs = turned != least
        first = np.argmax(differs, axis=1)
        at = np.arange(len(rank))
        smaller = differs[at, first] & (turned[at, first] < least[at, first])
        least[smaller], best[smaller] = turned[smaller], order
    return best
