"""The kernels of exploration: breadth-first, on the compiled net and packed markings.

The registers and entries they work on are laid out in :mod:`spn.reach.layout`. Every step that runs out of room or meets trouble leaves all
as it was, so that it can be done again. Memory is waited for once a block: the slots of all firings of a block are asked for when the
markings are made, the states in them when the slots are there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spn.compiled.kernels import choices, clocks, evaluate, fire, quantity, record
from spn.compiled.layout import F_AFFECTED_IMMEDIATES, F_DELTA, F_SPEED, H_IMMEDIATES, H_TIMED
from spn.jit import get32, getf, geti, helper, kernel, prefetch, set32, setf, seti
from spn.reach.layout import (
    ARCS,
    BLOCK,
    DONE,
    E_HASH,
    E_SIZE,
    E_TRANSITION,
    E_WEIGHT,
    E_WORDS,
    ENTRIES,
    LOOK,
    LOOKUP,
    LOOP,
    MOST_PASSED,
    P_FIRES,
    P_KIND,
    P_LIMITED,
    P_MASK,
    P_NEEDS,
    P_RATE,
    P_SERVERS,
    P_SHIFT,
    P_SIZE,
    P_WORD,
    PASSED_ARCS,
    R_AFTER,
    R_ARC_ROOM,
    R_ARCS,
    R_BEGIN,
    R_BY,
    R_CHAIN,
    R_CHANCE,
    R_CHOSEN,
    R_COLUMNS,
    R_COUNT,
    R_DEGREE,
    R_DELTAS,
    R_ENDS,
    R_ENTRIES,
    R_ENTRY_ROOM,
    R_FIELDS,
    R_FIRINGS,
    R_GUARDS,
    R_HEAD,
    R_INITIAL,
    R_KNOWN,
    R_LAW,
    R_LENGTHS,
    R_LOOKUP,
    R_MARKING,
    R_MASK,
    R_MOST,
    R_NET,
    R_ORDER,
    R_PARENT,
    R_PASSED,
    R_PASSING,
    R_PLACE,
    R_PLACES,
    R_PLAIN,
    R_ROOM,
    R_SHARE,
    R_SLOTS,
    R_STACK,
    R_STAMP,
    R_TO,
    R_TOKENS,
    R_TRANSITIONS,
    R_TROUBLE,
    R_VALUES,
    R_VIA,
    R_WIDTH,
    R_WORDS,
    ROOM,
    WIDEN,
    WRONG,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Halves = NDArray[np.int32]

MIX = -7046029254386353131  # 2^64 over the golden ratio, odd, as a signed word
LOW = 0xFFFFFFFF
TAG = -4294967296  # the upper half of a word
LARGEST = 1e308
SHORT = 40  # entries of a row up to which it is kept in order while it grows


# --- packed markings --------------------------------------------------------------------------------------------------------


@helper
def unpack(fields: int, words: int, marking: int, places: int) -> None:
    for p in range(places):
        f = fields + 24 * p
        seti(marking, p, (geti(words, geti(f, 0)) >> geti(f, 1)) & geti(f, 2))


@helper
def pack(fields: int, marking: int, words: int, places: int, width: int) -> int:
    """-1, or the first place whose tokens its field does not hold."""
    for w in range(width):
        seti(words, w, 0)
    for p in range(places):
        f = fields + 24 * p
        k = geti(marking, p)
        if not 0 <= k <= geti(f, 2):
            return p
        w = geti(f, 0)
        seti(words, w, geti(words, w) | (k << geti(f, 1)))
    return -1


@helper
def hashed(words: int, width: int) -> int:
    h = geti(words, 0) * MIX
    for w in range(1, width):
        h = (h ^ ((h >> 32) & LOW) ^ geti(words, w)) * MIX
    h = (h ^ ((h >> 32) & LOW)) * MIX
    return h ^ ((h >> 29) & 0x7FFFFFFFF)


@helper
def same(a: int, b: int, width: int) -> bool:
    for w in range(width):
        if geti(a, w) != geti(b, w):
            return False
    return True


@helper
def slot_of(slots: int, mask: int, words: int, width: int, marking: int, h: int) -> int:
    """The slot of a packed marking, or the free one where it belongs (linear probing)."""
    at = h & mask
    while True:
        slot = geti(slots, at)
        if slot == 0:
            return at
        if (slot ^ h) & TAG == 0 and same(words + 8 * width * ((slot & LOW) - 1), marking, width):
            return at
        at = (at + 1) & mask


@kernel
def enter(registers: Ints) -> None:
    """Enter all states into an empty table."""
    r = registers.ctypes.data
    words, width, slots, mask = geti(r, R_WORDS), geti(r, R_WIDTH), geti(r, R_SLOTS), geti(r, R_MASK)
    count = geti(r, R_COUNT)
    for begin in range(0, count, BLOCK):
        end = min(count, begin + BLOCK)
        for i in range(begin, end):
            prefetch(slots + 8 * (hashed(words + 8 * width * i, width) & mask))
        for i in range(begin, end):
            h = hashed(words + 8 * width * i, width)
            at = h & mask
            while geti(slots, at) != 0:
                at = (at + 1) & mask
            seti(slots, at, (h & TAG) | (i + 1))


@kernel
def repack(old: Ints, old_fields: Ints, old_width: int, count: int, new: Ints, fields: Ints, width: int, marking: Ints) -> int:
    """Copy packed markings into other fields; -1, or the first place that does not fit."""
    m = marking.ctypes.data
    for i in range(count):
        unpack(old_fields.ctypes.data, old.ctypes.data + 8 * old_width * i, m, len(marking))
        bad = pack(fields.ctypes.data, m, new.ctypes.data + 8 * width * i, len(marking), width)
        if bad >= 0:
            return bad
    return -1


# --- entries ----------------------------------------------------------------------------------------------------------------


@helper
def copy(source: int, target: int, words: int) -> None:
    for i in range(words):
        seti(target, i, geti(source, i))


@helper
def trouble(r: int, marking: int) -> int:
    copy(marking, geti(r, R_TROUBLE), geti(r, R_PLACES))
    return WRONG


@helper
def too_many(r: int, place: int, tokens: int) -> int:
    seti(r, R_PLACE, place)
    seti(r, R_TOKENS, tokens)
    return WIDEN


@helper
def finish(r: int, entry: int, t: int, weight: float) -> None:
    """Complete an entry whose words are written, and ask for its slot."""
    h = hashed(entry + 8 * E_WORDS, geti(r, R_WIDTH))
    seti(entry, E_HASH, h)
    setf(entry, E_WEIGHT, weight)
    seti(entry, E_TRANSITION, t)
    prefetch(geti(r, R_SLOTS) + 8 * (h & geti(r, R_MASK)))


@helper
def put(r: int, marking: int, t: int, weight: float, used: int) -> int:
    """The entry of a marking: ``used`` plus one, or a status."""
    if used >= geti(r, R_ENTRY_ROOM):
        return ENTRIES
    width = geti(r, R_WIDTH)
    entry = geti(r, R_ENTRIES) + 8 * (E_SIZE + width) * used
    bad = pack(geti(r, R_FIELDS), marking, entry + 8 * E_WORDS, geti(r, R_PLACES), width)
    if bad >= 0:
        k = geti(marking, bad)
        return too_many(r, bad, k) if k > 0 else WRONG
    finish(r, entry, t, weight)
    return used + 1


@helper
def put_fired(r: int, source: int, t: int, weight: float, delta: int, used: int) -> int:
    """The entry of the marking after a firing that adds the same in every marking; ``source``: the packed words before."""
    if used >= geti(r, R_ENTRY_ROOM):
        return ENTRIES
    net, width, m, fields = geti(r, R_NET), geti(r, R_WIDTH), geti(r, R_MARKING), geti(r, R_FIELDS)
    for i in range(delta + 1, delta + 1 + geti(net, delta), 2):
        by = geti(net, i + 1)
        if by > 0:
            p = geti(net, i)
            k = geti(m, p)
            if k > geti(fields + 24 * p, 2) - by:
                return too_many(r, p, k + by) if k + by > 0 else trouble(r, m)
    entry = geti(r, R_ENTRIES) + 8 * (E_SIZE + width) * used
    change = geti(r, R_DELTAS) + 8 * width * t
    for w in range(width):
        seti(entry, E_WORDS + w, geti(source, w) + geti(change, w))
    finish(r, entry, t, weight)
    return used + 1


# --- vanishing markings passed on the way -----------------------------------------------------------------------------------


@helper
def passed(r: int, marking: int, known: int) -> int:
    """The number of a vanishing marking among the ``known`` ones of this firing; ``known`` where it is new, which it is entered as."""
    places, table, stamp = geti(r, R_PLACES), geti(r, R_LOOKUP), geti(r, R_STAMP)
    h = hashed(marking, places)
    at = h & (LOOKUP - 1)
    while True:
        slot = geti(table, at)
        if slot >> 16 != stamp:
            seti(table, at, (stamp << 16) | known)
            copy(marking, geti(r, R_PASSED) + 8 * places * known, places)
            return known
        if same(geti(r, R_PASSED) + 8 * places * (slot & 0xFFFF), marking, places):
            return slot & 0xFFFF
        at = (at + 1) & (LOOKUP - 1)


@helper
def close(r: int, first: int, t: int, used: int, emit: int) -> int:
    """All that follows a vanishing marking in no time: its closure under immediate firings, then the mean visits to each marking of it,
    each after all that lead to it. With ``emit`` the tangible ends become entries whose weights are their probabilities. Returns the
    entries used, or a status; the closure stays in the registers."""
    seti(r, R_STAMP, geti(r, R_STAMP) + 1)
    seti(r, R_KNOWN, passed(r, first, 0) + 1)
    seti(r, R_PASSING, 0)
    seti(geti(r, R_DEGREE), 0, 0)
    at = 0
    while at < geti(r, R_KNOWN):
        used = pass_on(r, at, t, used, emit)
        if used < 0:
            return used
        at += 1
    seti(geti(r, R_BEGIN), at, geti(r, R_PASSING))
    return used if settle(r, at, emit) else LOOP


@helper
def pass_on(r: int, at: int, t: int, used: int, emit: int) -> int:
    """The arcs out of one vanishing marking of a closure: the entries used, or a status."""
    net, places, stack, chosen = geti(r, R_NET), geti(r, R_PLACES), geti(r, R_STACK), geti(r, R_CHOSEN)
    here = geti(r, R_PASSED) + 8 * places * at
    arcs = geti(r, R_PASSING)
    found = choices(net, here, stack, chosen)
    if found < 0:
        return trouble(r, here)
    if arcs + found > PASSED_ARCS:
        return LOOP
    total = 0.0
    for k in range(found):
        total += getf(chosen, 2 * k + 1)
    if not 0.0 < total < LARGEST:
        return trouble(r, here)
    for k in range(found):
        seti(geti(r, R_BY), arcs + k, geti(chosen, 2 * k))
        setf(geti(r, R_SHARE), arcs + k, getf(chosen, 2 * k + 1) / total)
    seti(geti(r, R_BEGIN), at, arcs)
    setf(geti(r, R_CHANCE), at, 0.0)
    seti(r, R_PASSING, arcs + found)
    for a in range(arcs, arcs + found):
        used = lead(r, here, a, t, used, emit)
        if used < 0:
            return used
    return used


@helper
def lead(r: int, here: int, arc: int, t: int, used: int, emit: int) -> int:
    """Where one immediate firing leads: to an entry, or to a vanishing marking of the closure. The entries used, or a status."""
    net, places, stack, after = geti(r, R_NET), geti(r, R_PLACES), geti(r, R_STACK), geti(r, R_AFTER)
    copy(here, after, places)
    if fire(net, geti(geti(r, R_BY), arc), after, stack) < 0:
        return trouble(r, here)
    for p in range(places):
        if geti(after, p) < 0:
            return trouble(r, here)
    found = choices(net, after, stack, geti(r, R_CHOSEN))
    if found < 0:
        return trouble(r, after)
    if found == 0:
        seti(geti(r, R_TO), arc, -1 - used)
        return put(r, after, t, 0.0, used) if emit else used
    known = geti(r, R_KNOWN)
    i = passed(r, after, known)
    if i == known:
        if known == MOST_PASSED:
            return LOOP
        seti(geti(r, R_DEGREE), known, 0)
        seti(r, R_KNOWN, known + 1)
    seti(geti(r, R_DEGREE), i, geti(geti(r, R_DEGREE), i) + 1)
    seti(geti(r, R_TO), arc, i)
    return used


@helper
def settle(r: int, known: int, emit: int) -> bool:
    """Mean visits in topological order (Kahn); False where there is a circle."""
    chance, degree, begin = geti(r, R_CHANCE), geti(r, R_DEGREE), geti(r, R_BEGIN)
    to, share, order = geti(r, R_TO), geti(r, R_SHARE), geti(r, R_ORDER)
    stride = 8 * (E_SIZE + geti(r, R_WIDTH))
    if geti(degree, 0) > 0:
        return False
    setf(chance, 0, 1.0)
    seti(order, 0, 0)
    ready = 1
    done = 0
    while done < ready:
        i = geti(order, done)
        done += 1
        p = getf(chance, i)
        for a in range(geti(begin, i), geti(begin, i + 1)):
            j = geti(to, a)
            if j < 0:
                if emit:
                    setf(geti(r, R_ENTRIES) + stride * (-1 - j), E_WEIGHT, p * getf(share, a))
            else:
                setf(chance, j, getf(chance, j) + p * getf(share, a))
                left = geti(degree, j) - 1
                seti(degree, j, left)
                if left == 0:
                    seti(order, ready, j)
                    ready += 1
    return done == known


# --- expansion --------------------------------------------------------------------------------------------------------------


@helper
def rate_of(r: int, t: int, marking: int) -> float:
    """The total rate of a timed transition in a tangible marking: 0 where it does not fire, negative where it means nothing."""
    net, stack = geti(r, R_NET), geti(r, R_STACK)
    n = clocks(net, t, marking, stack)
    if n <= 0:
        return float(n)
    rate = getf(geti(r, R_LAW), t) * quantity(net, record(net, t) + F_SPEED, marking, stack) * n
    return rate if 0.0 <= rate < LARGEST else -1.0


@helper
def fired_into(r: int, marking: int, source: int, t: int, weight: float, used: int) -> int:
    """The entries that one firing leads to, of tangible markings alone where a chain is built: the entries used, or a status."""
    net = geti(r, R_NET)
    rec = record(net, t)
    delta = geti(net, rec + F_DELTA)
    chain = geti(r, R_CHAIN)
    still = chain == 0 or geti(net, geti(net, rec + F_AFFECTED_IMMEDIATES)) == 0  # it makes no vanishing marking, or they are kept
    if delta != 0 and still:
        return put_fired(r, source, t, weight, delta, used)
    after = geti(r, R_AFTER)
    places = geti(r, R_PLACES)
    copy(marking, after, places)
    if fire(net, t, after, geti(r, R_STACK)) < 0:
        return trouble(r, marking)
    for p in range(places):
        if geti(after, p) < 0:
            return trouble(r, marking)
    if still:
        return put(r, after, t, weight, used)
    found = choices(net, after, geti(r, R_STACK), geti(r, R_CHOSEN))
    if found < 0:
        return trouble(r, after)
    if found == 0:
        return put(r, after, t, weight, used)
    end = close(r, after, t, used, 1)
    stride = 8 * (E_SIZE + geti(r, R_WIDTH))
    for e in range(used, end):
        entry = geti(r, R_ENTRIES) + stride * e
        setf(entry, E_WEIGHT, weight * getf(entry, E_WEIGHT))
    return end


@helper
def held_back(record: int, words: int, guards: int, width: int) -> bool:
    """Whether some place has too few tokens, or too many, all places of a word at once: a guard bit is lost where a field goes below 0."""
    for w in range(width):
        g = geti(guards, w)
        if ((geti(words, w) | g) - geti(record, P_NEEDS + w)) & g != g:
            return True
    if geti(record, P_LIMITED) != 0:
        for w in range(width):
            g = geti(guards, w)
            if ((geti(record, P_NEEDS + width + w) | g) - geti(words, w)) & g != g:
                return True
    return False


@helper
def put_plain(r: int, source: int, t: int, weight: float, guards: int, width: int, used: int) -> int:
    """As :func:`put_fired` without a look at places; WIDEN, without saying more, where a field runs over into its guard bit."""
    if used >= geti(r, R_ENTRY_ROOM):
        return ENTRIES
    entry = geti(r, R_ENTRIES) + 8 * (E_SIZE + width) * used
    change = geti(r, R_DELTAS) + 8 * width * t
    over = 0
    for w in range(width):
        new = geti(source, w) + geti(change, w)
        over |= new & geti(guards, w)
        seti(entry, E_WORDS + w, new)
    if over != 0:
        return WIDEN
    finish(r, entry, t, weight)
    return used + 1


@helper
def plain_rate(record: int, words: int) -> float:
    """The rate of an enabled transition that is decided on packed words."""
    if geti(record, P_KIND) == 1:
        return getf(record, P_RATE)
    n = (geti(words, geti(record, P_WORD)) >> geti(record, P_SHIFT)) & geti(record, P_MASK)
    servers = geti(record, P_SERVERS)
    if 0 <= servers < n:
        n = servers
    return getf(record, P_RATE) * n


@helper
def successors(r: int, source: int, used: int) -> int:
    """The entries of all firings of a state: the entries used, or a status."""
    net, m, width, guards = geti(r, R_NET), geti(r, R_MARKING), geti(r, R_WIDTH), geti(r, R_GUARDS)
    words = geti(r, R_WORDS) + 8 * width * source
    packed = guards != 0
    if not packed:
        unpack(geti(r, R_FIELDS), words, m, geti(r, R_PLACES))
    if geti(r, R_CHAIN) == 0 and geti(net, geti(net, H_IMMEDIATES)) > 0:
        if packed:
            unpack(geti(r, R_FIELDS), words, m, geti(r, R_PLACES))
            packed = False
        chosen = geti(r, R_CHOSEN)
        found = choices(net, m, geti(r, R_STACK), chosen)
        if found < 0:
            return trouble(r, m)
        if found > 0:
            for k in range(found):
                used = fired_into(r, m, words, geti(chosen, 2 * k), getf(chosen, 2 * k + 1), used)
                if used < 0:
                    return used
            return used
    return timed_successors(r, words, packed, used)


@helper
def timed_successors(r: int, words: int, packed: bool, used: int) -> int:
    """The same of the timed transitions in a tangible marking, which is unpacked for those that need it, and only once."""
    net, m, width, guards = geti(r, R_NET), geti(r, R_MARKING), geti(r, R_WIDTH), geti(r, R_GUARDS)
    timed = geti(net, H_TIMED)
    for i in range(timed + 1, timed + 1 + geti(net, timed)):
        t = geti(net, i)
        plain = geti(r, R_PLAIN) + 8 * (P_SIZE + 2 * width) * t
        if guards != 0 and geti(plain, P_KIND) != 0:
            if held_back(plain, words, guards, width):
                continue
            rate = plain_rate(plain, words)
            if geti(plain, P_FIRES) != 0 and rate < LARGEST:
                end = put_plain(r, words, t, rate, guards, width, used)
                if end == ENTRIES:
                    return end
                if end >= 0:
                    used = end
                    continue
        if packed:
            unpack(geti(r, R_FIELDS), words, m, geti(r, R_PLACES))
            packed = False
        rate = rate_of(r, t, m)
        if rate == 0.0:
            continue
        if rate < 0.0:
            return trouble(r, m)
        used = fired_into(r, m, words, t, rate, used)
        if used < 0:
            return used
    return used


@helper
def beginning(r: int) -> int:
    """The entries of the initial marking."""
    m = geti(r, R_MARKING)
    copy(geti(r, R_INITIAL), m, geti(r, R_PLACES))
    if geti(r, R_CHAIN) != 0:
        found = choices(geti(r, R_NET), m, geti(r, R_STACK), geti(r, R_CHOSEN))
        if found < 0:
            return trouble(r, m)
        if found > 0:
            return close(r, m, -1, 0, 1)
    return put(r, m, -1, 1.0, 0)


@helper
def ask(r: int, used: int) -> None:
    """Ask for the states that the slots of the entries name."""
    words, width, slots, mask = geti(r, R_WORDS), geti(r, R_WIDTH), geti(r, R_SLOTS), geti(r, R_MASK)
    entry = geti(r, R_ENTRIES)
    for _ in range(used):
        h = geti(entry, E_HASH)
        at = h & mask
        slot = geti(slots, at)
        while slot != 0 and (slot ^ h) & TAG != 0:
            at = (at + 1) & mask
            slot = geti(slots, at)
        if slot != 0:
            prefetch(words + 8 * width * ((slot & LOW) - 1))
        entry += 8 * (E_SIZE + width)


@helper
def number(r: int, entry: int, source: int) -> int:
    """The state of an entry, which is entered where it is new."""
    words, width, slots = geti(r, R_WORDS), geti(r, R_WIDTH), geti(r, R_SLOTS)
    h = geti(entry, E_HASH)
    at = slot_of(slots, geti(r, R_MASK), words, width, entry + 8 * E_WORDS, h)
    slot = geti(slots, at)
    if slot != 0:
        return (slot & LOW) - 1
    count = geti(r, R_COUNT)
    seti(slots, at, (h & TAG) | (count + 1))
    copy(entry + 8 * E_WORDS, words + 8 * width * count, width)
    set32(geti(r, R_PARENT), count, source)
    if geti(r, R_CHAIN) == 0:
        set32(geti(r, R_VIA), count, geti(entry, E_TRANSITION))
    seti(r, R_COUNT, count + 1)
    return count


@helper
def add_rate(columns: int, values: int, begin: int, end: int, target: int, weight: float) -> int:
    """Add a rate to a row that is kept in order; the row's new end."""
    at = end
    while at > begin and get32(columns, at - 1) > target:
        at -= 1
    if at > begin and get32(columns, at - 1) == target:
        setf(values, at - 1, getf(values, at - 1) + weight)
        return end
    for i in range(end, at, -1):
        set32(columns, i, get32(columns, i - 1))
        setf(values, i, getf(values, i - 1))
    set32(columns, at, target)
    setf(values, at, weight)
    return end + 1


