"""Unions and differences of intervals against counting every unit of time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spn.trace.intervals import Intervals, beyond, clip, merge, overlap, union, without

SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=8)


def build(spans: list[tuple[int, int]]) -> Intervals:
    start = np.array([s for s, _ in spans], dtype=np.int64)
    return union(start, start + np.array([d for _, d in spans], dtype=np.int64))


def units(spans: list[tuple[int, int]]) -> set[int]:
    return {t for s, d in spans for t in range(s, s + d)}


def held(a: Intervals) -> set[int]:
    return {t for s, e in zip(a.start.tolist(), a.end.tolist(), strict=True) for t in range(s, e)}


@given(SPANS)
def test_a_union_covers_each_time_once(spans: list[tuple[int, int]]) -> None:
    covered = build(spans)
    assert held(covered) == units(spans)
    assert covered.length() == len(units(spans))
    assert np.all(covered.start[1:] > covered.end[:-1])


@given(SPANS, SPANS)
def test_two_sets_of_time(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    one, two = build(a), build(b)
    assert overlap(one, two) == len(units(a) & units(b))
    assert beyond(one, two) == len(units(a) - units(b))
    assert held(merge(one, two)) == units(a) | units(b)
    assert held(without(one, two)) == units(a) - units(b)


@given(SPANS, st.integers(0, 50), st.integers(0, 50))
def test_a_clipped_set(spans: list[tuple[int, int]], start: int, end: int) -> None:
    assert held(clip(build(spans), start, end)) == {t for t in units(spans) if start <= t < end}
