"""Kernel helpers that both methods of simulation use: integrals, rewards, and the enabled immediates.

As everywhere in kernels, ``net`` is the address of a compiled net's image and ``z`` that of the state block (:mod:`spn.sim.layout`)."""

from __future__ import annotations

import math

from spn.compiled.kernels import degree, evaluate, record
from spn.compiled.layout import F_PRIORITY
from spn.jit import getf, geti, helper, setf, seti
from spn.sim.layout import (
    S_CHANGED,
    S_INTEGRAL,
    S_RUNNING,
    S_SINCE,
    S_SIZE,
    S_TRACKED,
    WRONG,
    X_INTEGRAL,
    X_SINCE,
    X_VALUE,
    Z_BAD,
    Z_ENABLED,
    Z_ENABLED_AT,
    Z_MARKING,
    Z_REWARDS,
    Z_STACK,
    Z_STATIONS,
    Z_TIME,
)


@helper
def address(z: int, word: int) -> int:
    """The address of the block whose offset is in header word ``word``."""
    return z + 8 * geti(z, word)


@helper
def station(z: int, t: int) -> int:
    return z + 8 * (geti(z, Z_STATIONS) + t * S_SIZE)


@helper
def track(x: int, value: float, time: float) -> None:
    """An integrand takes another value at ``time``."""
    old = getf(x, X_VALUE)
    if value != old:
        setf(x, X_INTEGRAL, getf(x, X_INTEGRAL) + old * (time - getf(x, X_SINCE)))
        setf(x, X_SINCE, time)
        setf(x, X_VALUE, value)


@helper
def count_running(z: int, s: int, n: int) -> None:
    """The number of running clocks changes from that in the record to ``n``."""
    if geti(s, S_TRACKED) != 0:
        time = getf(z, Z_TIME)
        setf(s, S_INTEGRAL, getf(s, S_INTEGRAL) + geti(s, S_RUNNING) * (time - getf(s, S_SINCE)))
        setf(s, S_SINCE, time)
    seti(s, S_RUNNING, n)
    seti(s, S_CHANGED, 1)


@helper
def list_enabled(net: int, z: int, t: int) -> None:
    """Look again whether an immediate is enabled."""
    d = degree(net, t, address(z, Z_MARKING), address(z, Z_STACK))
    enabled = address(z, Z_ENABLED)
    places = address(z, Z_ENABLED_AT)
    at = geti(places, t)
    count = geti(enabled, 0)
    seti(address(z, Z_BAD), t, 1 if d < 0 else 0)
    if d != 0 and at < 0:
        seti(enabled, 1 + count, t)
        seti(places, t, count)
        seti(enabled, 0, count + 1)
    elif d == 0 and at >= 0:
        last = geti(enabled, count)
        seti(enabled, 1 + at, last)
        seti(places, last, at)
        seti(places, t, -1)
        seti(enabled, 0, count - 1)


@helper
def collect_rewards(net: int, z: int, t: int) -> int:
    rewards = geti(address(z, Z_REWARDS), t)
    if rewards == 0:
        return 0
    block = z + 8 * rewards
    for i in range(geti(block, 0)):
        v = evaluate(net, geti(block, 1 + 2 * i), address(z, Z_MARKING), address(z, Z_STACK))
        if math.isnan(v):
            return WRONG
        setf(block, 2 + 2 * i, getf(block, 2 + 2 * i) + v)
    return 0


@helper
def gather_immediates(net: int, z: int, out: int) -> int:
    """The enabled immediates of the highest priority, in the order of the net; WRONG where the enabling of one is undefined."""
    enabled = address(z, Z_ENABLED)
    rank = 0
    for i in range(1, geti(enabled, 0) + 1):
        rank = max(rank, geti(net, record(net, geti(enabled, i)) + F_PRIORITY))
    found = 0
    for i in range(1, geti(enabled, 0) + 1):
        t = geti(enabled, i)
        if geti(net, record(net, t) + F_PRIORITY) == rank:
            if geti(address(z, Z_BAD), t) != 0:
                return WRONG
            found = insert_sorted(out, found, t)
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