@helper
def merge(columns: int, values: int, begin: int, end: int) -> int:
    """Sort a long row (Shell's sort) and add up rates to one target; the row's new end."""
    gap = 1
    while gap < (end - begin) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(begin + gap, end):
            target = get32(columns, i)
            weight = getf(values, i)
            at = i
            while at - gap >= begin and get32(columns, at - gap) > target:
                set32(columns, at, get32(columns, at - gap))
                setf(values, at, getf(values, at - gap))
                at -= gap
            set32(columns, at, target)
            setf(values, at, weight)
        gap //= 3
    kept = begin
    for i in range(begin, end):
        if kept > begin and get32(columns, kept - 1) == get32(columns, i):
            setf(values, kept - 1, getf(values, kept - 1) + getf(values, i))
        else:
            set32(columns, kept, get32(columns, i))
            setf(values, kept, getf(values, i))
            kept += 1
    return kept


@helper
def row(r: int, source: int, first: int, last: int) -> None:
    """Number the entries of one state and write its row."""
    columns, values, chain = geti(r, R_COLUMNS), geti(r, R_VALUES), geti(r, R_CHAIN)
    stride = 8 * (E_SIZE + geti(r, R_WIDTH))
    begin = geti(r, R_ARCS)
    end = begin
    before = -2
    for e in range(first, last):
        entry = geti(r, R_ENTRIES) + stride * e
        target = number(r, entry, source)
        weight = getf(entry, E_WEIGHT)
        t = geti(entry, E_TRANSITION)
        if t != before:
            seti(r, R_FIRINGS, geti(r, R_FIRINGS) + 1)
            before = t
        if chain == 0:
            set32(geti(r, R_TRANSITIONS), end, t)
        elif target == source or not weight > 0.0:
            continue
        elif last - first <= SHORT:
            end = add_rate(columns, values, begin, end, target, weight)
            continue
        set32(columns, end, target)
        setf(values, end, weight)
        end += 1
    if chain != 0 and last - first > SHORT:
        end = merge(columns, values, begin, end)
    seti(r, R_ARCS, end)
    if source >= 0:
        set32(geti(r, R_LENGTHS), source, end - begin)


