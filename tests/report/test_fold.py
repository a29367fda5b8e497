"""Where nodes go in a diagram: arcs join neighbouring columns, cycles are folded, and long ones more than once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spn.net.builder import NetBuilder
from spn.net.model import Net
from spn.report.dot import to_dot
from spn.report.fold import columns


def ring(n: int) -> Net:
    """A cycle of n places and n transitions."""
    net = NetBuilder("ring")
    for i in range(n):
        net.place(f"p{i}")
    for i in range(n):
        net.timed(f"t{i}", f"p{i}", f"p{(i + 1) % n}", rate=1)
    return net.build()


def test_a_cycle_of_four_stations_is_drawn_as_two_rows() -> None:
    column = columns(ring(4))
    assert [column["place", f"p{i}"] for i in range(4)] == [0, 2, 4, 2]
    assert [column["transition", f"t{i}"] for i in range(4)] == [1, 3, 3, 1]


def test_a_long_cycle_is_folded_more_than_once() -> None:
    assert [max(columns(ring(n)).values()) for n in (1, 2, 8, 16)] == [1, 2, 8, 8]


def test_all_arcs_of_a_folded_cycle_join_neighbours() -> None:
    for n in (2, 4, 16):
        net, column = ring(n), columns(ring(n))
        assert all(abs(column["place", a.place] - column["transition", t.name]) == 1 for t in net.transitions for a in t.arcs)


def test_an_open_net_begins_with_its_source() -> None:
    net = NetBuilder("queue")
    net.place("queue")
    net.timed("serve", "queue", (), rate=2)
    net.timed("arrive", (), "queue", rate=1)
    assert columns(net.build()) == {("transition", "arrive"): 1, ("place", "queue"): 2, ("transition", "serve"): 1}


def test_the_way_back_is_written_from_right_to_left() -> None:
    lines = to_dot(ring(2)).splitlines()
    assert '"place p0" -> "transition t0":t;' in lines
    assert '"transition t1":t -> "place p1" [dir=back];' in lines
    assert '"place p0" -> "transition t1":t [dir=back];' in lines


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12))
def test_any_net_has_places_in_even_columns_and_transitions_in_odd_ones(ends: list[tuple[int, int]]) -> None:
    net = NetBuilder("any")
    for i in range(6):
        net.place(f"p{i}")
    for i, (tail, head) in enumerate(ends):
        net.timed(f"t{i}", f"p{tail}", f"p{head}", rate=1)
    column = columns(net.build())
    assert len(column) == 6 + len(ends)
    assert all(c >= 0 and c % 2 == (kind == "transition") for (kind, _), c in column.items())
