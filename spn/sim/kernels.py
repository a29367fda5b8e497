"""The compiled trajectory. It does what :class:`spn.sim.reference.Trajectory` does, draw for draw.

``net`` is the address of a compiled net's image, ``z`` that of the state block (:mod:`spn.sim.layout`). What may happen next is kept in an
indexed binary heap over transitions of constant speed, speed groups, and transfers in their latency; each transition keeps a heap of its
clocks, each group one of its members. After a firing only what the dependency graph names is looked at.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from spn.compiled.kernels import fire, quantity, record
from spn.compiled.layout import (
    ALONE,
    F_AFFECTED_EXPRESSIONS,
    F_AFFECTED_GROUPS,
    F_CERTAIN,
    F_CROWDS_TIMED,
    F_FACTOR,
    F_GROUP,
    F_LATENCY,
    F_LAW,
    F_MEMORY,
    F_PLAIN,
    F_PRIORITY,
    F_QUIET,
    F_RESETS,
    F_SCALE,
    F_SERVERS,
    F_TIMED,
    G_CAP,
    G_COMPONENT,
    G_LINKS,
    G_MEMBERS,
    G_SHARE,
    G_SIZE,
    G_SPEED,
    H_CERTAIN,
    H_EXPRESSIONS,
    H_GROUP,
    H_GROUPS,
    H_IMMEDIATES,
    H_LARGE,
    H_LINK,
    H_MEMBERSHIPS,
    H_TICKS,
    H_TIMED,
    H_TRANSITIONS,
    L_COUNT,
    L_DISCRETE,
    L_KIND,
    L_OFFSET,
    L_SIZE,
    L_UPTO,
    REPEAT,
    RESUME,
)
from spn.dist.kernels import draw, uniform
from spn.jit import getf, geti, helper, inlined, kernel, prefetch, setf, seti, trailing_zeros
from spn.sim.common.kernels import (
    address,
    choose,
    choose_immediate,
    collect_rewards,
    count_clocks,
    count_running,
    crowd_list,
    insert_sorted,
    list_enabled,
    look,
    look_at_immediates,
    read_expression,
    station,
    track,
)
from spn.sim.layout import (
    BITS,
    C_ENTERING,
    C_SIZE,
    C_TOTAL,
    CLOCKS,
    DONE,
    FIRING,
    GROW,
    HORIZON,
    K_AT,
    K_BASE,
    K_SIZE,
    K_TICKS,
    K_VALUE,
    LOOP,
    P_ATTAINED,
    P_DIRTY,
    P_DONE,
    P_FINISHES,
    P_HEAP,
    P_KEYS,
    P_LIMIT,
    P_RATE,
    P_RISING,
    P_SHARE,
    P_SINCE,
    P_SIZE,
    P_SPEED,
    P_TOUCHED,
    P_WEIGHT,
    P_WORKING,
    Q_ENTERING,
    Q_LEFT,
    Q_SIZE,
    Q_TOTAL,
    READY,
    S_CHANGED,
    S_CLOCKS,
    S_ENTERING,
    S_MEMBER,
    S_PARK,
    S_PARKED,
    S_RESET,
    S_ROOM,
    S_RUNNING,
    S_STREAM,
    S_WORKING,
    START,
    STILL,
    WRONG,
    X_SIZE,
    Z_BASE,
    Z_COUNTS,
    Z_DIRTY,
    Z_DIRTY_EXPRESSIONS,
    Z_DIRTY_PACES,
    Z_DIRTY_WORDS,
    Z_ENABLED,
    Z_FIRED,
    Z_FIRINGS,
    Z_HEAP,
    Z_INSTANT,
    Z_KEYS,
    Z_LIMIT,
    Z_LINK_TRACKS,
    Z_LINK_WORK,
    Z_LOOK,
    Z_MARKING,
    Z_OUT,
    Z_PACES,
    Z_PHASE,
    Z_PROBLEM,
    Z_RESTART,
    Z_STACK,
    Z_STREAM,
    Z_TARGET,
    Z_TICKS,
    Z_TIES,
    Z_TIME,
)

Ints = NDArray[np.int64]
MOST_ASKED = 4  # transitions that are asked for ahead
LINKED = -3  # no status: see contend
MOST_TICKS = 2.0**50
NEARLY_FULL = 1e-12  # as in spn.net.semantics


# --- heaps of ids ordered by key, then id ---------------------------------------------------------------------------------


@helper
def tie_before(keys: int, stride: int, i: int, j: int) -> bool:
    """The order of two items whose keys begin with the same number."""
    a = i * stride
    b = j * stride
    x = getf(keys, a + K_BASE)
    y = getf(keys, b + K_BASE)
    if x != y:
        return x < y
    x = getf(keys, a + K_TICKS)
    y = getf(keys, b + K_TICKS)
    if x != y:
        return x < y
    return i < j


@inlined
def before(keys: int, stride: int, x: float, i: int, y: float, j: int) -> bool:
    return x < y if x != y else tie_before(keys, stride, i, j)


@helper
def same(keys: int, stride: int, i: int, j: int) -> bool:
    a = i * stride
    b = j * stride
    return (
        getf(keys, a) == getf(keys, b)
        and getf(keys, a + K_BASE) == getf(keys, b + K_BASE)
        and getf(keys, a + K_TICKS) == getf(keys, b + K_TICKS)
    )


@inlined
def place_item(keys: int, stride: int, heap: int, place: int, value: float, item: int) -> None:
    setf(heap, 1 + 2 * place, value)
    seti(heap, 2 + 2 * place, item)
    seti(keys, item * stride + K_AT, place)


@inlined
def settle_item(keys: int, stride: int, heap: int, place: int, item: int) -> None:
    """Put an item, whose place is free for it, where its key belongs: up or down from there."""
    value = getf(keys, item * stride + K_VALUE)
    begin = place
    while place > 0:
        parent = (place - 1) >> 1
        x = getf(heap, 1 + 2 * parent)
        other = geti(heap, 2 + 2 * parent)
        if not before(keys, stride, value, item, x, other):
            break
        place_item(keys, stride, heap, place, x, other)
        place = parent
    if place == begin:
        count = geti(heap, 0)
        while True:
            child = 2 * place + 1
            if child >= count:
                break
            x = getf(heap, 1 + 2 * child)
            other = geti(heap, 2 + 2 * child)
            if child + 1 < count:
                y = getf(heap, 3 + 2 * child)
                right = geti(heap, 4 + 2 * child)
                if before(keys, stride, y, right, x, other):
                    child += 1
                    x = y
                    other = right
            if not before(keys, stride, x, other, value, item):
                break
            place_item(keys, stride, heap, place, x, other)
            place = child
    place_item(keys, stride, heap, place, value, item)


@inlined
def put_inline(keys: int, stride: int, heap: int, item: int) -> None:
    place = geti(keys, item * stride + K_AT)
    if place < 0:
        place = geti(heap, 0)
        seti(heap, 0, place + 1)
    settle_item(keys, stride, heap, place, item)


@inlined
def remove_inline(keys: int, stride: int, heap: int, item: int) -> None:
    place = geti(keys, item * stride + K_AT)
    if place < 0:
        return
    seti(keys, item * stride + K_AT, -1)
    last = geti(heap, 0) - 1
    seti(heap, 0, last)
    if place < last:
        settle_item(keys, stride, heap, place, geti(heap, 2 + 2 * last))


@helper
def heap_put(keys: int, stride: int, heap: int, item: int) -> None:
    """Insert an item, or move one whose key has changed."""
    put_inline(keys, stride, heap, item)


@helper
def heap_remove(keys: int, stride: int, heap: int, item: int) -> None:
    remove_inline(keys, stride, heap, item)


@helper
def revalue(keys: int, stride: int, heap: int) -> None:
    """After all keys were moved by the same amount: the numbers that the heap keeps of them."""
    for i in range(geti(heap, 0)):
        setf(heap, 1 + 2 * i, getf(keys, geti(heap, 2 + 2 * i) * stride + K_VALUE))


@inlined
def is_alone(heap: int) -> bool:
    """Whether the first item certainly ties with no other."""
    count = geti(heap, 0)
    x = getf(heap, 1)
    return (count < 2 or getf(heap, 3) != x) and (count < 3 or getf(heap, 5) != x)


@helper
def heap_ties(keys: int, stride: int, heap: int, out: int) -> int:
    """Write the ids whose key equals the least one; their number."""
    count = geti(heap, 0)
    if count == 0:
        return 0
    root = geti(heap, 2)
    seti(out, 0, 0)
    found = 1
    i = 0
    while i < found:
        place = geti(out, i)
        for child in range(2 * place + 1, min(2 * place + 3, count)):
            if same(keys, stride, geti(heap, 2 + 2 * child), root):
                seti(out, found, child)
                found += 1
        i += 1
    for i in range(found):
        seti(out, i, geti(heap, 2 + 2 * geti(out, i)))
    return found


# --- draws ----------------------------------------------------------------------------------------------------------------


@inlined
def stream(z: int, t: int) -> int:
    """The stream of a transition's works."""
    return z + 8 * geti(station(z, t), S_STREAM)


