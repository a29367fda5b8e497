"""Kernel helpers that both methods of simulation use: integrals, rewards, and the enabled immediates.

As everywhere in kernels, ``net`` is the address of a compiled net's image and ``z`` that of the state block (:mod:`spn.sim.layout`)."""

from __future__ import annotations

import math

from spn.compiled.kernels import PLACE, bounded, by_weight, degree, evaluate, record, weigh
from spn.compiled.layout import (
    F_CROWDS_IMMEDIATE,
    F_GATE,
    F_MEMBER,
    F_NEAR_IMMEDIATES,
    F_ORDER,
    F_OWN,
    F_PRIORITY,
    H_CROWD,
    H_EVEN,
    H_EXPRESSIONS,
    H_IMMEDIATES,
    H_MEMBERSHIPS,
    W_FEWEST,
    W_GATED,
    W_MOST,
    W_PLACE,
    W_SIZE,
)
from spn.dist.kernels import uniform
from spn.jit import getf, geti, helper, inlined, set_bits, setf, seti, trailing_zeros
from spn.sim.layout import (
    BITS,
    S_ACTIVE,
    S_CHANGED,
    S_CHOICES,
    S_INTEGRAL,
    S_RUNNING,
    S_SINCE,
    S_SIZE,
    S_TRACKED,
    WRONG,
    X_INTEGRAL,
    X_SINCE,
    X_SIZE,
    X_VALUE,
    Z_BAD,
    Z_CROWDS,
    Z_ENABLED,
    Z_MARKING,
    Z_MEMBER_AT,
    Z_OUT,
    Z_PROBLEM,
    Z_REWARDS,
    Z_SEPARATE,
    Z_STACK,
    Z_STATIONS,
    Z_STREAM,
    Z_TIME,
    Z_TRACKS,
)


@inlined
def address(z: int, word: int) -> int:
    """The address of the block whose offset is in header word ``word``."""
    return z + 8 * geti(z, word)


@inlined
def station(z: int, t: int) -> int:
    return z + 8 * (geti(z, Z_STATIONS) + t * S_SIZE)


@inlined
def track(x: int, value: float, time: float) -> None:
    """An integrand takes another value at ``time``."""
    old = getf(x, X_VALUE)
    if value != old:
        setf(x, X_INTEGRAL, getf(x, X_INTEGRAL) + old * (time - getf(x, X_SINCE)))
        setf(x, X_SINCE, time)
        setf(x, X_VALUE, value)


@inlined
def count_clocks(z: int, s: int, n: int) -> None:
    """The number of running clocks changes from that in the record to ``n``."""
    if geti(s, S_TRACKED) != 0:
        time = getf(z, Z_TIME)
        setf(s, S_INTEGRAL, getf(s, S_INTEGRAL) + geti(s, S_RUNNING) * (time - getf(s, S_SINCE)))
        setf(s, S_SINCE, time)
    seti(s, S_RUNNING, n)


@inlined
def count_running(z: int, s: int, n: int) -> None:
    """The same, noting that the next expiry may have changed."""
    count_clocks(z, s, n)
    seti(s, S_CHANGED, 1)


@helper
def look_member(net: int, z: int, t: int) -> int:
    """The enabling degree of a member of crowds. Where another place than theirs disables it, their places need not concern it until
    that one changes: it leaves their lists, as with the watched literals of satisfiability solvers (Moskewicz et al., Chaff, DAC 2001)."""
    r = record(net, t)
    m = address(z, Z_MARKING)
    active = 1 if bounded(net + 8 * geti(net, r + F_OWN), m) > 0 else 0
    s = station(z, t)
    if active != geti(s, S_ACTIVE):
        seti(s, S_ACTIVE, active)
        listed = geti(net, r + F_MEMBER)
        for i in range(listed + 1, listed + 1 + geti(net, listed)):
            if active != 0:
                join_crowd(net, z, geti(net, i))
            else:
                leave_crowd(net, z, geti(net, i))
    return degree(net, t, m, address(z, Z_STACK)) if active != 0 else 0


@helper
def crowd_list(z: int, k: int) -> int:
    return z + 8 * geti(address(z, Z_CROWDS), k)


