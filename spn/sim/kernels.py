"""The compiled trajectory. It does what :class:`spn.sim.reference.Trajectory` does, draw for draw.

``net`` is the address of a compiled net's image, ``z`` that of the state block (:mod:`spn.sim.layout`). What may happen next is kept in an
indexed binary heap over transitions of constant speed, speed groups, and transfers in their latency; each transition keeps a heap of its
clocks, each group one of its members. After a firing only what the dependency graph names is looked at.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from spn.compiled.kernels import by_weight, clocks, evaluate, fire, quantity, record, weigh
from spn.compiled.layout import (
    F_AFFECTED_EXPRESSIONS,
    F_AFFECTED_GROUPS,
    F_AFFECTED_IMMEDIATES,
    F_FACTOR,
    F_GROUP,
    F_LATENCY,
    F_LAW_BEGIN,
    F_LAW_END,
    F_MEMORY,
    F_PLAIN,
    F_PRIORITY,
    F_QUIET,
    F_RESETS,
    F_SCALE,
    F_TIMED,
    G_CAP,
    G_COMPONENT,
    G_LINKS,
    G_MEMBERS,
    G_SHARE,
    G_SIZE,
    G_SPEED,
    H_EXPRESSIONS,
    H_GROUP,
    H_GROUPS,
    H_IMMEDIATES,
    H_LINK,
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
from spn.dist.kernels import draw
from spn.dist.kinds import EXPONENTIAL
from spn.jit import EXP_ACCEPT, EXP_HEIGHTS, EXP_TAIL, EXP_WIDTHS, call_u64, getf, geti, helper, inlined, kernel, setf, seti
from spn.sim.common.kernels import (
    address,
    collect_rewards,
    count_running,
    gather_immediates,
    insert_sorted,
    list_enabled,
    station,
    track,
)
from spn.sim.layout import (
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
    S_TARGET,
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
    Z_GENERATOR,
    Z_HEAP,
    Z_INSTANT,
    Z_KEYS,
    Z_LIMIT,
    Z_LINK_TRACKS,
    Z_LINK_WORK,
    Z_MARKING,
    Z_NEXT,
    Z_OUT,
    Z_PACES,
    Z_PHASE,
    Z_PROBLEM,
    Z_STACK,
    Z_TICKS,
    Z_TIES,
    Z_TIME,
    Z_TRACKS,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
BITS = 62  # of a dirty word that are used
MOST_TICKS = 2.0**50
NEARLY_FULL = 1e-12  # as in spn.net.semantics
MANTISSA = 2**53 - 1
MASK = 2**61 - 1


# --- heaps of ids ordered by key, then id ---------------------------------------------------------------------------------


@helper
def less(keys: int, stride: int, i: int, j: int) -> bool:
    a = i * stride
    b = j * stride
    x = getf(keys, a)
    y = getf(keys, b)
    if x != y:
        return x < y
    x = getf(keys, a + K_BASE)
    y = getf(keys, b + K_BASE)
    if x != y:
        return x < y
    x = getf(keys, a + K_TICKS)
    y = getf(keys, b + K_TICKS)
    if x != y:
        return x < y
    return i < j


@helper
def same(keys: int, stride: int, i: int, j: int) -> bool:
    a = i * stride
    b = j * stride
    return (
        getf(keys, a) == getf(keys, b)
        and getf(keys, a + K_BASE) == getf(keys, b + K_BASE)
        and getf(keys, a + K_TICKS) == getf(keys, b + K_TICKS)
    )


@helper
def sift_up(keys: int, stride: int, heap: int, place: int) -> int:
    item = geti(heap, 1 + place)
    while place > 0:
        parent = (place - 1) >> 1
        other = geti(heap, 1 + parent)
        if not less(keys, stride, item, other):
            break
        seti(heap, 1 + place, other)
        seti(keys, other * stride + K_AT, place)
        place = parent
    seti(heap, 1 + place, item)
    seti(keys, item * stride + K_AT, place)
    return place


@helper
def sift_down(keys: int, stride: int, heap: int, place: int) -> None:
    count = geti(heap, 0)
    item = geti(heap, 1 + place)
    while True:
        child = 2 * place + 1
        if child >= count:
            break
        other = geti(heap, 1 + child)
        if child + 1 < count:
            right = geti(heap, 2 + child)
            if less(keys, stride, right, other):
                child += 1
                other = right
        if not less(keys, stride, other, item):
            break
        seti(heap, 1 + place, other)
        seti(keys, other * stride + K_AT, place)
        place = child
    seti(heap, 1 + place, item)
    seti(keys, item * stride + K_AT, place)


@helper
def heap_put(keys: int, stride: int, heap: int, item: int) -> None:
    """Insert an item, or move one whose key has changed."""
    place = geti(keys, item * stride + K_AT)
    if place < 0:
        place = geti(heap, 0)
        seti(heap, 0, place + 1)
        seti(heap, 1 + place, item)
        if place == 0:
            seti(keys, item * stride + K_AT, 0)
        else:
            sift_up(keys, stride, heap, place)
        return
    sift_down(keys, stride, heap, sift_up(keys, stride, heap, place))


@helper
def heap_remove(keys: int, stride: int, heap: int, item: int) -> None:
    place = geti(keys, item * stride + K_AT)
    if place < 0:
        return
    seti(keys, item * stride + K_AT, -1)
    last = geti(heap, 0) - 1
    seti(heap, 0, last)
    if place < last:
        seti(heap, 1 + place, geti(heap, 1 + last))
        sift_down(keys, stride, heap, sift_up(keys, stride, heap, place))


@helper
def heap_ties(keys: int, stride: int, heap: int, out: int) -> int:
    """Write the ids whose key equals the least one; their number."""
    count = geti(heap, 0)
    if count == 0:
        return 0
    root = geti(heap, 1)
    seti(out, 0, 0)
    found = 1
    i = 0
    while i < found:
        place = geti(out, i)
        for child in range(2 * place + 1, min(2 * place + 3, count)):
            if same(keys, stride, geti(heap, 1 + child), root):
                seti(out, found, child)
                found += 1
        i += 1
    for i in range(found):
        seti(out, i, geti(heap, 1 + geti(out, i)))
    return found


# --- draws: those of numpy's Generator, bit for bit, from its bit generator's address -----------------------------------------


@helper
def uniform(z: int) -> float:
    """``Generator.random()``."""
    return ((call_u64(geti(z, Z_NEXT), geti(z, Z_GENERATOR)) >> 11) & MANTISSA) * (1.0 / 9007199254740992.0)


@helper
def exponential(z: int) -> float:
    """``Generator.standard_exponential()``: the ziggurat of Marsaglia and Tsang (J. Statist. Softw. 5(8), 2000) with numpy's tables."""
    while True:
        bits = (call_u64(geti(z, Z_NEXT), geti(z, Z_GENERATOR)) >> 3) & MASK
        layer = bits & 0xFF
        bits >>= 8
        x = bits * EXP_WIDTHS[layer]
        if bits < EXP_ACCEPT[layer]:
            return float(x)
        if layer == 0:
            return EXP_TAIL - math.log1p(-uniform(z))
        if (EXP_HEIGHTS[layer - 1] - EXP_HEIGHTS[layer]) * uniform(z) + EXP_HEIGHTS[layer] < math.exp(-x):
            return float(x)