@kernel
def expand(registers: Ints) -> int:
    """Expand states from ``R_HEAD`` on until all are (DONE) or a status says why not; the registers hold how far it came."""
    r = registers.ctypes.data
    ends = geti(r, R_ENDS)
    while geti(r, R_HEAD) < geti(r, R_COUNT):
        if geti(r, R_COUNT) >= geti(r, R_MOST):
            return LOOK
        head = geti(r, R_HEAD)
        used = 0
        taken = 0
        if head < 0:
            used = beginning(r)
            if used < 0:
                return used
            seti(ends, 0, used)
            taken = 1
        status = DONE
        while head >= 0 and taken < BLOCK and head + taken < geti(r, R_COUNT):
            end = successors(r, head + taken, used)
            if end < 0:
                status = end
                break
            used = end
            seti(ends, taken, used)
            taken += 1
        if taken == 0:
            return status
        if geti(r, R_COUNT) + used > geti(r, R_ROOM):
            return ROOM
        if geti(r, R_ARCS) + used > geti(r, R_ARC_ROOM):
            return ARCS
        ask(r, used)
        first = 0
        for i in range(taken):
            row(r, head + i, first, geti(ends, i))
            first = geti(ends, i)
        seti(r, R_HEAD, head + taken)
    return DONE


# --- rewards ----------------------------------------------------------------------------------------------------------------


