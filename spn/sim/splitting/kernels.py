"""RESTART over the direct method's kernel: what :class:`spn.sim.splitting.restart.Restart` does, draw for draw."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from spn.jit import getf, geti, helper, kernel, setf
from spn.sim.direct.kernels import follow
from spn.sim.direct.layout import D_HIGH, D_LOW, D_WATCH
from spn.sim.layout import (
    CROSSED,
    DONE,
    HORIZON,
    S_INTEGRAL,
    S_RUNNING,
    S_SINCE,
    STILL,
    X_INTEGRAL,
    X_SINCE,
    X_VALUE,
    Z_DIRECT,
    Z_FIRINGS,
    Z_TIME,
)
from spn.sim.splitting.layout import (
    BEFORE,
    CLOCKS,
    COUNT,
    DEPTH,
    ENDS,
    FINAL,
    FIRINGS,
    FLOOR,
    LOOK,
    MADE,
    ORIGINAL,
    REACHED,
    REGION,
    ROOT,
    ROOTS,
    STAY,
    SUMS,
    T_LARGEST,
    T_PLAIN,
    T_SQUARES,
    T_SUMS,
    T_TOTAL,
    TRACK,
    WHOLE,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@helper
def total(z: int, kind: int, offset: int) -> float:
    """The integral of a primitive up to now."""
    place = z + 8 * offset
    now = getf(z, Z_TIME)
    if kind == TRACK:
        return getf(place, X_INTEGRAL) + getf(place, X_VALUE) * (now - getf(place, X_SINCE))
    if kind == CLOCKS:
        return getf(place, S_INTEGRAL) + geti(place, S_RUNNING) * (now - getf(place, S_SINCE))
    if kind == COUNT:
        return float(geti(place, 0))
    return getf(place, 0)


@helper
def rate(z: int, kind: int, offset: int) -> float:
    if kind == TRACK:
        return getf(z + 8 * offset, X_VALUE)
    return float(geti(z + 8 * offset, S_RUNNING)) if kind == CLOCKS else 0.0


@helper
def measure(z: int, places: Ints, weights: Floats, book: Ints, sums: Floats, tally: Floats) -> None:
    """Add what a stretch contributed, at its region's weight."""
    region = book[REGION]
    w = weights[region]
    for i in range(len(places)):
        now = total(z, places[i, 0], places[i, 1])
        grown = now - sums[BEFORE, i]
        sums[BEFORE, i] = now
        if grown != 0.0:
            sums[SUMS, i] += w * grown
            tally[T_TOTAL, i] += w * grown
            if region > 0 or book[WHOLE] != 0:
                sums[ROOT, i] += w * grown
            if region == len(weights) - 1:
                sums[STAY, i] += grown


@helper
def leave(weights: Floats, book: Ints, sums: Floats, tally: Floats) -> None:
    """A path leaves the last region, if it was there."""
    if book[REGION] == len(weights) - 1 and book[WHOLE] == 0:
        for i in range(sums.shape[1]):
            tally[T_PLAIN, i] += weights[-1] * sums[STAY, i] ** 2
            sums[STAY, i] = 0.0


@helper
def end_root(book: Ints, sums: Floats, tally: Floats, roots: Ints, carrying: Ints) -> None:
    book[ROOTS] += 1
    for k in range(book[REACHED]):
        roots[k] += 1
    book[REACHED] = 0
    for i in range(sums.shape[1]):
        x = sums[ROOT, i]
        tally[T_SUMS, i] += x
        tally[T_SQUARES, i] += x * x
        tally[T_LARGEST, i] = max(tally[T_LARGEST, i], x)
        carrying[i] += 1 if x > 0.0 else 0
        sums[ROOT, i] = 0.0