@helper
def pick(z: int, n: int) -> int:
    """One of n, by one uniform draw where n > 1."""
    return int(uniform(address(z, Z_STREAM)) * n) if n > 1 else 0


# --- addresses ------------------------------------------------------------------------------------------------------------


@inlined
def pace(z: int, g: int) -> int:
    return z + 8 * (geti(z, Z_PACES) + g * P_SIZE)


@inlined
def group_record(net: int, g: int) -> int:
    return geti(net, H_GROUP) + g * G_SIZE


@inlined
def seconds(net: int, base: float, ticks: float) -> float:
    return base + ticks / getf(net, H_TICKS) if ticks != 0.0 else base


@inlined
def set_key(net: int, keys: int, stride: int, item: int, base: float, ticks: float) -> None:
    k = item * stride
    setf(keys, k + K_VALUE, seconds(net, base, ticks))
    setf(keys, k + K_BASE, base)
    setf(keys, k + K_TICKS, ticks)


@inlined
def copy_key(keys: int, to: int, source: int) -> None:
    setf(keys, to, getf(source, K_VALUE))
    setf(keys, to + K_BASE, getf(source, K_BASE))
    setf(keys, to + K_TICKS, getf(source, K_TICKS))


# --- groups ---------------------------------------------------------------------------------------------------------------


@inlined
def mark_pace(z: int, g: int) -> None:
    p = pace(z, g)
    if geti(p, P_DIRTY) == 0:
        seti(p, P_DIRTY, 1)
        waiting = address(z, Z_DIRTY_PACES)
        count = geti(waiting, 0)
        seti(waiting, 1 + count, g)
        seti(waiting, 0, count + 1)


@helper
def touch(net: int, z: int, g: int) -> None:
    """Bring the attained work of a group up to now."""
    p = pace(z, g)
    base = getf(z, Z_BASE) - getf(p, P_SINCE)
    ticks = getf(z, Z_TICKS) - getf(p, P_SINCE + 1)
    rate = getf(p, P_RATE)
    if base != 0.0 or ticks != 0.0:
        done = rate * ticks
        if done == math.floor(done):
            setf(p, P_ATTAINED, getf(p, P_ATTAINED) + rate * base)
            setf(p, P_ATTAINED + 1, getf(p, P_ATTAINED + 1) + done)
        else:
            setf(p, P_ATTAINED, getf(p, P_ATTAINED) + (rate * base + done / getf(net, H_TICKS)))
    setf(p, P_SINCE, getf(z, Z_BASE))
    setf(p, P_SINCE + 1, getf(z, Z_TICKS))
    seti(p, P_TOUCHED, 1)
    mark_pace(z, g)


@helper
def begin_work(net: int, z: int, g: int) -> None:
    p = pace(z, g)
    if geti(p, P_WORKING) == 0:
        setf(p, P_ATTAINED, 0.0)
        setf(p, P_ATTAINED + 1, 0.0)
        seti(p, P_FINISHES, 0)
        setf(p, P_SINCE, getf(z, Z_BASE))
        setf(p, P_SINCE + 1, getf(z, Z_TICKS))
    touch(net, z, g)
    seti(p, P_WORKING, geti(p, P_WORKING) + 1)


@helper
def end_work(net: int, z: int, g: int) -> None:
    touch(net, z, g)
    p = pace(z, g)
    seti(p, P_WORKING, geti(p, P_WORKING) - 1)


@helper
def read_group(net: int, z: int, g: int) -> int:
    """Read speed and share of a group; 1 where it takes part in sharing links, 0 where not, or WRONG."""
    p = pace(z, g)
    r = group_record(net, g)
    setf(p, P_SHARE, 0.0)
    seti(p, P_RISING, 0)
    if geti(p, P_WORKING) == 0:
        setf(p, P_SPEED, 0.0)
        return 0
    m = address(z, Z_MARKING)
    stack = address(z, Z_STACK)
    speed = quantity(net, r + G_SPEED, m, stack)
    if math.isnan(speed):
        seti(z, Z_PROBLEM, geti(net, geti(net, r + G_MEMBERS) + 1))
        return WRONG
    setf(p, P_SPEED, speed)
    if geti(net, geti(net, r + G_LINKS)) == 0:
        setf(p, P_SHARE, 1.0)
        return 0
    if speed == 0.0:
        return 0
    weight = quantity(net, r + G_SHARE, m, stack)
    if math.isnan(weight):
        seti(z, Z_PROBLEM, geti(net, geti(net, r + G_MEMBERS) + 1))
        return WRONG
    setf(p, P_WEIGHT, weight)
    if weight > 0.0:
        seti(p, P_RISING, 1)
        return 1
    return 0


