"""The maximum cycle ratio against all cycles listed one by one."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spn.schedule.howard import Edge, maximum_cycle_ratio, tokenless_cycle


def every_cycle(n: int, edges: list[Edge]) -> list[list[Edge]]:
    """All simple cycles, by depth-first search from their least node."""
    found: list[list[Edge]] = []

    def walk(root: int, way: list[Edge], seen: set[int]) -> None:
        for e in edges:
            if e.tail == (way[-1].head if way else root):
                if e.head == root:
                    found.append([*way, e])
                elif e.head > root and e.head not in seen:
                    walk(root, [*way, e], seen | {e.head})

    for root in range(n):
        walk(root, [], {root})
    return found


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[Edge]]:
    """A ring, so that the graph is strongly connected, and some chords."""
    n = draw(st.integers(1, 6))
    weight = st.fractions(min_value=0, max_value=9, max_denominator=12)
    ring = [Edge(v, (v + 1) % n, draw(weight), draw(st.integers(0, 3))) for v in range(n)]
    node = st.integers(0, n - 1)
    chords = draw(st.lists(st.builds(Edge, node, node, weight, st.integers(0, 3)), max_size=7))
    return n, ring + chords


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_against_all_cycles(graph: tuple[int, list[Edge]]) -> None:
    n, edges = graph
    cycles = every_cycle(n, edges)
    empty = [c for c in cycles if not sum(e.tokens for e in c)]
    found = tokenless_cycle(n, edges)
    assert bool(found) == bool(empty)
    if empty:
        assert not any(e.tokens for e in found)
        assert all(a.head == b.tail for a, b in zip(found, [*found[1:], found[0]], strict=True))
        return
    best = maximum_cycle_ratio(n, edges)
    assert best.ratio == max(Fraction(sum(e.weight for e in c), sum(e.tokens for e in c)) for c in cycles)
    assert sum(e.weight for e in best.edges) == best.ratio * sum(e.tokens for e in best.edges)
    assert all(a.head == b.tail for a, b in zip(best.edges, [*best.edges[1:], best.edges[0]], strict=True))


def test_a_ring_of_a_thousand() -> None:
    edges = [Edge(v, (v + 1) % 1000, Fraction(v % 7, 3), v % 2) for v in range(1000)] + [Edge(v, v, Fraction(1), 1) for v in range(1000)]
    assert maximum_cycle_ratio(1000, edges).ratio == pytest.approx(sum(v % 7 for v in range(1000)) / 3 / 500)