@helper
def program_value(r: int, program: int, marking: int) -> float:
    return 1.0 if program == 0 else evaluate(geti(r, R_NET), program, marking, geti(r, R_STACK))


@kernel
def expression_rewards(registers: Ints, program: int, begin: int, end: int, out: Floats) -> None:
    """The value of an expression in each of the states ``begin`` to ``end``; nan where it is undefined."""
    r = registers.ctypes.data
    words, width, m = geti(r, R_WORDS), geti(r, R_WIDTH), geti(r, R_MARKING)
    for s in range(begin, end):
        unpack(geti(r, R_FIELDS), words + 8 * width * s, m, geti(r, R_PLACES))
        out[s - begin] = program_value(r, program, m)


@kernel
def timed_rewards(registers: Ints, t: int, program: int, running: int, begin: int, end: int, out: Floats) -> None:
    """Of a timed transition in each state: its running clocks, or (``running`` 0) its rate times the value of an expression (0: 1)."""
    r = registers.ctypes.data
    words, width, m = geti(r, R_WORDS), geti(r, R_WIDTH), geti(r, R_MARKING)
    for s in range(begin, end):
        unpack(geti(r, R_FIELDS), words + 8 * width * s, m, geti(r, R_PLACES))
        if running != 0:
            out[s - begin] = clocks(geti(r, R_NET), t, m, geti(r, R_STACK))
        else:
            rate = rate_of(r, t, m)
            out[s - begin] = rate * program_value(r, program, m) if rate > 0.0 else 0.0