@helper
def clear_links(net: int, z: int, component: int) -> None:
    work = address(z, Z_LINK_WORK)
    for i in range(component + 1, component + 1 + geti(net, component)):
        links = geti(net, group_record(net, geti(net, i)) + G_LINKS)
        for k in range(links + 1, links + 1 + geti(net, links)):
            setf(work, 2 * geti(net, k), 0.0)
            setf(work, 2 * geti(net, k) + 1, 0.0)


@helper
def load_links(net: int, z: int, component: int) -> None:
    """Rate used and shares still rising, per link."""
    clear_links(net, z, component)
    work = address(z, Z_LINK_WORK)
    for i in range(component + 1, component + 1 + geti(net, component)):
        g = geti(net, i)
        p = pace(z, g)
        n = geti(p, P_WORKING)
        if n == 0:
            continue
        links = geti(net, group_record(net, g) + G_LINKS)
        for k in range(links + 1, links + 1 + geti(net, links)):
            at = 2 * geti(net, k)
            if geti(p, P_RISING) != 0:
                setf(work, at + 1, getf(work, at + 1) + n * getf(p, P_WEIGHT))
            else:
                setf(work, at, getf(work, at) + n * getf(p, P_SHARE))


@helper
def group_limit(net: int, z: int, g: int) -> float:
    """The level at which a rising group has to stop."""
    r = group_record(net, g)
    limit = getf(net, r + G_CAP) / getf(pace(z, g), P_WEIGHT)
    work = address(z, Z_LINK_WORK)
    links = geti(net, r + G_LINKS)
    for k in range(links + 1, links + 1 + geti(net, links)):
        link = geti(net, k)
        left = getf(net, geti(net, H_LINK) + link) - getf(work, 2 * link)
        limit = min(limit, max(0.0, left) / getf(work, 2 * link + 1))
    return limit


@helper
def share_links(net: int, z: int, component: int, rising: int) -> None:
    """Weighted max-min fair rates by progressive filling."""
    while rising > 0:
        load_links(net, z, component)
        level = math.inf
        for i in range(component + 1, component + 1 + geti(net, component)):
            g = geti(net, i)
            p = pace(z, g)
            if geti(p, P_RISING) != 0:
                setf(p, P_LIMIT, group_limit(net, z, g))
                level = min(level, getf(p, P_LIMIT))
        for i in range(component + 1, component + 1 + geti(net, component)):
            g = geti(net, i)
            p = pace(z, g)
            if geti(p, P_RISING) != 0 and getf(p, P_LIMIT) <= level * (1 + NEARLY_FULL):
                setf(p, P_SHARE, min(level * getf(p, P_WEIGHT), getf(net, group_record(net, g) + G_CAP)))
                seti(p, P_RISING, 0)
                rising -= 1


@helper
def next_finish(net: int, z: int, g: int) -> None:
    """Put the next finish of a group among what may happen next."""
    p = pace(z, g)
    keys = address(z, Z_KEYS)
    entity = geti(net, H_TRANSITIONS) + g
    rate = getf(p, P_RATE)
    if geti(p, P_WORKING) == 0 or rate == 0.0:
        heap_remove(keys, K_SIZE, address(z, Z_HEAP), entity)
        return
    first = z + 8 * (geti(p, P_KEYS) + K_SIZE * geti(z + 8 * geti(p, P_HEAP), 2))
    base = getf(first, K_BASE) - getf(p, P_ATTAINED)
    ticks = getf(first, K_TICKS) - getf(p, P_ATTAINED + 1)
    after = ticks / rate
    if after == math.floor(after):
        set_key(net, keys, K_SIZE, entity, getf(z, Z_BASE) + base / rate, getf(z, Z_TICKS) + after)
    else:
        set_key(net, keys, K_SIZE, entity, getf(z, Z_BASE) + (base + ticks / getf(net, H_TICKS)) / rate, getf(z, Z_TICKS))
    heap_put(keys, K_SIZE, address(z, Z_HEAP), entity)


@inlined
def pace_alone(net: int, z: int, g: int) -> int:
    """The rate of a group that shares its links with no other: the very sums of the general case, without its loops."""
    p = pace(z, g)
    r = group_record(net, g)
    takes_part = read_group(net, z, g)
    if takes_part < 0:
        return WRONG
    n = geti(p, P_WORKING)
    links = geti(net, r + G_LINKS)
    count = geti(net, links)
    if takes_part > 0:
        weight = getf(p, P_WEIGHT)
        cap = getf(net, r + G_CAP)
        level = cap / weight
        for k in range(links + 1, links + 1 + count):
            level = min(level, getf(net, geti(net, H_LINK) + geti(net, k)) / (n * weight))
        setf(p, P_SHARE, min(level * weight, cap))
        seti(p, P_RISING, 0)
    rate = getf(p, P_SPEED) * getf(p, P_SHARE)
    if n > 0 and rate != getf(p, P_RATE):
        touch(net, z, g)
        setf(p, P_RATE, rate)
    if geti(p, P_TOUCHED) != 0:
        next_finish(net, z, g)
        seti(p, P_TOUCHED, 0)
    for k in range(links + 1, links + 1 + count):
        track(address(z, Z_LINK_TRACKS) + 8 * X_SIZE * geti(net, k), n * getf(p, P_SHARE), getf(z, Z_TIME))
    return 0


@helper
def pace_component(net: int, z: int, component: int) -> int:
    rising = 0
    for i in range(component + 1, component + 1 + geti(net, component)):
        takes_part = read_group(net, z, geti(net, i))
        if takes_part < 0:
            return WRONG
        rising += takes_part
    share_links(net, z, component, rising)
    for i in range(component + 1, component + 1 + geti(net, component)):
        g = geti(net, i)
        p = pace(z, g)
        mark_pace(z, g)
        seti(p, P_DONE, 1)
        rate = getf(p, P_SPEED) * getf(p, P_SHARE)
        if geti(p, P_WORKING) > 0 and rate != getf(p, P_RATE):
            touch(net, z, g)
            setf(p, P_RATE, rate)
        if geti(p, P_TOUCHED) != 0:
            next_finish(net, z, g)
            seti(p, P_TOUCHED, 0)
    load_links(net, z, component)
    for i in range(component + 1, component + 1 + geti(net, component)):
        links = geti(net, group_record(net, geti(net, i)) + G_LINKS)
        for k in range(links + 1, links + 1 + geti(net, links)):
            used = getf(address(z, Z_LINK_WORK), 2 * geti(net, k))
            track(address(z, Z_LINK_TRACKS) + 8 * X_SIZE * geti(net, k), used, getf(z, Z_TIME))
    return 0


