"""The direct method, compiled. It does what :class:`spn.sim.direct.reference.DirectTrajectory` does, draw for draw.

``net`` is the address of a compiled net's image, ``table`` that of the plan's words, ``z`` that of the state block and ``d`` that of the
direct method's part of it (:mod:`spn.sim.direct.layout`). A firing re-reads only the rates that the dependency graph names, and the sums
above them: no sum is ever corrected by a difference, so none drifts.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from spn.compiled.kernels import bounded, clocks, fire, quantity, record
from spn.compiled.layout import (
    F_AFFECTED_EXPRESSIONS,
    F_DELTA,
    F_QUIET,
    F_SPEED,
    GENERAL,
    H_EXPRESSIONS,
    H_IMMEDIATES,
    H_TRANSITIONS,
    ONE_INPUT,
)
from spn.dist.kernels import exponential, uniform
from spn.jit import getf, geti, helper, inlined, kernel, setf, seti
from spn.sim.common.kernels import (
    address,
    choose_immediate,
    collect_rewards,
    count_running,
    list_enabled,
    look_at_immediates,
    read_expression,
    station,
)
from spn.sim.direct.layout import (
    B_KIND,
    B_MOVING,
    B_NEEDS,
    B_PLACE,
    B_RATE,
    B_SERVERS,
    B_SIZE,
    B_TRANSITION,
    D_COUNTED,
    D_DRAWN,
    D_DUE,
    D_FIRED,
    D_HIGH,
    D_LOW,
    D_ROOM,
    D_TREE,
    D_WATCH,
    N_LEAVES,
    N_LISTS,
    N_SLOT,
    N_SLOTS,
)
from spn.sim.layout import (
    CROSSED,
    DONE,
    FIRING,
    HORIZON,
    LOOP,
    READY,
    S_RUNNING,
    START,
    STILL,
    WRONG,
    X_VALUE,
    Z_COUNTS,
    Z_DIRECT,
    Z_ENABLED,
    Z_FIRINGS,
    Z_INSTANT,
    Z_LIMIT,
    Z_MARKING,
    Z_PHASE,
    Z_PROBLEM,
    Z_STACK,
    Z_TIME,
)

Ints = NDArray[np.int64]


# --- rates ----------------------------------------------------------------------------------------------------------------


@inlined
def running(net: int, slot: int, t: int, m: int, stack: int) -> int:
    """The running clocks of a slot; WRONG where that is undefined."""
    kind = geti(slot, B_KIND)
    if kind == ONE_INPUT:
        n = geti(m, geti(slot, B_PLACE))
        needs = geti(slot, B_NEEDS)
        if needs > 1:
            n = n // needs
        return min(n, geti(slot, B_SERVERS))
    if kind == GENERAL:
        return clocks(net, t, m, stack)
    return min(bounded(net + 8 * geti(slot, B_NEEDS), m), geti(slot, B_SERVERS))


@inlined
def read_rate(net: int, table: int, z: int, m: int, tree: int, k: int) -> int:
    """Read the rate of slot ``k`` into its leaf, and bring the sums above it in line where it has changed."""
    slot = table + 8 * (geti(table, N_SLOT) + k * B_SIZE)
    t = geti(slot, B_TRANSITION)
    n = running(net, slot, t, m, address(z, Z_STACK))
    rate = n * getf(slot, B_RATE)
    if geti(slot, B_MOVING) != 0 and n > 0:
        rate *= quantity(net, record(net, t) + F_SPEED, m, address(z, Z_STACK))
    if n < 0 or math.isnan(rate):
        seti(z, Z_PROBLEM, t)
        return WRONG
    s = station(z, t)
    if n != geti(s, S_RUNNING):
        count_running(z, s, n)
    node = geti(table, N_LEAVES) + k
    if rate != getf(tree, node):
        setf(tree, node, rate)
        while node > 1:
            node >>= 1
            setf(tree, node, getf(tree, 2 * node) + getf(tree, 2 * node + 1))
    return 0


@inlined
def refresh(net: int, table: int, z: int, m: int, tree: int, t: int) -> int:
    """Read again what the firing of ``t`` may have changed."""
    affected = table + 8 * geti(table, geti(table, N_LISTS) + t)
    for i in range(1, 1 + geti(affected, 0)):
        if read_rate(net, table, z, m, tree, geti(affected, i)) != 0:
            return WRONG
    listed = geti(net, record(net, t) + F_AFFECTED_EXPRESSIONS)
    for i in range(listed + 1, listed + 1 + geti(net, listed)):
        if read_expression(net, z, m, geti(net, i)) != 0:
            return WRONG
    return 0


@helper
def refresh_all(net: int, table: int, z: int, m: int, tree: int) -> int:
    for k in range(geti(table, N_SLOTS)):
        if read_rate(net, table, z, m, tree, k) != 0:
            return WRONG
    for e in range(geti(net, geti(net, H_EXPRESSIONS))):
        if read_expression(net, z, m, e) != 0:
            return WRONG
    return 0


@helper
def choose_slot(table: int, tree: int, d: int) -> int:
    """A slot, with probability in proportion to its rate; never one of rate 0."""
    leaves = geti(table, N_LEAVES)
    r = uniform(d) * getf(tree, 1)
    node = 1
    while node < leaves:
        node *= 2
        left = getf(tree, node)
        right = int(r >= left) & int(getf(tree, node + 1) > 0.0)  # without a branch, which no processor could foresee
        r -= left if right != 0 else 0.0
        node += right
    return node - leaves


# --- firing ---------------------------------------------------------------------------------------------------------------


@inlined
def fire_one(net: int, z: int, m: int, d: int, t: int) -> int:
    if geti(d, D_COUNTED) != 0:
        if collect_rewards(net, z, t) < 0:
            seti(z, Z_PROBLEM, t)
            return WRONG
        seti(z, Z_FIRINGS, geti(z, Z_FIRINGS) + 1)
    r = record(net, t)
    delta = geti(net, r + F_DELTA)
    if delta != 0:
        for i in range(delta + 1, delta + 1 + geti(net, delta), 2):
            p = geti(net, i)
            seti(m, p, geti(m, p) + geti(net, i + 1))
    elif fire(net, t, m, address(z, Z_STACK)) < 0:
        seti(z, Z_PROBLEM, t)
        return WRONG
    seti(z, Z_INSTANT, geti(z, Z_INSTANT) + 1)
    counts = address(z, Z_COUNTS)
    seti(counts, t, geti(counts, t) + 1)
    if geti(net, r + F_QUIET) == 0:
        look_at_immediates(net, z, t)
    return 0


@helper
def note_fired(d: int, t: int) -> None:
    count = geti(d, D_FIRED)
    if count < D_ROOM:
        seti(d, D_FIRED + 1 + count, t)
    seti(d, D_FIRED, count + 1)


@helper
def fire_immediates(net: int, z: int, m: int, d: int) -> int:
    """Fire immediates until the marking is tangible."""
    enabled = address(z, Z_ENABLED)
    while geti(enabled, 0) > 0:
        if geti(z, Z_INSTANT) > geti(z, Z_LIMIT):
            return LOOP
        t = choose_immediate(net, z)
        if t < 0:
            seti(z, Z_PROBLEM, -1)
            return WRONG
        if fire_one(net, z, m, d, t) < 0:
            return WRONG
        note_fired(d, t)
    return 0


@inlined
def settle(net: int, table: int, z: int, m: int, d: int) -> int:
    """In a tangible marking: the rates and measured expressions that may have changed on the way to it."""
    count = geti(d, D_FIRED)
    seti(d, D_FIRED, 0)
    seti(z, Z_PHASE, READY)
    tree = d + 8 * D_TREE
    if count > D_ROOM:
        return refresh_all(net, table, z, m, tree)
    for i in range(count):
        if refresh(net, table, z, m, tree, geti(d, D_FIRED + 1 + i)) != 0:
            return WRONG
    return 0


@helper
def begin(net: int, table: int, z: int, m: int, d: int) -> int:
    """From the initial marking: immediates first, whose firings do not count, then every rate."""
    order = geti(net, H_IMMEDIATES)
    for i in range(order + 1, order + 1 + geti(net, order)):
        list_enabled(net, z, geti(net, i))
    status = fire_immediates(net, z, m, d)
    if status != 0:
        return status
    for t in range(geti(net, H_TRANSITIONS)):
        seti(address(z, Z_COUNTS), t, 0)
    seti(d, D_COUNTED, 1)
    seti(d, D_FIRED, 0)
    seti(z, Z_PHASE, READY)
    return refresh_all(net, table, z, m, d + 8 * D_TREE)


@helper
def hold(z: int, horizon: float) -> None:
    if horizon < math.inf and horizon > getf(z, Z_TIME):
        setf(z, Z_TIME, horizon)


@helper
def draw_due(table: int, z: int, d: int, horizon: float) -> int:
    """Draw the instant of the next firing, unless it is known from an earlier call."""
    total = getf(d, D_TREE + 1)
    if total == 0.0:
        hold(z, horizon)
        return STILL
    if not total < math.inf:
        seti(z, Z_PROBLEM, -1)
        return WRONG
    setf(d, D_DUE, getf(z, Z_TIME) + exponential(d) / total)
    seti(d, D_DRAWN, 1)
    return 0


@inlined
def step(net: int, table: int, z: int, m: int, d: int) -> int:
    """The next firing of a timed transition, and what it brings about up to the next tangible marking."""
    due = getf(d, D_DUE)
    if due > getf(z, Z_TIME):
        setf(z, Z_TIME, due)
        seti(z, Z_INSTANT, 0)
    elif geti(z, Z_INSTANT) > geti(z, Z_LIMIT):
        return LOOP
    seti(d, D_DRAWN, 0)
    tree = d + 8 * D_TREE
    k = choose_slot(table, tree, d)
    t = geti(table, geti(table, N_SLOT) + k * B_SIZE + B_TRANSITION)
    if fire_one(net, z, m, d, t) < 0:
        return WRONG
    note_fired(d, t)
    seti(z, Z_PHASE, FIRING)
    return 0


@inlined
def crossed(z: int, d: int) -> bool:
    """Whether the watched expression is out of its bounds."""
    v = getf(z, geti(d, D_WATCH) + X_VALUE)
    return v < getf(d, D_LOW) or v >= getf(d, D_HIGH)


@kernel
def follow(image: Ints, plan: Ints, state: Ints, firings: int, horizon: float) -> int:
    """Go on for at most so many firings in all, and not beyond the horizon; the status."""
    net = image.ctypes.data
    table = plan.ctypes.data
    z = state.ctypes.data
    d = z + 8 * geti(z, Z_DIRECT)
    m = address(z, Z_MARKING)
    if geti(z, Z_PHASE) == START:
        status = begin(net, table, z, m, d)
        if status != 0:
            return status
    while True:
        if geti(z, Z_PHASE) == FIRING:
            if geti(address(z, Z_ENABLED), 0) > 0:
                status = fire_immediates(net, z, m, d)
                if status != 0:
                    return status
            status = settle(net, table, z, m, d)
            if status != 0:
                return status
            if geti(d, D_WATCH) != 0 and crossed(z, d):
                return CROSSED
        if geti(z, Z_FIRINGS) >= firings:
            return DONE
        if geti(d, D_DRAWN) == 0:
            status = draw_due(table, z, d, horizon)
            if status != 0:
                return status
        if getf(d, D_DUE) > horizon:
            hold(z, horizon)
            return HORIZON
        status = step(net, table, z, m, d)
        if status != 0:
            return status