@helper
def collect(r: int, rate: float, wanted: int, count: int, out: int) -> None:
    """Add what the immediate firings of a closure are worth: each wanted is a transition and a program."""
    known = geti(r, R_KNOWN)
    places = geti(r, R_PLACES)
    for i in range(known):
        p = rate * getf(geti(r, R_CHANCE), i)
        for a in range(geti(geti(r, R_BEGIN), i), geti(geti(r, R_BEGIN), i + 1)):
            for k in range(count):
                if geti(wanted, 2 * k) == geti(geti(r, R_BY), a):
                    v = program_value(r, geti(wanted, 2 * k + 1), geti(r, R_PASSED) + 8 * places * i)
                    setf(out, k, getf(out, k) + p * getf(geti(r, R_SHARE), a) * v)


@kernel
def immediate_rewards(registers: Ints, wanted: Ints, out: Floats) -> int:
    """Mean firings per second, times values, of immediate transitions in each state. ``wanted`` (k, 2): transition and program; ``out``
    (states, k), zero before. A status."""
    r = registers.ctypes.data
    net, words, width, m = geti(r, R_NET), geti(r, R_WORDS), geti(r, R_WIDTH), geti(r, R_MARKING)
    places, stack, after = geti(r, R_PLACES), geti(r, R_STACK), geti(r, R_AFTER)
    count = wanted.shape[0]
    timed = geti(net, H_TIMED)
    for s in range(out.shape[0]):
        unpack(geti(r, R_FIELDS), words + 8 * width * s, m, places)
        for i in range(timed + 1, timed + 1 + geti(net, timed)):
            t = geti(net, i)
            if geti(net, geti(net, record(net, t) + F_AFFECTED_IMMEDIATES)) == 0:
                continue
            rate = rate_of(r, t, m)
            if not rate > 0.0:
                continue
            copy(m, after, places)
            if fire(net, t, after, stack) < 0:
                return trouble(r, m)
            if choices(net, after, stack, geti(r, R_CHOSEN)) > 0:
                status = close(r, after, t, 0, 0)
                if status < 0:
                    return status
                collect(r, rate, wanted.ctypes.data, count, out.ctypes.data + 8 * count * s)
    return DONE