@helper
def pace_all(net: int, z: int) -> int:
    """New rates for the groups that are dirty and those that share links with them."""
    waiting = address(z, Z_DIRTY_PACES)
    i = 0
    while i < geti(waiting, 0):
        g = geti(waiting, 1 + i)
        component = geti(net, group_record(net, g) + G_COMPONENT)
        if geti(net, component) == 1:
            if pace_alone(net, z, g) < 0:
                return WRONG
        elif geti(pace(z, g), P_DONE) == 0 and pace_component(net, z, component) < 0:
            return WRONG
        i += 1
    for i in range(geti(waiting, 0)):
        p = pace(z, geti(waiting, 1 + i))
        seti(p, P_DIRTY, 0)
        seti(p, P_DONE, 0)
    seti(waiting, 0, 0)
    return 0


# --- clocks ---------------------------------------------------------------------------------------------------------------


@helper
def add_clock(net: int, z: int, s: int, base: float, ticks: float, total: float, total_ticks: float, entering: int) -> None:
    slot = geti(s, S_RUNNING)
    all_clocks = z + 8 * geti(s, S_CLOCKS)
    clock = all_clocks + 8 * C_SIZE * slot
    set_key(net, all_clocks, C_SIZE, slot, base, ticks)
    setf(clock, C_TOTAL, total)
    setf(clock, C_TOTAL + 1, total_ticks)
    seti(clock, C_ENTERING, entering)
    seti(clock, K_AT, -1)
    heap_put(all_clocks, C_SIZE, z + 8 * geti(s, S_ENTERING if entering else S_WORKING), slot)
    count_running(z, s, slot + 1)


@helper
def clock_heap(z: int, s: int, slot: int) -> int:
    clock = z + 8 * (geti(s, S_CLOCKS) + C_SIZE * slot)
    return z + 8 * geti(s, S_ENTERING if geti(clock, C_ENTERING) else S_WORKING)


@helper
def remove_clock(z: int, s: int, slot: int) -> None:
    """Remove a clock, the last one taking its slot."""
    all_clocks = z + 8 * geti(s, S_CLOCKS)
    heap_remove(all_clocks, C_SIZE, clock_heap(z, s, slot), slot)
    last = geti(s, S_RUNNING) - 1
    if slot != last:
        for w in range(C_SIZE):
            seti(all_clocks, slot * C_SIZE + w, geti(all_clocks, last * C_SIZE + w))
        heap = clock_heap(z, s, slot)
        settle_item(all_clocks, C_SIZE, heap, geti(all_clocks, slot * C_SIZE + K_AT), slot)
    count_running(z, s, last)


@inlined
def draw_work(net: int, z: int, t: int) -> tuple[float, float, int]:
    """The work of a new clock: (seconds, ticks, status)."""
    r = record(net, t)
    d = stream(z, t)
    leaf = geti(net, r + F_LAW)
    if getf(net, leaf + L_UPTO) != ALONE:
        u = uniform(d)
        while u >= getf(net, leaf + L_UPTO):
            leaf += L_SIZE
    x = draw(geti(net, leaf + L_KIND), net + 8 * geti(net, leaf + L_OFFSET), geti(net, leaf + L_COUNT), d)
    x *= getf(net, r + F_FACTOR)
    scale = quantity(net, r + F_SCALE, address(z, Z_MARKING), address(z, Z_STACK))
    if math.isnan(scale):
        seti(z, Z_PROBLEM, t)
        return 0.0, 0.0, WRONG
    if geti(net, leaf + L_DISCRETE) == 0:
        return x * scale, 0.0, 0
    ticks = np.rint(x * getf(net, H_TICKS)) * scale
    if ticks == math.floor(ticks):
        return 0.0, ticks, 0
    return ticks / getf(net, H_TICKS), 0.0, 0


@helper
def start_work(net: int, z: int, t: int, work: float, ticks: float) -> None:
    """Start a clock with all its work (and latency) before it."""
    r = record(net, t)
    s = station(z, t)
    g = geti(net, r + F_GROUP)
    late = getf(net, r + F_LATENCY)
    late_ticks = getf(net, r + F_LATENCY + 1)
    if late != 0.0 or late_ticks != 0.0:
        add_clock(net, z, s, getf(z, Z_BASE) + late, getf(z, Z_TICKS) + late_ticks, work, ticks, 1)
    elif g >= 0:
        begin_work(net, z, g)
        p = pace(z, g)
        add_clock(net, z, s, getf(p, P_ATTAINED) + work, getf(p, P_ATTAINED + 1) + ticks, work, ticks, 0)
    elif ticks != 0.0:
        add_clock(net, z, s, getf(z, Z_BASE) + work, getf(z, Z_TICKS) + ticks, work, ticks, 0)
    else:
        add_clock(net, z, s, getf(z, Z_TIME) + work, 0.0, work, 0.0, 0)


@helper
def start_one(net: int, z: int, t: int) -> int:
    s = station(z, t)
    r = record(net, t)
    parked = geti(s, S_PARKED)
    if parked == 0:
        work, ticks, status = draw_work(net, z, t)
        if status < 0:
            return WRONG
        start_work(net, z, t, work, ticks)
        return 0
    which = pick(z, parked)
    park = z + 8 * geti(s, S_PARK)
    q = park + 8 * Q_SIZE * which
    left, left_ticks = getf(q, Q_LEFT), getf(q, Q_LEFT + 1)
    total, total_ticks = getf(q, Q_TOTAL), getf(q, Q_TOTAL + 1)
    entering = geti(q, Q_ENTERING)
    for w in range(Q_SIZE):
        seti(q, w, geti(park, (parked - 1) * Q_SIZE + w))
    seti(s, S_PARKED, parked - 1)
    g = geti(net, r + F_GROUP)
    if geti(net, r + F_MEMORY) == REPEAT:
        start_work(net, z, t, total, total_ticks)
    elif entering != 0 or g < 0:
        add_clock(net, z, s, getf(z, Z_BASE) + left, getf(z, Z_TICKS) + left_ticks, total, total_ticks, entering)
    else:
        begin_work(net, z, g)
        p = pace(z, g)
        add_clock(net, z, s, getf(p, P_ATTAINED) + left, getf(p, P_ATTAINED + 1) + left_ticks, total, total_ticks, 0)
    return 0


