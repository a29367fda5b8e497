"""The kernel of exploration: breadth-first, on the compiled net."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spn.compiled.kernels import choices, clocks, fire, quantity, record
from spn.compiled.layout import F_SPEED
from spn.jit import getf, geti, kernel, seti

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

DONE = 0  # every known marking is expanded
ROWS_FULL = 1
ARCS_FULL = 2
WRONG = 3  # the marking at the head means nothing; the semantics has the words

MIX = -7046029254386353131  # 2^64 over the golden ratio, odd, as a signed word


@kernel
def key(row: int, places: int) -> int:
    """A hash of the marking at an address."""
    h = places
    for p in range(places):
        h = (h ^ geti(row, p)) * MIX
        h ^= (h >> 29) & 0x7FFFFFFFF
    return h


@kernel
def same(a: int, b: int, places: int) -> bool:
    for p in range(places):
        if geti(a, p) != geti(b, p):
            return False
    return True


@kernel
def place_of(slots: Ints, base: int, row: int, places: int) -> int:
    """The slot that holds a marking's number plus one, or the free slot where it belongs (linear probing, a power of two of slots)."""
    mask = len(slots) - 1
    at = key(row, places) & mask
    while slots[at] != 0 and not same(base + 8 * places * (slots[at] - 1), row, places):
        at = (at + 1) & mask
    return at


@kernel
def index_rows(rows: Ints, count: int, slots: Ints) -> None:
    """Enter the first ``count`` markings into an empty table."""
    places = rows.shape[1]
    base = rows.ctypes.data
    for i in range(count):
        slots[place_of(slots, base, base + 8 * places * i, places)] = i + 1


@kernel
def expand(
    image: Ints,
    scratch: Ints,
    out: Ints,
    law: Floats,
    timed: Ints,
    rows: Ints,
    count: int,
    head: int,
    most: int,
    slots: Ints,
    vanishing: Bools,
    parent: Ints,
    via: Ints,
    source: Ints,
    target: Ints,
    transition: Ints,
    weight: Floats,
    arcs: int,
) -> tuple[int, int, int, int]:
    """Expand markings from ``head`` on until all are, room runs out, or ``most`` are known: (status, count, head, arcs).

    ``rows`` hold the markings, ``slots`` (a power of two, kept at most half full) find them; ``law`` is the rate of each transition's
    exponential law per unit of its clock's rate, ``timed`` the timed transitions; ``out`` has room for every immediate. ``parent`` and
    ``via`` are written for each new marking, ``vanishing`` for each expanded one, and the rest for each firing."""
    net, stack, chosen, base = image.ctypes.data, scratch.ctypes.data, out.ctypes.data, rows.ctypes.data
    places = rows.shape[1]
    room = min(len(rows), len(slots) // 2)
    widest = len(law)
    while head < count < most:
        if count + widest > room:
            return ROWS_FULL, count, head, arcs
        if arcs + widest > len(source):
            return ARCS_FULL, count, head, arcs
        m = base + 8 * places * head
        found = choices(net, m, stack, chosen)
        if found < 0:
            return WRONG, count, head, arcs
        vanishing[head] = found > 0
        for k in range(found if found > 0 else len(timed)):
            if found > 0:
                t = geti(chosen, 2 * k)
                w = getf(chosen, 2 * k + 1)
            else:
                t = timed[k]
                n = clocks(net, t, m, stack)
                if n < 0:
                    return WRONG, count, head, arcs
                if n == 0:
                    continue
                w = law[t] * quantity(net, record(net, t) + F_SPEED, m, stack) * n
                if not w < 1e308:
                    return WRONG, count, head, arcs
                if w == 0.0:
                    continue
            new = base + 8 * places * count
            for p in range(places):
                seti(new, p, geti(m, p))
            if fire(net, t, new, stack) < 0:
                return WRONG, count, head, arcs
            at = place_of(slots, base, new, places)
            if slots[at] == 0:
                slots[at] = count + 1
                parent[count] = head
                via[count] = t
                count += 1
            source[arcs] = head
            target[arcs] = slots[at] - 1
            transition[arcs] = t
            weight[arcs] = w
            arcs += 1
        head += 1
    return DONE, count, head, arcs