# --- components -------------------------------------------------------------------------------------------------------------


SWEEPS = 30


@kernel
def is_one_component(indptr: Halves, columns: Halves, seen: NDArray[np.uint8]) -> bool:
    """Whether all vertices are reached from vertex 0, and reach it, as far as a few sweeps over all arcs show; ``seen`` is zero before.

    One sweep finds what is reached where vertices are numbered breadth-first. False says nothing."""
    n = len(indptr) - 1
    for v in range(n):
        if v == 0 or seen[v] != 0:
            for e in range(indptr[v], indptr[v + 1]):
                seen[columns[e]] = 1
    for v in range(1, n):
        if seen[v] == 0:
            return False
    for v in range(n):
        seen[v] = 0
    seen[0] = 1
    left = n - 1
    for sweep in range(SWEEPS):
        before = left
        for i in range(1, n):
            v = i if sweep % 2 == 0 else n - i
            if seen[v] == 0:
                for e in range(indptr[v], indptr[v + 1]):
                    if seen[columns[e]] != 0:
                        seen[v] = 1
                        left -= 1
                        break
        if left == 0:
            return True
        if left == before:
            return False
    return False


@kernel
def components(indptr: Halves, columns: Halves, label: Ints) -> int:
    """Strongly connected components: their number; ``label`` (-1 before) says which each vertex is in, those it leads to numbered first.

    Tarjan's algorithm without recursion (SIAM J. Comput. 1 (1972) 146)."""
    n = len(indptr) - 1
    index = np.zeros(n, dtype=np.int32)
    low = np.zeros(n, dtype=np.int32)
    path = np.empty(n, dtype=np.int32)
    edge = np.empty(n, dtype=np.int64)
    pending = np.empty(n, dtype=np.int32)
    waiting = 0
    clock = 0
    count = 0
    for root in range(n):
        if index[root] != 0:
            continue
        clock += 1
        index[root] = clock
        low[root] = clock
        path[0] = root
        edge[0] = indptr[root]
        pending[waiting] = root
        waiting += 1
        depth = 0
        while depth >= 0:
            v = path[depth]
            e = edge[depth]
            end = indptr[v + 1]
            least = low[v]
            deeper = False
            while e < end:
                w = columns[e]
                e += 1
                if index[w] == 0:
                    deeper = True
                    clock += 1
                    index[w] = clock
                    low[w] = clock
                    pending[waiting] = w
                    waiting += 1
                    edge[depth] = e
                    depth += 1
                    path[depth] = w
                    edge[depth] = indptr[w]
                    break
                if label[w] < 0 and low[w] < least:
                    least = low[w]
            low[v] = least
            if deeper:
                continue
            if least == index[v]:
                while label[v] < 0:
                    waiting -= 1
                    label[pending[waiting]] = count
                count += 1
            depth -= 1
            if depth >= 0 and least < low[path[depth]]:
                low[path[depth]] = least
    return count


@kernel
def backwards(source: Halves, target: Halves, through: NDArray[np.bool_], reached: NDArray[np.bool_]) -> None:
    """Mark all vertices from which a marked one can be reached by vertices in ``through`` (where it starts is free)."""
    n = len(reached)
    begin = np.zeros(n + 1, dtype=np.int64)
    for e in range(len(target)):
        begin[target[e] + 1] += 1
    for v in range(n):
        begin[v + 1] += begin[v]
    into = np.empty(len(target), dtype=np.int32)
    at = begin[:n].copy()
    for e in range(len(target)):
        into[at[target[e]]] = source[e]
        at[target[e]] += 1
    waiting = np.empty(n, dtype=np.int32)
    known = 0
    for v in range(n):
        if reached[v]:
            waiting[known] = v
            known += 1
    done = 0
    while done < known:
        v = waiting[done]
        done += 1
        for e in range(begin[v], begin[v + 1]):
            u = into[e]
            if not reached[u] and through[u]:
                reached[u] = True
                waiting[known] = u
                known += 1