@helper
def stop_one(net: int, z: int, t: int, keep: int) -> None:
    """Stop one clock, chosen at random; where all have to stop no choice is drawn."""
    s = station(z, t)
    r = record(net, t)
    n = geti(s, S_RUNNING)
    which = n - 1
    if keep > 0:
        which = pick(z, n)
    clock = z + 8 * (geti(s, S_CLOCKS) + C_SIZE * which)
    g = geti(net, r + F_GROUP)
    entering = geti(clock, C_ENTERING)
    base, ticks = getf(z, Z_BASE), getf(z, Z_TICKS)
    if g >= 0 and entering == 0:
        end_work(net, z, g)
        p = pace(z, g)
        base, ticks = getf(p, P_ATTAINED), getf(p, P_ATTAINED + 1)
    memory = geti(net, r + F_MEMORY)
    if memory in (RESUME, REPEAT):
        parked = geti(s, S_PARKED)
        q = z + 8 * (geti(s, S_PARK) + Q_SIZE * parked)
        setf(q, Q_LEFT, getf(clock, K_BASE) - base)
        setf(q, Q_LEFT + 1, getf(clock, K_TICKS) - ticks)
        setf(q, Q_TOTAL, getf(clock, C_TOTAL))
        setf(q, Q_TOTAL + 1, getf(clock, C_TOTAL + 1))
        seti(q, Q_ENTERING, entering)
        seti(s, S_PARKED, parked + 1)
    remove_clock(z, s, which)


@helper
def forget(net: int, z: int, t: int) -> None:
    """End all clocks of a transition, running and parked."""
    s = station(z, t)
    g = geti(net, record(net, t) + F_GROUP)
    while geti(s, S_RUNNING) > 0:
        last = geti(s, S_RUNNING) - 1
        clock = z + 8 * (geti(s, S_CLOCKS) + C_SIZE * last)
        if g >= 0 and geti(clock, C_ENTERING) == 0:
            end_work(net, z, g)
        remove_clock(z, s, last)
    seti(s, S_PARKED, 0)
    seti(s, S_RESET, 0)


@helper
def post(z: int, entity: int, all_clocks: int, heap: int) -> None:
    """Put the first of a heap of clocks among what may happen next."""
    keys = address(z, Z_KEYS)
    if geti(heap, 0) == 0:
        heap_remove(keys, K_SIZE, address(z, Z_HEAP), entity)
    else:
        copy_key(keys, entity * K_SIZE, all_clocks + 8 * C_SIZE * geti(heap, 2))
        heap_put(keys, K_SIZE, address(z, Z_HEAP), entity)


@helper
def post_station(net: int, z: int, t: int) -> None:
    """After its clocks changed: the next expiry of a transition (in its group, if it has one)."""
    s = station(z, t)
    seti(s, S_CHANGED, 0)
    g = geti(net, record(net, t) + F_GROUP)
    all_clocks = z + 8 * geti(s, S_CLOCKS)
    working = z + 8 * geti(s, S_WORKING)
    if g < 0:
        post(z, t, all_clocks, working)
        return
    p = pace(z, g)
    keys, heap, member = z + 8 * geti(p, P_KEYS), z + 8 * geti(p, P_HEAP), geti(s, S_MEMBER)
    if geti(working, 0) == 0:
        heap_remove(keys, K_SIZE, heap, member)
    else:
        copy_key(keys, member * K_SIZE, all_clocks + 8 * C_SIZE * geti(working, 2))
        heap_put(keys, K_SIZE, heap, member)
    entity = geti(net, H_TRANSITIONS) + geti(net, H_GROUPS) + t
    post(z, entity, all_clocks, z + 8 * geti(s, S_ENTERING))


@inlined
def ask_ahead(net: int, z: int, t: int) -> None:
    """Ask the caches for what is looked at when the clock that ``t`` has started expires."""
    listed = geti(net, record(net, t) + F_TIMED)
    for i in range(listed + 1, listed + 1 + min(geti(net, listed), MOST_ASKED)):
        k = geti(net, i)
        if k != t:
            r = net + 8 * record(net, k)
            for line in range(4):
                prefetch(r + 64 * line)
            prefetch(station(z, k))
            prefetch(address(z, Z_KEYS) + 8 * K_SIZE * k)


@inlined
def align_plain(net: int, z: int, t: int, n: int) -> int:
    """The same for a transition whose one clock is its key among what may happen next."""
    s = station(z, t)
    if geti(s, S_RESET) != 0:
        seti(s, S_RESET, 0)
        count_clocks(z, s, 0)
    keys = address(z, Z_KEYS)
    if n == 0:
        if geti(s, S_RUNNING) != 0:
            count_clocks(z, s, 0)
        remove_inline(keys, K_SIZE, address(z, Z_HEAP), t)
    elif geti(s, S_RUNNING) == 0:
        work, ticks, status = draw_work(net, z, t)
        if status < 0:
            return WRONG
        if ticks != 0.0:
            set_key(net, keys, K_SIZE, t, getf(z, Z_BASE) + work, getf(z, Z_TICKS) + ticks)
        else:
            set_key(net, keys, K_SIZE, t, getf(z, Z_TIME) + work, 0.0)
        put_inline(keys, K_SIZE, address(z, Z_HEAP), t)
        count_clocks(z, s, 1)
        if geti(net, H_LARGE) != 0:
            ask_ahead(net, z, t)
    return 0


@helper
def align_clocks(net: int, z: int, t: int, n: int) -> int:
    """Bring the clocks of a transition to ``n``; GROW where there is no room for them."""
    s = station(z, t)
    if n > geti(s, S_ROOM):
        seti(z, Z_TARGET, n)
        seti(z, Z_PROBLEM, t)
        return GROW
    if geti(s, S_RESET) != 0:
        forget(net, z, t)
    while geti(s, S_RUNNING) > n:
        stop_one(net, z, t, n)
    while geti(s, S_RUNNING) < n:
        if start_one(net, z, t) < 0:
            return WRONG
    if geti(s, S_CHANGED) != 0:
        post_station(net, z, t)
    return 0


@inlined
def wanted_clocks(net: int, z: int, t: int) -> int:
    """How many clocks have to run."""
    d = look(net, z, t)
    servers = geti(net, record(net, t) + F_SERVERS)
    return d if servers < 0 else min(d, servers)