@helper
def pick(z: int, n: int) -> int:
    """One of n, by one uniform draw where n > 1."""
    return int(uniform(z) * n) if n > 1 else 0


# --- addresses ------------------------------------------------------------------------------------------------------------


@helper
def pace(z: int, g: int) -> int:
    return z + 8 * (geti(z, Z_PACES) + g * P_SIZE)


@helper
def group_record(net: int, g: int) -> int:
    return geti(net, H_GROUP) + g * G_SIZE


@helper
def seconds(net: int, base: float, ticks: float) -> float:
    return base + ticks / getf(net, H_TICKS) if ticks != 0.0 else base


@helper
def set_key(net: int, keys: int, stride: int, item: int, base: float, ticks: float) -> None:
    k = item * stride
    setf(keys, k + K_VALUE, seconds(net, base, ticks))
    setf(keys, k + K_BASE, base)
    setf(keys, k + K_TICKS, ticks)


@helper
def copy_key(keys: int, to: int, source: int) -> None:
    setf(keys, to, getf(source, K_VALUE))
    setf(keys, to + K_BASE, getf(source, K_BASE))
    setf(keys, to + K_TICKS, getf(source, K_TICKS))


# --- integrals ------------------------------------------------------------------------------------------------------------


# --- groups ---------------------------------------------------------------------------------------------------------------


