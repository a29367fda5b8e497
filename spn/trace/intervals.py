"""Sets of time as sorted, disjoint intervals: unions, differences, lengths. All times are whole numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spn.trace.records import Flags, Ints


class Intervals(NamedTuple):
    """Disjoint intervals [start, end) in order."""

    start: Ints
    end: Ints

    def length(self) -> int:
        return int((self.end - self.start).sum())


def union(start: Ints, end: Ints) -> Intervals:
    """The time covered by at least one of the intervals [start, end)."""
    if len(start) == 0:
        return Intervals(start, end)
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order])
    first = np.concatenate(([True], start[1:] > reach[:-1]))
    last = np.concatenate((first[1:], [True]))
    return Intervals(start[first], reach[last])


def overlap(a: Intervals, b: Intervals) -> int:
    """How much time lies in both: |a| + |b| - |a or b|."""
    both = union(np.concatenate((a.start, b.start)), np.concatenate((a.end, b.end)))
    return a.length() + b.length() - both.length()


def beyond(a: Intervals, b: Intervals) -> int:
    """How much of ``a`` lies outside ``b``."""
    return a.length() - overlap(a, b)


def merge(a: Intervals, b: Intervals) -> Intervals:
    return union(np.concatenate((a.start, b.start)), np.concatenate((a.end, b.end)))


def clip(a: Intervals, start: int, end: int) -> Intervals:
    """The part of ``a`` inside [start, end)."""
    inside = (a.end > start) & (a.start < end)
    return Intervals(np.maximum(a.start[inside], start), np.minimum(a.end[inside], end))


def without(a: Intervals, b: Intervals) -> Intervals:
    """The part of ``a`` outside ``b``, cut at the edges of both."""
    if len(b.start) == 0 or len(a.start) == 0:
        return a
    edges = np.unique(np.concatenate((a.start, a.end, b.start, b.end)))
    start, end = edges[:-1], edges[1:]
    keep = _covers(a, start) & ~_covers(b, start)
    return union(start[keep], end[keep])


def _covers(a: Intervals, at: Ints) -> Flags:
    """Whether each time lies in ``a``."""
    index = np.searchsorted(a.start, at, side="right") - 1
    return np.asarray((index >= 0) & (at < a.end[index]))