@inlined
def list_dirty(z: int) -> int:
    """List the dirty transitions, ascending; their number. They stay dirty."""
    dirty = address(z, Z_DIRTY)
    found = address(z, Z_LOOK)
    summaries = geti(z, Z_DIRTY_WORDS)
    count = 0
    for i in range(summaries):
        summary = geti(dirty, i)
        while summary != 0:
            w = i * BITS + trailing_zeros(summary)
            summary &= summary - 1
            bits = geti(dirty, summaries + w)
            while bits != 0:
                seti(found, count, w * BITS + trailing_zeros(bits))
                bits &= bits - 1
                count += 1
    return count


@inlined
def clear_dirty(z: int) -> None:
    dirty = address(z, Z_DIRTY)
    summaries = geti(z, Z_DIRTY_WORDS)
    for i in range(summaries):
        summary = geti(dirty, i)
        while summary != 0:
            seti(dirty, summaries + i * BITS + trailing_zeros(summary), 0)
            summary &= summary - 1
        seti(dirty, i, 0)


@helper
def read_expressions(net: int, z: int) -> int:
    """Measured expressions whose places have changed."""
    dirty = address(z, Z_DIRTY_EXPRESSIONS)
    count = geti(net, geti(net, H_EXPRESSIONS))
    for i in range(1, geti(dirty, 0) + 1):
        e = geti(dirty, i)
        if read_expression(net, z, address(z, Z_MARKING), e) != 0:
            return WRONG
        seti(dirty, 1 + count + e, 0)
    seti(dirty, 0, 0)
    return 0


@inlined
def read_affected(net: int, z: int, t: int) -> int:
    """Measured expressions after a single firing."""
    listed = geti(net, record(net, t) + F_AFFECTED_EXPRESSIONS)
    for i in range(listed + 1, listed + 1 + geti(net, listed)):
        if read_expression(net, z, address(z, Z_MARKING), geti(net, i)) != 0:
            return WRONG
    return 0


@helper
def find_wrong(net: int, z: int, listed: int, count: int) -> int:
    """WRONG where the enabling of a transition in a list is undefined: to be known before anything is drawn."""
    for i in range(count):
        t = geti(listed, i)
        if look(net, z, t) < 0:
            seti(z, Z_PROBLEM, t)
            return WRONG
    return 0


@inlined
def settle(net: int, z: int) -> int:
    """In a tangible marking: clocks, rates, measured expressions."""
    fired = geti(z, Z_FIRED)
    certain = geti(net, H_CERTAIN) != 0
    if fired >= 0:
        near = geti(net, record(net, fired) + F_TIMED)
        count = geti(net, near)
        listed = net + 8 * (near + 1)
        certain = certain or geti(net, record(net, fired) + F_CERTAIN) != 0
    else:
        count = list_dirty(z)
        listed = address(z, Z_LOOK)
    if not certain and find_wrong(net, z, listed, count) < 0:
        return WRONG
    for i in range(count):
        t = geti(listed, i)
        n = wanted_clocks(net, z, t)
        if geti(net, record(net, t) + F_PLAIN) != 0:
            if align_plain(net, z, t, n) < 0:
                return WRONG
        else:
            status = align_clocks(net, z, t, n)
            if status != 0:
                return status
    if geti(address(z, Z_DIRTY_PACES), 0) > 0 and pace_all(net, z) < 0:
        return WRONG
    if fired >= 0:
        if read_affected(net, z, fired) < 0:
            return WRONG
    else:
        clear_dirty(z)
        if read_expressions(net, z) < 0:
            return WRONG
    return 0


# --- firing ---------------------------------------------------------------------------------------------------------------


@inlined
def mark(z: int, t: int) -> None:
    """Note that a timed transition has to be looked at."""
    dirty = address(z, Z_DIRTY)
    summaries = geti(z, Z_DIRTY_WORDS)
    word = t // BITS
    seti(dirty, summaries + word, geti(dirty, summaries + word) | (1 << (t - word * BITS)))
    i = word // BITS
    seti(dirty, i, geti(dirty, i) | (1 << (word - i * BITS)))


@inlined
def mark_dirty(net: int, z: int, t: int) -> None:
    """Note all that the firing of ``t`` concerns, besides what :func:`note_effects` does."""
    r = record(net, t)
    listed = geti(net, r + F_TIMED)
    for i in range(listed + 1, listed + 1 + geti(net, listed)):
        mark(z, geti(net, i))
    listed = geti(net, r + F_CROWDS_TIMED)
    for i in range(listed + 1, listed + 1 + geti(net, listed)):
        members = crowd_list(z, geti(net, i))
        for k in range(1, 1 + geti(members, 0)):
            mark(z, geti(net, geti(net, H_MEMBERSHIPS) + 2 * geti(members, k)))
    note_expressions(net, z, t)


@inlined
def fire_one(net: int, z: int, t: int, counted: bool) -> int:
    """Fire a transition and note what that may change of resets, speeds and immediates."""
    if counted:
        if collect_rewards(net, z, t) < 0:
            seti(z, Z_PROBLEM, t)
            return WRONG
        seti(z, Z_FIRINGS, geti(z, Z_FIRINGS) + 1)
    if fire(net, t, address(z, Z_MARKING), address(z, Z_STACK)) < 0:
        seti(z, Z_PROBLEM, t)
        return WRONG
    seti(z, Z_INSTANT, geti(z, Z_INSTANT) + 1)
    counts = address(z, Z_COUNTS)
    seti(counts, t, geti(counts, t) + 1)
    if geti(net, record(net, t) + F_QUIET) == 0:
        note_effects(net, z, t)
    return 0


@helper
def note_effects(net: int, z: int, t: int) -> None:
    """Resets, speeds and immediates that a firing concerns."""
    r = record(net, t)
    listed = geti(net, r + F_RESETS)
    for i in range(listed + 1, listed + 1 + geti(net, listed)):
        seti(station(z, geti(net, i)), S_RESET, 1)
    listed = geti(net, r + F_AFFECTED_GROUPS)
    for i in range(listed + 1, listed + 1 + geti(net, listed)):
        mark_pace(z, geti(net, i))
    look_at_immediates(net, z, t)


@inlined
def note_expressions(net: int, z: int, t: int) -> None:
    """Measured expressions to be read again."""
    listed = geti(net, record(net, t) + F_AFFECTED_EXPRESSIONS)
    dirty = address(z, Z_DIRTY_EXPRESSIONS)
    flags = dirty + 8 * (1 + geti(net, geti(net, H_EXPRESSIONS)))
    for i in range(listed + 1, listed + 1 + geti(net, listed)):
        e = geti(net, i)
        if geti(flags, e) == 0:
            seti(flags, e, 1)
            count = geti(dirty, 0) + 1
            seti(dirty, 0, count)
            seti(dirty, count, e)