@helper
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
    first = z + 8 * (geti(p, P_KEYS) + K_SIZE * geti(z + 8 * geti(p, P_HEAP), 1))
    base = getf(first, K_BASE) - getf(p, P_ATTAINED)
    ticks = getf(first, K_TICKS) - getf(p, P_ATTAINED + 1)
    after = ticks / rate
    if after == math.floor(after):
        set_key(net, keys, K_SIZE, entity, getf(z, Z_BASE) + base / rate, getf(z, Z_TICKS) + after)
    else:
        set_key(net, keys, K_SIZE, entity, getf(z, Z_BASE) + (base + ticks / getf(net, H_TICKS)) / rate, getf(z, Z_TICKS))
    heap_put(keys, K_SIZE, address(z, Z_HEAP), entity)


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
        if geti(pace(z, g), P_DONE) == 0 and pace_component(net, z, geti(net, group_record(net, g) + G_COMPONENT)) < 0:
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
        place = geti(all_clocks, slot * C_SIZE + K_AT)
        seti(heap, 1 + place, slot)
        sift_up(all_clocks, C_SIZE, heap, place)
    count_running(z, s, last)


@inlined
def draw_work(net: int, z: int, t: int, params: Floats, rng: np.random.Generator) -> tuple[float, float, int]:
    """The work of a new clock: (seconds, ticks, status)."""
    r = record(net, t)
    leaf = geti(net, r + F_LAW_BEGIN)
    if geti(net, r + F_LAW_END) - leaf > L_SIZE:
        u = uniform(z)
        while u >= getf(net, leaf + L_UPTO):
            leaf += L_SIZE
    offset = geti(net, leaf + L_OFFSET)
    if geti(net, leaf + L_KIND) == EXPONENTIAL:
        x = params[offset + 1] + params[offset] * (exponential(z) / params[offset + 2])
    else:
        x = draw(geti(net, leaf + L_KIND), params, offset, geti(net, leaf + L_COUNT), rng)
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


@inlined
def start_one(net: int, z: int, t: int, params: Floats, rng: np.random.Generator) -> int:
    s = station(z, t)
    r = record(net, t)
    parked = geti(s, S_PARKED)
    if parked == 0:
        work, ticks, status = draw_work(net, z, t, params, rng)
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
        copy_key(keys, entity * K_SIZE, all_clocks + 8 * C_SIZE * geti(heap, 1))
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
        copy_key(keys, member * K_SIZE, all_clocks + 8 * C_SIZE * geti(working, 1))
        heap_put(keys, K_SIZE, heap, member)
    entity = geti(net, H_TRANSITIONS) + geti(net, H_GROUPS) + t
    post(z, entity, all_clocks, z + 8 * geti(s, S_ENTERING))