@helper
def join_crowd(net: int, z: int, membership: int) -> None:
    members = crowd_list(z, geti(net, geti(net, H_MEMBERSHIPS) + 2 * membership + 1))
    count = geti(members, 0) + 1
    seti(members, 0, count)
    seti(members, count, membership)
    seti(address(z, Z_MEMBER_AT), membership, count - 1)


@helper
def leave_crowd(net: int, z: int, membership: int) -> None:
    members = crowd_list(z, geti(net, geti(net, H_MEMBERSHIPS) + 2 * membership + 1))
    count = geti(members, 0)
    places = address(z, Z_MEMBER_AT)
    at = geti(places, membership)
    last = geti(members, count)
    seti(members, 1 + at, last)
    seti(places, last, at)
    seti(places, membership, -1)
    seti(members, 0, count - 1)


@inlined
def look(net: int, z: int, t: int) -> int:
    """The enabling degree of a transition, 0 where disabled, WRONG where it is undefined."""
    if geti(net, record(net, t) + F_MEMBER) != 0:
        return look_member(net, z, t)
    return degree(net, t, address(z, Z_MARKING), address(z, Z_STACK))


@helper
def list_enabled(net: int, z: int, t: int) -> None:
    """Look again whether an immediate is enabled."""
    r = record(net, t)
    enabled = address(z, Z_ENABLED)
    order = geti(net, r + F_ORDER)
    word = order // BITS
    bit = 1 << (order - word * BITS)
    if geti(net, r + F_GATE) != 0:
        s = station(z, t)
        active = 1 if bounded(net + 8 * geti(net, r + F_OWN), address(z, Z_MARKING)) > 0 else 0
        if active != geti(s, S_ACTIVE):
            seti(s, S_ACTIVE, active)
            crowd = crowd_list(z, geti(net, r + F_GATE) - 1)
            seti(crowd, 1, geti(crowd, 1) + 2 * active - 1)
            seti(crowd, 2 + word, geti(crowd, 2 + word) ^ bit)
            if geti(crowd, 0) != 0:
                seti(enabled, 0, geti(enabled, 0) + 2 * active - 1)
                seti(enabled, 1 + word, geti(enabled, 1 + word) ^ bit)
        return
    d = look(net, z, t)
    seti(address(z, Z_BAD), t, 1 if d < 0 else 0)
    bits = geti(enabled, 1 + word)
    if (bits & bit != 0) != (d != 0):
        seti(enabled, 1 + word, bits ^ bit)
        seti(enabled, 0, geti(enabled, 0) + (1 if d != 0 else -1))


@inlined
def move_gate(net: int, z: int, k: int) -> None:
    """Open or close the gate of a crowd, by the tokens in its place."""
    gate = geti(net, H_CROWD) + k * W_SIZE
    tokens = geti(address(z, Z_MARKING), geti(net, gate + W_PLACE))
    is_open = 1 if geti(net, gate + W_FEWEST) <= tokens <= geti(net, gate + W_MOST) else 0
    crowd = crowd_list(z, k)
    if is_open == geti(crowd, 0):
        return
    seti(crowd, 0, is_open)
    enabled = address(z, Z_ENABLED)
    seti(enabled, 0, geti(enabled, 0) + geti(crowd, 1) * (2 * is_open - 1))
    left = geti(crowd, 1)
    word = 0
    while left > 0:
        bits = geti(crowd, 2 + word)
        seti(enabled, 1 + word, geti(enabled, 1 + word) ^ bits)
        left -= set_bits(bits)
        word += 1


@helper
def look_at_immediates(net: int, z: int, t: int) -> None:
    """Look again at the immediates whose enabling the firing of ``t`` may have changed."""
    r = record(net, t)
    listed = geti(net, r + F_NEAR_IMMEDIATES)
    for i in range(listed + 1, listed + 1 + geti(net, listed)):
        list_enabled(net, z, geti(net, i))
    listed = geti(net, r + F_CROWDS_IMMEDIATE)
    for i in range(listed + 1, listed + 1 + geti(net, listed)):
        if geti(net, geti(net, H_CROWD) + geti(net, i) * W_SIZE + W_GATED) != 0:
            move_gate(net, z, geti(net, i))
            continue
        members = crowd_list(z, geti(net, i))
        for k in range(geti(members, 0), 0, -1):  # from the end, since one that leaves is replaced by the last
            list_enabled(net, z, geti(net, geti(net, H_MEMBERSHIPS) + 2 * geti(members, k)))