@helper
def climb(state: Ints, value: float, thresholds: Floats, factors: Ints, book: Ints, frames: Ints, stack: Ints, hits: Ints) -> None:
    """Split at every threshold that the present path has come up across."""
    while book[REGION] < len(thresholds) and value >= thresholds[book[REGION]]:
        k = book[REGION]
        hits[k] += 1
        book[REGION] = k + 1
        book[REACHED] = max(book[REACHED], k + 1)
        if factors[k] > 1:
            depth = book[DEPTH]
            for i in range(len(state)):
                frames[depth, i] = state[i]
            stack[depth, 0] = k + 1
            stack[depth, 1] = book[FLOOR]
            stack[depth, 2] = factors[k] - 2
            book[DEPTH] = depth + 1
            book[FLOOR] = k + 1


@helper
def back(state: Ints, d: int, book: Ints, frames: Ints, stack: Ints) -> None:
    """The next copy from the last split, or the path that was split there; its generator goes on."""
    top = book[DEPTH] - 1
    for i in range(len(state)):
        if i < d or i >= d + 4:
            state[i] = frames[top, i]
    book[REGION] = stack[top, 0]
    if stack[top, 2] > 0:
        stack[top, 2] -= 1
        book[FLOOR] = stack[top, 0]
    else:
        book[DEPTH] = top
        book[FLOOR] = stack[top, 1]


@kernel
def restart(
    image: Ints,
    plan: Ints,
    state: Ints,
    thresholds: Floats,
    factors: Ints,
    weights: Floats,
    places: Ints,
    book: Ints,
    sums: Floats,
    frames: Ints,
    stack: Ints,
    tally: Floats,
    hits: Ints,
    roots: Ints,
    carrying: Ints,
    until: int,
    limit: int,
    horizon: float,
) -> int:
    """Go on for ``until`` firings of the original path in all, or until ``limit`` have been made (LOOK), or the horizon."""
    z = state.ctypes.data
    d = geti(z, Z_DIRECT)
    watched = geti(z, d + D_WATCH) + X_VALUE
    climb(state, getf(z, watched), thresholds, factors, book, frames, stack, hits)
    while book[DEPTH] > 0 or book[FIRINGS] < until:
        if book[MADE] >= limit:
            return LOOK
        k = book[REGION]
        setf(z, d + D_LOW, thresholds[k - 1] if k > 0 else -math.inf)
        setf(z, d + D_HIGH, thresholds[k] if k < len(thresholds) else math.inf)
        before = geti(z, Z_FIRINGS)
        left = limit - book[MADE]
        if book[DEPTH] == 0:
            left = min(left, until - book[FIRINGS])
        status = follow(image, plan, state, before + left, horizon)
        made = geti(z, Z_FIRINGS) - before
        book[MADE] += made
        if book[DEPTH] == 0:
            book[FIRINGS] += made
            book[ORIGINAL] += made
        if status < 0:
            return status
        measure(z, places, weights, book, sums, tally)
        if status == CROSSED:
            value = getf(z, watched)
            if k < len(thresholds) and value >= thresholds[k]:
                climb(state, value, thresholds, factors, book, frames, stack, hits)
                continue
            below = np.searchsorted(thresholds, value, side="right")
            leave(weights, book, sums, tally)
            if below >= book[FLOOR]:
                book[REGION] = below
                if below == 0 and book[DEPTH] == 0 and book[WHOLE] == 0:
                    end_root(book, sums, tally, roots, carrying)
                continue
        elif status in (HORIZON, STILL):
            if status == STILL and math.isinf(horizon):
                return STILL
            leave(weights, book, sums, tally)
            for i in range(len(places)):
                r = rate(z, places[i, 0], places[i, 1])
                sums[ENDS, i] += weights[book[REGION]] * r
                if book[WHOLE] != 0:
                    tally[T_PLAIN, i] += weights[book[REGION]] * r * r
            if book[DEPTH] == 0:
                book[FINAL] = 1
                return status
        else:
            continue
        back(state, d, book, frames, stack)
        for i in range(len(places)):
            sums[BEFORE, i] = total(z, places[i, 0], places[i, 1])
        climb(state, getf(z, watched), thresholds, factors, book, frames, stack, hits)
    return DONE