@inlined
def align_plain(net: int, z: int, t: int, params: Floats, rng: np.random.Generator) -> int:
    """The same for a transition whose one clock is its key among what may happen next."""
    s = station(z, t)
    if geti(s, S_RESET) != 0:
        seti(s, S_RESET, 0)
        count_running(z, s, 0)
    if geti(s, S_TARGET) == 0:
        if geti(s, S_RUNNING) != 0:
            count_running(z, s, 0)
        heap_remove(address(z, Z_KEYS), K_SIZE, address(z, Z_HEAP), t)
    elif geti(s, S_RUNNING) == 0:
        work, ticks, status = draw_work(net, z, t, params, rng)
        if status < 0:
            return WRONG
        keys = address(z, Z_KEYS)
        if ticks != 0.0:
            set_key(net, keys, K_SIZE, t, getf(z, Z_BASE) + work, getf(z, Z_TICKS) + ticks)
        else:
            set_key(net, keys, K_SIZE, t, getf(z, Z_TIME) + work, 0.0)
        heap_put(keys, K_SIZE, address(z, Z_HEAP), t)
        count_running(z, s, 1)
    return 0


@inlined
def align(net: int, z: int, t: int, params: Floats, rng: np.random.Generator) -> int:
    """Bring the clocks of a transition to the number that the marking asks for."""
    s = station(z, t)
    if geti(net, record(net, t) + F_PLAIN) != 0:
        return align_plain(net, z, t, params, rng)
    target = geti(s, S_TARGET)
    if geti(s, S_RESET) != 0:
        forget(net, z, t)
    while geti(s, S_RUNNING) > target:
        stop_one(net, z, t, target)
    while geti(s, S_RUNNING) < target:
        if start_one(net, z, t, params, rng) < 0:
            return WRONG
    if geti(s, S_CHANGED) != 0:
        post_station(net, z, t)
    return 0


@helper
def measure_target(net: int, z: int, t: int) -> int:
    """Read how many clocks have to run; GROW where there is no room for them."""
    n = clocks(net, t, address(z, Z_MARKING), address(z, Z_STACK))
    s = station(z, t)
    seti(s, S_TARGET, n)
    if n < 0:
        seti(z, Z_PROBLEM, t)
        return WRONG
    if n > geti(s, S_ROOM):
        seti(z, Z_PROBLEM, t)
        return GROW
    return 0


@inlined
def align_listed(net: int, z: int, t: int, params: Floats, rng: np.random.Generator) -> int:
    """The clocks after a single firing: all that it may have changed."""
    listed = geti(net, record(net, t) + F_TIMED)
    end = listed + 1 + geti(net, listed)
    for i in range(listed + 1, end):
        status = measure_target(net, z, geti(net, i))
        if status != 0:
            return status
    for i in range(listed + 1, end):
        if align(net, z, geti(net, i), params, rng) < 0:
            return WRONG
    return 0


@inlined
def align_dirty(net: int, z: int, params: Floats, rng: np.random.Generator) -> int:
    """The clocks after several firings, by the dirty bits."""
    dirty = address(z, Z_DIRTY)
    words = geti(z, Z_DIRTY_WORDS)
    for measuring in (True, False):
        for w in range(words):
            bits = geti(dirty, w)
            t = w * BITS
            while bits != 0:
                if bits & 1:
                    status = measure_target(net, z, t) if measuring else align(net, z, t, params, rng)
                    if status != 0:
                        return status
                bits >>= 1
                t += 1
    for w in range(words):
        seti(dirty, w, 0)
    return 0


@helper
def read_expressions(net: int, z: int) -> int:
    """Measured expressions whose places have changed."""
    dirty = address(z, Z_DIRTY_EXPRESSIONS)
    listed = geti(net, H_EXPRESSIONS)
    count = geti(net, listed)
    for i in range(1, geti(dirty, 0) + 1):
        e = geti(dirty, i)
        v = evaluate(net, geti(net, listed + 1 + e), address(z, Z_MARKING), address(z, Z_STACK))
        if math.isnan(v):
            return WRONG
        track(address(z, Z_TRACKS) + 8 * X_SIZE * e, v, getf(z, Z_TIME))
        seti(dirty, 1 + count + e, 0)
    seti(dirty, 0, 0)
    return 0