@inlined
def fire_immediates(net: int, z: int, counted: bool) -> int:
    """Fire immediates until the marking is tangible."""
    enabled = address(z, Z_ENABLED)
    while geti(enabled, 0) > 0:
        if geti(z, Z_INSTANT) > geti(z, Z_LIMIT):
            return LOOP
        t = choose_immediate(net, z)
        if t < 0:
            seti(z, Z_PROBLEM, -1)
            return WRONG
        if geti(z, Z_FIRED) >= 0:
            mark_dirty(net, z, geti(z, Z_FIRED))
            seti(z, Z_FIRED, -1)
        if fire_one(net, z, t, counted) < 0:
            return WRONG
        mark_dirty(net, z, t)
    return 0


# --- the course of events -------------------------------------------------------------------------------------------------


@helper
def begin(net: int, z: int) -> int:
    """From the initial marking: immediates first, then every timed transition is looked at."""
    order = geti(net, H_IMMEDIATES)
    for i in range(order + 1, order + 1 + geti(net, order)):
        list_enabled(net, z, geti(net, i))
    seti(z, Z_FIRED, -1)
    status = fire_immediates(net, z, False)
    if status != 0:
        return status
    for t in range(geti(net, H_TRANSITIONS)):
        seti(address(z, Z_COUNTS), t, 0)
    order = geti(net, H_TIMED)
    for i in range(order + 1, order + 1 + geti(net, order)):
        mark(z, geti(net, i))
    dirty = address(z, Z_DIRTY_EXPRESSIONS)
    count = geti(net, geti(net, H_EXPRESSIONS))
    for e in range(count):
        seti(dirty, 1 + e, e)
    seti(dirty, 0, count)
    seti(z, Z_PHASE, CLOCKS)
    return 0


@inlined
def advance(net: int, z: int, key: int) -> None:
    """Time passes to the instant of a key."""
    time = getf(key, K_VALUE)
    if time > getf(z, Z_TIME):
        setf(z, Z_TIME, time)
        seti(z, Z_INSTANT, 0)
    setf(z, Z_BASE, getf(key, K_BASE))
    setf(z, Z_TICKS, getf(key, K_TICKS))


@helper
def settle_group(net: int, z: int, g: int) -> None:
    """A group whose next finish is now: its attained work is exactly that of the clock that finishes."""
    p = pace(z, g)
    first = z + 8 * (geti(p, P_KEYS) + K_SIZE * geti(z + 8 * geti(p, P_HEAP), 2))
    setf(p, P_ATTAINED, getf(first, K_BASE))
    setf(p, P_ATTAINED + 1, getf(first, K_TICKS))
    setf(p, P_SINCE, getf(z, Z_BASE))
    setf(p, P_SINCE + 1, getf(z, Z_TICKS))
    seti(p, P_FINISHES, geti(p, P_FINISHES) + 1)
    if geti(p, P_FINISHES) >= geti(z, Z_RESTART):
        restart_group(net, z, g)


@helper
def restart_group(net: int, z: int, g: int) -> None:
    """Let the attained work of a group begin anew at 0. The differences are exact, so that no order and no coincidence changes."""
    p = pace(z, g)
    base, ticks = getf(p, P_ATTAINED), getf(p, P_ATTAINED + 1)
    members = geti(net, group_record(net, g) + G_MEMBERS)
    keys = z + 8 * geti(p, P_KEYS)
    for i in range(geti(net, members)):
        s = station(z, geti(net, members + 1 + i))
        all_clocks = z + 8 * geti(s, S_CLOCKS)
        for slot in range(geti(s, S_RUNNING)):
            clock = all_clocks + 8 * C_SIZE * slot
            if geti(clock, C_ENTERING) == 0:
                set_key(net, clock, 0, 0, getf(clock, K_BASE) - base, getf(clock, K_TICKS) - ticks)
        working = z + 8 * geti(s, S_WORKING)
        revalue(all_clocks, C_SIZE, working)
        if geti(working, 0) > 0:
            copy_key(keys, i * K_SIZE, all_clocks + 8 * C_SIZE * geti(working, 2))
    revalue(keys, K_SIZE, z + 8 * geti(p, P_HEAP))
    setf(p, P_ATTAINED, 0.0)
    setf(p, P_ATTAINED + 1, 0.0)
    seti(p, P_FINISHES, 0)


@helper
def enter_links(net: int, z: int, ties: int, found: int) -> int:
    """Let the transfers whose latency ends now enter their links; their number."""
    transitions = geti(net, H_TRANSITIONS)
    latest = transitions + geti(net, H_GROUPS)
    entered = 0
    for i in range(found):
        t = geti(ties, i) - latest
        if t >= 0:
            enter_station(net, z, t)
            entered += 1
    return entered


@helper
def enter_station(net: int, z: int, t: int) -> None:
    s = station(z, t)
    g = geti(net, record(net, t) + F_GROUP)
    all_clocks = z + 8 * geti(s, S_CLOCKS)
    heap = z + 8 * geti(s, S_ENTERING)
    while geti(heap, 0) > 0:
        slot = geti(heap, 2)
        clock = all_clocks + 8 * C_SIZE * slot
        if getf(clock, K_BASE) != getf(z, Z_BASE) or getf(clock, K_TICKS) != getf(z, Z_TICKS):
            break
        heap_remove(all_clocks, C_SIZE, heap, slot)
        begin_work(net, z, g)
        p = pace(z, g)
        base, ticks = getf(p, P_ATTAINED) + getf(clock, C_TOTAL), getf(p, P_ATTAINED + 1) + getf(clock, C_TOTAL + 1)
        set_key(net, all_clocks, C_SIZE, slot, base, ticks)
        seti(clock, C_ENTERING, 0)
        heap_put(all_clocks, C_SIZE, z + 8 * geti(s, S_WORKING), slot)
    post_station(net, z, t)


@helper
def gather_expired(net: int, z: int, ties: int, found: int, out: int) -> int:
    """The transitions that expire now, those of the highest priority only, ascending, into ``out``."""
    transitions = geti(net, H_TRANSITIONS)
    members = ties + 8 * found
    kept = 0
    rank = 0
    for i in range(found):
        e = geti(ties, i)
        count = 1
        g = -1
        if e >= transitions:
            g = e - transitions
            p = pace(z, g)
            count = heap_ties(z + 8 * geti(p, P_KEYS), K_SIZE, z + 8 * geti(p, P_HEAP), members)
        for k in range(count):
            t = e if g < 0 else geti(net, geti(net, group_record(net, g) + G_MEMBERS) + 1 + geti(members, k))
            priority = geti(net, record(net, t) + F_PRIORITY)
            if priority > rank:
                rank = priority
                kept = 0
            if priority == rank:
                kept = insert_sorted(out, kept, t)
    return kept


