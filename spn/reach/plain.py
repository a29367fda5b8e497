"""Transitions that a kernel decides and fires on packed words, all places at once.

The tokens needed are taken from a word whose guard bits are set: a field with too few borrows its guard bit, which is then missing.
Inhibitors and capacities are the same the other way round. (L. Lamport, Commun. ACM 18 (1975) 471: multiple byte processing with full-word
instructions.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain as chained

import numpy as np

from spn.compiled import CompiledNet
from spn.compiled.net import word
from spn.expr.evaluate import fold
from spn.expr.nodes import constant
from spn.net.model import INFINITE, Timed
from spn.net.semantics import Rules, TransitionRules
from spn.reach import layout as at
from spn.reach.packing import Fields, Ints
from spn.reach.space import Floats

LARGEST = 1e300  # of a rate, so that it stays finite when counted


def plain_records(r: Rules, net: CompiledNet, law: Floats, found: Fields, *, chain: bool) -> Ints:
    """The records (:mod:`spn.reach.layout`) of all transitions, flat. Plain are timed transitions of constant speed without guard, flush or
    multiplicities that depend on the marking, with one server, or clocks as many as the tokens of their one input place."""
    size = at.P_SIZE + 2 * found.width
    records = np.zeros((max(1, len(r.transitions)), size), dtype=np.int64)
    for t in r.timed:
        record = _record(r, r.transitions[t], float(law[t]), found)
        if record is not None:
            stays = (not chain or not net.dependencies.immediates[t]) and _is_seen(r.transitions[t], found)
            records[t] = [*record[: at.P_FIRES], int(stays), *record[at.P_FIRES :]]
    return records.reshape(-1)


def guards(found: Fields) -> Ints:
    """The guard bits of each word."""
    words = [0] * found.width
    for w, shift, mask in found.table.tolist():
        words[w] |= (mask + 1) << shift
    return signed(words)


def signed(words: Sequence[int]) -> Ints:
    """Whole numbers modulo 2^64, as the kernel's words."""
    return np.array([w % 2**64 for w in words], dtype=np.uint64).view(np.int64)


def _record(r: Rules, tr: TransitionRules, law: float, found: Fields) -> list[int] | None:
    """A record without the word P_FIRES, or None for a transition that is not plain."""
    t = tr.transition
    assert isinstance(t, Timed)
    groups = (*tr.inputs, *tr.tests, *tr.inhibitors, *tr.outputs)
    speed = constant(fold(t.speed))
    if t.guard is not None or tr.flushes or t.transfer is not None or speed is None or any(g.constant is None for g in groups):
        return None
    rate = law * float(speed)
    present = [g for g in tr.inputs if g.constant]
    counted = t.servers != 1 and bool(present)
    if not 0 < rate < LARGEST or (counted and (len(present) > 1 or present[0].constant != 1)):
        return None
    needs: dict[int, int] = {}
    for g in chained(tr.inputs, tr.tests):
        needs[g.place] = max(needs.get(g.place, 0), g.constant or 0)
    limits = _limits(r, tr)
    most = found.most.tolist()
    if any(k > most[p] for p, k in needs.items()) or any(k < 0 for k in limits.values()):
        return None
    place = found.table[present[0].place].tolist() if counted else [0, 0, 0]
    servers = -1 if t.servers == INFINITE else int(t.servers)
    upper = {p: min(k, limits.get(p, k)) for p, k in enumerate(most)}
    kind = 2 if counted else 1
    return [kind, word(rate), *place, servers, int(bool(limits)), *_words(needs, found), *_words(upper, found)]


def _is_seen(tr: TransitionRules, found: Fields) -> bool:
    """Whether a field that a firing makes run over sets its guard bit, and does not run over that too."""
    return all((g.constant or 0) <= found.table[g.place, 2] for g in tr.outputs)


def _limits(r: Rules, tr: TransitionRules) -> dict[int, int]:
    """The most tokens of places with which inhibitors and capacities let a transition fire."""
    limits: dict[int, int] = {}
    for g in tr.inhibitors:
        if g.constant:
            most = g.constant - 1
            limits[g.place] = min(limits.get(g.place, most), most)
    for g in tr.outputs:
        capacity = r.capacities[g.place]
        if capacity is not None:
            taken = sum(i.constant or 0 for i in tr.inputs if i.place == g.place)
            left = capacity - (g.constant or 0) + taken
            limits[g.place] = min(limits.get(g.place, left), left)
    return limits


def _words(tokens: Mapping[int, int], found: Fields) -> list[int]:
    words = [0] * found.width
    for p, k in tokens.items():
        w, shift, _ = found.table[p].tolist()
        words[w] |= k << shift
    numbers: list[int] = signed(words).tolist()
    return numbers