@inlined
def settle(net: int, z: int, params: Floats, rng: np.random.Generator) -> int:
    """In a tangible marking: clocks, rates, measured expressions."""
    t = geti(z, Z_FIRED)
    status = align_listed(net, z, t, params, rng) if t >= 0 else align_dirty(net, z, params, rng)
    if status != 0:
        return status
    if geti(address(z, Z_DIRTY_PACES), 0) > 0 and pace_all(net, z) < 0:
        return WRONG
    if geti(address(z, Z_DIRTY_EXPRESSIONS), 0) > 0 and read_expressions(net, z) < 0:
        return WRONG
    seti(z, Z_PHASE, READY)
    return 0


# --- firing ---------------------------------------------------------------------------------------------------------------


@helper
def mark_dirty(net: int, z: int, t: int) -> None:
    dirty = address(z, Z_DIRTY)
    listed = geti(net, record(net, t) + F_TIMED)
    for i in range(listed + 1, listed + 1 + geti(net, listed)):
        k = geti(net, i)
        word = k // BITS
        seti(dirty, word, geti(dirty, word) | (1 << (k - word * BITS)))


@helper
def fire_one(net: int, z: int, t: int, counted: bool) -> int:
    """Fire a transition and note what that may change."""
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
    return note_expressions(net, z, t)


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
    listed = geti(net, r + F_AFFECTED_IMMEDIATES)
    for i in range(listed + 1, listed + 1 + geti(net, listed)):
        list_enabled(net, z, geti(net, i))


@helper
def note_expressions(net: int, z: int, t: int) -> int:
    """Measured expressions to be read again."""
    listed = geti(net, record(net, t) + F_AFFECTED_EXPRESSIONS)
    affected = geti(net, listed)
    if affected == 0:
        return 0
    dirty = address(z, Z_DIRTY_EXPRESSIONS)
    flags = dirty + 8 * (1 + geti(net, geti(net, H_EXPRESSIONS)))
    for i in range(listed + 1, listed + 1 + affected):
        e = geti(net, i)
        if geti(flags, e) == 0:
            seti(flags, e, 1)
            count = geti(dirty, 0) + 1
            seti(dirty, 0, count)
            seti(dirty, count, e)
    return 0


@helper
def choose(net: int, z: int, out: int, found: int) -> int:
    """One of the candidates in ``out`` by weight; WRONG where all weights are 0."""
    kept = weigh(net, address(z, Z_MARKING), address(z, Z_STACK), out, found)
    if kept <= 1:
        return geti(out, 0) if kept == 1 else WRONG
    return by_weight(out, kept, uniform(z))


@helper
def fire_immediates(net: int, z: int, counted: bool) -> int:
    """Fire immediates until the marking is tangible."""
    enabled = address(z, Z_ENABLED)
    out = address(z, Z_OUT)
    while geti(enabled, 0) > 0:
        if geti(z, Z_INSTANT) > geti(z, Z_LIMIT):
            return LOOP
        found = gather_immediates(net, z, out)
        t = choose(net, z, out, found) if found > 0 else WRONG
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
    dirty = address(z, Z_DIRTY)
    order = geti(net, H_TIMED)
    for i in range(order + 1, order + 1 + geti(net, order)):
        k = geti(net, i)
        word = k // BITS
        seti(dirty, word, geti(dirty, word) | (1 << (k - word * BITS)))
    dirty = address(z, Z_DIRTY_EXPRESSIONS)
    count = geti(net, geti(net, H_EXPRESSIONS))
    for e in range(count):
        seti(dirty, 1 + e, e)
    seti(dirty, 0, count)
    seti(z, Z_PHASE, CLOCKS)
    return 0


@helper
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
    first = z + 8 * (geti(p, P_KEYS) + K_SIZE * geti(z + 8 * geti(p, P_HEAP), 1))
    setf(p, P_ATTAINED, getf(first, K_BASE))
    setf(p, P_ATTAINED + 1, getf(first, K_TICKS))
    setf(p, P_SINCE, getf(z, Z_BASE))
    setf(p, P_SINCE + 1, getf(z, Z_TICKS))


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
        slot = geti(heap, 1)
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