@inlined
def expire(net: int, z: int, t: int) -> None:
    """Take away the clock of a transition that expires."""
    s = station(z, t)
    r = record(net, t)
    if geti(net, r + F_PLAIN) != 0:
        count_clocks(z, s, 0)
    else:
        expire_clock(net, z, s, geti(net, r + F_GROUP))


@helper
def expire_clock(net: int, z: int, s: int, g: int) -> None:
    if g >= 0:
        end_work(net, z, g)
    remove_clock(z, s, geti(z + 8 * geti(s, S_WORKING), 2))


@helper
def rebase(net: int, z: int) -> None:
    """Move all instants to a base at the present one: fewer ticks, the same coincidences."""
    ticks = getf(z, Z_TICKS)
    by = ticks / getf(net, H_TICKS)
    setf(z, Z_BASE, getf(z, Z_BASE) + by)
    setf(z, Z_TICKS, 0.0)
    for t in range(geti(net, H_TRANSITIONS)):
        s = station(z, t)
        fixed = geti(net, record(net, t) + F_GROUP) < 0
        plain = geti(net, record(net, t) + F_PLAIN) != 0  # its key is moved below
        for slot in range(0 if plain else geti(s, S_RUNNING)):
            clock = z + 8 * (geti(s, S_CLOCKS) + C_SIZE * slot)
            if fixed or geti(clock, C_ENTERING) != 0:
                set_key(net, clock, 0, 0, getf(clock, K_BASE) + by, getf(clock, K_TICKS) - ticks)
        if not plain and geti(s, S_RUNNING) > 0:
            all_clocks = z + 8 * geti(s, S_CLOCKS)
            revalue(all_clocks, C_SIZE, z + 8 * geti(s, S_WORKING))
            revalue(all_clocks, C_SIZE, z + 8 * geti(s, S_ENTERING))
    for g in range(geti(net, H_GROUPS)):
        p = pace(z, g)
        setf(p, P_SINCE, getf(p, P_SINCE) + by)
        setf(p, P_SINCE + 1, getf(p, P_SINCE + 1) - ticks)
    heap = address(z, Z_HEAP)
    for i in range(geti(heap, 0)):
        key = address(z, Z_KEYS) + 8 * K_SIZE * geti(heap, 2 + 2 * i)
        set_key(net, key, 0, 0, getf(key, K_BASE) + by, getf(key, K_TICKS) - ticks)
    revalue(address(z, Z_KEYS), K_SIZE, heap)


@helper
def hold(z: int, horizon: float) -> None:
    if horizon < math.inf and horizon > getf(z, Z_TIME):
        setf(z, Z_TIME, horizon)


@helper
def contend(net: int, z: int) -> int:
    """What happens at an instant at which a group or a latency ends, or several transitions expire: the transition that fires, LINKED
    where transfers enter their links instead, or WRONG."""
    ties = address(z, Z_TIES)
    found = heap_ties(address(z, Z_KEYS), K_SIZE, address(z, Z_HEAP), ties)
    transitions = geti(net, H_TRANSITIONS)
    groups = geti(net, H_GROUPS)
    for i in range(found):
        g = geti(ties, i) - transitions
        if 0 <= g < groups:
            settle_group(net, z, g)
    if getf(z, Z_TICKS) > MOST_TICKS:
        rebase(net, z)
    if enter_links(net, z, ties, found) > 0:
        return LINKED
    out = address(z, Z_OUT)
    kept = gather_expired(net, z, ties, found, out)
    t = geti(out, 0)
    if kept > 1:
        t = choose(net, z, out, kept)
        if t < 0:
            seti(z, Z_PROBLEM, -1)
    return t


@inlined
def finishes_alone(net: int, z: int, g: int) -> bool:
    """Whether the number is that of a group of whose transitions certainly one alone expires."""
    return g < geti(net, H_GROUPS) and is_alone(z + 8 * geti(pace(z, g), P_HEAP))


@inlined
def step(net: int, z: int) -> int:
    """The next event up to the marking after it: 0, LINKED where transfers entered their links, or why not."""
    heap = address(z, Z_HEAP)
    t = geti(heap, 2)
    advance(net, z, address(z, Z_KEYS) + 8 * K_SIZE * t)
    if is_alone(heap) and t < geti(net, H_TRANSITIONS):
        if getf(z, Z_TICKS) > MOST_TICKS:
            rebase(net, z)
    elif is_alone(heap) and finishes_alone(net, z, t - geti(net, H_TRANSITIONS)):
        g = t - geti(net, H_TRANSITIONS)
        settle_group(net, z, g)
        if getf(z, Z_TICKS) > MOST_TICKS:
            rebase(net, z)
        t = geti(net, geti(net, group_record(net, g) + G_MEMBERS) + 1 + geti(z + 8 * geti(pace(z, g), P_HEAP), 2))
    else:
        t = contend(net, z)
        if t == LINKED:
            return LINKED if pace_all(net, z) == 0 else WRONG
        if t < 0:
            return WRONG
    if geti(z, Z_INSTANT) > geti(z, Z_LIMIT):
        return LOOP
    expire(net, z, t)
    seti(z, Z_FIRED, t)
    if fire_one(net, z, t, True) < 0:
        return WRONG
    if geti(net, record(net, t) + F_CERTAIN) == 0 and geti(net, geti(net, record(net, t) + F_CROWDS_TIMED)) > 0:
        mark_dirty(net, z, t)
        seti(z, Z_FIRED, -1)
    seti(z, Z_PHASE, FIRING)
    return 0


@kernel
def run(image: Ints, state: Ints, firings: int, horizon: float) -> int:
    """Go on for at most so many firings in all, and not beyond the horizon; the status."""
    net = image.ctypes.data
    z = state.ctypes.data
    if geti(z, Z_PHASE) == START:
        status = begin(net, z)
        if status != 0:
            return status
    phase = geti(z, Z_PHASE)
    seti(z, Z_PHASE, READY)
    while True:
        if phase == FIRING:
            phase = CLOCKS
            if geti(address(z, Z_ENABLED), 0) > 0:
                status = fire_immediates(net, z, True)
                if status != 0:
                    seti(z, Z_PHASE, FIRING)
                    return status
        if phase == CLOCKS:
            status = settle(net, z)
            if status != 0:
                seti(z, Z_PHASE, CLOCKS)
                return status
        if geti(z, Z_FIRINGS) >= firings:
            return DONE
        heap = address(z, Z_HEAP)
        if geti(heap, 0) == 0:
            hold(z, horizon)
            return STILL
        if getf(heap, 1) > horizon:
            hold(z, horizon)
            return HORIZON
        status = step(net, z)
        if status in (WRONG, LOOP):
            return status
        phase = READY if status == LINKED else FIRING