@inlined
def read_expression(net: int, z: int, m: int, e: int) -> int:
    """Read a measured expression; WRONG where it is undefined."""
    program = geti(net, geti(net, H_EXPRESSIONS) + 1 + e)
    if geti(net, program) == 1 and geti(net, program + 1) == PLACE:
        v = float(geti(m, geti(net, program + 2)))
    else:
        v = evaluate(net, program, m, address(z, Z_STACK))
    if math.isnan(v):
        seti(z, Z_PROBLEM, -1)
        return WRONG
    track(address(z, Z_TRACKS) + 8 * X_SIZE * e, v, getf(z, Z_TIME))
    return 0


@inlined
def collect_rewards(net: int, z: int, t: int) -> int:
    if geti(z, Z_REWARDS) == 0:
        return 0
    rewards = geti(address(z, Z_REWARDS), t)
    if rewards == 0:
        return 0
    return add_rewards(net, z, z + 8 * rewards)


@helper
def add_rewards(net: int, z: int, block: int) -> int:
    for i in range(geti(block, 0)):
        v = evaluate(net, geti(block, 1 + 2 * i), address(z, Z_MARKING), address(z, Z_STACK))
        if math.isnan(v):
            return WRONG
        setf(block, 2 + 2 * i, getf(block, 2 + 2 * i) + v)
    return 0


@inlined
def enabled_at(net: int, z: int, i: int) -> int:
    """The enabled immediate of number i, from 0, in the compiled net's order."""
    enabled = address(z, Z_ENABLED)
    word = 0
    count = set_bits(geti(enabled, 1))
    while i >= count:
        i -= count
        word += 1
        count = set_bits(geti(enabled, 1 + word))
    bits = geti(enabled, 1 + word)
    for _ in range(i):
        bits &= bits - 1
    return geti(net, geti(net, H_IMMEDIATES) + 1 + word * BITS + trailing_zeros(bits))


@helper
def choose_immediate(net: int, z: int) -> int:
    """One of the enabled immediates of the highest priority by weight; WRONG where that is undefined."""
    count = geti(address(z, Z_ENABLED), 0)
    if geti(net, H_EVEN) != 0:
        if count == 1:
            return enabled_at(net, z, 0)
        d = address(z, Z_STREAM)
        if geti(z, Z_SEPARATE) != 0:
            d = z + 8 * geti(station(z, enabled_at(net, z, 0)), S_CHOICES)
        return enabled_at(net, z, min(int(uniform(d) * count), count - 1))
    out = address(z, Z_OUT)
    found = gather_immediates(net, z, out)
    return choose(net, z, out, found) if found > 0 else WRONG


@helper
def choose(net: int, z: int, out: int, found: int) -> int:
    """One of the candidates in ``out`` by weight; WRONG where all weights are 0."""
    kept = weigh(net, address(z, Z_MARKING), address(z, Z_STACK), out, found)
    if kept <= 1:
        return geti(out, 0) if kept == 1 else WRONG
    return by_weight(out, kept, uniform(z + 8 * geti(station(z, geti(out, 0)), S_CHOICES)))


@helper
def gather_immediates(net: int, z: int, out: int) -> int:
    """The enabled immediates of the highest priority, in the order of the net; WRONG where the enabling of one is undefined."""
    enabled = address(z, Z_ENABLED)
    left = geti(enabled, 0)
    order = geti(net, H_IMMEDIATES) + 1
    found = 0
    rank = 0
    word = 0
    while left > 0:
        bits = geti(enabled, 1 + word)
        while bits != 0:
            t = geti(net, order + word * BITS + trailing_zeros(bits))
            bits &= bits - 1
            left -= 1
            priority = geti(net, record(net, t) + F_PRIORITY)
            if found > 0 and priority < rank:
                return found
            if geti(address(z, Z_BAD), t) != 0:
                return WRONG
            rank = priority
            seti(out, 2 * found, t)
            found += 1
        word += 1
    return found


@helper
def insert_sorted(out: int, found: int, t: int) -> int:
    """Insert a transition into the ascending pairs of ``out``."""
    at = found
    while at > 0 and geti(out, 2 * (at - 1)) > t:
        seti(out, 2 * at, geti(out, 2 * (at - 1)))
        at -= 1
    seti(out, 2 * at, t)
    return found + 1