@helper
def expire(net: int, z: int, t: int) -> None:
    """Take away the clock of a transition that expires."""
    s = station(z, t)
    r = record(net, t)
    if geti(net, r + F_PLAIN) != 0:
        count_running(z, s, 0)
        return
    g = geti(net, r + F_GROUP)
    if g >= 0:
        end_work(net, z, g)
    remove_clock(z, s, geti(z + 8 * geti(s, S_WORKING), 1))


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
    for g in range(geti(net, H_GROUPS)):
        p = pace(z, g)
        setf(p, P_SINCE, getf(p, P_SINCE) + by)
        setf(p, P_SINCE + 1, getf(p, P_SINCE + 1) - ticks)
    heap = address(z, Z_HEAP)
    for i in range(geti(heap, 0)):
        key = address(z, Z_KEYS) + 8 * K_SIZE * geti(heap, 1 + i)
        set_key(net, key, 0, 0, getf(key, K_BASE) + by, getf(key, K_TICKS) - ticks)


@helper
def hold(z: int, horizon: float) -> None:
    if horizon < math.inf and horizon > getf(z, Z_TIME):
        setf(z, Z_TIME, horizon)


@helper
def step(net: int, z: int) -> int:
    """The next event up to the marking after it: DONE, or why not."""
    ties = address(z, Z_TIES)
    keys = address(z, Z_KEYS)
    heap = address(z, Z_HEAP)
    first = geti(heap, 1)
    advance(net, z, keys + 8 * K_SIZE * first)
    found = heap_ties(keys, K_SIZE, heap, ties)
    transitions = geti(net, H_TRANSITIONS)
    if found > 1 or first >= transitions:
        groups = geti(net, H_GROUPS)
        for i in range(found):
            g = geti(ties, i) - transitions
            if 0 <= g < groups:
                settle_group(net, z, g)
    if getf(z, Z_TICKS) > MOST_TICKS:
        rebase(net, z)
    if found == 1 and first < transitions:
        t = first
    else:
        if enter_links(net, z, ties, found) > 0:
            return pace_all(net, z)
        out = address(z, Z_OUT)
        kept = gather_expired(net, z, ties, found, out)
        t = geti(out, 0)
        if kept > 1:
            t = choose(net, z, out, kept)
            if t < 0:
                seti(z, Z_PROBLEM, -1)
                return WRONG
    if geti(z, Z_INSTANT) > geti(z, Z_LIMIT):
        return LOOP
    expire(net, z, t)
    seti(z, Z_FIRED, t)
    if fire_one(net, z, t, True) < 0:
        return WRONG
    seti(z, Z_PHASE, FIRING)
    return 0


@kernel
def run(image: Ints, params: Floats, state: Ints, rng: np.random.Generator, firings: int, horizon: float) -> int:
    """Go on for at most so many firings in all, and not beyond the horizon; the status."""
    net = image.ctypes.data
    z = state.ctypes.data
    if geti(z, Z_PHASE) == START:
        status = begin(net, z)
        if status != 0:
            return status
    while True:
        if geti(z, Z_PHASE) == FIRING:
            if geti(address(z, Z_ENABLED), 0) > 0:
                status = fire_immediates(net, z, True)
                if status != 0:
                    return status
            seti(z, Z_PHASE, CLOCKS)
        if geti(z, Z_PHASE) == CLOCKS:
            status = settle(net, z, params, rng)
            if status != 0:
                return status
        if geti(z, Z_FIRINGS) >= firings:
            return DONE
        heap = address(z, Z_HEAP)
        if geti(heap, 0) == 0:
            hold(z, horizon)
            return STILL
        if getf(address(z, Z_KEYS), K_SIZE * geti(heap, 1)) > horizon:
            hold(z, horizon)
            return HORIZON
        status = step(net, z)
        if status != 0:
            return status
